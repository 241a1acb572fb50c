//! What lint says of messages before they are sent: each dialect of `base` against what its provider documents.
//!
//! Every warning names the message, the rule that says so, and what to do about it.

#![expect(clippy::panic, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::diag::Diagnostic;
use tapster::model::PlanBlock;
use tapster::{Plan, Ruleset, Value, emit};

use crate::shipped::BASE;

fn lint(dialect: &str, model: &str, messages: &[Json]) -> Vec<Diagnostic> {
    let block = |m: &Json| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() };
    let scene = json!({ "dialect": dialect, "provider": { "model": model }, "context": { "reserve": 9 } });
    let plan = Plan { blocks: messages.iter().map(block).collect(), scene: Value::from(&scene), ..Plan::default() };
    let emitted = emit(&BASE, &plan, dialect).unwrap_or_else(|e| panic!("{dialect}: {e}"));
    emitted.warnings.into_iter().filter(|w| w.code.as_str().starts_with("lint.")).collect()
}

fn codes(warnings: &[Diagnostic]) -> Vec<&str> {
    warnings.iter().map(|w| w.code.as_str()).collect()
}

fn user(text: &str) -> Json {
    json!({ "role": "user", "text": text })
}

fn answer(text: &str) -> Json {
    json!({ "role": "assistant", "text": text })
}

fn calls(ids: &[&str]) -> Json {
    let call = |id: &&str| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{}" } });
    json!({ "role": "assistant", "tool_calls": ids.iter().map(call).collect::<Vec<_>>() })
}

fn result(id: &str) -> Json {
    json!({ "role": "tool", "text": "x", "tool_call_id": id })
}

