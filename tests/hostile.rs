//! Bad input: foreign files that are broken, huge or cyclic give warnings and a sensible prompt, and never a panic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by failing")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapster::{Plan, Ruleset, Scene, bring, build};

fn built(documents: &[Value]) -> Plan {
    let rules = Ruleset::open("sillytavern-exact", &[]).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut scene = Scene { trace: true, ..Default::default() };
    scene.merge(
        (&json!({ "history": [{ "role": "user", "name": "U", "text": "A lamp, a boat. aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }] })).into(),
    );
    for document in documents {
        scene.merge(bring(&rules, None, document).unwrap_or_else(|e| panic!("{e}: {document}")).scene);
    }
    build(&rules, &scene).unwrap_or_else(|e| panic!("{e}"))
}

fn entry(uid: usize, more: &Value) -> Value {
    let mut entry =
        json!({ "uid": uid, "key": ["lamp"], "keysecondary": [], "content": format!("text {uid}"), "position": 0, "order": 100 });
    for (key, value) in more.as_object().unwrap() {
        entry.as_object_mut().unwrap().insert(key.clone(), value.clone());
    }
    entry
}

fn book(entries: &[Value]) -> Value {
    let entries: serde_json::Map<_, _> = entries.iter().enumerate().map(|(n, e)| (n.to_string(), e.clone())).collect();
    json!({ "entries": entries })
}

fn prompt(plan: &Plan) -> String {
    plan.blocks.iter().filter(|b| b.enabled()).map(|b| b.text("text")).collect::<Vec<_>>().join("\n")
}

#[test]
fn patterns_that_run_away_are_warned_of_and_bounded() {
    let started = Instant::now();
    let plan = built(&[book(&[entry(1, &json!({ "key": ["/(?:(a|aa)+)+\\1c/"] })), entry(2, &json!({}))])]);
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(prompt(&plan).contains("text 2"));
    assert!(!plan.warnings.is_empty(), "a pattern that runs away is told");
}

#[test]
fn patterns_that_cannot_be_read_are_told_with_their_entry() {
    let plan = built(&[book(&[entry(41, &json!({ "key": ["/lamp(/"] })), entry(2, &json!({}))])]);
    assert!(prompt(&plan).contains("text 2"));
    assert!(plan.warnings.iter().any(|w| w.message.contains("41")), "{:?}", plan.warnings);
}

#[test]
fn entries_that_call_each_other_end() {
    let cyclic = |uid, key: &str, content: &str| entry(uid, &json!({ "key": [key], "content": content }));
    let plan = built(&[book(&[cyclic(1, "lamp", "ping pong"), cyclic(2, "ping", "lamp pong"), cyclic(3, "pong", "ping lamp")])]);
    assert_eq!(prompt(&plan).matches("ping pong").count(), 1);
}

#[test]
fn odd_numbers_and_nulls_are_no_obstacle() {
    let nulls = json!({ "uid": null, "key": null, "keysecondary": null, "content": null, "order": null, "position": null, "depth": null });
    let plan = built(&[book(&[
        entry(1, &json!({ "order": "NaN" })),
        entry(1, &json!({ "order": -7, "content": "same number" })),
        entry(3, &json!({ "position": 4, "depth": 1_000_000_000 })),
        nulls,
    ])]);
    assert!(prompt(&plan).contains("same number"), "{}", prompt(&plan));
}

#[test]
fn twenty_thousand_entries_are_scanned_in_time() {
    let started = Instant::now();
    let entries: Vec<Value> =
        (0..20_000).map(|n| entry(n, &json!({ "key": [format!("word{n}")] }))).chain([entry(20_000, &json!({}))]).collect();
    assert!(prompt(&built(&[book(&entries)])).contains("text 20000"));
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn presets_with_gaps_still_give_a_prompt() {
    let prompts = json!([
        { "identifier": "main", "role": "system", "content": "First." }, { "identifier": "main", "role": "system", "content": "Second." },
    ]);
    let order = json!([{ "character_id": 100_001, "order": [
        { "identifier": "main", "enabled": true }, { "identifier": "nobody", "enabled": true }, { "identifier": "chatHistory", "enabled": true },
    ] }]);
    let whole = built(&[json!({ "openai_max_context": 4096, "prompts": prompts, "prompt_order": order })]);
    assert!(prompt(&whole).contains("A lamp"));
    let orderless = built(&[json!({ "openai_max_context": 4096, "prompts": prompts })]);
    assert!(prompt(&orderless).contains("A lamp"));
}
