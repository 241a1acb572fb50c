//! One request, one reply: the runner, the reply, why there is none, and what programs of the pack do to the reply's text.
//!
//! Only the text of an answer is changed. Calls of tools, their results and directives pass untouched, because they
//! are data and not prose.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::config::exact;
use super::keys::KeyScrubber;
use super::receive::{failed, receive};
use super::request::{inbound_transforms, prepare};
use super::{BoxFuture, PreparedRequest, Problem, ProviderError, RunError, RunnerConfig, Transport};
use crate::build::{run, run_values};
use crate::model::plan::PlanBlock;
use crate::model::{Plan, Scene, Value};
use crate::text::json_pointer::escape;

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
            let read = receive(incoming, &reading, request.outgoing.stream, &mut |delta| clean.tell(delta)).await;
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

/// A part of a streamed reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More of the text.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
}

/// One reply of a model.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Reply {
    /// The assistant's message in the shape of chat completions: `role`, `content`, `tool_calls`, and whatever else the
    /// provider sent in it.
    pub message: Json,
    /// What the model thought, wherever the provider puts it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Why the model stopped; the provider's word where it has no usual one.
    pub finish_reason: Option<String>,
    /// Token counts as the provider gives them; null if it gives none.
    pub usage: Json,
}

impl Reply {
    /// The text of the message, also where it is written in parts.
    #[must_use]
    pub fn text(&self) -> String {
        match self.message.get("content") {
            Some(Json::String(text)) => text.clone(),
            Some(Json::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Json::as_str)).collect(),
            _ => String::new(),
        }
    }
}

/// The program that cleans up an answer.
const REPLY: &str = "reply";
/// The program that says in which language to answer.
const LANGUAGE: &str = "language_policy";
/// Parts of the configuration that the programs read.
const READ: [&str; 2] = ["output_tags", "language_policy"];

/// The answer as it is shown and stored: the pack's program `reply` over its text and reasoning, with the tag rules of
/// the configuration. A reply that calls tools comes back as it is.
///
/// # Errors
/// [`RunError::Build`] if the program fails.
pub fn reply(config: &RunnerConfig, plan: &Plan, reply: &Reply) -> Result<Reply, RunError> {
    let calls = |key: &str| reply.message.get(key).is_some_and(|calls| !calls.is_null() && calls != &json!([]));
    if calls("tool_calls") || calls("function_call") {
        return Ok(reply.clone());
    }
    let Some(text) = reply.message.get("content").and_then(Json::as_str) else { return Ok(reply.clone()) };
    let given = json!({
        "text": text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "stops": plan.reported("stops").to_json(),
    });
    let ran = run(&config.rules, REPLY, &scene(config, plan, Some(given)), &[])?;
    let word = |path: &str| ran.get(path).to_text().to_string();
    let mut cleaned = reply.clone();
    if let Some(message) = cleaned.message.as_object_mut() {
        message.insert("content".to_owned(), word("reply.text").into());
    }
    cleaned.reasoning = word("reply.reasoning");
    Ok(cleaned)
}

/// The plan with a message about the language of the answer, if the policy of the configuration is switched on. A plan
/// whose build has already put it there stays as it is.
///
/// # Errors
/// [`RunError::Build`] if the program fails.
pub fn in_language(config: &RunnerConfig, plan: &Plan) -> Result<Plan, RunError> {
    let blocks: Vec<Value> = plan.blocks.iter().map(|block| block.fields.clone()).collect();
    let known: HashSet<String> = plan.blocks.iter().map(|block| block.text("id")).collect();
    let ran = run_values(&config.rules, &[LANGUAGE], &scene(config, plan, None), &[("blocks", blocks)])?;
    let mut plan = plan.clone();
    for (at, fields) in ran.list("blocks").into_iter().enumerate() {
        let id = fields.get("id").map(Value::to_text).unwrap_or_default();
        if !known.contains(&*id) {
            plan.blocks.insert(at.min(plan.blocks.len()), PlanBlock { fields, tokens: 0, history: Vec::new() });
        }
    }
    Ok(plan)
}

/// The scene of the plan with what the configuration says laid over it.
fn scene(config: &RunnerConfig, plan: &Plan, reply: Option<Json>) -> Scene {
    // the chat of the plan may be very long, so nothing of it is copied
    let mut scene = Scene { data: plan.scene.clone(), ..plan.given.clone() };
    for key in READ {
        let mut own = scene.get(key).as_map().cloned().unwrap_or_default();
        let given = config.values.get(key).and_then(Json::as_object).into_iter().flatten();
        own.extend(given.map(|(name, value)| (name.as_str().into(), Value::from(value))));
        scene.set(key, Value::map(own));
    }
    if let Some(reply) = reply {
        scene.set("reply", Value::from(&reply));
    }
    scene
}
