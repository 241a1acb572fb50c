//! What keeps the protocols of the runner apart, and what its contract says beside the recorded cases: directives and
//! tools share no request, configuration is injected, unknown steps change nothing, and a chat may be streamed.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value as Json, json};
use tapster::machinery::text::loose_name::loose_name;
use tapster::{Plan, Ruleset, Scene, Value, build};
use tapster_client::directives::{DirectiveReadError, DirectiveRegistry, DirectiveReport, DirectiveRequest, DirectiveRunner, Directives};
use tapster_client::{
    self as run, Body, BoxFuture, Delta, IncomingAnswer, OutgoingRequest, PromptRunner, Reply, RunError, RunnerConfig, Transport,
    TransportError,
};

/// Gives out replies, one a request: a status and a body.
struct Script {
    replies: Mutex<VecDeque<(u16, String)>>,
    requests: Mutex<Vec<Json>>,
}

impl Script {
    fn new(replies: impl IntoIterator<Item = (u16, String)>) -> Arc<Self> {
        Arc::new(Self { replies: Mutex::new(replies.into_iter().collect()), requests: Mutex::default() })
    }

    fn saying(contents: &[&str]) -> Arc<Self> {
        Self::new(contents.iter().map(|content| (200, message(&json!({ "role": "assistant", "content": content })))))
    }

    fn requests(&self) -> Vec<Json> {
        self.requests.lock().unwrap().clone()
    }
}

fn message(message: &Json) -> String {
    json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string()
}

struct Whole(Option<Vec<u8>>);

impl Body for Whole {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        let part = self.0.take();
        Box::pin(async move { Ok(part) })
    }
}

impl Transport for Script {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(request.body.clone());
            let (status, body) = self.replies.lock().unwrap().pop_front().unwrap();
            let kind = if body.starts_with("data:") { "text/event-stream" } else { "application/json" };
            let headers = vec![("content-type".to_owned(), kind.to_owned())];
            Ok(IncomingAnswer { status, headers, body: Box::new(Whole(Some(body.into_bytes()))) })
        })
    }
}

/// Polls until it is done; nothing here waits for anything.
fn wait<T>(mut doing: BoxFuture<'_, T>) -> T {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(done) = doing.as_mut().poll(&mut cx) {
            return done;
        }
    }
}

fn config(rules: &Ruleset, more: &Json) -> RunnerConfig {
    let mut context = json!({ "provider": "openrouter", "model": "acme/one" });
    context.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    RunnerConfig::parse(rules, &context).unwrap()
}

fn contract() -> Ruleset {
    Ruleset::open("vibetavern", &[]).unwrap()
}

/// A plan of finished messages.
fn plan(messages: &[(&str, &str)]) -> Plan {
    let block = |(role, text): &(&str, &str)| {
        let fields = Value::from(&json!({ "role": role, "text": text }));
        tapster::model::PlanBlock { fields, tokens: 0, history: Vec::new() }
    };
    Plan { blocks: messages.iter().map(block).collect(), ..Plan::default() }
}

fn ask(
    script: &Arc<Script>,
    config: &RunnerConfig,
    plan: &Plan,
    request: &DirectiveRequest,
    options: &Json,
) -> Result<DirectiveReport, RunError> {
    let directives = Directives::new(config, plan, request)?;
    let runner = DirectiveRunner::new(PromptRunner::new(Arc::clone(script) as Arc<dyn Transport>));
    wait(runner.run(config, plan, &directives, options.as_object().unwrap()))
}

fn toast() -> DirectiveRequest {
    let registry = json!({ "instructions": "INSTR", "types": [{ "type": "ui.toast", "aliases": ["toast"] }] });
    DirectiveRequest { registry: Some(DirectiveRegistry::parse(&registry).unwrap()), ..Default::default() }
}

const GOOD: &str = r#"{"assistant_text": "Hi", "directives": [{"type": "toast", "payload": {"a": 1}}]}"#;