/// One chat with everything that some provider does not take.
fn everything() -> Vec<Json> {
    let media = json!([
        { "type": "text", "text": "see" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
        { "type": "video_url", "video_url": { "url": "data:video/mp4;base64,AA==" } },
        { "type": "audio_url", "audio_url": { "url": "data:audio/mpeg;base64,AA==" } },
    ]);
    vec![
        json!({ "role": "system", "text": "Main" }),
        answer("Hello."),
        json!({ "role": "user", "name": "Bo", "text": "", "parts": media }),
        calls(&["a b"]),
        result("a b"),
        json!({ "role": "user", "text": "And?" }),
        json!({ "role": "system", "text": "late" }),
        json!({ "role": "assistant", "name": "Ann", "text": "Well," }),
        json!({ "role": "user", "text": " " }),
        answer("So,"),
    ]
}

/// What is said of it in each dialect: whatever the provider does not take, and nothing else.
#[test]
fn every_dialect_knows_its_provider() {
    let media = ["lint.films", "lint.images", "lint.sounds"];
    let rows: &[(&str, &str, &[&str], &[&str])] = &[
        ("openai", "gpt-4o", &["lint.films", "lint.prefill"], &[]),
        ("openai", "gpt-3.5-turbo", &["lint.films", "lint.images", "lint.prefill"], &[]),
        ("openai-responses", "gpt-5", &["lint.empty", "lint.films", "lint.name", "lint.prefill", "lint.sounds"], &[]),
        (
            "anthropic",
            "claude-opus-4-6",
            &["lint.call", "lint.empty", "lint.films", "lint.name", "lint.prefill", "lint.sounds", "lint.system"],
            &[],
        ),
        ("anthropic", "claude-sonnet-4-5", &["lint.call", "lint.empty", "lint.films", "lint.name", "lint.sounds", "lint.system"], &[]),
        ("google", "gemini-2.5-pro", &["lint.empty", "lint.name", "lint.system"], &[]),
        ("google", "gemini-3.7-flash", &["lint.empty", "lint.name", "lint.prefill", "lint.system"], &[]),
        (
            "mistral",
            "mistral-large",
            &["lint.after_tools", "lint.call", "lint.empty", "lint.films", "lint.name", "lint.sounds", "lint.system"],
            &[],
        ),
        ("mistral", "voxtral-small", &["lint.after_tools", "lint.call", "lint.empty", "lint.films", "lint.name", "lint.system"], &[]),
        ("cohere", "command-a", &["lint.empty", "lint.name", "lint.prefill"], &media),
        ("cohere", "command-a-vision", &["lint.empty", "lint.films", "lint.name", "lint.prefill", "lint.sounds"], &[]),
        ("ai21", "jamba", &["lint.empty", "lint.first", "lint.name", "lint.system"], &media),
        ("xai", "grok-4", &["lint.empty", "lint.films", "lint.name", "lint.sounds"], &[]),
        ("deepseek", "deepseek-chat", &["lint.empty"], &media),
        ("openrouter", "x/y", &["lint.empty"], &[]),
        ("openrouter", "anthropic/claude-opus-4.6", &["lint.empty", "lint.prefill"], &[]),
        ("text", "m", &["lint.tools"], &media),
    ];
    for (dialect, model, own, more) in rows {
        let warnings = lint(dialect, model, &everything());
        let mut found = codes(&warnings);
        found.sort_unstable();
        let mut expected: Vec<&str> = own.iter().chain(more.iter()).copied().collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{dialect}, {model}");
    }
    let known: Vec<String> = tapster::machinery::build::dialects(&BASE);
    assert!(known.iter().all(|d| rows.iter().any(|(row, ..)| row == d)), "{known:?}");
}

/// A warning says which message, by which rule, and what to do.
#[test]
fn warnings_name_message_rule_and_remedy() {
    let dialects = tapster::machinery::build::dialects(&BASE);
    let odd = [
        everything(),
        vec![json!({ "role": "oracle", "text": "x" }), result("9"), calls(&[""]), json!({ "role": "user", "tool_calls": [1] })],
    ];
    for dialect in dialects.iter().map(String::as_str).chain(["openai"]) {
        for messages in &odd {
            for warning in lint(dialect, "any-model", messages) {
                assert!(warning.message.contains("message"), "{warning:?}");
                assert!(warning.pass.starts_with("lint/") || warning.pass.starts_with("lint_tools/"), "{warning:?}");
                assert!(warning.help.as_ref().is_some_and(|h| !h.is_empty()), "{warning:?}");
                assert!(!warning.message.contains("``"), "{warning:?}");
                assert!(warning.row.as_deref().is_none_or(|row| row.starts_with("capability/") && row.len() > 11), "{warning:?}");
            }
        }
    }
}

/// Who says a thing that no row says: the default, or the scene.
#[test]
fn a_provider_that_nobody_knows() {
    let kite = r#"
kind = "overlay"
version = 1
name = "kite"
[[program]]
name = "kite"
over = "messages"
[[form]]
name = "kite/payload"
keys = { turns = { of = "messages", get = "@text" } }
"#;
    let rules = Ruleset::open_with("base", &[("kite.toml", kite)]).unwrap_or_else(|e| panic!("{e}"));
    let said = |capability: Json| {
        let blocks = [user("a"), user(""), answer("b")].map(|m| PlanBlock { fields: Value::from(&m), tokens: 0, history: Vec::new() });
        let scene = json!({ "provider": { "model": "k" }, "capability": capability });
        let plan = Plan { blocks: blocks.into(), scene: Value::from(&scene), ..Plan::default() };
        let warnings = emit(&rules, &plan, "kite").unwrap().warnings;
        warnings.into_iter().map(|w| format!("{} {}", w.code, w.row.unwrap_or_default())).collect::<Vec<_>>()
    };
    assert_eq!(said(json!({})), ["lint.empty capability/default"]);
    assert_eq!(said(json!({ "prefill": false, "takes_empty": true })), ["lint.prefill capability/scene"]);
}

#[test]
fn results_stand_behind_their_calls() {
    let ask = || user("?");
    let rows: Vec<(&str, Vec<Json>, &[&str])> = vec![
        ("well", vec![ask(), calls(&["1", "2"]), result("1"), result("2"), answer("ok"), ask()], &[]),
        ("an id may come again", vec![ask(), calls(&["1"]), result("1"), calls(&["1"]), result("1"), ask()], &[]),
        ("no result", vec![ask(), calls(&["1"]), ask()], &["lint.unanswered"]),
        ("one of two", vec![ask(), calls(&["1", "2"]), result("2"), ask()], &["lint.unanswered"]),
        ("none at the end", vec![ask(), calls(&["1"])], &["lint.unanswered"]),
        ("no call", vec![ask(), result("1"), ask()], &["lint.uncalled"]),
        ("no id", vec![ask(), calls(&["1"]), result("1"), json!({ "role": "tool", "text": "x" }), ask()], &["lint.uncalled"]),
        ("another's", vec![ask(), calls(&["1"]), result("1"), result("2"), ask()], &["lint.uncalled"]),
        ("in between", vec![ask(), calls(&["1"]), ask(), result("1"), ask()], &["lint.unanswered", "lint.apart"]),
        ("in front", vec![ask(), result("1"), calls(&["1"]), ask()], &["lint.unanswered", "lint.apart"]),
        ("behind another", vec![ask(), calls(&["1"]), result("1"), calls(&["2"]), result("2"), result("1"), ask()], &["lint.apart"]),
        ("twice", vec![ask(), calls(&["1"]), result("1"), result("1"), ask()], &["lint.twice"]),
        ("wrong order", vec![ask(), calls(&["1", "2"]), result("2"), result("1"), ask()], &["lint.order"]),
        ("two calls of one id", vec![ask(), calls(&["1", "1"]), result("1"), ask()], &["lint.call"]),
        (
            "a call of the user",
            vec![json!({ "role": "user", "text": "x", "tool_calls": [{ "id": "1", "function": { "name": "f", "arguments": "{}" } }] })],
            &["lint.caller"],
        ),
    ];
    for (name, messages, expected) in rows {
        assert_eq!(codes(&lint("openai", "gpt-4o", &messages)), expected, "{name}");
    }
    let late = lint("openai", "gpt-4o", &[ask(), calls(&["1"]), ask(), result("1")]);
    assert!(late.iter().any(|w| w.message.contains("message 1 ")) && late.iter().any(|w| w.message.contains("message 3 ")), "{late:?}");
}

#[test]
fn arguments_are_an_object() {
    let said = |dialect: &str, arguments: Json| {
        let call = json!({ "id": "1", "type": "function", "function": { "name": "look", "arguments": arguments } });
        let messages = [user("?"), json!({ "role": "assistant", "tool_calls": [call] }), result("1"), user("!")];
        codes(&lint(dialect, "m", &messages)).contains(&"lint.arguments")
    };
    for good in ["{}", " {\"a\": [1]} "] {
        assert!(!said("openai", json!(good)), "{good}");
    }
    for bad in [
        json!(""),
        json!(" "),
        json!("{"),
        json!("42"),
        json!("[]"),
        json!("\"{}\""),
        json!("null"),
        json!("look"),
        json!(42),
        json!([]),
        Json::Null,
        json!("{\"a\":\"\\ud800\"}"),
    ] {
        for dialect in tapster::machinery::build::dialects(&BASE) {
            assert!(said(&dialect, bad.clone()), "{dialect}: {bad}");
        }
    }
    assert!(said("openai", json!({ "a": 1 })) && !said("anthropic", json!({ "a": 1 })) && !said("google", json!({ "a": 1 })));
}

/// Slots that nothing filled are not sent, and do not count.
#[test]
fn unfilled_slots_are_no_messages() {
    let slot = json!({ "role": "system", "slot": "scenario", "text": "" });
    let warnings = lint("anthropic", "claude-opus-4-6", &[slot.clone(), user("a"), slot, answer("b")]);
    assert_eq!(codes(&warnings), ["lint.prefill"]);
    assert!(warnings[0].message.contains("message 1,"), "{warnings:?}");
}

/// A role that `provider.roles` names has a meaning.
#[test]
fn named_roles_are_known() {
    let blocks = [user("a"), json!({ "role": "narrator", "text": "b" }), user("c")].map(|m| PlanBlock {
        fields: Value::from(&m),
        tokens: 0,
        history: Vec::new(),
    });
    let scene = json!({ "provider": { "model": "claude-opus-4-6", "roles": { "narrator": "system", "assistant": "model" } }, "context": { "reserve": 9 } });
    let plan = Plan { blocks: blocks.into(), scene: Value::from(&scene), ..Plan::default() };
    let warnings = emit(&BASE, &plan, "anthropic").unwrap().warnings;
    assert_eq!(codes(&warnings), ["lint.system"]);
}
