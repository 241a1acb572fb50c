//! The previous request, read from a file, which is compared with the one that is being built.

use std::path::Path;

use serde_json::Value as Json;

use crate::build::{BuildError, blocks_of, unchanged, unchanged_payload};
use crate::diag::Code;
use crate::model::plan::UnchangedPrefix;
use crate::model::{Plan, PlanBlock};
use crate::pack::Ruleset;

use crate::inputs::files::{shown, values_of};
use crate::output::OutputStreams;
use crate::stop::EarlyExit;

/// The previous request.
pub(crate) enum PreviousRequest {
    /// Its plan.
    Plan(Vec<PlanBlock>),
    /// Its payload.
    Payload(Json),
}

impl PreviousRequest {
    /// Reads a file: what has `blocks` is a plan, any other JSON object a payload.
    pub(crate) fn read(file: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Self, EarlyExit> {
        let bytes = values_of(file, show)?;
        let wrong = |reason: String| {
            let message = format!("`{}` is no plan and no payload: {reason}", shown(file));
            EarlyExit::could_not(Code::ImportFormat, message, "write one with `tapster build … --dump plan`")
        };
        let json: Json = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        match blocks_of(&json) {
            Some(blocks) => Ok(Self::Plan(blocks)),
            None if json.is_object() && json.get("blocks").is_none() => Ok(Self::Payload(json)),
            None => Err(wrong("it is JSON of another shape".to_owned())),
        }
    }

    /// What of the plan is unchanged; `None` if the previous request is known as a payload.
    pub(crate) fn plan(&self, rules: &Ruleset, plan: &Plan) -> Result<Option<UnchangedPrefix>, BuildError> {
        match self {
            Self::Plan(blocks) => unchanged(rules, plan, blocks).map(Some),
            Self::Payload(_) => Ok(None),
        }
    }

    /// What of the payload is unchanged; `None` if the previous request is known as a plan.
    pub(crate) fn payload(
        &self,
        rules: &Ruleset,
        plan: &Plan,
        dialect: &str,
        payload: &Json,
    ) -> Result<Option<UnchangedPrefix>, BuildError> {
        match self {
            Self::Plan(_) => Ok(None),
            Self::Payload(before) => unchanged_payload(rules, plan, dialect, payload, before).map(Some),
        }
    }
}
