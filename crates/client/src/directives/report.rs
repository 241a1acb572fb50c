//! What came of a run.

use std::sync::Arc;

use serde_json::Value as Json;

use super::super::{ProviderError, Reply, RunError};
use super::validate::{Directive, DirectiveWarning};
use crate::diag::Diagnostic;

/// One request of a run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DirectiveAttempt {
    /// The mode.
    pub mode: String,
    /// How many repairs of the mode came before it.
    pub repair: usize,
    /// Whether the reply could be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ok: bool,
    /// Why it could not: the code of a [`DirectiveReadError`](super::DirectiveReadError) or of a [`ProviderError`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where in the envelope, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The HTTP status, if the provider refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A mode that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SkippedMode {
    /// The mode.
    pub mode: String,
    /// Why: `capability`.
    pub why: String,
}

/// What came of a run: directives, or why there are none. A run fails quietly, because a chat can go on without
/// directives.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct DirectiveReport {
    /// Whether a reply could be read; also if all of its directives were dropped.
    pub ok: bool,
    /// The mode of that reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Why the last attempt failed; `no_mode` if the model has none of the modes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The text for the user; if no reply could be read, the last one that is not blank, as it is.
    pub assistant_text: String,
    /// The directives, in the order of the reply.
    pub directives: Vec<Directive>,
    /// What was tolerated and dropped.
    pub warnings: Vec<DirectiveWarning>,
    /// All requests, in order.
    pub attempts: Vec<DirectiveAttempt>,
    /// The modes that were not tried.
    pub skipped: Vec<SkippedMode>,
    /// The reply that was read, or the last one.
    #[serde(skip)]
    pub reply: Option<Reply>,
    /// What the provider said, if it ended the run.
    #[serde(skip)]
    pub provider_error: Option<ProviderError>,
    /// Token counts of all replies, in order, as the provider gives them.
    #[serde(skip)]
    pub usage: Vec<Json>,
    /// Warnings of the requests, each once.
    #[serde(skip)]
    pub request_warnings: Vec<Diagnostic>,
    /// Why a request behind the first one could not be made, if that ended the run.
    #[serde(skip)]
    pub run_error: Option<Arc<RunError>>,
}
