//! Messages that no provider takes, through every dialect of every pack: a payload or a clear error, and never a panic;
//! where the model is named, what is wrong is warned of.

use serde_json::{Value, json};
use tapster::machinery::build::dialects;
use tapster::{EmittedPlan, Plan, blocks_of, emit};

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
pub(super) fn everywhere(messages: &[Value]) -> Vec<EmittedPlan> {
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

/// Messages with what is warned of in every dialect; without a code, whatever comes of them.
#[test]
fn what_no_provider_takes_is_warned_of() {
    let ask = json!({ "role": "user", "text": "?" });
    let calls = |calls: Value| json!({ "role": "assistant", "tool_calls": calls });
    let result = json!({ "role": "tool", "text": "x", "tool_call_id": "2" });
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let mut rows = vec![
        ("lint.role", ["oracle", "", "USER", "tool\u{0}"].map(|role| json!({ "role": role, "text": "x" })).to_vec()),
        ("", vec![json!({ "role": 7, "text": { "a": [1] } }), json!({ "text": null }), json!({})]),
        ("lint.unanswered", vec![ask.clone(), calls(call("1", "{}"))]),
        ("lint.uncalled", vec![ask.clone(), result.clone()]),
        ("lint.unanswered", vec![result, calls(call("1", "{}")), ask.clone()]),
        ("", vec![json!({ "role": "tool" }), calls(json!([])), calls(json!("no list"))]),
        ("", vec![calls(json!([null, 1, "x", {}, { "function": null }, { "function": "look" }]))]),
        ("", vec![calls(call("1", &deep))]),
        ("lint.nothing", vec![]),
        ("lint.nothing", ["a", "", "b"].map(|text| json!({ "role": "system", "text": text })).to_vec()),
        ("", vec![json!({ "role": "user", "parts": [{ "type": "image_url" }, { "type": 7 }, {}, null, "x", [[]]] })]),
        ("", vec![json!({ "role": "user", "parts": "no list" })]),
    ];
    for arguments in ["", "{", "nonsense", "[1, 2", "\u{0}"] {
        let called = json!({ "role": "assistant", "meta": { "tool_calls": call("1", arguments) } });
        let found = json!({ "role": "tool", "text": "x", "meta": { "tool_call_id": "1" } });
        rows.push(("lint.arguments", vec![ask.clone(), called, found]));
    }
    for image in [json!({}), json!({ "url": "" }), json!({ "url": "data:image/png;base64," }), Value::Null] {
        let parts = json!([{ "type": "text", "text": "see" }, { "type": "image_url", "image_url": image }]);
        rows.push(("lint.media_data", vec![json!({ "role": "user", "text": "", "parts": parts })]));
    }
    for (code, messages) in rows {
        let warned = |e: &EmittedPlan| e.warnings.iter().any(|w| w.code == code && w.pass.starts_with("lint") && w.help.is_some());
        let emitted = everywhere(&messages);
        assert!(code.is_empty() || emitted.iter().all(warned), "{code}: {}", Value::from(messages));
    }
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
