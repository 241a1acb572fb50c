//! `contract-tool-loop`: whole runs of the loop over the real runner, with a transport that gives out recorded replies.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json, json};
use tapster_client::tools::{
    FilteredToolRegistry, NoWatch, Tool, ToolCall, ToolFailure, ToolLoopReport, ToolLoopRunner, ToolRegistry, ToolSpec,
};
use tapster_client::{
    Body, BoxFuture, IncomingAnswer, OutgoingRequest, Problem, PromptRunner, RunError, RunnerConfig, Transport, TransportError,
};

use crate::case::{Case, Check, fits, same};
use crate::engine;

/// The pack of the contract.
const PACK: &str = "vibetavern";

/// One run.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let actual = ran(&case.input);
    let again = ran(&case.input);
    let actual = if actual == again { actual } else { json!({ "first": actual, "second": again }) };
    vec![case.check(actual, compare)]
}

/// Events may have more fields than recorded; everything else is compared as a whole.
fn compare(expected: &Json, actual: &Json) -> bool {
    let part = |value: &Json, key: &str| value.get(key).cloned().unwrap_or_default();
    const LOOSE: [&str; 3] = ["events", "errors", "preflight"];
    let keys = expected.as_object().into_iter().chain(actual.as_object()).flatten().map(|(key, _)| key.as_str());
    let mut keys = keys.filter(|key| !LOOSE.contains(key));
    keys.all(|key| same(&part(expected, key), &part(actual, key)))
        && LOOSE
            .iter()
            .all(|key| expected.get(key).is_some() == actual.get(key).is_some() && fits(&part(expected, key), &part(actual, key)))
}

fn ran(input: &Json) -> Json {
    let rules = match engine::pack(PACK) {
        Ok(rules) => rules,
        Err(error) => return error,
    };
    let mut context = json!({ "provider": "openrouter", "model": "acme/one" });
    let given = [
        ("tool_calling", "config"),
        ("capabilities", "capabilities"),
        ("message_transforms", "message_transforms"),
        ("response_transforms", "response_transforms"),
    ];
    for (to, from) in given {
        if !input[from].is_null() {
            context[to] = input[from].clone();
        }
    }
    let config = match RunnerConfig::parse(&rules, &context) {
        Ok(config) => config,
        Err(error) => return refused(&error),
    };
    let script = Arc::new(Script::new(&input["replies"]));
    let runner = ToolLoopRunner::new(PromptRunner::new(Arc::clone(&script) as Arc<dyn Transport>));
    let (plan, tools) = (plan(&input["history"]), tools(input));
    let options = input["options"].as_object().cloned().unwrap_or_default();
    let done = wait(runner.run(&config, &plan, &tools, &options, &mut NoWatch));
    if !script.left().is_empty() {
        return json!({ "replies left": script.left().len() });
    }
    match done {
        Ok(report) => told(&report, &script, input["history"].as_array().map_or(0, Vec::len)),
        Err(error) => refused(&error),
    }
}

/// A plan of finished messages.
pub(super) fn plan(history: &Json) -> tapster::Plan {
    let block = |message: &Json| {
        let mut fields = json!({ "role": message["role"], "text": message["content"] });
        for (key, value) in message.as_object().into_iter().flatten() {
            match key.as_str() {
                "role" | "content" => {}
                "name" => fields["name"] = value.clone(),
                _ => fields["meta"][key.as_str()] = value.clone(),
            }
        }
        tapster::model::PlanBlock { fields: tapster::Value::from(&fields), tokens: 0, history: Vec::new() }
    };
    let blocks = history.as_array().into_iter().flatten().map(block).collect();
    tapster::Plan { blocks, ..Default::default() }
}

fn tools(input: &Json) -> FilteredToolRegistry {
    let mut registry = ToolRegistry::new();
    for tool in input["tools"].as_array().into_iter().flatten() {
        let spec = ToolSpec {
            description: tool["description"].as_str().unwrap_or_default().to_owned(),
            parameters: tool["parameters"].clone(),
            ..ToolSpec::new(tool["name"].as_str().unwrap_or_default())
        };
        registry.add(spec, Arc::new(Does { does: tool["does"].clone(), runs: AtomicUsize::new(0) }));
    }
    let names = |key: &str| -> Option<Vec<String>> {
        let names = input[key].as_array()?;
        Some(names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect())
    };
    FilteredToolRegistry::new(registry, names("allow"), names("deny").unwrap_or_default())
}

/// A tool as a case describes it.
struct Does {
    does: Json,
    runs: AtomicUsize,
}

