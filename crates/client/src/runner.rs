//! One request, one reply.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::keys::KeyScrubber;
use super::left::exact;
use super::receive::{failed, receive};
use super::request::{inbound_transforms, prepare};
use super::{AnswerLimits, BoxFuture, Delta, PreparedRequest, Problem, ProviderError, Reply, RunError, RunnerConfig, Transport};
use crate::model::Plan;
use crate::text::json_pointer::escape;

/// Sends plans and reads replies. It holds a transport and no configuration, so one runner serves all requests. Source:
/// the contract of the runner, section 2.
#[derive(Clone)]
pub struct PromptRunner {
    transport: Arc<dyn Transport>,
    bounds: AnswerLimits,
}

impl PromptRunner {
    /// A runner over a transport.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, bounds: AnswerLimits::default() }
    }

    /// The same with other bounds on what is read.
    #[must_use]
    pub fn with_bounds(self, bounds: AnswerLimits) -> Self {
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
    ) -> Result<PreparedRequest, RunError> {
        for (key, value) in options {
            exact(value, &format!("/llm_options/{}", escape(key)))?;
        }
        prepare(config, plan, added, options, stream)
    }

    /// Sends a prepared request once and reads the whole reply; `deltas` hears of a streamed one as it arrives.
    ///
    /// # Errors
    /// [`RunError::Provider`].
    pub fn send<'a>(
        &'a self,
        config: &'a RunnerConfig,
        request: &'a PreparedRequest,
        deltas: &'a mut (dyn FnMut(&Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, RunError>> {
        Box::pin(async move {
            let dialect = &request.dialect;
            let reading = config.rules.readings().get(dialect).cloned().ok_or_else(|| unreadable(config, dialect))?;
            let incoming = self.transport.send(&request.outgoing).await.map_err(|e| self.clean_error(failed(e, None)))?;
            let mut clean = CleanDeltas { text: self.transport.scrubber(), reasoning: self.transport.scrubber(), deltas };
            let read = receive(incoming, &reading, self.bounds, request.outgoing.stream, &mut |delta| clean.tell(delta)).await;
            clean.end();
            let mut read = read.map_err(|e| self.clean_error(e))?;
            self.clean(&mut read.message);
            self.clean(&mut read.usage);
            let message = inbound_transforms(config, read.message)?;
            let (reasoning, finish_reason) =
                (self.transport.scrub(read.reasoning), read.finish_reason.map(|word| self.transport.scrub(word)));
            Ok(Reply { message, reasoning, finish_reason, usage: read.usage })
        })
    }
}

impl PromptRunner {
    /// What a provider has echoed in other letters than those of the body, or in several parts, is taken out of the
    /// texts that were read.
    fn clean(&self, value: &mut Json) {
        match value {
            Json::String(text) => *text = self.transport.scrub(std::mem::take(text)),
            Json::Array(list) => list.iter_mut().for_each(|value| self.clean(value)),
            Json::Object(fields) => {
                let cleaned = std::mem::take(fields).into_iter().map(|(key, mut value)| {
                    self.clean(&mut value);
                    (self.transport.scrub(key), value)
                });
                *fields = cleaned.collect();
            }
            _ => {}
        }
    }

    fn clean_error(&self, error: ProviderError) -> ProviderError {
        ProviderError { message: self.transport.scrub(error.message), ..error }
    }
}

/// Hands on the parts of a streamed reply without the key, wherever it is cut.
struct CleanDeltas<'a> {
    text: KeyScrubber,
    reasoning: KeyScrubber,
    deltas: &'a mut (dyn FnMut(&Delta) + Send),
}

impl CleanDeltas<'_> {
    fn tell(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => {
                // reasoning and text do not mix: what was held of the one is handed on before the other begins
                self.end_reasoning();
                let text = self.text.push_text(text);
                self.hand_on(text, Delta::Text);
            }
            Delta::Reasoning(text) => {
                self.end_text();
                let text = self.reasoning.push_text(text);
                self.hand_on(text, Delta::Reasoning);
            }
        }
    }

    fn end(&mut self) {
        self.end_reasoning();
        self.end_text();
    }

    fn end_text(&mut self) {
        let rest = self.text.end_text();
        self.hand_on(rest, Delta::Text);
    }

    fn end_reasoning(&mut self) {
        let rest = self.reasoning.end_text();
        self.hand_on(rest, Delta::Reasoning);
    }

    fn hand_on(&mut self, text: String, delta: fn(String) -> Delta) {
        if !text.is_empty() {
            (self.deltas)(&delta(text));
        }
    }
}

fn unreadable(config: &RunnerConfig, dialect: &str) -> RunError {
    let message =
        format!("pack `{}` has no row of `reply` that says how replies in dialect `{dialect}` are read", config.rules.pack().name);
    RunError::Config(vec![Problem { code: "unreadable_dialect".to_owned(), at: "/dialect".to_owned(), message }])
}
