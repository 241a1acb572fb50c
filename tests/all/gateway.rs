//! The gateway, between a client on a socket and a scripted provider on another.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::{Ruleset, ScenePart, Value, import_document};
use tapster_door::explain::accounts::{CacheBooking, CacheFacts};
use tapster_serve::gateway::config::GatewayConfig;
use tapster_serve::gateway::{GatewayOptions, LoadedModel, ModelLoader};
use tapster_serve::{AccessRules, Gateway, ServeLimits};

use crate::door::TestServer;
use crate::peers::{Peer, Step, whole};

/// The overlay of the rewriting models of these tests.
const OVERLAY: &str = "kind = \"overlay\"\nversion = 1\n[preset]\nmain = \"Be brief, {{char}}.\"\n";

/// A server with a gateway whose models load as `load` says; their provider answers by `scripts`.
fn serve(models: &str, peer: &Peer, load: impl Fn(usize) -> Result<LoadedModel, String> + Send + Sync + 'static) -> TestServer {
    let upstreams = format!(
        "[upstream.local]\nurl = \"http://{0}\"\n[upstream.keyed]\nurl = \"http://{0}/base/v1/\"\nkey_env = \"KEY\"\n\
         [upstream.claude]\nurl = \"http://{0}/v1\"\ndialect = \"anthropic\"\n",
        peer.address
    );
    let config = GatewayConfig::parse(&format!("{upstreams}{models}")).unwrap();
    let loader: ModelLoader = Arc::new(move |at, _| Box::pin(std::future::ready(load(at))));
    let clock = || "2026-01-10T12:00:00Z".to_owned();
    let options = GatewayOptions { config, loader, clock, cache_log: None, forwards_keys: true };
    let gateway = Gateway::new(options, &|name| (name == "KEY").then(|| "our-secret-key".into())).unwrap();
    TestServer::with_gateway(Some(Arc::new(gateway)), ServeLimits::default(), AccessRules::default())
}

fn rewriting(_: usize) -> Result<LoadedModel, String> {
    let rules = Ruleset::open_with("gateway", &[("brief.toml", OVERLAY)]).unwrap();
    Ok(LoadedModel { rules, parts: Vec::new(), folders: Vec::new(), files: Vec::new() })
}

fn model(name: &str, upstream: &str) -> String {
    format!("[[model]]\nname = \"{name}\"\nupstream = \"{upstream}\"\n")
}

