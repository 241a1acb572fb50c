//! The loop: sends a plan, carries out the calls of the reply, and goes on until the model answers. What is known of each call is
//! measured here; the pack decides which are carried out.

use core::time::Duration;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value as Json, json};

use super::super::retry::Pace;
use super::super::{BoxFuture, Delta, PreparedRequest, PromptRunner, ProviderError, Reply, RunError, RunnerConfig};
use super::LoopSettings;
use super::report::{LoopEvent, StopReason, ToolLoopReport, ToolResult, Watch};
use super::{FilteredToolRegistry, RegistryEntry};
use super::{ToolCall, ToolFailure};
use crate::build::BuildError;
use crate::build::run;
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;

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
            run.notify(LoopEvent::Stop { reason, turns });
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
            self.notify(LoopEvent::Request { turn });
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
            self.notify(LoopEvent::Response { turn, tool_calls: calls.len(), finish_reason });
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
            self.notify(LoopEvent::EmptyFinal { turn });
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
        self.notify(LoopEvent::FinalStream { ok: why.is_none(), why });
        text
    }

    /// Carries out the calls of a reply, each at most once, and appends the reply and one result for each call.
    async fn carry_out(&mut self, turn: usize, reply: &Reply, calls: &[Json]) -> Result<(), RunError> {
        let dropped = reply.text().chars().count();
        if dropped > 0 {
            self.notify(LoopEvent::ContentDropped { turn, chars: dropped });
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
            self.notify(LoopEvent::ToolStart { turn, id: call.id.clone(), tool: call.name.clone() });
        }
        let (scene, limit) = (&self.plan.scene, self.limit);
        let came = join_all(batch.into_iter().map(|call| came(call, scene, limit)).collect()).await;
        let messages = result_messages(&self.config.rules, &self.settings.limits, turn, self.settings.max_result_bytes, &came)?;
        for (CallResult { id, name: tool, .. }, CallMessage { code, content }) in came.into_iter().zip(messages) {
            let ok = code.is_none();
            self.report.added.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            self.report.results.push(ToolResult { id: id.clone(), tool: tool.clone(), ok, code: code.clone() });
            self.notify(LoopEvent::ToolEnd { turn, id, tool, ok, code });
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

    fn notify(&mut self, event: LoopEvent) {
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

/// The most calls of one reply. Each needs a row and a result, so a reply with more is no reply.
const MOST_CALLS: usize = 1_000;
/// The list, and the program over it.
const CALLS: &str = "tool_calls";

/// Why a call is not carried out: a code, and words for the model.
type CallRefusal = (String, String);

/// One call, decided.
struct DecidedCall<'a> {
    pub(super) id: String,
    pub(super) name: String,
    /// The call as it is written back into the chat.
    pub(super) written: Json,
    /// What is run with what; or the code and the words why not.
    pub(super) run: Result<(&'a RegistryEntry, Map<String, Json>), CallRefusal>,
}

/// What the calls of a reply are measured by.
struct CallLimits<'l> {
    /// The configuration, which is laid over the values of the pack.
    pub(super) limits: &'l Json,
    /// Arguments with more bytes are not read.
    pub(super) max_args_bytes: usize,
    /// The number of the request.
    pub(super) turn: usize,
}

/// Decides the calls of a reply. `used` are the ids of the chat, to which those of the calls are added.
///
/// # Errors
/// The program of the pack fails.
fn decide<'a>(
    rules: &Ruleset,
    tools: &'a FilteredToolRegistry,
    limits: &CallLimits<'_>,
    calls: &[Json],
    used: &mut BTreeSet<String>,
) -> Result<Vec<DecidedCall<'a>>, BuildError> {
    let turn = limits.turn;
    let read: Vec<SentCall<'_, 'a>> = calls.iter().map(|call| SentCall::of(call, tools, limits.max_args_bytes)).collect();
    let rows: Vec<Json> = read.iter().enumerate().map(|(index, call)| call.row(index, used)).collect();
    let ran = run(rules, CALLS, &scene(limits.limits, turn), &[(CALLS, json!(rows))])?;
    let rows = ran.list(CALLS);
    let row = |index: usize| rows.iter().find(|row| row.get("index").and_then(Value::as_i64) == i64::try_from(index).ok());
    Ok(read.into_iter().enumerate().map(|(index, call)| call.decided(index, turn, row(index), used)).collect())
}

