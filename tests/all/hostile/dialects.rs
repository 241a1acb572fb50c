//! Messages that no provider takes, through every dialect of every pack: a payload or a clear error, and never a panic;
//! where the model is named, what is wrong is warned of.

use serde_json::{Value, json};
use tapster::machinery::build::dialects;
use tapster::model::PlanBlock;
use tapster::{EmittedPlan, Plan, Scene, blocks_of, emit};

use crate::support::shipped;

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

// The worst that messages can hold, through every dialect of every pack: nested without end, as many as there can be,
// broken in the middle. What a dialect does not send is told of.

/// A table with ten thousand lists, each in the next, under one key. (`json!` would walk them.)
fn deep(table: Value, key: &str) -> Value {
    let Value::Object(mut table) = table else { return table };
    table.insert(key.to_owned(), (0..10_000).fold(Value::Null, |inner, _| Value::Array(vec![inner])));
    Value::Object(table)
}

/// Whether each text is in what is sent, or something is said.
fn kept_or_told(messages: &[Value], texts: &[&str]) {
    for emitted in everywhere(messages) {
        let sent = emitted.payload.to_string();
        let lost: Vec<_> = texts.iter().filter(|t| !sent.contains(**t)).collect();
        assert!(lost.is_empty() || !emitted.warnings.is_empty(), "{lost:?} is neither sent nor told of: {sent}");
    }
}

#[test]
fn nested_ten_thousand_deep() {
    for field in ["text", "parts", "tool_calls", "meta", "role", "name", "tool_call_id"] {
        let message = deep(json!({ "role": "assistant", "text": "a" }), field);
        let block = PlanBlock { fields: (&message).into(), tokens: 0, history: Vec::new() };
        for pack in PACKS {
            let rules = shipped(pack);
            for dialect in dialects(rules) {
                let plan = Plan { blocks: vec![block.clone()], ..plan(&[], &dialect, "m") };
                let error = emit(rules, &plan, &dialect).unwrap_err();
                assert!(
                    *error.kind() == tapster::ErrorKind::Bound && error.message.contains("message 0"),
                    "{pack}, {dialect}, {field}: {error}"
                );
            }
        }
    }
    let arguments = format!("{}{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let messages = [
        json!({ "role": "assistant", "tool_calls": call("1", &arguments) }),
        json!({ "role": "tool", "text": "found", "tool_call_id": "1" }),
    ];
    kept_or_told(&messages, &["found"]);
    let as_text = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    kept_or_told(&[json!({ "role": "user", "text": as_text })], &[&as_text]);
}

#[test]
fn a_scene_nested_ten_thousand_deep() {
    let function = deep(json!({ "name": "f" }), "parameters");
    let tool = Value::Object([("type".to_owned(), json!("function")), ("function".to_owned(), function)].into_iter().collect());
    let mut scene = Scene::default();
    scene.set("provider.model", "m".into());
    scene.set("provider.tools", (&Value::Array(vec![tool])).into());
    for pack in PACKS {
        let rules = shipped(pack);
        for dialect in dialects(rules) {
            let plan = Plan { scene: scene.data.clone(), ..plan(&[json!({ "role": "user", "text": "a" })], &dialect, "m") };
            match emit(rules, &plan, &dialect) {
                Ok(emitted) => assert!(emitted.payload.is_object()),
                Err(error) => assert!(!error.message.is_empty(), "{pack}, {dialect}"),
            }
        }
    }
}

#[test]
fn names_without_end() {
    let name = "N".repeat(200_000);
    let messages = [
        json!({ "role": "user", "name": name, "text": "first" }),
        json!({ "role": "assistant", "name": "\u{0}\u{202e}\n: ", "text": "second" }),
        json!({ "role": "tool", "name": name, "text": "third", "tool_call_id": name }),
        json!({ "role": "system", "name": { "a": 1 }, "text": "fourth" }),
    ];
    kept_or_told(&messages, &["first", "second", "third", "fourth"]);
}

#[test]
fn a_thousand_calls() {
    let ids: Vec<String> = (0..1_000).map(|n| format!("call{n}")).collect();
    let one = |id: &String| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let result = |id: &String| json!({ "role": "tool", "text": format!("of {id}"), "tool_call_id": id });
    let ask = json!({ "role": "user", "text": "?" });

    let at_once: Vec<Value> = [ask.clone(), json!({ "role": "assistant", "tool_calls": ids.iter().map(one).collect::<Vec<_>>() })]
        .into_iter()
        .chain(ids.iter().map(result))
        .collect();
    kept_or_told(&at_once, &["of call0", "of call999"]);

    let by_turns: Vec<Value> = std::iter::once(ask)
        .chain(ids.iter().flat_map(|id| [json!({ "role": "assistant", "tool_calls": [one(id)] }), result(id)]))
        .collect();
    kept_or_told(&by_turns, &["of call0", "of call999"]);
}

/// As many faults as messages: ten of a kind are told of.
#[test]
fn thousands_of_faults() {
    let messages: Vec<Value> = (0..2_000).map(|n| json!({ "role": "oracle", "text": "", "tool_call_id": n })).collect();
    for emitted in everywhere(&messages) {
        let told = emitted.warnings.iter().filter(|w| w.code == "lint.role").count();
        assert_eq!(told, 10);
    }
}

/// Calls and results that are where no provider takes them.
#[test]
fn calls_and_results_out_of_place() {
    let ask = json!({ "role": "user", "text": "asked" });
    let calls = |n: usize| json!({ "role": "assistant", "text": format!("said {n}"), "tool_calls": call(&n.to_string(), "{}") });
    let result = |n: usize| json!({ "role": "tool", "text": format!("found {n}"), "tool_call_id": n.to_string() });
    let both = json!({ "role": "assistant", "tool_calls": [call("1", "{}")[0], call("2", "{}")[0]] });
    let rows = [
        ("lint.apart", vec![ask.clone(), calls(1), ask.clone(), result(1)]),
        ("lint.apart", vec![ask.clone(), result(1), calls(1)]),
        ("lint.twice", vec![ask.clone(), calls(1), result(1), result(1)]),
        ("lint.order", vec![ask.clone(), both, result(2), result(1)]),
        ("lint.uncalled", vec![ask.clone(), calls(1), result(1), result(2)]),
        ("lint.caller", vec![json!({ "role": "user", "text": "asked", "tool_calls": call("1", "{}") })]),
    ];
    for (code, messages) in rows {
        for emitted in everywhere(&messages) {
            assert!(emitted.warnings.iter().any(|w| w.code == code && w.help.is_some()), "{code}: {:?}", emitted.warnings);
        }
        kept_or_told(&messages, &["asked", "found 1"]);
    }
}