fn post(server: &TestServer, path: &str, headers: &str, body: &Json) -> (u16, String, String) {
    server.send("POST", path, &format!("host: localhost\r\n{headers}"), body.to_string().as_bytes())
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn get(server: &TestServer, path: &str, accept: &str) -> (u16, String) {
    let (status, _, body) = server.send("GET", path, &format!("host: localhost\r\naccept: {accept}\r\n"), b"");
    (status, body)
}

const ANSWER: &str = "{\"id\": \"c\",  \"choices\":[], \"usage\":{\"prompt_tokens\":100,\"prompt_tokens_details\":{\"cached_tokens\":50}}}";

#[test]
fn what_no_rule_changes_goes_out_as_it_came() {
    let json = [("content-type", "application/json"), ("x-request-id", "7")];
    let peer = Peer::new(vec![whole("200 OK", &json, ANSWER.as_bytes()), whole("429 Too Many Requests", &json, b"{\"error\":{}}")]);
    let server = serve(&model("gpt-*", "local"), &peer, rewriting);
    let messages = json!([
        { "role": "developer", "content": "Braces {{stay}}.", "unknown": 1 },
        { "role": "user", "content": [{ "type": "text", "text": "Look." }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } }] },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "x", "type": "function", "function": { "name": "f", "arguments": "{ }" } }] },
        { "role": "tool", "content": "[1]", "tool_call_id": "x" },
        { "role": "user", "content": "Go on.", "name": "Ann" },
    ]);
    let body = json!({ "model": "gpt-5", "messages": messages, "temperature": 0.5, "of_tomorrow": { "a": [1] }, "stream": false });
    let (status, head, answer) = post(&server, "/v1/chat/completions", "authorization: Bearer client-key\r\n", &body);
    assert_eq!((status, answer.as_str()), (200, ANSWER));
    assert_eq!(header(&head, "x-request-id"), Some("7"));

    let sent = &peer.asked()[0];
    assert!(sent.head.starts_with("POST /v1/chat/completions "), "{}", sent.head);
    assert_eq!(sent.header("authorization"), Some("Bearer client-key"));
    let mut wanted = body.clone();
    wanted["messages"].as_array_mut().unwrap().insert(0, json!({ "role": "system", "content": "Be brief, ." }));
    assert_eq!(sent.json(), wanted);

    // each change is explained by its rule
    let path = header(&head, "x-tapster-explain").unwrap();
    let explained: Json = serde_json::from_str(&get(&server, path, "*/*").1).unwrap();
    assert_eq!((&explained["client"], &explained["sent"]), (&body, &wanted));
    let main = &explained["reasons"]["blocks"]["blocks"][0];
    assert_eq!((main["text"].as_str(), main["slot"].as_str()), (Some("Be brief, ."), Some("main_prompt")), "{main}");
    assert_eq!((&explained["cache"]["input"], &explained["cache"]["cached"]), (&json!(100), &json!(50)));
    let (status, page) = get(&server, path, "text/html,*/*");
    assert!(status == 200 && page.starts_with("<!doctype html>") && page.contains("Be brief, ."), "{page}");
    assert_eq!(get(&server, "/explain/none", "*/*").0, 404);
    let (_, page) = get(&server, "/v1/cache", "text/html");
    assert!(page.contains(&format!("<a href=\"{path}\">")), "{page}");

    // an error of the provider is handed on, and not booked
    let (status, _, answer) = post(&server, "/v1/chat/completions", "", &body);
    assert_eq!((status, answer.as_str()), (429, "{\"error\":{}}"));
    assert_eq!(peer.asked()[1].header("authorization"), None);
    let accounts: Json = serde_json::from_str(&get(&server, "/v1/cache", "*/*").1).unwrap();
    assert_eq!(accounts["requests"].as_array().unwrap().len(), 1);
}

#[test]
fn requests_to_anthropic_go_out_as_they_came() {
    let peer = Peer::new(vec![whole("200 OK", &[("content-type", "application/json")], b"{}"); 2]);
    let server = serve(&model("claude-*", "claude"), &peer, |_| {
        Ok(LoadedModel { rules: Ruleset::open("gateway", &[]).unwrap(), parts: Vec::new(), folders: Vec::new(), files: Vec::new() })
    });
    let messages = json!([
        { "role": "user", "content": [{ "type": "text", "text": "A {{b}}", "cache_control": { "type": "ephemeral" } }] },
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "t", "signature": "s" }, { "type": "tool_use", "id": "x", "name": "f", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "x", "content": "r" }] },
    ]);
    for system in [
        json!("Bare."),
        json!([{ "type": "text", "text": "One.", "cache_control": { "type": "ephemeral" } }, { "type": "text", "text": "Two." }]),
    ] {
        let body = json!({ "model": "claude-5", "max_tokens": 10, "system": system, "messages": messages });
        let headers = "x-api-key: client-key\r\nanthropic-version: 2023-06-01\r\n";
        assert_eq!(post(&server, "/v1/messages", headers, &body).0, 200);
        let sent = peer.asked().pop().unwrap();
        assert_eq!(sent.json(), body);
        assert_eq!((sent.header("x-api-key"), sent.header("anthropic-version")), (Some("client-key"), Some("2023-06-01")));
    }
}

/// The data of the events of a stream, but for the mark of its end.
fn events_of(stream: &str) -> Vec<Json> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn translating(_: usize) -> Result<LoadedModel, String> {
    let rules = Ruleset::open("translator", &[]).unwrap();
    Ok(LoadedModel { rules, parts: Vec::new(), folders: Vec::new(), files: Vec::new() })
}

