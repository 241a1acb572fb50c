//! Messages that no provider takes, through every dialect of every pack: a payload or a clear error, and never a panic;
//! where the model is named, what is wrong is warned of.

use serde_json::{Value, json};
use tapster::emit::dialects;
use tapster::{Emitted, Plan, blocks_of, emit};

use crate::shipped::shipped;

pub(super) const PACKS: &[&str] = &["base", "sillytavern", "sillytavern-exact"];

/// A finished plan of these messages, for a model.
pub(super) fn plan(messages: &[Value], dialect: &str, model: &str) -> Plan {
    let blocks: Vec<Value> = messages.iter().map(|m| json!({ "fields": m })).collect();
    let scene = json!({ "dialect": dialect, "provider": { "model": model, "system_prompt": true, "tools_offered": true }, "context": { "reserve": 300 } });
    Plan { blocks: blocks_of(&json!({ "blocks": blocks })).unwrap(), scene: (&scene).into(), ..Plan::default() }
}

pub(super) fn call(id: &str, arguments: &str) -> Value {
    json!([{ "id": id, "type": "function", "function": { "name": "look", "arguments": arguments } }])
}

/// What comes of messages in every dialect; an error must say something.
pub(super) fn everywhere(messages: &[Value]) -> Vec<Emitted> {
    let mut all = Vec::new();
    for pack in PACKS {
        let rules = shipped(pack);
        for dialect in dialects(rules) {
            match emit(rules, &plan(messages, &dialect, "claude-opus-4-6"), &dialect) {
                Ok(emitted) => {
                    assert!(emitted.payload.is_object(), "{pack}, {dialect}: {}", emitted.payload);
                    all.push(emitted);
                }
                Err(error) => assert!(!error.message.is_empty(), "{pack}, {dialect}"),
            }
        }
    }
    assert!(!all.is_empty());
    all
}

fn warned(emitted: &[Emitted], code: &str) -> bool {
    emitted.iter().all(|e| e.warnings.iter().any(|w| w.code == code && w.pass.starts_with("lint") && w.help.is_some()))
}

#[test]
fn unknown_roles() {
    let odd = ["oracle", "", "USER", "tool\u{0}"].map(|role| json!({ "role": role, "text": "x" }));
    assert!(warned(&everywhere(&odd), "lint.role"));
    everywhere(&[json!({ "role": 7, "text": { "a": [1] } }), json!({ "text": null }), json!({})]);
}

#[test]
fn calls_and_results_that_do_not_meet() {
    let asked = json!({ "role": "user", "text": "?" });
    let calls = json!({ "role": "assistant", "tool_calls": call("1", "{}") });
    let result = json!({ "role": "tool", "text": "x", "tool_call_id": "2" });
    assert!(warned(&everywhere(&[asked.clone(), calls.clone()]), "lint.unanswered"));
    assert!(warned(&everywhere(&[asked.clone(), result.clone()]), "lint.uncalled"));
    assert!(warned(&everywhere(&[result, calls, asked]), "lint.unanswered"));
    everywhere(&[
        json!({ "role": "tool" }),
        json!({ "role": "assistant", "tool_calls": [] }),
        json!({ "role": "assistant", "tool_calls": "no list" }),
    ]);
    everywhere(&[json!({ "role": "assistant", "tool_calls": [null, 1, "x", {}, { "function": null }, { "function": "look" }] })]);
}

#[test]
fn arguments_that_are_no_json() {
    for arguments in ["", "{", "nonsense", "[1, 2", "\u{0}"] {
        let messages = [
            json!({ "role": "user", "text": "?" }),
            json!({ "role": "assistant", "meta": { "tool_calls": call("1", arguments) } }),
            json!({ "role": "tool", "text": "x", "meta": { "tool_call_id": "1" } }),
        ];
        assert!(warned(&everywhere(&messages), "lint.arguments"), "{arguments}");
    }
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    everywhere(&[json!({ "role": "assistant", "tool_calls": call("1", &deep) })]);
}

#[test]
fn nothing_and_only_system() {
    assert!(warned(&everywhere(&[]), "lint.nothing"));
    let system = ["a", "", "b"].map(|text| json!({ "role": "system", "text": text }));
    assert!(warned(&everywhere(&system), "lint.nothing"));
}

#[test]
fn images_without_data() {
    for image in [json!({}), json!({ "url": "" }), json!({ "url": "data:image/png;base64," }), Value::Null] {
        let part = json!({ "type": "image_url", "image_url": image });
        let messages = [json!({ "role": "user", "text": "", "parts": [{ "type": "text", "text": "see" }, part] })];
        assert!(warned(&everywhere(&messages), "lint.media_data"), "{messages:?}");
    }
    everywhere(&[json!({ "role": "user", "parts": [{ "type": "image_url" }, { "type": 7 }, {}, null, "x", [[]]] })]);
    everywhere(&[json!({ "role": "user", "parts": "no list" })]);
}

#[test]
fn ten_thousand_alternations() {
    let messages: Vec<Value> =
        (0..10_000).map(|n| json!({ "role": if n % 2 == 0 { "user" } else { "assistant" }, "text": format!("{n}") })).collect();
    for emitted in everywhere(&messages) {
        assert!(emitted.payload.to_string().contains("9999"));
    }
}

/// Thousands of calls whose ids come back: each result is named after the newest call of its id, and none is looked for in all the others.
#[test]
fn thousands_of_calls() {
    let of = |n: usize| {
        let call = json!([{ "id": format!("c{}", n % 7), "type": "function", "function": { "name": format!("f{n}"), "arguments": "{}" } }]);
        let result = json!({ "role": "tool", "text": "x", "tool_call_id": format!("c{}", n % 7) });
        [json!({ "role": "assistant", "tool_calls": call }), result]
    };
    let messages: Vec<Value> = (0..5_000).flat_map(of).collect();
    for pack in ["base", "sillytavern-exact"] {
        let rules = shipped(pack);
        let emitted = emit(rules, &plan(&messages, "google", "gemini-3-pro-preview"), "google").unwrap();
        for (n, content) in emitted.payload["contents"].as_array().unwrap().iter().enumerate().filter(|(n, _)| n % 2 == 1) {
            assert_eq!(content["parts"][0]["functionResponse"]["name"], json!(format!("f{}", n / 2)), "{pack}");
        }
        assert_eq!(emitted.payload["contents"].as_array().unwrap().len(), 10_000, "{pack}");
    }
}
