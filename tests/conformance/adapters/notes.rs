//! `contract-notes`: the author's note and the persona.

use serde_json::{Value as Json, json};

use super::parts;
use crate::case::{Case, Check};
use crate::compare::fits;
use crate::engine::{self, CONTRACT, Scene};

/// A prompt of main prompt, persona and history, with a note.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let actual = match (engine::build(CONTRACT, scene(input)), engine::run(CONTRACT, "build", scene(input), &[])) {
        (Ok(built), Ok(ran)) => json!({
            "messages": built.messages(), "note_scheduled": ran.get("note.due"), "scan_texts": ran.column("scan_texts", "text"),
        }),
        (Err(error), _) | (_, Err(error)) => error,
    };
    vec![case.check(actual, fits)]
}

fn scene(input: &Json) -> Scene {
    let mut scene = Scene::new(json!({
        "type": input["generation_type"],
        "dialect": if input["dialect"] == json!("text") { "text" } else { "openai" },
        "turn_count": input["turn_count"],
        "history": parts::history(&input["history"]),
        "note": input["authors_note"],
        "note_overrides": input["authors_note_overrides"],
        "persona": input["persona"],
        "preset": {
            "main": input["main"],
            "entries": [{ "name": "main_prompt" }, { "name": "persona_description" }, { "name": "chat_history" }],
        },
    }));
    let entries = parts::injections(&input["injections"], &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    scene
}