#[test]
fn clients_of_chat_completions_reach_anthropic() {
    let json = [("content-type", "application/json")];
    let whole_answer = json!({
        "id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "usage": { "input_tokens": 10, "cache_read_input_tokens": 30, "output_tokens": 5 },
        "content": [{ "type": "thinking", "thinking": "Hm.", "signature": "s" }, { "type": "text", "text": "Look." }, { "type": "tool_use", "id": "t1", "name": "see", "input": { "at": 1 } }],
    });
    let stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hé\"}}\n\n\
        event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"see\",\"input\":{}}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"at\\\":2}\"}}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let head = crate::peers::head("200 OK", &[("content-type", "text/event-stream"), ("connection", "close")]);
    let refused = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let peer = Peer::new(vec![
        whole("200 OK", &json, whole_answer.to_string().as_bytes()),
        vec![Step::Send(head.clone()), Step::Slowly(stream.as_bytes().to_vec())],
        whole("529 Overloaded", &json, refused),
        vec![Step::Send([head.as_slice(), stream.split("event: message_delta").next().unwrap().as_bytes()].concat())],
    ]);
    let server = serve(&model("smart", "claude"), &peer, translating);
    let tools = json!([{ "type": "function", "function": { "name": "see", "description": "d", "parameters": { "type": "object" } } }]);
    let mut body = json!({
        "model": "smart", "max_tokens": 50, "temperature": 0.5, "tools": tools, "tool_choice": "required", "of_tomorrow": 1,
        "messages": [
            { "role": "system", "content": "Be {{brief}}." },
            { "role": "user", "content": [{ "type": "text", "text": "What?" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } }] },
            { "role": "assistant", "content": null, "tool_calls": [{ "id": "x", "type": "function", "function": { "name": "see", "arguments": "{\"at\":0}" } }] },
            { "role": "tool", "content": "a lamp", "tool_call_id": "x" },
        ],
    });
    let (status, _, answer) = post(&server, "/v1/chat/completions", "authorization: Bearer k\r\nopenai-organization: o\r\n", &body);
    assert_eq!(status, 200, "{answer}");
    let answer: Json = serde_json::from_str(&answer).unwrap();
    let choice = &answer["choices"][0];
    assert_eq!(
        (&answer["object"], &choice["finish_reason"], &choice["message"]["content"]),
        (&json!("chat.completion"), &json!("tool_calls"), &json!("Look."))
    );
    let call = json!({ "id": "t1", "type": "function", "function": { "name": "see", "arguments": "{\"at\":1}" } });
    assert_eq!(choice["message"]["tool_calls"], json!([call]));
    assert_eq!(
        (&answer["usage"]["prompt_tokens"], &answer["usage"]["prompt_tokens_details"]["cached_tokens"]),
        (&json!(40), &json!(30)),
        "{answer}"
    );
    let sent = &peer.asked()[0];
    assert!(sent.head.starts_with("POST /v1/messages "), "{}", sent.head);
    assert_eq!(sent.header("openai-organization"), None);
    let sent = sent.json();
    assert_eq!((&sent["max_tokens"], &sent["temperature"], sent.get("of_tomorrow")), (&json!(50), &json!(0.5), None), "{sent}");
    assert_eq!((&sent["tools"][0]["name"], &sent["tool_choice"]["type"]), (&json!("see"), &json!("any")), "{sent}");
    let text = sent.to_string();
    for part in ["Be {{brief}}.", "\"media_type\":\"image/png\"", "\"tool_use_id\":\"x\"", "\"input\":{\"at\":0}"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    let (status, head, answer) = post(&server, "/v1/chat/completions", "", &body);
    assert_eq!((status, header(&head, "content-type")), (200, Some("text/event-stream")), "{answer}");
    assert!(answer.ends_with("data: [DONE]\n\n"), "{answer}");
    let events = events_of(&answer);
    let text: String = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "Hé");
    let calls = events.iter().find(|event| event["choices"][0]["delta"].get("tool_calls").is_some()).unwrap();
    assert_eq!(calls["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"], "{\"at\":2}");
    assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(events[events.len() - 1]["usage"]["total_tokens"], 16);

    let (status, _, answer) = post(&server, "/v1/chat/completions", "", &body);
    let error: Json = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &error["error"]["message"]), (529, &json!("Overloaded")));
    let (_, _, answer) = post(&server, "/v1/chat/completions", "", &body);
    assert!(answer.contains("ends early") && !answer.contains("[DONE]"), "{answer}");
}

