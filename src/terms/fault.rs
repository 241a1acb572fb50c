//! Why an evaluation failed, and the value form that handles a failure.

use std::sync::Arc;

use crate::model::Value;
use crate::text::script::{ScriptError, ScriptPlace};
use crate::text::work::BudgetExceeded;

/// Why an evaluation failed at run time.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalFault {
    /// What went wrong.
    pub message: String,
    /// The kind of error that is reported if nothing handles the failure.
    pub kind: FaultKind,
    /// Where a script failed.
    pub place: Option<Arc<ScriptPlace>>,
}

/// What kind of failure a [`EvalFault`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A script, a filter or a function failed.
    Failed,
    /// A text in a text language cannot be parsed.
    Template,
    /// A limit was reached. This error is never handled by a pass.
    Bound,
    /// A text reached a limit of its text language. A pass never handles this error, but a value form does.
    TextBound,
    /// The caller asked for something that the pack does not have.
    Call,
}

impl EvalFault {
    /// A script, filter or function failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::of(message, FaultKind::Failed)
    }

    /// A script failed; `what` is what messages call it.
    pub fn script(what: &str, error: &ScriptError) -> Self {
        Self::failed(if what.is_empty() { error.to_string() } else { format!("{what}: {error}") }).at(error.place())
    }

    /// The same failure at a place.
    #[must_use]
    pub fn at(self, place: Option<ScriptPlace>) -> Self {
        Self { place: place.map(Arc::new), ..self }
    }

    fn of(message: impl Into<String>, kind: FaultKind) -> Self {
        Self { message: message.into(), kind, place: None }
    }

    /// A text in a text language cannot be parsed.
    pub fn template(message: impl Into<String>) -> Self {
        Self::of(message, FaultKind::Template)
    }

    /// A limit was reached.
    pub fn bound(message: impl Into<String>) -> Self {
        Self::of(message, FaultKind::Bound)
    }

    /// A text reached a limit of its text language.
    pub fn text_bound(message: impl Into<String>) -> Self {
        Self::of(message, FaultKind::TextBound)
    }

    /// The caller asked for something that the pack does not have.
    pub fn call(message: impl Into<String>) -> Self {
        Self::of(message, FaultKind::Call)
    }

    /// Whether a limit was reached, which no pass may handle.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        matches!(self.kind, FaultKind::Bound | FaultKind::TextBound)
    }
}

impl From<BudgetExceeded> for EvalFault {
    fn from(exceeded: BudgetExceeded) -> Self {
        Self::bound(exceeded.to_string())
    }
}

impl FaultKind {
    /// The word by which `{ try = value }` names a failure that it handles.
    fn handled(self) -> Option<&'static str> {
        match self {
            Self::Failed => Some("failed"),
            Self::Template => Some("template"),
            Self::TextBound => Some("bound"),
            Self::Bound | Self::Call => None,
        }
    }
}

/// `{ try = value }`: the value, or what went wrong. A limit of the build and a wrong call stay errors: only a text that
/// reaches a limit of its own language can be handled, because it costs no more than that limit.
pub(super) fn tried(result: Result<Value, EvalFault>) -> Result<Value, EvalFault> {
    let fault = match result {
        Ok(value) => return Ok(Value::map([("value".into(), value)].into_iter().collect())),
        Err(fault) => fault,
    };
    let Some(kind) = fault.kind.handled() else { return Err(fault) };
    let error = Value::map([("kind".into(), Value::text(kind)), ("message".into(), Value::text(fault.message))].into_iter().collect());
    Ok(Value::map([("error".into(), error)].into_iter().collect()))
}
