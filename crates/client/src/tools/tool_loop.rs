//! The loop: sends a plan, carries out the calls of the reply, and goes on until the model answers.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::super::retry::Pace;
use super::super::{BoxFuture, Delta, PreparedRequest, PromptRunner, ProviderError, Reply, RunError, RunnerConfig};
use super::calls::{CallLimits, DecidedCall, MOST_CALLS, decide};
use super::registry::FilteredToolRegistry;
use super::report::{LoopEvent, StopReason, ToolLoopReport, ToolResult, Watch};
use super::results::{CallMessage, CallResult, tell};
use super::settings::LoopSettings;
use super::together::{together, within};
use super::tool::{ToolCall, ToolFailure};
use crate::model::{Plan, Value};

/// Carries out the calls of a model over a [`PromptRunner`]. It holds no configuration and no tools, so one serves all
/// runs.
#[derive(Clone)]
pub struct ToolLoopRunner {
    runner: PromptRunner,
    limit: Option<CallTimeout>,
    streams: bool,
}

/// How long a call may take, and by which clock.
#[derive(Clone)]
struct CallTimeout {
    each: Duration,
    pace: Arc<dyn Pace>,
}

impl ToolLoopRunner {
    /// A loop over a runner.
    #[must_use]
    pub fn new(runner: PromptRunner) -> Self {
        Self { runner, limit: None, streams: false }
    }

    /// The same with a limit of time for each call. A call that is not done by then is cancelled, and the model is told
    /// that the tool failed. What a tool does without ever waiting cannot be interrupted.
    #[must_use]
    pub fn with_time_limit(self, each: Duration, pace: Arc<dyn Pace>) -> Self {
        Self { limit: Some(CallTimeout { each, pace }), ..self }
    }

    /// The same with every reply as a stream, if the pack takes requests with tools that are streamed. The watch hears
    /// of the text of every reply, also of one that makes calls. The answer is not asked for once more then.
    #[must_use]
    pub fn streaming(self) -> Self {
        Self { streams: true, ..self }
    }

    /// Runs until the model answers, the turns are used up, or the provider gives no reply. Nothing is retried here,
    /// and no call is carried out twice. Dropping the future cancels the request or the tools that are running.
    ///
    /// # Errors
    /// [`RunError::Config`] with everything that is wrong with tools, masks and options, or another error in front of
    /// the first request. Later errors are in the report, with what has been done until then.
    pub fn run<'a>(
        &'a self,
        config: &'a RunnerConfig,
        plan: &'a Plan,
        tools: &'a FilteredToolRegistry,
        options: &'a Map<String, Json>,
        watch: &'a mut dyn Watch,
    ) -> BoxFuture<'a, Result<ToolLoopReport, RunError>> {
        Box::pin(async move {
            let settings = LoopSettings::read(config, plan, tools, options)?;
            let used = ids(plan);
            let report = ToolLoopReport {
                added: Vec::new(),
                results: Vec::new(),
                events: Vec::new(),
                stop: StopReason::Final,
                final_text: None,
                reply: None,
                usage: Vec::new(),
                warnings: Vec::new(),
                changes: Vec::new(),
                error: None,
            };
            let (limit, streams) = (self.limit.as_ref(), self.streams);
            let mut run = LoopRun { runner: &self.runner, limit, streams, config, plan, tools, settings, used, watch, report };
            let turns = run.turns(options.clone()).await?;
            let reason = run.report.stop;
            run.tell(LoopEvent::Stop { reason, turns });
            Ok(run.report)
        })
    }
}

/// One run.
struct LoopRun<'a> {
    runner: &'a PromptRunner,
    limit: Option<&'a CallTimeout>,
    streams: bool,
    config: &'a RunnerConfig,
    plan: &'a Plan,
    tools: &'a FilteredToolRegistry,
    settings: LoopSettings,
    /// The ids of all calls of the chat.
    used: BTreeSet<String>,
    watch: &'a mut dyn Watch,
    report: ToolLoopReport,
}