/// VT-SEP-01: neither protocol reads, sends or carries out what belongs to the other.
#[test]
fn directives_know_no_tools() {
    let rules = contract();
    let config = config(&rules, &json!({}));
    let plan = plan(&[("system", "S"), ("user", "Hi")]);
    // a call of a tool is no directive: it is read as an empty reply, and nothing is carried out
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "1", "type": "function", "function": { "name": "ui.toast", "arguments": "{}" } }] });
    let script = Script::new([(200, message(&call)), (200, message(&json!({ "role": "assistant", "content": GOOD })))]);
    let report = ask(&script, &config, &plan, &toast(), &json!({ "temperature": 0 })).unwrap();
    assert_eq!(report.attempts[0].error.as_deref(), Some("empty_reply"));
    assert_eq!(report.directives[0].kind, "ui.toast");
    assert!(report.ok && script.requests().iter().all(|body| body.get("tools").is_none() && body["temperature"] == 0));
    // keys of tools are refused before anything is sent, also those that the plan holds
    for (planned, options, at) in [
        (json!({}), json!({ "tools": [] }), "/options/tools"),
        (json!({}), json!({ "function_call": null }), "/options/function_call"),
        (json!({ "tools": [{ "type": "function", "function": { "name": "look" } }] }), json!({}), "/plan/llm_options/tools"),
    ] {
        let plan = Plan { set: Value::from(&json!({ "plan": { "llm_options": planned } })), ..plan.clone() };
        let script = Script::saying(&[]);
        match ask(&script, &config, &plan, &toast(), &options) {
            Err(RunError::Config(problems)) => assert_eq!((problems[0].code.as_str(), problems[0].at.as_str()), ("tools_key_rejected", at)),
            other => panic!("{other:?}"),
        }
        assert!(script.requests().is_empty());
    }
}

#[test]
fn a_refused_mode_makes_room_for_the_next_and_other_errors_end_the_run() {
    let rules = contract();
    let config = config(&rules, &json!({ "capabilities": { "json_schema": true }, "directives": { "repair_retries": 2 } }));
    let plan = plan(&[("user", "Hi")]);
    let good = message(&json!({ "role": "assistant", "content": GOOD }));
    let script = Script::new([(422, "{}".to_owned()), (200, good.clone())]);
    let report = ask(&script, &config, &plan, &toast(), &json!({})).unwrap();
    assert_eq!(report.mode.as_deref(), Some("json_object"), "a refusal is not repaired");
    assert_eq!((report.attempts[0].status, report.attempts[0].error.as_deref()), (Some(422), Some("provider_error")));
    let script = Script::new([(500, "{}".to_owned())]);
    let report = ask(&script, &config, &plan, &toast(), &json!({})).unwrap();
    assert_eq!((report.ok, report.error.as_deref(), report.attempts.len()), (false, Some("provider_error"), 1));
    assert_eq!(report.provider_error.unwrap().status, Some(500));
}

