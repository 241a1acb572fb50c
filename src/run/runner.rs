//! One request, one reply.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::request::{inbound_transforms, prepare};
use super::{Delta, Doing, Prepared, ProviderError, Reply, RunError, RunnerConfig, Transport, TransportError};
use crate::model::Plan;

/// Sends plans and reads replies. It holds a transport and no configuration, so one runner serves all requests. Source:
/// the contract of the runner, section 2.
#[derive(Clone)]
pub struct PromptRunner {
    transport: Arc<dyn Transport>,
}

impl PromptRunner {
    /// A runner over a transport.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport }
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
            let _ = deltas;
            let mut incoming = self.transport.send(&request.outgoing).await.map_err(failed)?;
            let mut whole = Vec::new();
            while let Some(part) = incoming.body.next().await.map_err(failed)? {
                whole.extend(part);
            }
            if incoming.status >= 400 {
                return Err(RunError::Provider(ProviderError {
                    code: "provider_error".to_owned(),
                    status: Some(incoming.status),
                    message: format!("the provider answered with status {}", incoming.status),
                    safe_to_repeat: false,
                    retry_after: None,
                }));
            }
            let body: Json = serde_json::from_slice(&whole).unwrap_or_default();
            let at = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
            if at("/choices/0").is_null() {
                return Err(RunError::Provider(ProviderError {
                    code: "empty_response".to_owned(),
                    status: None,
                    message: "the reply has no choices".to_owned(),
                    safe_to_repeat: false,
                    retry_after: None,
                }));
            }
            Ok(Reply {
                message: inbound_transforms(config, at("/choices/0/message"))?,
                finish_reason: at("/choices/0/finish_reason").as_str().map(str::to_owned),
                usage: at("/usage"),
            })
        })
    }
}

fn failed(error: TransportError) -> RunError {
    RunError::Provider(ProviderError {
        code: error.code.to_owned(),
        status: None,
        safe_to_repeat: error.unsent,
        retry_after: None,
        message: error.message,
    })
}