impl<'a> LoopRun<'a> {
    /// Goes round, and gives the number of requests.
    async fn turns(&mut self, mut options: Map<String, Json>) -> Result<usize, RunError> {
        let definitions = self.tools.definitions();
        if !definitions.is_empty() {
            options.insert("tools".to_owned(), Json::Array(definitions));
        }
        for turn in 1..=self.settings.max_turns {
            let request = match self.prepared(&options) {
                Ok(request) => request,
                Err(error) => return self.failed(error, turn - 1),
            };
            once_each(&mut self.report.warnings, &request.warnings);
            once_each(&mut self.report.changes, &request.changes);
            if self.settings.is_forced(request.internal.get("tool_choice")) {
                options.insert("tool_choice".to_owned(), json!(self.settings.later_choice));
            }
            self.tell(LoopEvent::Request { turn });
            let watch = &mut *self.watch;
            let reply = match self.runner.send(self.config, &request, &mut |delta: &Delta| watch.delta(delta)).await {
                Ok(reply) => reply,
                Err(error) => return self.failed(error, turn),
            };
            let calls = calls_of(&reply.message);
            if calls.len() > MOST_CALLS {
                return self.failed(RunError::Provider(flooded(calls.len())), turn);
            }
            self.report.usage.push(reply.usage.clone());
            let finish_reason = reply.finish_reason.clone();
            self.tell(LoopEvent::Response { turn, tool_calls: calls.len(), finish_reason });
            if calls.is_empty() {
                self.answered(reply, turn, options, request.outgoing.stream).await;
                return Ok(turn);
            }
            if let Err(error) = self.carry_out(turn, &reply, &calls).await {
                return self.failed(error, turn);
            }
        }
        self.report.stop = StopReason::MaxTurns;
        Ok(self.settings.max_turns)
    }

    /// The next request: as a stream where that is wanted and the pack allows it.
    fn prepared(&self, options: &Map<String, Json>) -> Result<PreparedRequest, RunError> {
        let prepare = |stream| PromptRunner::prepare(self.config, self.plan, &self.report.added, options, stream);
        if self.streams && self.config.capabilities().streaming {
            match prepare(true) {
                Err(RunError::Preflight(_)) => {}
                other => return other,
            }
        }
        prepare(false)
    }

    /// The model has answered without a call.
    async fn answered(&mut self, reply: Reply, turn: usize, options: Map<String, Json>, was_streamed: bool) {
        let mut text = reply.text();
        if text.is_empty() {
            self.tell(LoopEvent::EmptyFinal { turn });
        }
        if self.settings.final_stream
            && !was_streamed
            && turn > 1
            && let Some(streamed) = self.streamed(options).await
        {
            text = streamed;
        }
        self.report.added.push(json!({ "role": "assistant", "content": text }));
        self.report.final_text = Some(text);
        self.report.reply = Some(reply);
        self.report.stop = StopReason::Final;
    }

    /// Asks for the answer once more, without tools and as a stream: for whoever wants to see it as it is written. The
    /// first answer stands if this fails or is empty, and if the model does not stream.
    async fn streamed(&mut self, mut options: Map<String, Json>) -> Option<String> {
        for key in &self.settings.final_leaves_out {
            options.insert(key.clone(), Json::Null);
        }
        let sent = match PromptRunner::prepare(self.config, self.plan, &self.report.added, &options, true) {
            Ok(request) => {
                let watch = &mut *self.watch;
                self.runner.send(self.config, &request, &mut |delta: &Delta| watch.delta(delta)).await
            }
            Err(error) => Err(error),
        };
        let (text, why) = match sent {
            Ok(reply) => {
                self.report.usage.push(reply.usage.clone());
                let text = reply.text();
                if text.is_empty() { (None, Some("empty".to_owned())) } else { (Some(text), None) }
            }
            Err(RunError::Provider(_)) => (None, Some("provider_error".to_owned())),
            Err(error @ RunError::Preflight(_)) => (None, Some(error.code())),
            Err(_) => (None, Some("error".to_owned())),
        };
        self.tell(LoopEvent::FinalStream { ok: why.is_none(), why });
        text
    }

    /// Carries out the calls of a reply, each at most once, and appends the reply and one result for each call.
    async fn carry_out(&mut self, turn: usize, reply: &Reply, calls: &[Json]) -> Result<(), RunError> {
        let dropped = reply.text().chars().count();
        if dropped > 0 {
            self.tell(LoopEvent::ContentDropped { turn, chars: dropped });
        }
        let (rules, limits) = (&self.config.rules, self.settings.limits.clone());
        let limits = CallLimits { limits: &limits, max_args_bytes: self.settings.max_args_bytes, turn };
        let decided = decide(rules, self.tools, &limits, calls, &mut self.used)?;
        let mut message = reply.message.as_object().cloned().unwrap_or_default();
        message.insert("role".to_owned(), json!("assistant"));
        message.insert("content".to_owned(), json!(""));
        message.insert("tool_calls".to_owned(), decided.iter().map(|call| call.written.clone()).collect());
        self.report.added.push(Json::Object(message));
        let mut waiting = decided.into_iter().peekable();
        while let Some(first) = waiting.next() {
            let mut batch = vec![first];
            while batch.iter().all(beside) && waiting.peek().is_some_and(beside) {
                batch.extend(waiting.next());
            }
            self.batch(turn, batch).await?;
        }
        Ok(())
    }