#[test]
fn clients_of_anthropic_reach_chat_completions() {
    let whole_answer = json!({
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": "Look.", "tool_calls": [{ "id": "c", "type": "function", "function": { "name": "see", "arguments": "{\"at\":1}" } }] } }],
        "usage": { "prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 30 } },
    });
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"Hm.\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hé\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
    let head = crate::peers::head("200 OK", &[("content-type", "text/event-stream"), ("connection", "close")]);
    let json = [("content-type", "application/json")];
    let peer = Peer::new(vec![
        whole("200 OK", &json, whole_answer.to_string().as_bytes()),
        vec![Step::Send(head), Step::Slowly(stream.as_bytes().to_vec())],
    ]);
    let server = serve(&model("cheap", "local"), &peer, translating);
    let mut body = json!({
        "model": "cheap", "max_tokens": 50, "system": [{ "type": "text", "text": "Be {{brief}}.", "cache_control": { "type": "ephemeral" } }],
        "tools": [{ "name": "see", "description": "d", "input_schema": { "type": "object" } }], "tool_choice": { "type": "any" },
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "What?" }, { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } }] },
            { "role": "assistant", "content": [{ "type": "text", "text": "I look." }, { "type": "tool_use", "id": "x", "name": "see", "input": { "at": 0 } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "x", "content": [{ "type": "text", "text": "a lamp" }] }, { "type": "text", "text": "And?" }] },
        ],
    });
    let (status, _, answer) = post(&server, "/v1/messages", "x-api-key: k\r\nanthropic-version: 2023-06-01\r\n", &body);
    assert_eq!(status, 200, "{answer}");
    let answer: Json = serde_json::from_str(&answer).unwrap();
    let content = json!([{ "type": "text", "text": "Look." }, { "type": "tool_use", "id": "c", "name": "see", "input": { "at": 1 } }]);
    assert_eq!((&answer["type"], &answer["stop_reason"], &answer["content"]), (&json!("message"), &json!("tool_use"), &content));
    assert_eq!(answer["usage"], json!({ "input_tokens": 10, "cache_read_input_tokens": 30, "output_tokens": 5 }));
    let sent = peer.asked()[0].json();
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } });
    assert_eq!(sent["messages"][0], json!({ "role": "system", "content": "Be {{brief}}." }), "{sent}");
    assert_eq!(sent["messages"][1]["content"], json!([{ "type": "text", "text": "What?" }, url]), "{sent}");
    assert_eq!(sent["messages"][2]["tool_calls"][0]["function"], json!({ "name": "see", "arguments": "{\"at\":0}" }), "{sent}");
    let result = &sent["messages"][3];
    assert_eq!((&result["role"], &result["tool_call_id"], &result["content"]), (&json!("tool"), &json!("x"), &json!("a lamp")), "{sent}");
    assert_eq!((&sent["messages"][4]["content"], &sent["tool_choice"]), (&json!("And?"), &json!("required")), "{sent}");
    assert_eq!(sent["tools"][0]["function"], json!({ "name": "see", "description": "d", "parameters": { "type": "object" } }), "{sent}");

    body["stream"] = true.into();
    let (status, _, answer) = post(&server, "/v1/messages", "", &body);
    assert_eq!(status, 200, "{answer}");
    let kinds: Vec<String> = events_of(&answer).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(kinds, [&["message_start"], &block[..], &block[..], &["message_delta", "message_stop"]].concat());
    let end = events_of(&answer).into_iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&json!("max_tokens"), &json!(3)), "{answer}");
}

