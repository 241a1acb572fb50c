//! A reply of the model: what is told while it arrives, and what is kept of it.

use serde_json::{Value as Json, json};

use crate::diag::Diagnostic;
use crate::run::retry::RetryAttempt;
use crate::run::tools::{LoopEvent, ToolResult};
use crate::run::{Delta, RunnerConfig};

/// What is told while a reply is on its way.
pub(super) enum ReplyEvent {
    Part(Delta),
    Again(RetryAttempt),
    Loop(LoopEvent),
    Warnings(Vec<Diagnostic>),
}

/// A reply as it is kept.
pub(super) struct ReceivedReply {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<ToolResult>,
    pub(super) interrupted: bool,
}

impl ReceivedReply {
    pub(super) fn extra(&self, config: &RunnerConfig) -> Json {
        let mut extra = json!({ "model": config.model, "api": config.provider });
        let Some(fields) = extra.as_object_mut() else { return extra };
        if !self.reasoning.is_empty() {
            fields.insert("reasoning".to_owned(), json!(self.reasoning));
        }
        if !self.calls.is_empty() {
            fields.insert("tools".to_owned(), json!(self.calls));
        }
        extra
    }
}