/// The scene of the programs of a loop: its limits, and the number of the request.
pub(super) fn scene(limits: &Json, turn: usize) -> Scene {
    let mut limits = limits.clone();
    if let Some(limits) = limits.as_object_mut() {
        limits.insert("turn".into(), json!(turn));
    }
    Scene::new(&json!({ "tool_loop": limits }))
}

/// A call as it was sent.
struct SentCall<'c, 'a> {
    call: &'c Json,
    id: String,
    name: String,
    sent: &'static str,
    /// The arguments as they were sent, a value as compact JSON; empty if they have too many bytes to be read.
    text: String,
    /// The number of their bytes.
    bytes: usize,
    parsed: Option<Json>,
    entry: Option<&'a RegistryEntry>,
    visible: bool,
}

impl<'c, 'a> SentCall<'c, 'a> {
    fn of(call: &'c Json, tools: &'a FilteredToolRegistry, most: usize) -> Self {
        let word = |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or_default().to_owned();
        let name = word(call.pointer("/function/name"));
        let (sent, mut text) = match call.pointer("/function/arguments") {
            None | Some(Json::Null) => ("nothing", String::new()),
            Some(Json::String(text)) if text.trim().is_empty() => ("nothing", text.clone()),
            Some(Json::String(text)) => ("text", text.clone()),
            Some(other) => ("value", other.to_string()),
        };
        let bytes = text.len();
        if bytes > most {
            text.clear();
        }
        let parsed = match sent {
            _ if bytes > most => None,
            "nothing" => Some(json!({})),
            "text" => serde_json::from_str(&text).ok(),
            _ => None,
        };
        let entry = tools.registry().find(&name).map(AsRef::as_ref);
        Self { call, id: word(call.get("id")), visible: tools.shows(&name), name, sent, text, bytes, parsed, entry }
    }

    /// The row of the program.
    fn row(&self, index: usize, used: &BTreeSet<String>) -> Json {
        let checker = self.entry.and_then(|entry| entry.checker.as_ref().ok());
        let object = self.parsed.as_ref().filter(|parsed| parsed.is_object());
        let mistakes = checker.zip(object).map(|(checker, object)| checker.mistakes(object)).unwrap_or_default();
        json!({
            "index": index, "id": self.id, "used": used.contains(&self.id), "name": self.name,
            "known": self.entry.is_some(), "visible": self.visible, "sent": self.sent,
            "arguments": self.text, "bytes": self.bytes, "json": self.parsed.is_some(),
            "object": object.is_some(), "mistakes": mistakes,
        })
    }

    /// What the pack has decided. Whatever it says, ids differ, a tool that is hidden does not run, and neither does one
    /// whose arguments are no object.
    fn decided(self, index: usize, turn: usize, row: Option<&Value>, used: &mut BTreeSet<String>) -> DecidedCall<'a> {
        let word = |key: &str| row.and_then(|row| row.get(key)).and_then(Value::as_str).map(str::to_owned);
        let id = own(word("id").unwrap_or_default(), || format!("call_{turn}_{index}"), used);
        let written = written(self.call, &id, &self.name, &word("written").unwrap_or_else(|| "{}".to_owned()));
        let refused = match (row, word("code")) {
            (_, Some(code)) => Some((code, word("message").unwrap_or_default())),
            (None, None) => Some(("tool_not_allowed".to_owned(), String::new())),
            (Some(_), None) => None,
        };
        let run = match (refused, self.entry.filter(|_| self.visible), self.parsed) {
            (Some(refused), _, _) => Err(refused),
            (None, Some(entry), Some(Json::Object(arguments))) => Ok((entry, arguments)),
            (None, None, _) => Err(("tool_not_allowed".to_owned(), String::new())),
            (None, Some(_), _) => Err(("arguments_not_object".to_owned(), String::new())),
        };
        DecidedCall { id, name: self.name, written, run }
    }
}

/// An id that no other call of the chat has.
fn own(id: String, otherwise: impl Fn() -> String, used: &mut BTreeSet<String>) -> String {
    let mut own = if id.trim().is_empty() { otherwise() } else { id };
    let mut n = 1_usize;
    while used.contains(&own) {
        n += 1;
        own = format!("{}_{n}", otherwise());
    }
    used.insert(own.clone());
    own
}

