//! Every context preset with every instruct preset of a fresh install gives a text prompt.
//!
//! The presets are not part of the project: without `../shared/real` (or `$TAPSTER_REAL`) the test says so and passes.
//! The table of all pairs goes to `target/presets.tsv`: sizes of the prompt and of its stop strings, or the error.

#![expect(clippy::unwrap_used, reason = "a test ends where it fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, Value};

use crate::shipped::EXACT;

/// The presets of a folder, by their file's name.
fn presets(folder: &Path) -> Vec<(String, Json)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let read = |f: &PathBuf| serde_json::from_slice(&std::fs::read(f).unwrap()).unwrap();
    files.iter().map(|f| (f.file_stem().unwrap().to_string_lossy().into_owned(), read(f))).collect()
}

/// A chat that uses what presets differ in: a narrator, lore, injections, examples.
fn scene() -> Json {
    json!({
        "dialect": "text",
        "names": { "user": "Bo", "char": "Ann" },
        "context": { "window": 8192, "reserve": 300, "tokenizer": "words" },
        "card": { "name": "Ann", "description": "{{char}} mends clocks.", "mes_example": "<START>\n{{user}}: How late?\n{{char}}: Late." },
        "persona": { "text": "{{user}} is late." },
        "preset": { "system_prompt": "Speak as {{char}}.", "post_history": "Be brief." },
        "history": [
            { "id": "1", "role": "assistant", "name": "Ann", "text": "Come in." },
            { "id": "2", "role": "system", "name": "Narrator", "text": "It rains.", "narrator": true },
            { "id": "3", "role": "user", "name": "Bo", "text": "Is it done?" },
        ],
        "books": [{ "id": "b", "entries": [{ "id": "e", "constant": true, "text": "Clocks tick." }] }],
        "injections": [{ "id": "note", "text": "Quietly.", "position": "chat", "depth": 1 }, { "id": "near", "text": "By night.", "position": "after" }],
    })
}

/// Lays a part of a scene over a scene.
fn lay(scene: &mut Json, part: &Json) {
    match (scene, part) {
        (Json::Object(scene), Json::Object(part)) => {
            for (key, value) in part {
                lay(scene.entry(key).or_insert(Json::Null), value);
            }
        }
        (scene, part) => *scene = part.clone(),
    }
}

#[test]
fn every_pair_of_shipped_presets_gives_a_prompt() {
    let root = Path::new(env!("CHECKOUT"));
    let real = std::env::var("TAPSTER_REAL").map_or_else(|_| root.join("../shared/real"), PathBuf::from).join("sillytavern");
    if !real.is_dir() {
        println!("skipped: {} is not here (set TAPSTER_REAL)", real.display());
        return;
    }
    let pack = &*EXACT;
    let bring = |format: &str, file: &Json| tapster::import_document(pack, Some(format), file).expect(format).scene.to_json();
    let part = |folder: &str, format: &str| -> Vec<(String, Json)> {
        presets(&real.join(folder)).iter().map(|(name, file)| (name.clone(), bring(format, file))).collect()
    };
    let (contexts, instructs) = (part("context", "st_context"), part("instruct", "st_instruct"));
    let (mut table, mut wrong) = (String::from("context\tinstruct\tcharacters\tstops\tproblem\n"), Vec::new());
    for (context, c) in &contexts {
        for (instruct, i) in &instructs {
            let mut data = scene();
            lay(&mut data, c);
            lay(&mut data, i);
            let (size, stops, problem) = built(pack, &data);
            writeln!(table, "{context}\t{instruct}\t{size}\t{stops}\t{problem}").unwrap();
            if !problem.is_empty() {
                wrong.push(format!("{context} with {instruct}: {problem}"));
            }
        }
    }
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), PathBuf::from);
    std::fs::create_dir_all(&target).unwrap();
    std::fs::write(target.join("presets.tsv"), &table).unwrap();
    println!("{} pairs in {}", contexts.len() * instructs.len(), target.join("presets.tsv").display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The size of the prompt, how many stop strings it has, and what is wrong with it.
fn built(pack: &Ruleset, data: &Json) -> (usize, usize, String) {
    let scene = Scene { data: Value::from(data), ..Scene::default() };
    let emitted = tapster::build(pack, &scene).and_then(|plan| tapster::emit(pack, &plan, "text"));
    let payload = match emitted {
        Ok(emitted) => emitted.payload,
        Err(error) => return (0, 0, error.to_string()),
    };
    let prompt = payload.get("prompt").and_then(Json::as_str).unwrap_or_default();
    let stops = payload.get("stop").and_then(Json::as_array).map_or(0, Vec::len);
    // what every prompt must say, and what no prompt may still hold
    let missing =
        ["Ann mends clocks.", "Come in.", "It rains.", "Is it done?", "Quietly.", "Be brief."].iter().find(|t| !prompt.contains(**t));
    let problem = match missing {
        Some(text) => format!("`{text}` is not in it"),
        None => ["{{char}}", "{{user}}", "{{name}}", "{{#", "{{/", "{{trim}}"]
            .iter()
            .find(|tag| prompt.contains(**tag))
            .map_or_else(String::new, |tag| format!("`{tag}` is left in it")),
    };
    (prompt.chars().count(), stops, problem)
}
