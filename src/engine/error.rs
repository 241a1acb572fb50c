//! Why a build gave no plan, with the stage that it happened in.

use crate::model::Value;
use crate::terms::State;
use crate::verbs::Halt;

/// Why a build failed. Source of the fields: `wave4-contracts.md`, Failure mode and Stage naming.
#[derive(Debug, Clone, PartialEq, serde::Serialize, thiserror::Error)]
#[error("{}{message}", stage.as_ref().map(|s| format!("stage `{s}`: ")).unwrap_or_default())]
#[non_exhaustive]
pub struct BuildError {
    /// `max_tokens_exceeded`, `strict_mode`, `pipeline`, `template`, `bound.exceeded`, `unknown_dialect`, `call`, or the code that a pack's `require` names.
    pub kind: String,
    /// The stage that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What happened.
    pub message: String,
    /// The context window, where room was the matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<f64>,
    /// What of it is kept for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<f64>,
    /// What the prompt still costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_tokens: Option<f64>,
}

impl BuildError {
    /// The kind, for programs.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The engine was asked for a dialect that the pack does not have.
    pub(crate) fn unknown_dialect(message: impl Into<String>) -> Self {
        Self::plain("unknown_dialect", None, message)
    }

    /// The engine was called wrongly.
    pub(crate) fn bound(message: impl Into<String>) -> Self {
        Self::plain("bound.exceeded", None, message)
    }

    pub(crate) fn call(message: impl Into<String>) -> Self {
        Self::plain("call", None, message)
    }

    fn plain(kind: &str, stage: Option<&str>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            stage: stage.map(str::to_owned),
            message: crate::diag::short::cut(message),
            max_tokens: None,
            reserve_tokens: None,
            estimated_tokens: None,
        }
    }

    /// The first warning, where warnings are errors.
    fn strict(st: &State, stage: Option<&str>) -> Self {
        let warning = st.warnings.borrow().first().map(|w| format!("{} ({})", w.message, w.code)).unwrap_or_default();
        Self::plain("strict_mode", stage, warning)
    }

    pub(crate) fn of(halt: Halt, stage: Option<&str>, st: &State) -> Self {
        match halt {
            Halt::Stop => Self::plain("pipeline", stage, "the program stopped itself"),
            Halt::Warned => Self::strict(st, stage),
            Halt::Host(message) => Self::plain("pipeline", stage, message),
            Halt::Fault(fault) => Self::plain(fault.kind, stage, fault.message),
            Halt::Refused { code, message, room } => {
                let mut error = Self::plain(&code, stage, message);
                if let Some(room) = room {
                    error.max_tokens = room.window;
                    error.reserve_tokens = room.reserve;
                    error.estimated_tokens = Some(room.estimated);
                }
                error
            }
        }
    }

    /// The error as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_else(|_| Value::text(self.message.as_str()).to_json())
    }
}
