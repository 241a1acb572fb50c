//! Bad input: foreign files that are broken, huge or cyclic give warnings and a sensible prompt, and never a panic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by failing")]

pub(crate) mod attempts;
mod dialects;
mod functions;
mod imports;
mod large;
mod patterns;
mod scripts;
mod values;
mod work;

use serde_json::{Value, json};
use tapster::{Plan, Scene, build, import_document};

use crate::support::EXACT;

fn built(documents: &[Value]) -> Plan {
    let mut scene = Scene { trace: true, ..Default::default() };
    scene.merge(
        (&json!({ "history": [{ "role": "user", "name": "U", "text": "A lamp, a boat. aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }] })).into(),
    );
    for document in documents {
        scene.merge(import_document(&EXACT, None, document).unwrap_or_else(|e| panic!("{e}: {document}")).scene);
    }
    build(&EXACT, &scene).unwrap_or_else(|e| panic!("{e}"))
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

/// What bringing a document warns of.
fn told(document: &Value) -> Vec<String> {
    import_document(&EXACT, None, document).unwrap_or_else(|e| panic!("{e}: {document}")).warnings
}

/// Whether one of the warnings holds all of these words.
fn says(warnings: &[String], words: &[&str]) -> bool {
    warnings.iter().any(|w| words.iter().all(|word| w.contains(word)))
}
