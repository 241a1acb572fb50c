//! `risuai-lorebook`: what the lore loader makes of the entries: which are active, in which order, and what the chat
//! remembers.

use serde_json::{Value as Json, json};

use super::{PACK, scene};
use crate::adapters::parts;
use crate::case::{Case, Check};
use crate::compare::{same, without};
use crate::engine;

/// What a recording explains and does not assert about the prompt: which key was found in which text.
const UNTOLD: &[&str] = &["matchLog"];

/// One run of the loader.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let actual = loaded(case).unwrap_or_else(|error| error);
    let expected = without(&case.expected, UNTOLD);
    let passed = same(&expected, &actual);
    vec![Check { level: String::new(), passed, expected, actual }]
}

fn loaded(case: &Case) -> Result<Json, Json> {
    let scene = scene::scene(case, "lorebook")?;
    let before = scene.data["vars"]["local"].clone();
    let ran = engine::run(PACK, "lore", scene, &[])?;
    let actives: Json = ran.list("entries").iter().filter(|entry| entry["enabled"] != json!(false)).map(active).collect();
    let mut out = json!({ "actives": actives });
    let mut state = serde_json::Map::new();
    for (name, value) in before.as_object().into_iter().flatten().chain(ran.get("vars.local").as_object().into_iter().flatten()) {
        state.insert(format!("${name}"), value.clone());
    }
    if !state.is_empty() {
        parts::set(&mut out, "scriptstate", Json::Object(state));
    }
    Ok(out)
}

/// An entry in the form of the recordings.
fn active(entry: &Json) -> Json {
    let text = entry["text"].as_str().unwrap_or("");
    let inject = (entry["injects"] == json!(true)).then(|| {
        let lore = entry["inject_into"].is_string();
        let word = |key: &str, other: &str| entry[key].as_str().unwrap_or(other).to_owned();
        json!({
            "operation": word("inject_how", "append"),
            "location": if lore { word("inject_into", "") } else { word("inject_at", "") },
            "param": word("inject_what", ""),
            "lore": lore,
        })
    });
    let position = entry["position"].as_str().filter(|position| *position != "lorebook").unwrap_or("");
    json!({
        "depth": entry["depth"],
        "pos": position,
        "prompt": text,
        "role": entry["role"],
        "order": entry["order"],
        "tokens": entry["tokens"],
        "priority": entry["priority"],
        "source": entry["name"],
        "inject": inject,
    })
}
