//! What carries out a call.

use serde_json::{Map, Value as Json};

use super::super::BoxFuture;
use crate::model::Value;

/// One call that a tool carries out.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The id of the call, unique in the chat.
    pub id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments, which fit the tool's JSON Schema unless the configuration switches the check off.
    pub arguments: &'a Map<String, Json>,
    /// The scene of the plan.
    pub scene: &'a Value,
}

/// Why a tool has no result. The text is told to the model, so it must hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailure(pub String);

/// Whoever carries out calls: a function of the application, of a pack, a command, or a server.
pub trait Tool: Send + Sync {
    /// Carries out a call once. Dropping the future cancels it, and must leave nothing running. A loop waits as long as
    /// this takes unless it has a limit of time
    /// ([`with_time_limit`](super::ToolLoopRunner::with_time_limit)). A panic goes through the loop to its caller.
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>>;
}

/// A function that needs to wait for nothing.
impl<F> Tool for F
where
    F: Fn(&ToolCall<'_>) -> Result<Json, ToolFailure> + Send + Sync,
{
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(async move { self(&call) })
    }
}