#[test]
fn repairs_show_the_bad_reply_and_each_mode_begins_anew() {
    let rules = contract();
    let config = config(&rules, &json!({ "capabilities": { "json_schema": true }, "directives": { "repair_retries": 2 } }));
    let mut request = toast();
    request.values = Map::from_iter([("repair_instruction".to_owned(), json!("Only JSON."))]);
    let plan = plan(&[("system", "S"), ("user", "Hi")]);
    let script = Script::saying(&["no", " ", "nor", GOOD]);
    let report = ask(&script, &config, &plan, &request, &json!({})).unwrap();
    let contents = |n: usize| -> Vec<String> {
        let messages = script.requests()[n]["messages"].as_array().unwrap().clone();
        messages.iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(contents(0), ["S", "INSTR", "Hi"]);
    assert_eq!(contents(1), ["S", "INSTR", "Hi", "no", "Only JSON."]);
    assert_eq!(contents(2), ["S", "INSTR", "Hi", "no", "Only JSON.", "Only JSON."], "a blank reply is not shown");
    assert_eq!(contents(3), ["S", "INSTR", "Hi"]);
    assert_eq!((report.mode.as_deref(), report.attempts.len()), (Some("json_object"), 4));
    assert_eq!(report.usage.len(), 4, "the tokens of every reply count, whether it can be read or not");
}

/// Rows of a pack are the types, and a prompt that has the instruction already gets it replaced, not repeated.
#[test]
fn a_pack_declares_directives_and_a_build_shows_them() {
    let rows = "kind = \"directive\"\nversion = 1\n[directives]\nenabled = true\n[[directive]]\nname = \"ui.toast\"\naliases = [\"toast\"]\n\
                payload = { type = \"object\", required = [\"text\"] }\n";
    let rules = Ruleset::open_with("base", &[("rows.toml", rows)]).unwrap();
    let config = config(&rules, &json!({}));
    let scene = Scene::new(&json!({ "preset": { "main": "Main." }, "input": "Hi" }));
    let plan = build(&rules, &scene).unwrap();
    assert!(plan.blocks.iter().any(|block| block.text("id") == "directives" && block.text("text").contains("- `ui.toast`")));
    let reply = r#"Sure: {"assistant_text": "Hi", "directives": [{"type": "Toast", "payload": {"text": "x"}}, {"type": "toast"}]}"#;
    let script = Script::saying(&[reply]);
    let report = ask(&script, &config, &plan, &DirectiveRequest::default(), &json!({})).unwrap();
    assert_eq!((report.directives.len(), report.warnings[0].code.as_str(), report.warnings[0].index), (1, "payload_invalid", Some(1)));
    let sent = script.requests()[0].to_string();
    assert_eq!(sent.matches("- `ui.toast`").count(), 1, "{sent}");
}

#[test]
fn a_type_that_is_not_there_cannot_be_allowed() {
    let rules = contract();
    let request = DirectiveRequest { allow: Some(vec!["ui.toast".to_owned(), "toast".to_owned()]), ..toast() };
    match Directives::new(&config(&rules, &json!({})), &plan(&[]), &request) {
        Err(RunError::Config(problems)) => assert_eq!(problems[0].at, "/allow/1"),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// VT-GOAL-02: a configuration is what the application has injected, whole and every time, and nothing else changes it.
#[test]
fn configuration_is_injected() {
    let rules = contract();
    let given = json!({ "llm_options_defaults": { "temperature": 0.5 }, "tool_calling": { "max_turns": 3 } });
    let one = config(&rules, &given);
    let other = config(&rules, &json!({}));
    let again = config(&rules, &given);
    assert_eq!(one.values, again.values);
    assert_eq!(one.values["tool_calling"]["max_turns"], 3);
    assert_ne!(one.values["tool_calling"], other.values["tool_calling"], "one configuration is not seen by another");
}

/// VT-BUILD-05: steps that the pipeline does not have change nothing.
#[test]
fn unknown_steps_are_ignored() {
    let rules = contract();
    let with = config(&rules, &json!({ "module_configs": { "no_such_step": { "anything": [1, 2] } } }));
    let without = config(&rules, &json!({}));
    assert_eq!(with.values, without.values);
}

/// VT-RUN-05: a chat without tools may be streamed: the parts as they come, then the whole message.
#[test]
fn a_chat_may_be_streamed() {
    let rules = contract();
    let config = config(&rules, &json!({}));
    let chunk = |delta: Json| format!("data: {}\n\n", json!({ "choices": [{ "delta": delta }] }));
    let end = format!("data: {}\n\n", json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
    let body =
        [chunk(json!({ "role": "assistant", "content": "Hel" })), chunk(json!({ "content": "lo" })), end, "data: [DONE]\n\n".to_owned()];
    let script = Script::new([(200, body.concat())]);
    let runner = PromptRunner::new(Arc::clone(&script) as Arc<dyn Transport>);
    let request = PromptRunner::prepare(&config, &plan(&[("user", "Hi")]), &[], &Map::new(), true).unwrap();
    let mut heard = Vec::new();
    let mut hear = |delta: &Delta| heard.push(delta.clone());
    let reply = wait(runner.send(&config, &request, &mut hear)).unwrap();
    assert_eq!(heard, [Delta::Text("Hel".to_owned()), Delta::Text("lo".to_owned())]);
    assert_eq!((reply.message["content"].as_str(), reply.finish_reason.as_deref()), (Some("Hello"), Some("stop")));
    assert_eq!(script.requests()[0]["stream"], true);
}

#[test]
fn answers_are_cleaned_up_and_calls_are_not_touched() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let tags = json!({ "output_tags": { "enabled": true, "rules": [{ "tag": "b", "action": "strip" }] } });
    let config = config(&rules, &tags);
    let set = Value::from(&json!({ "plan": { "stops": ["\nBo:"] } }));
    let plan = Plan { set, ..plan(&[("user", "Hi")]) };
    let answer = |message: Json| Reply { message, ..Reply::default() };
    let cleaned =
        run::reply(&config, &plan, &answer(json!({ "role": "assistant", "content": "<think>Hm.</think> <b>Hello</b>\nBo: no", "x": 1 })))
            .unwrap();
    assert_eq!(cleaned.message, json!({ "role": "assistant", "content": "Hello", "x": 1 }));
    assert_eq!(cleaned.reasoning, "Hm.");
    let calls = answer(json!({ "role": "assistant", "content": "<b>", "tool_calls": [{ "id": "1" }] }));
    assert_eq!(run::reply(&config, &plan, &calls).unwrap(), calls);
}

#[test]
fn the_language_is_asked_for_once() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let config = config(&rules, &json!({ "language_policy": { "enabled": true, "target": "fr", "tag": "lang" } }));
    let asked = run::in_language(&config, &plan(&[("system", "S"), ("user", "Hi")])).unwrap();
    assert_eq!(asked.blocks.iter().map(|block| block.text("role")).collect::<Vec<_>>(), ["system", "system", "user"]);
    assert!(asked.blocks[1].text("text").contains("`fr`"));
    assert_eq!(run::in_language(&config, &asked).unwrap().blocks.len(), 3);
    let off = config_off(&rules);
    assert_eq!(run::in_language(&off, &plan(&[("user", "Hi")])).unwrap().blocks.len(), 1);
}

fn config_off(rules: &Ruleset) -> RunnerConfig {
    config(rules, &json!({}))
}

#[test]
fn all_mistakes_of_a_registry_are_told_in_order() {
    let registry = json!({
        "instructions": 1,
        "types": [
            { "type": "a", "aliases": ["x", 2], "payload": { "type": "nothing" } },
            { "type": " ", "payload": [] },
            { "type": "B", "aliases": ["X", "b"], "colour": "red" },
            7,
        ],
    });
    let told: Vec<_> = DirectiveRegistry::parse(&registry).err().unwrap_or_default();
    let told: Vec<_> = told.iter().map(|p| format!("{} {}", p.code, p.at)).collect();
    let expected = [
        "invalid_type /instructions",
        "invalid_type /types/0/aliases/1",
        "invalid_schema /types/0/payload",
        "required /types/1/type",
        "invalid_type /types/1/payload",
        "name_collision /types/2/aliases/0",
        "unknown_key /types/2/colour",
        "invalid_type /types/3",
    ];
    assert_eq!(told, expected);
}

#[test]
fn names_are_found_loosely() {
    let registry = json!({ "types": [{ "type": "ui.show_form", "aliases": ["form", "show-form"] }, { "type": "other" }] });
    let registry = DirectiveRegistry::parse(&registry).unwrap();
    for name in ["ui.show_form", "form", " Show form", "SHOW--form"] {
        assert_eq!(registry.find(name).map(|kind| kind.name.as_str()), Some("ui.show_form"), "{name}");
    }
    assert!(registry.find("show").is_none());
    for (name, loose) in [(" Show  -Form ", "show_form"), ("UI.Toast", "ui.toast"), ("a_b", "a_b"), ("-x-", "_x_"), ("", "")] {
        assert_eq!(loose_name(name), loose, "{name}");
    }
}

/// How the directives of these tests are read, with a bound on the bytes of a reply.
fn reader(most: usize) -> Directives {
    let request = DirectiveRequest { values: Map::from_iter([("max_bytes".to_owned(), json!(most))]), ..toast() };
    Directives::new(&config(&contract(), &json!({})), &plan(&[]), &request).unwrap()
}

#[test]
fn the_envelope_of_a_reply_is_found() {
    let reader = reader(200_000);
    let told = |text: &str| match reader.read(text) {
        Ok(reply) => {
            let codes = reply.warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>().join(" ");
            format!("{} | {} | {codes}", reply.assistant_text, reply.directives.len())
        }
        Err(error) => error.code().to_owned(),
    };
    for (text, read) in [
        // commas behind last elements are left out
        ("{\"assistant_text\": \"a,}\\\",]\", \"directives\": [{\"type\": \"toast\"},\n ],}", "a,}\",] | 1 | lenient_json"),
        (r#"so: {"directives": [{},],} yes"#, " | 0 | lenient_json assistant_text_missing type_missing"),
        (r#"{"directives": [1,,]}"#, "no_json"),
        ("[1,]", "not_an_object"),
        // the first object with a key counts, or else the first one; what is inside another is none
        (r#"{"a": {"assistant_text": "x"}} {"b": 2}"#, "envelope_invalid"),
        (r#"{x {"assistant_text": "x"} y}"#, "x | 0 | directives_missing"),
        (r#"{"a": 1} {"b": 2} {"assistant_text": "x"}"#, "x | 0 | directives_missing"),
        (r#"{ "a": oops {"b": 1} }"#, "envelope_invalid"),
        ("{\"assistant_text\": \"x\"}\n```json\n{\"directives\": []}\n```", " | 0 | assistant_text_missing"),
        ("```json\n{\"directives\": []}\n", " | 0 | assistant_text_missing"),
        ("~~~~\n~~~\n{\"directives\": []}\n~~~~\n{\"assistant_text\": \"x\"}", " | 0 | assistant_text_missing"),
        (r#"He said "{ and {"assistant_text": "}"}"#, "} | 0 | directives_missing"),
        (" \u{feff} \n", "empty_reply"),
    ] {
        assert_eq!(told(text), read, "{text}");
    }
}

#[test]
fn hostile_replies_are_read_in_bounded_time() {
    let bounded = reader(400_000);
    for unit in ["{\"", "{\"a\":", "{", "}", "{\"a\":[", "```\n", "{\"a\":1,}", "\\\"", "{,", "[", "{\"a\":\"{"] {
        let text = unit.repeat(300_000 / unit.len());
        let _ = bounded.read(&format!("x {text}"));
        let _ = bounded.read(&text);
    }
    assert_eq!(reader(4).read("12345").unwrap_err(), DirectiveReadError::TooLarge(4));
}
