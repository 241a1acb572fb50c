//! Foreign formats of the shipped packs: documents of SillyTavern become parts of a scene, and a whole prompt comes
//! out as SillyTavern sends it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by failing")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tapster::{Scene, build, emit, import_document};

use crate::shipped::EXACT;

/// The folder of recorded data, or nothing (with a notice) where there is none.
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CHECKOUT")).join("../shared");
    let folder = std::env::var_os("TAPSTER_SHARED").map_or(beside, PathBuf::from);
    let found = folder.join("real/sillytavern").is_dir();
    if !found {
        eprintln!("skipped: no recorded data at {}; set TAPSTER_SHARED", folder.display());
    }
    found.then_some(folder)
}

#[test]
fn each_format_brings_what_its_sample_says() {
    let rules = &*EXACT;
    let folder = Path::new(env!("CHECKOUT")).join("tests/foreign");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "json"));
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let sample: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let brought = import_document(rules, None, &sample["document"]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(brought.format, sample["format"].as_str().unwrap(), "{name}");
        let scene = brought.scene.to_json();
        assert_eq!(scene, sample["scene"], "{name}:\n{}", serde_json::to_string_pretty(&scene).unwrap());
        assert_eq!(brought.rest.to_json(), sample["rest"], "{name}: what no rule reads");
        let warnings = sample["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(brought.warnings.len(), warnings, "{name}: {:?}", brought.warnings);
    }
}

#[test]
fn hello_is_sent_as_the_real_program_sends_it() {
    let Some(shared) = shared() else { return };
    let real = shared.join("real/sillytavern");
    let rules = &*EXACT;
    let mut scene = Scene::default();
    for file in ["default_Seraphina.png", "openai/Default.json"] {
        let bytes = std::fs::read(real.join(file)).unwrap();
        let imported = tapster_exchange::import::read(file, &bytes).unwrap();
        scene.merge(import_document(rules, None, imported.main().unwrap().value.clone()).unwrap().scene);
    }
    let persona = json!({ "name": "Alex", "description": "", "position": 0, "depth": 2, "role": 0 });
    scene.merge(import_document(rules, None, &persona).unwrap().scene);
    scene.merge((&json!({ "input": "Hello", "chat": { "greeting": 0 } })).into());
    let plan = build(rules, &scene).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.warnings, []);
    let sent = emit(rules, &plan, "openai").unwrap().payload;
    let expected: Value = serde_json::from_slice(&std::fs::read(real.join("expected-hello.json")).unwrap()).unwrap();
    let (sent, expected) = (sent["messages"].as_array().unwrap(), expected["messages"].as_array().unwrap());
    for (n, (sent, expected)) in sent.iter().zip(expected).enumerate() {
        assert_eq!(sent, expected, "message {n}");
    }
    assert_eq!(sent.len(), expected.len());
}

#[test]
fn a_report_names_the_field_that_a_value_came_from() {
    let rules = &*EXACT;
    let document =
        json!({ "openai_max_context": 10, "prompts": [], "prompt_order": [{ "character_id": 100001, "order": [] }], "top_k": 1 });
    let brought = import_document(rules, None, &document).unwrap();
    let told: Vec<_> = brought.fields.iter().map(|f| (f.field.as_str(), f.to.as_str())).collect();
    let expected = [
        ("openai_max_context", "context.window"),
        ("st_preset/settings", "provider.from_preset"),
        ("top_k", "provider.top_k"),
        ("prompt_order", "preset.entries"),
        ("prompts", "preset.main"),
    ];
    assert_eq!(told, expected);
    assert_eq!(brought.scene.to_json()["preset"]["entries"], json!([]), "an empty order is an order");
}

/// Texts and roles of the chat after the turn, its length, and the user's turns.
fn turn(data: &Value) -> (Vec<String>, Value, Value) {
    let outcome = tapster::run(&EXACT, "turn", &Scene::new(data), &[]).unwrap_or_else(|e| panic!("{e}"));
    let shown = |m: &tapster::Value| format!("{}: {}", m.at("role").unwrap().to_text(), m.at("text").unwrap().to_text());
    let texts = outcome.list("history").iter().map(shown).collect();
    (texts, outcome.get("chat.length").to_json(), outcome.get("turn_count").to_json())
}

#[test]
fn a_turn_begins_the_chat_posts_what_is_typed_and_drops_what_is_hidden() {
    let card = json!({ "greetings": ["One.", "Two."] });
    let open = |greeting: Value| json!({ "card": card, "chat": { "greeting": greeting }, "input": "Hi" });
    assert_eq!(turn(&open(json!(1))), (vec!["assistant: Two.".into(), "user: Hi".into()], json!(2), json!(1)));
    assert_eq!(turn(&open(Value::Null)).0, ["user: Hi"], "no greeting unless it is asked for");

    let history = json!([{ "role": "user", "text": "a" }, { "role": "user", "text": "b\r\n", "is_system": true }, { "role": "assistant", "text": "c\r" }]);
    let going = |kind: &str, input: &str| json!({ "card": card, "history": history, "type": kind, "input": input, "chat": { "greeting": 0, "visible": 2, "by_user": 2 } });
    let (texts, length, turns) = turn(&going("normal", "Hi"));
    assert_eq!(texts, ["user: a", "assistant: c", "user: Hi"], "a chat that has begun gets no greeting");
    assert_eq!((length, turns), (json!(3), json!(3)), "hidden messages of the user count as turns");
    assert_eq!(turn(&going("swipe", "Hi")).0, ["user: a"], "nothing is posted on a swipe, and the last message is written anew");
    let empty = |kind: &str| json!({ "history": history, "type": kind, "preset": { "send_if_empty": " go on " } });
    assert_eq!(turn(&empty("normal")).0, ["user: a", "assistant: c", "user: go on"]);
    assert_eq!(turn(&empty("continue")).0, ["user: a", "assistant: c"]);
}