#[test]
fn streams_are_handed_on_byte_for_byte() {
    let events = "data: {\"choices\":[{\"delta\":{\"content\":\"Hé\"}}]}\r\n\r\n: comment\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":8}}\n\ndata: [DONE]\n\n";
    let head = crate::peers::head("200 OK", &[("content-type", "text/event-stream"), ("connection", "close")]);
    let broken = vec![Step::Send([head.as_slice(), b"data: {}\n\n"].concat()), Step::Stall];
    let peer = Peer::new(vec![vec![Step::Send(head), Step::Slowly(events.as_bytes().to_vec())], broken]);
    let server = serve(&model("own", "keyed"), &peer, rewriting);
    let body = json!({ "model": "own", "stream": true, "messages": [{ "role": "user", "content": "Hi." }] });
    let (status, head, answer) = post(&server, "/v1/chat/completions", "authorization: Bearer client-key\r\n", &body);
    assert_eq!((status, answer.as_str()), (200, events));
    assert_eq!(header(&head, "content-type"), Some("text/event-stream"));
    let sent = &peer.asked()[0];
    assert!(sent.head.starts_with("POST /base/v1/chat/completions "), "{}", sent.head);
    assert_eq!(sent.header("authorization"), Some("Bearer our-secret-key"));
    let accounts: Json = serde_json::from_str(&get(&server, "/v1/cache", "*/*").1).unwrap();
    assert_eq!(accounts["requests"][0]["input"], 8);

    // a client that leaves ends the request to the provider
    let mut client = TcpStream::connect(server.address).unwrap();
    let body = body.to_string();
    write!(client, "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("data: {}") {
        let mut part = [0; 512];
        let read = client.read(&mut part).unwrap();
        assert!(read > 0);
        seen.extend_from_slice(&part[..read]);
    }
    drop(client);
    assert!(peer.saw_it_closed());
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let nobody = Peer::new(Vec::new());
    let models = format!("{}{}", model("gpt", "local"), model("claude", "claude"));
    let server = serve(&models, &nobody, |at| if at == 0 { rewriting(at) } else { Err("mine.toml:3: a mistake".to_owned()) });
    let messages = json!([{ "role": "user", "content": "Hi." }]);
    let cases = [
        ("/v1/chat/completions", json!({ "model": "other", "messages": messages }), 404, "the configuration has gpt, claude"),
        ("/v1/chat/completions", json!({ "messages": messages }), 404, "there is no model ``"),
        ("/v1/messages", json!({ "model": "claude", "messages": messages }), 500, "mine.toml:3"),
        ("/v1/chat/completions", json!([]), 400, "send one JSON object"),
        ("/v1/chat/completions", json!({ "model": "gpt", "messages": [{ "role": "bard", "content": "" }] }), 502, ""),
        ("/v1/chat/completions", json!({ "model": "gpt", "messages": messages }), 502, "127.0.0.1"),
    ];
    for (path, body, status, text) in cases {
        // the peer is gone by the time of the last cases
        let (found, _, answer) = post(&server, path, "", &body);
        let error: Json = serde_json::from_str(&answer).unwrap();
        assert_eq!(found, status, "{body}: {answer}");
        assert!(error["error"]["message"].as_str().unwrap().contains(text), "{answer}");
    }
    for config in ["", "[[model]]\nname = \"a\"\nupstream = \"b\"\n[upstream]\n", "[upstream.a]\nurl = \"http://a\"\nkey = \"no\"\n"] {
        assert!(GatewayConfig::parse(config).is_err(), "{config}");
    }
}

#[test]
fn requests_can_be_seen_without_being_sent() {
    let nobody = Peer::new(Vec::new());
    let server = serve(&format!("{}send_as = \"real\"\n", model("gpt", "local")), &nobody, rewriting);
    let body = json!({ "model": "gpt", "messages": [{ "role": "user", "content": "Hi." }] });
    let (status, _, answer) = post(&server, "/v1/transform", "x-tapster-session: mine\r\n", &body);
    let answer: Json = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &answer["body"]["model"], &answer["session"]), (200, &json!("real"), &json!("mine")));
    assert_eq!(answer["url"], format!("http://{}/v1/chat/completions", nobody.address));
    let models: Json = serde_json::from_str(&get(&server, "/v1/models", "*/*").1).unwrap();
    assert_eq!(models["data"][0]["id"], "gpt");
}