    /// Carries out calls that may run beside each other, or one call.
    async fn batch(&mut self, turn: usize, batch: Vec<DecidedCall<'a>>) -> Result<(), RunError> {
        for call in batch.iter().filter(|call| call.run.is_ok()) {
            self.tell(LoopEvent::ToolStart { turn, id: call.id.clone(), tool: call.name.clone() });
        }
        let (scene, limit) = (&self.plan.scene, self.limit);
        let came = together(batch.into_iter().map(|call| came(call, scene, limit)).collect()).await;
        let told = tell(&self.config.rules, &self.settings.limits, turn, self.settings.max_result_bytes, &came)?;
        for (CallResult { id, name: tool, .. }, CallMessage { code, content }) in came.into_iter().zip(told) {
            let ok = code.is_none();
            self.report.added.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            self.report.results.push(ToolResult { id: id.clone(), tool: tool.clone(), ok, code: code.clone() });
            self.tell(LoopEvent::ToolEnd { turn, id, tool, ok, code });
        }
        Ok(())
    }

    /// What ends a run early. In front of the first request an error is the caller's; behind it, what was done counts.
    fn failed(&mut self, error: RunError, turns: usize) -> Result<usize, RunError> {
        self.report.stop = match &error {
            RunError::Provider(_) => StopReason::ProviderError,
            RunError::Preflight(_) => StopReason::Preflight,
            _ if turns == 0 => return Err(error),
            _ => StopReason::Error,
        };
        self.report.error = Some(error);
        Ok(turns)
    }

    fn tell(&mut self, event: LoopEvent) {
        self.watch.event(&event);
        self.report.events.push(event);
    }
}

/// Adds what is not there yet.
fn once_each<T: Clone + PartialEq>(all: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
}

/// Whether a call may be carried out beside others; one that is refused disturbs nobody.
fn beside(call: &DecidedCall<'_>) -> bool {
    call.run.as_ref().map_or(true, |(entry, _)| entry.spec.parallel)
}

/// Runs the tool of a call, if it is to be run.
fn came<'a>(call: DecidedCall<'a>, scene: &'a Value, limit: Option<&'a CallTimeout>) -> BoxFuture<'a, CallResult> {
    Box::pin(async move {
        let DecidedCall { id, name, run, .. } = call;
        let result = match run {
            Ok((entry, arguments)) => {
                let doing = entry.tool.call(ToolCall { id: &id, name: &name, arguments: &arguments, scene });
                CallResult::of(match limit {
                    None => doing.await,
                    Some(CallTimeout { each, pace }) => {
                        let late = || ToolFailure(format!("the tool did not end within {} ms", each.as_millis()));
                        within(doing, || pace.sleep(*each)).await.unwrap_or_else(|| Err(late()))
                    }
                })
            }
            Err(refused) => Err(refused),
        };
        CallResult { id, name, result }
    })
}

fn flooded(calls: usize) -> ProviderError {
    ProviderError {
        code: "too_large".to_owned(),
        status: None,
        message: format!("the reply makes {calls} calls, and at most {MOST_CALLS} are accepted"),
        safe_to_repeat: false,
        retry_after: None,
    }
}

/// The calls of a reply; these decide, and not the reason why the model says it has stopped.
fn calls_of(message: &Json) -> Vec<Json> {
    message.get("tool_calls").and_then(Json::as_array).cloned().unwrap_or_default()
}

/// The ids of the calls and results of a chat.
fn ids(plan: &Plan) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for block in &plan.blocks {
        for path in ["tool_calls", "meta.tool_calls"] {
            let calls = block.fields.at(path).and_then(Value::as_list).unwrap_or(&[]);
            ids.extend(calls.iter().filter_map(|call| call.get("id").and_then(Value::as_str)).map(str::to_owned));
        }
        for path in ["tool_call_id", "meta.tool_call_id"] {
            ids.extend(block.fields.at(path).and_then(Value::as_str).map(str::to_owned));
        }
    }
    ids
}