/// A call as the chat keeps it: in the usual shape, with whatever else the provider sent in it.
fn written(call: &Json, id: &str, name: &str, arguments: &str) -> Json {
    let mut call = call.as_object().cloned().unwrap_or_default();
    let mut function = call.get("function").and_then(Json::as_object).cloned().unwrap_or_default();
    function.insert("name".into(), json!(name));
    function.insert("arguments".into(), json!(arguments));
    call.insert("id".into(), json!(id));
    call.insert("type".into(), json!("function"));
    call.insert("function".into(), Json::Object(function));
    Json::Object(call)
}

/// The list, and the program over it.
const RESULTS: &str = "tool_results";
/// What a tool that failed is called.
const FAILED: &str = "tool_error";
/// What a result of too many bytes is called.
const TOO_LARGE: &str = "result_too_large";

/// What a call has come to before the pack has a word in it.
struct CallResult {
    pub(super) id: String,
    pub(super) name: String,
    /// The result; the code and the words why there is none.
    pub(super) result: Result<Json, (String, String)>,
}

impl CallResult {
    /// What a tool gave back.
    pub(super) fn of(result: Result<Json, ToolFailure>) -> Result<Json, (String, String)> {
        result.map_err(|ToolFailure(message)| (FAILED.to_owned(), message))
    }
}

/// What the model is told of a call, and its code if there is no result.
struct CallMessage {
    pub(super) code: Option<String>,
    pub(super) content: String,
}

/// What the model is told of each call, in order.
///
/// # Errors
/// The program of the pack fails.
fn result_messages(rules: &Ruleset, limits: &Json, turn: usize, most: usize, came: &[CallResult]) -> Result<Vec<CallMessage>, BuildError> {
    let measured: Vec<(Json, bool)> = came.iter().map(|one| row(one, most)).collect();
    let rows: Vec<&Json> = measured.iter().map(|(row, _)| row).collect();
    let ran = run(rules, RESULTS, &scene(limits, turn), &[(RESULTS, json!(rows))])?;
    let rows = ran.list(RESULTS);
    Ok(measured.iter().zip(came).map(|((_, over), one)| told(rows.iter().find(|row| is(row, &one.id)), *over)).collect())
}

fn is(row: &Value, id: &str) -> bool {
    row.get("id").and_then(Value::as_str) == Some(id)
}

/// The row of the program, and whether its result has too many bytes to be told.
fn row(came: &CallResult, most: usize) -> (Json, bool) {
    let mut row = json!({ "id": came.id, "name": came.name });
    let mut put = |key: &str, value: Json| _ = row.as_object_mut().map(|row| row.insert(key.to_owned(), value));
    let mut over = false;
    match &came.result {
        Ok(data) => {
            let text = data.to_string();
            over = text.len() > most;
            put("bytes", json!(text.len()));
            if !over {
                put("data", json!(text));
            }
        }
        Err((code, message)) => {
            put("code", json!(code));
            put("message", json!(cut(message, most)));
        }
    }
    (row, over)
}

/// What the pack says of a call. Whatever it says, there is a text, and a result of too many bytes is an error.
fn told(row: Option<&Value>, over: bool) -> CallMessage {
    let word = |key: &str| row.and_then(|row| row.get(key)).and_then(Value::as_str).map(str::to_owned);
    let code = word("code").or_else(|| (over || row.is_none()).then(|| TOO_LARGE.to_owned()));
    let bare = || json!({ "ok": code.is_none(), "error": { "code": code } }).to_string();
    let content = word("content").filter(|_| word("code").is_some() || !over).unwrap_or_else(bare);
    CallMessage { code, content }
}

/// The beginning of a text, in whole characters.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Waits for something unless `limit` is over first; it begins only if there is something to wait for.
pub(crate) async fn within<'a, T>(mut doing: BoxFuture<'a, T>, limit: impl FnOnce() -> BoxFuture<'a, ()>) -> Option<T> {
    let mut begin = Some(limit);
    let mut limit: Option<BoxFuture<'a, ()>> = None;
    poll_fn(|cx| {
        if let Poll::Ready(result) = doing.as_mut().poll(cx) {
            return Poll::Ready(Some(result));
        }
        if let Some(begin) = begin.take() {
            limit = Some(begin());
        }
        match &mut limit {
            Some(limit) => limit.as_mut().poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

/// Waits until all are done, and gives their results in order.
pub(crate) async fn join_all<T>(doing: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut all: Vec<Result<T, BoxFuture<'_, T>>> = doing.into_iter().map(Err).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for one in &mut all {
            if let Err(doing) = one {
                match doing.as_mut().poll(cx) {
                    Poll::Ready(result) => *one = Ok(result),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter().filter_map(Result::ok).collect()
}