#[test]
fn changed_files_are_read_again_and_broken_ones_are_told() {
    let folder = crate::support::Folder::new("gateway-files");
    folder.write("brief.toml", OVERLAY);
    let peer = Peer::new(vec![whole("200 OK", &[], b"{}"); 3]);
    let (path, loads) = (folder.path("brief.toml"), Arc::new(Mutex::new(0)));
    let count = Arc::clone(&loads);
    let server = serve(&model("gpt", "local"), &peer, move |_| {
        *count.lock().unwrap() += 1;
        let overlay = std::fs::read_to_string(&path).unwrap();
        let rules = Ruleset::open_with("gateway", &[("brief.toml", &overlay)]).map_err(|error| error.to_string())?;
        Ok(LoadedModel { rules, parts: Vec::new(), folders: Vec::new(), files: vec![path.clone()] })
    });
    let main = || {
        let body = json!({ "model": "gpt", "messages": [{ "role": "user", "content": "Hi." }] });
        let (_, head, _) = post(&server, "/v1/chat/completions", "", &body);
        let sent = peer.asked().pop().unwrap().json()["messages"][0]["content"].as_str().unwrap().to_owned();
        (sent, header(&head, "x-tapster-stale").is_some())
    };
    assert_eq!(main(), ("Be brief, .".to_owned(), false));
    folder.write("brief.toml", OVERLAY.replace("brief", "very verbose"));
    assert_eq!(main(), ("Be very verbose, .".to_owned(), false));
    folder.write("brief.toml", "broken");
    assert_eq!(main(), ("Be very verbose, .".to_owned(), true));
    assert_eq!(*loads.lock().unwrap(), 3);
}

/// The 200 turns of `examples/cache-friendly`, as a client sends them: all messages so far, each time.
#[test]
fn accounts_name_the_rules_that_broke_the_prefix() {
    const TURNS: usize = 200;
    let read = |name: &str| std::fs::read_to_string(Path::new(env!("CHECKOUT")).join("examples/cache-friendly").join(name)).unwrap();
    let chat: Vec<Json> = read("chat.jsonl").lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let message = |line: &Json| json!({ "role": if line["is_user"] == true { "user" } else { "assistant" }, "content": line["mes"] });
    let messages: Vec<Json> = chat.iter().map(message).collect();
    let peer = Peer::new(vec![whole("200 OK", &[("content-type", "application/json")], b"{}"); 2 * TURNS]);
    let load = move |at: usize| {
        let cache = read("cache.toml");
        let freeze = std::fs::read_to_string(Path::new(env!("CHECKOUT")).join("examples/wishes/SillyTavern-5852/overlay.toml")).unwrap();
        let overlays: &[(&str, &str)] = if at == 0 { &[] } else { &[("cache.toml", &cache), ("overlay.toml", &freeze)] };
        let rules = Ruleset::open_with("sillytavern-exact", overlays).unwrap();
        let file: toml::Table = toml::from_str(&read("scene.toml")).unwrap();
        let imported = |name: &str| import_document(&rules, None, &serde_json::from_str::<Json>(&read(name)).unwrap()).unwrap().scene;
        let mut scene = serde_json::to_value(&file["scene"]).unwrap();
        scene["names"] = json!({ "user": file["persona"].as_str() });
        scene["context"]["window"] = 8_000.into();
        let parts = vec![
            ScenePart::new("character", imported("card.json")),
            ScenePart::new("lorebook", imported("lore.json")),
            ScenePart::new("file", Value::from(&scene)),
        ];
        Ok(LoadedModel { rules, parts, folders: Vec::new(), files: Vec::new() })
    };
    let models = format!("{}{}", model("default", "local"), model("friendly", "local"));
    let server = serve(&models, &peer, load);
    for model in ["default", "friendly"] {
        for turn in 0..TURNS {
            let body = json!({ "model": model, "messages": messages[..=2 * turn] });
            let (status, _, answer) = post(&server, "/v1/chat/completions", &format!("x-tapster-session: {model}\r\n"), &body);
            assert_eq!(status, 200, "{answer}");
        }
    }
    let kept = |session: &str| {
        let found: Json = serde_json::from_str(&get(&server, &format!("/v1/cache?session={session}"), "*/*").1).unwrap();
        assert_eq!(found["requests"].as_array().unwrap().len(), TURNS);
        println!("{session}: {} % kept; {}", found["summary"]["kept_percent"], found["summary"]["breaks"]);
        (found["summary"]["kept_percent"].as_u64().unwrap(), found["summary"]["breaks"][0]["rule"].as_str().unwrap_or_default().to_owned())
    };
    let (default, rule) = kept("default");
    assert!(default < 20 && rule.contains(".toml:"), "{default} % {rule}");
    assert!(kept("friendly").0 >= 90);
}

