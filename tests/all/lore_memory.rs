//! What a ruleset remembers of earlier scans changes no outcome: after any change of the chat or of the entries, a build
//! with a used ruleset gives what a build with a fresh one gives.

#![expect(clippy::panic, reason = "helpers of tests may panic")]

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, run};

const PACKS: &[&str] = &["sillytavern", "sillytavern-exact", "risuai"];

fn open(pack: &str) -> Ruleset {
    Ruleset::open(pack, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A chat and a book in which keys are found in several ways, and some not at all.
fn scene() -> Json {
    let history: Vec<Json> = (0..60)
        .map(|n| json!({ "role": if n % 2 == 0 { "user" } else { "assistant" }, "name": "Ann", "text": format!("Message {n} of place{n:02}.") }))
        .collect();
    let mut entries: Vec<Json> = (0..40)
        .map(|n| json!({ "id": format!("e{n}"), "keys": [format!("place{:02}", n * 2), "no such key"], "text": format!("Lore {n}, near hill{n:02}.") }))
        .collect();
    entries.push(json!({ "id": "hill", "keys": ["HILL07"], "text": "A hill." }));
    entries.push(json!({ "id": "case", "keys": ["HILL08"], "case": true, "text": "Never found." }));
    entries.push(json!({ "id": "pattern", "keys": ["/place4\\d/"], "text": "A pattern." }));
    entries.push(json!({ "id": "bad", "keys": ["/(/"], "text": "A bad pattern." }));
    entries.push(json!({ "id": "near", "keys": ["place58"], "scan_depth": 1, "text": "In the newest message only." }));
    entries.push(json!({ "id": "macro", "keys": ["{{user}}"], "text": "A key with a macro." }));
    // a book of few entries is not remembered
    entries.extend((0..40).map(|n| json!({ "id": format!("f{n}"), "keys": [format!("far place {n}")], "text": "Far." })));
    json!({
        "type": "normal",
        "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "A thief." },
        "context": { "window": 32_000, "reserve": 500, "tokenizer": "words" },
        "lore": { "names": true, "depth": 100, "recursion": true },
        "books": [{ "id": "b", "role": "character", "entries": entries }],
        "speaker": { "file": "vex", "tags": [] },
        "chat": { "length": history.len() },
        "history": history,
    })
}

/// Everything that a scan says: what is active, why, and its warnings.
fn said(rules: &Ruleset, scene: &Json) -> String {
    let mut scene = Scene::new(scene);
    scene.trace = true;
    let outcome = run(rules, "lore", &scene, &[]).unwrap_or_else(|e| panic!("{e}"));
    format!("{:#?}\n{:#?}\n{:#?}", outcome.get("lore.active"), outcome.reasons(), outcome.warnings())
}

/// What changes, and how.
type Edit = (&'static str, fn(&mut Json));

#[test]
fn a_used_ruleset_says_what_a_fresh_one_says() {
    let edits: &[Edit] = &[
        ("nothing", |_| ()),
        ("one message more", |s| {
            if let Some(history) = s["history"].as_array_mut() {
                history.push(json!({ "role": "user", "name": "Ann", "text": "At place02 again, and hill03." }));
            }
        }),
        ("an edited message", |s| s["history"][58]["text"] = "Nowhere.".into()),
        ("an older message gone", |s| {
            if let Some(history) = s["history"].as_array_mut() {
                history.remove(10);
            }
        }),
        ("an edited key", |s| s["books"][0]["entries"][3]["keys"][0] = "place59".into()),
        ("an edited text", |s| s["books"][0]["entries"][3]["text"] = "Lore 3, near HILL07.".into()),
        ("a number that prints alike", |s| s["books"][0]["entries"][3]["order"] = json!(100.0)),
        ("a book of another name", |s| s["books"][0]["id"] = "c".into()),
        ("a book from elsewhere", |s| s["books"][0]["role"] = "global".into()),
        ("what entries have when they do not say", |s| s["entry"] = json!({ "constant": true, "order": 7 })),
        ("a key that counts case", |s| s["books"][0]["entries"][40]["case"] = true.into()),
        ("whole words or not", |s| s["lore"]["whole_words"] = false.into()),
        ("keys in another order", |s| {
            if let Some(entries) = s["books"][0]["entries"].as_array_mut() {
                entries.reverse();
            }
        }),
        ("another name", |s| s["names"]["user"] = "place13".into()),
        ("fewer messages searched", |s| s["lore"]["depth"] = 5.into()),
    ];
    for pack in PACKS {
        let used = open(pack);
        let first = said(&used, &scene());
        for (name, edit) in edits {
            let mut changed = scene();
            edit(&mut changed);
            let fresh = said(&open(pack), &changed);
            assert_eq!(said(&used, &changed), fresh, "{pack}: {name}");
            assert_eq!(said(&used, &changed), fresh, "{pack}: {name}, again");
        }
        assert_eq!(said(&used, &scene()), first, "{pack}: as it was");
    }
}

#[test]
fn edits_are_seen() {
    let rules = open("sillytavern-exact");
    let mut changed = scene();
    let before = said(&rules, &changed);
    changed["books"][0]["entries"][3]["keys"][0] = "no such place".into();
    assert_ne!(said(&rules, &changed), before);
    let mut changed = scene();
    changed["history"][58]["text"] = "Nowhere.".into();
    assert_ne!(said(&rules, &changed), before);
}

#[test]
fn builds_at_the_same_time_share_what_they_remember() {
    let rules = open("sillytavern-exact");
    let fresh = said(&open("sillytavern-exact"), &scene());
    std::thread::scope(|threads| {
        let all: Vec<_> = (0..4).map(|_| threads.spawn(|| said(&rules, &scene()))).collect();
        for one in all {
            assert_eq!(one.join().unwrap_or_else(|_| panic!("a build stopped")), fresh);
        }
    });
}
