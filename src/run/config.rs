//! What one run may look at, parsed once from the request's context.

use serde_json::{Map, Value as Json};

use super::RunError;
use crate::pack::Ruleset;

/// The configuration of one run: immutable, and the same for every part of it. Source: the contract of the runner,
/// section 0.
#[derive(Clone)]
pub struct RunnerConfig {
    /// The rules of the pack.
    pub rules: Ruleset,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Everything else, with all defaults filled in: `llm_options_defaults`, `capabilities`, `steps`, `tool_calling`,
    /// `directives`, `language_policy`, `output_tags`, `message_transforms`, `response_transforms`.
    pub values: Map<String, Json>,
}

impl RunnerConfig {
    /// Parses a context with the pack's program `runner_config`.
    ///
    /// # Errors
    /// [`RunError::Config`] with every mistake.
    pub fn parse(rules: &Ruleset, context: &Json) -> Result<Self, RunError> {
        let text = |key: &str| context.get(key).and_then(Json::as_str).unwrap_or_default().trim().to_owned();
        let values = context.as_object().cloned().unwrap_or_default();
        Ok(Self { rules: rules.clone(), provider: text("provider"), model: text("model"), values })
    }
}
