//! A prompt at once: the build and the payload, with everything that an application needs to send it and to keep what
//! has changed.

use crate::assemble::build;
use crate::diag::Diagnostic;
use crate::engine::{BuildError, door};
use crate::model::plan::PlanTrace;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;

use super::emit;

/// A prompt that is ready to be sent: the result of [`prompt`].
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Prompt {
    /// The dialect that the payload is written in.
    pub dialect: String,
    /// The JSON body to send to the provider.
    pub payload: serde_json::Value,
    /// Where to send it: `url` and `headers`; `null` if the dialect does not say.
    pub request: serde_json::Value,
    /// What the build changed in the state of the chat; merge it over the state once the prompt is used.
    pub patch: Value,
    /// The warnings of the build, then those of the dialect.
    pub warnings: Vec<Diagnostic>,
    /// What was recorded during the build; only present if the scene asks for a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PlanTrace>,
}

/// Builds a scene and makes its payload in the dialect that the scene names, or else the pack: [`build`] and [`emit`] in
/// one call.
///
/// # Errors
/// Those of [`build`] and [`emit`].
pub fn prompt(rules: &Ruleset, scene: &Scene) -> Result<Prompt, BuildError> {
    let _door = door(rules, scene);
    let dialect = dialect_of(rules, scene);
    let plan = build(rules, scene)?;
    let emitted = emit(rules, &plan, &dialect)?;
    let warnings = plan.warnings.into_iter().chain(emitted.warnings).collect();
    let (payload, request) = (emitted.payload, emitted.request);
    Ok(Prompt { dialect, payload, request, patch: plan.patch, warnings, trace: plan.trace })
}

/// The dialect that a scene names; else the default that the pack declares for the path `dialect`, or its first dialect.
pub fn dialect_of(rules: &Ruleset, scene: &Scene) -> String {
    let named = |value: Option<&Value>| value.map(Value::to_text).filter(|name| !name.is_empty()).map(|name| name.to_string());
    named(Some(&scene.get("dialect")))
        .or_else(|| named(rules.programs().rules.values.at("dialect")))
        .or_else(|| super::dialects(rules).into_iter().next())
        .unwrap_or_default()
}