#[test]
fn tokens_of_a_request_are_booked_once() {
    let facts = CacheFacts { total: 100, previous: Some(90), unchanged: 60, pause: 10, cache_seconds: Some(300), usage: None };
    let booked = |facts: CacheFacts| {
        let CacheBooking { kept, new, prefix, cold, lifetime, provider } = CacheBooking::of(&facts);
        assert_eq!(kept + new + prefix + cold + lifetime + provider, facts.total, "{facts:?}");
        (kept, new, prefix, cold, lifetime, provider)
    };
    assert_eq!(booked(facts), (60, 10, 30, 0, 0, 0));
    assert_eq!(booked(CacheFacts { usage: Some((200, 80)), ..facts }), (40, 10, 30, 0, 0, 20));
    assert_eq!(booked(CacheFacts { usage: Some((200, 0)), pause: 301, ..facts }), (0, 10, 30, 0, 60, 0));
    assert_eq!(booked(CacheFacts { pause: 301, ..facts }), (0, 10, 30, 0, 60, 0));
    assert_eq!(booked(CacheFacts { usage: Some((0, 5)), ..facts }), (0, 10, 30, 0, 0, 60));
    assert_eq!(booked(CacheFacts { previous: None, unchanged: 0, ..facts }), (0, 0, 0, 100, 0, 0));
    assert_eq!(booked(CacheFacts { previous: Some(500), unchanged: 400, ..facts }), (100, 0, 0, 0, 0, 0));
    assert_eq!(booked(CacheFacts { total: 0, usage: Some((u64::MAX, u64::MAX)), ..facts }), (0, 0, 0, 0, 0, 0));
}

/// What a character's rules store stays with its session, and counts only where the provider has taken the request.
#[test]
fn sessions_keep_what_rules_store() {
    let answers = [whole("200 OK", &[], b"{}"), whole("500 Broken", &[], b"{}"), whole("200 OK", &[], b"{}"), whole("200 OK", &[], b"{}")];
    let peer = Peer::new(answers.to_vec());
    let server = serve(&model("gpt", "local"), &peer, |_| {
        let rules = Ruleset::open("sillytavern", &[]).unwrap();
        let scene = json!({ "preset": { "main": "{{incvar::turn}}" }, "vars": { "local": { "turn": 4 } } });
        Ok(LoadedModel { rules, parts: vec![ScenePart::new("file", Value::from(&scene))], folders: Vec::new(), files: Vec::new() })
    });
    let body = json!({ "model": "gpt", "messages": [{ "role": "user", "content": "Hi." }], "max_completion_tokens": 7 });
    for (session, turn) in [("a", "5"), ("a", "6"), ("a", "6"), ("b", "5")] {
        post(&server, "/v1/chat/completions", &format!("x-tapster-session: {session}\r\n"), &body);
        let sent = peer.asked().pop().unwrap().json();
        assert_eq!(sent["messages"][0]["content"], turn, "{session}: {sent}");
        // the limit is read, and written as the rules do it
        assert_eq!((&sent["max_tokens"], sent.get("max_completion_tokens")), (&json!(7), None));
    }
}