impl Tool for Does {
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(async move {
            let run = self.runs.fetch_add(1, Ordering::SeqCst);
            match self.does.as_object().and_then(|does| does.iter().next()).map(|(what, value)| (what.as_str(), value)) {
                Some(("returns", value)) => Ok(value.clone()),
                Some(("returns_each", values)) => Ok(values[run].clone()),
                Some(("echo", _)) => Ok(Json::Object(call.arguments.clone())),
                Some(("raises", text)) => Err(ToolFailure(text.as_str().unwrap_or_default().to_owned())),
                other => Err(ToolFailure(format!("the adapter does not know {other:?}"))),
            }
        })
    }
}

/// A transport that gives out recorded replies, one a request.
pub(super) struct Script {
    replies: Mutex<VecDeque<Json>>,
    requests: Mutex<Vec<Json>>,
}

impl Script {
    pub(super) fn new(replies: &Json) -> Self {
        let replies = replies.as_array().into_iter().flatten().cloned().collect();
        Self { replies: Mutex::new(replies), requests: Mutex::default() }
    }

    pub(super) fn left(&self) -> VecDeque<Json> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn requests(&self) -> Vec<Json> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Transport for Script {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        Box::pin(async move {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.body.clone());
            let next = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(reply) = next else {
                return Err(TransportError { code: "script", message: "there is no reply left".into(), unsent: false });
            };
            let status = reply["http_error"].as_u64().and_then(|n| u16::try_from(n).ok()).unwrap_or(200);
            let (kind, body) = match reply["chunks"].as_array() {
                Some(chunks) => {
                    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
                    ("text/event-stream", format!("{events}data: [DONE]\n\n"))
                }
                None if status != 200 => ("application/json", json!({ "error": { "message": "scripted" } }).to_string()),
                None => ("application/json", json!({ "choices": [reply] }).to_string()),
            };
            let headers = vec![("content-type".to_owned(), kind.to_owned())];
            Ok(IncomingAnswer { status, headers, body: Box::new(Whole(Some(body.into_bytes()))) })
        })
    }
}

/// A body in one part.
struct Whole(Option<Vec<u8>>);

impl Body for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        let part = self.0.take();
        Box::pin(async move { Ok(part) })
    }
}

/// Polls until it is done; nothing here waits for anything.
pub(super) fn wait<T>(mut doing: BoxFuture<'_, T>) -> T {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(done) = doing.as_mut().poll(&mut cx) {
            return done;
        }
    }
}

/// A report in the words of the cases.
fn told(report: &ToolLoopReport, script: &Script, history: usize) -> Json {
    let mut told = json!({
        "requests": script.requests().iter().map(|body| request(body, history)).collect::<Json>(),
        "added": report.added.iter().map(opened).collect::<Json>(),
        "results": report.results,
        "events": report.events,
        "stop_reason": report.stop,
        "final_text": report.final_text,
    });
    if let Some(error) = report.provider_error() {
        told["status"] = json!(error.status);
    }
    if !report.violations().is_empty() {
        told["preflight"] = report.violations().iter().map(|p| json!({ "code": p.code, "key": p.at })).collect();
    }
    told
}

fn request(body: &Json, history: usize) -> Json {
    let mut body = body.as_object().cloned().unwrap_or_default();
    body.remove("model");
    if let Some(Json::Array(tools)) = body.get_mut("tools") {
        tools.iter_mut().for_each(|tool| *tool = tool["function"]["name"].clone());
    }
    if let Some(Json::Array(messages)) = body.get_mut("messages") {
        messages.iter_mut().skip(history).for_each(|message| *message = opened(message));
    }
    Json::Object(body)
}

/// A message; of a tool's message, the content as JSON and without the words for the model.
fn opened(message: &Json) -> Json {
    let mut message = message.clone();
    if message["role"] == "tool" {
        let mut content: Json = serde_json::from_str(message["content"].as_str().unwrap_or_default()).unwrap_or_default();
        if let Some(error) = content.get_mut("error").and_then(Json::as_object_mut) {
            error.remove("message");
        }
        message["content"] = content;
    }
    message
}

fn refused(error: &RunError) -> Json {
    match error {
        RunError::Config(problems) => {
            let one = |p: &Problem| json!({ "code": p.code, "at": p.at.replacen("/tool_calling", "/config", 1) });
            json!({ "errors": problems.iter().map(one).collect::<Vec<_>>() })
        }
        other => Json::Object(Map::from_iter([("error".to_owned(), json!(other.to_string()))])),
    }
}
