//! What a run of the loop tells: its events as they happen, and what came of it.

use serde::Serialize;
use serde_json::Value as Json;

use super::super::{Delta, OptionChange, Problem, ProviderError, Reply, RunError};
use crate::diag::Diagnostic;

/// Something that happened in a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopEvent {
    /// A request is sent.
    Request {
        /// Its number, from 1.
        turn: usize,
    },
    /// Its reply has arrived.
    Response {
        /// The number of the request.
        turn: usize,
        /// How many calls it makes.
        tool_calls: usize,
        /// Why the model stopped.
        finish_reason: Option<String>,
    },
    /// A reply had text beside its calls, which is not written back.
    ContentDropped {
        /// The number of the request.
        turn: usize,
        /// The number of its characters.
        chars: usize,
    },
    /// A tool is run.
    ToolStart {
        /// The number of the request.
        turn: usize,
        /// The id of the call.
        id: String,
        /// The name of the tool.
        tool: String,
    },
    /// A call has its result.
    ToolEnd {
        /// The number of the request.
        turn: usize,
        /// The id of the call.
        id: String,
        /// The name of the tool.
        tool: String,
        /// Whether the tool gave a result.
        ok: bool,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// The answer is empty.
    EmptyFinal {
        /// The number of the request.
        turn: usize,
    },
    /// The answer was asked for once more, as a stream.
    FinalStream {
        /// Whether its text has replaced the answer.
        ok: bool,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The loop has ended.
    Stop {
        /// Why.
        reason: StopReason,
        /// The number of requests, without that of the stream.
        turns: usize,
    },
}

/// Why a loop has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has answered.
    Final,
    /// The last allowed turn made calls; they are carried out, and there is no answer.
    MaxTurns,
    /// The provider gave no reply.
    ProviderError,
    /// A request would break a rule of its model; it was not sent.
    Preflight,
    /// A program of the pack failed behind the first request.
    Error,
}

/// What came of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// Whether the tool gave a result.
    pub ok: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What came of a loop. The history that it was given is unchanged; `added` is what to append to it.
#[derive(Debug)]
pub struct ToolLoopReport {
    /// The messages that the loop has added, in the shape of chat completions.
    pub added: Vec<Json>,
    /// One result for each call, in order.
    pub results: Vec<ToolResult>,
    /// What happened, in order.
    pub events: Vec<LoopEvent>,
    /// Why it has ended.
    pub stop: StopReason,
    /// The answer; `None` if there is none.
    pub final_text: Option<String>,
    /// The reply with the answer, as it came: its reasoning, and why the model stopped. A text that was streamed behind
    /// it is in `final_text` alone.
    pub reply: Option<Reply>,
    /// Token counts of the replies, in order, as the provider gives them.
    pub usage: Vec<Json>,
    /// Warnings of the requests, each once.
    pub warnings: Vec<Diagnostic>,
    /// What the pack did to the options of the requests, each once.
    pub changes: Vec<OptionChange>,
    /// Why the provider gave no reply, or which program of the pack failed.
    pub error: Option<RunError>,
}

impl ToolLoopReport {
    /// What the provider answered in place of a reply.
    #[must_use]
    pub fn provider_error(&self) -> Option<&ProviderError> {
        if let Some(RunError::Provider(error)) = &self.error { Some(error) } else { None }
    }

    /// The rules of its model that a request would have broken.
    #[must_use]
    pub fn violations(&self) -> &[Problem] {
        if let Some(RunError::Preflight(problems)) = &self.error { problems } else { &[] }
    }
}

/// Whoever looks on while a loop runs.
pub trait Watch: Send {
    /// Something has happened.
    fn event(&mut self, event: &LoopEvent) {
        let _ = event;
    }

    /// A part of a streamed reply has arrived.
    fn delta(&mut self, delta: &Delta) {
        let _ = delta;
    }
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWatch;

impl Watch for NoWatch {}

impl<F: FnMut(&LoopEvent) + Send> Watch for F {
    fn event(&mut self, event: &LoopEvent) {
        self(event);
    }
}
