//! Tools in a chat: those of the pack and of the host run, each call is told, and what is hidden does not run.

use serde_json::{Value as Json, json};

use super::{Desk, OK, streamed};
use crate::cli::{Ran, tapster};
use crate::peers::{CHUNKED, EVENTS, JSON, Step, chunked, head, whole};

const HOST: &str = "[[tool]]\nname = \"echo\"\ndescription = \"Says it again.\"\ncommand = [\"cat\"]\n";

fn calls() -> Json {
    let call = |index: usize, id: &str, name: &str, arguments: &str| json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    json!([call(0, "a", "look", "{\"room\":\"lamp\"}"), call(1, "b", "echo", "{\"x\":1}"), call(2, "c", "fly", "{}")])
}

/// A stream with a text and three calls.
fn asks() -> Vec<Step> {
    let event = |delta: Json| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let events = [event(json!({ "content": "Let me see." })), event(json!({ "tool_calls": calls() })), "data: [DONE]\n\n".to_owned()];
    let events: Vec<&[u8]> = events.iter().map(|event| event.as_bytes()).collect();
    vec![Step::Send([head(OK, &[EVENTS, CHUNKED]), chunked(&events)].concat())]
}

/// The same as a whole reply.
fn asks_whole() -> Vec<Step> {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": calls() } }] });
    whole(OK, &[JSON], body.to_string().as_bytes())
}

#[track_caller]
fn chat(desk: &Desk, args: &[&str], exit: u8) -> Ran {
    let (url, log) = (desk.peer.url(), desk.path("chat.jsonl"));
    let fixed = ["chat", "examples/tools", "--model", "m", "--url", &url, "--log", &log, "--retries", "0", "--once", "What is up there?"];
    let store = ["--store", &desk.path("store.db")].map(str::to_owned);
    let all: Vec<String> = fixed.iter().chain(args).map(ToString::to_string).chain(store).collect();
    let ran = tapster(&all, "", &std::collections::BTreeMap::new(), false);
    assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
    ran
}

/// The names of the tools that a request offers.
fn offered(desk: &Desk, request: usize) -> Vec<String> {
    let body = desk.peer.asked().get(request).unwrap().json();
    let tools = body.get("tools").and_then(Json::as_array).cloned().unwrap_or_default();
    tools.iter().map(|tool| tool.pointer("/function/name").and_then(Json::as_str).unwrap().to_owned()).collect()
}

#[test]
fn tools_of_the_pack_and_of_the_host_run_and_every_call_is_told() {
    let desk = Desk::new("tools", vec![asks(), streamed(&["A ", "lamp."])]);
    desk.folder.write("host.toml", HOST);
    let ran = chat(&desk, &["--tools", &desk.path("host.toml")], 0);
    assert_eq!(ran.out, "A lamp.\n");
    for told in ["`look` was called\n", "`echo` was called\n", "`fly` was not called: unknown_tool\n", "11 characters"] {
        assert_eq!(ran.err.matches(told).count(), 1, "{told}: {}", ran.err);
    }
    assert_eq!(offered(&desk, 0), ["look", "echo"]);
    let asked = desk.peer.asked();
    assert!(asked.iter().all(|request| request.json()["stream"] == true), "replies are streamed between calls as well");
    let results: Vec<Json> = asked[1].json()["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").cloned().collect();
    let said: Vec<&str> = results.iter().map(|result| result["content"].as_str().unwrap()).collect();
    assert!(said[0].contains("twelve seconds") && said[1].contains("{\"x\":1}") && said[2].contains("unknown_tool"), "{said:?}");
    let reply = desk.lines().pop().unwrap();
    assert_eq!(reply["mes"], "A lamp.");
    let kept: Vec<_> = reply["extra"]["tools"].as_array().unwrap().iter().map(|call| (call["tool"].clone(), call["ok"].clone())).collect();
    assert_eq!(kept, [("look", true), ("echo", true), ("fly", false)].map(|(tool, ok)| (json!(tool), json!(ok))));
}

#[test]
fn what_is_hidden_is_not_offered_and_does_not_run() {
    let desk = Desk::new("hidden", vec![asks(), streamed(&["No."]), streamed(&["None."])]);
    desk.folder.write("host.toml", HOST);
    let host = desk.path("host.toml");
    let ran = chat(&desk, &["--tools", &host, "--deny-tool", "echo"], 0);
    assert!(ran.err.contains("`echo` was not called: tool_not_allowed"), "{}", ran.err);
    assert_eq!(offered(&desk, 0), ["look"]);
    chat(&desk, &["--no-tools"], 0);
    assert!(offered(&desk, 2).is_empty());
    let ran = chat(&desk, &["--allow-tool", "loook"], 2);
    assert!(ran.err.contains("no tool `loook`") && ran.err.contains("look"), "{}", ran.err);
}

#[test]
fn a_model_without_tools_is_offered_none_and_a_pack_may_refuse_streams_with_tools() {
    let desk = Desk::new("untooled", vec![streamed(&["Hello."]), asks_whole(), whole(OK, &[JSON], ANSWER.as_bytes())]);
    desk.folder.write("config.toml", "capabilities = { tools = false }\n");
    let ran = chat(&desk, &["--config", &desk.path("config.toml")], 0);
    assert!(ran.err.contains("takes no tools") && ran.err.contains("--no-tools"), "{}", ran.err);
    assert!(offered(&desk, 0).is_empty());
    // results as JSON are whole, and so are the replies that they come from
    let ran = chat(&desk, &["--format", "json"], 0);
    let line: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&line["reply"], &line["tools"][0]["tool"]), (&json!("Up."), &json!("look")));
    assert!(desk.peer.asked()[1].json()["stream"].as_bool() != Some(true));
}

const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"Up."},"finish_reason":"stop"}]}"#;

#[test]
fn a_model_that_only_calls_tools_is_told_with_a_remedy() {
    let desk = Desk::new("turns", vec![asks()]);
    desk.folder.write("config.toml", "tool_calling = { max_turns = 1 }\n");
    let ran = chat(&desk, &["--config", &desk.path("config.toml")], 1);
    assert!(ran.err.contains("run.max_turns") && ran.err.contains("max_turns = "), "{}", ran.err);
    assert_eq!(desk.lines().len(), 2, "the message stays, and can be answered");
}

#[test]
fn directives_of_a_pack_are_told_to_have_no_effect() {
    let desk = Desk::new("directives", vec![streamed(&["Hello."])]);
    desk.folder.write("over.toml", "kind = \"directive\"\nversion = 1\n[[directive]]\nname = \"ui.toast\"\n");
    let ran = desk.run(&["--overlay", &desk.path("over.toml"), "--once", "Hi."], "", 0);
    assert!(ran.err.contains("`ui.toast`") && ran.err.contains("tapster eval --mode directives"), "{}", ran.err);
}
