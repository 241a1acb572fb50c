//! The scene of a recording: its input over the baseline, as documents of RisuAI, through the pack's formats.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Map, Value as Json, json};

use super::PACK;
use crate::adapters::parts;
use crate::case::Case;
use crate::engine::{self, Scene};

/// How often the last recorded draw is repeated.
const REPEATS: usize = 2_000;

/// What takes part in a send, as RisuAI has it: `db`, `character`, `chat`, and `group` with its `members`.
pub(crate) fn documents(case: &Case, family: &str) -> Json {
    let mut out = case.input.clone();
    let group = case.input["group"].is_object();
    for part in ["db", "character", "chat"] {
        let base = laid(&baseline()["all"][part], &baseline()[family][part]);
        if part == "character" && group {
            let members = case.input["members"].as_array().into_iter().flatten();
            let members: Json = members.map(|member| completed(laid(&base, member))).collect();
            let speaks = case.input["chatProcessIndex"].as_u64().unwrap_or(0);
            let speaker = members.get(usize::try_from(speaks).unwrap_or(0)).cloned().unwrap_or(Json::Null);
            parts::set(&mut out, "members", members);
            parts::set(&mut out, part, speaker);
        } else {
            parts::set(&mut out, part, completed(laid(&base, &case.input[part])));
        }
    }
    if group {
        parts::set(&mut out, "group", completed(case.input["group"].clone()));
    }
    if let Some(modules) = out["db"]["modules"].as_array().cloned() {
        parts::set(&mut out["db"], "modules", modules.into_iter().map(completed).collect());
    }
    out
}

/// The scene of a recording: `family` is the part of the baseline that it is laid over.
pub(crate) fn scene(case: &Case, family: &str) -> Result<Scene, Json> {
    let given = documents(case, family);
    let mut data = json!({});
    for (format, part) in [("risu_preset", "db"), ("risu_character", "character"), ("risu_chat", "chat")] {
        parts::lay(&mut data, engine::import(PACK, format, &given[part])?);
    }
    parts::lay(&mut data, engine::import(PACK, "risu_session", &given)?);
    parts::put(&mut data, "now", case.pins["now"].clone());
    if case.input["continue"] == json!(true) {
        parts::put(&mut data, "type", json!("continue"));
    }
    parts::put(&mut data, "context.tokenizer", tokenizer(&case.pins["tokenizer"]));
    Ok(Scene { draws: draws(&case.pins["random"]), ..Scene::new(data) })
}

/// How tokens were counted.
fn tokenizer(pin: &Json) -> Json {
    if pin.as_str().is_some_and(|text| text.starts_with("words")) { json!("words") } else { json!("o200k") }
}

/// The numbers that were drawn; the last one repeats.
fn draws(pin: &Json) -> Option<Vec<f64>> {
    let mut given: Vec<f64> = pin.as_array()?.iter().filter_map(Json::as_f64).collect();
    let last = *given.last()?;
    given.resize(given.len() + REPEATS, last);
    Some(given)
}

/// A table over another one; a field that is given replaces the one below as a whole.
fn laid(below: &Json, above: &Json) -> Json {
    let fields = |json: &Json| json.as_object().cloned().unwrap_or_default();
    let mut out: Map<String, Json> = fields(below);
    out.extend(fields(above));
    Json::Object(out)
}

/// Lore entries with the fields that every entry has, messages with the ids that they were given.
fn completed(mut owner: Json) -> Json {
    let defaults = &baseline()["loreEntryDefaults"];
    for list in ["globalLore", "localLore", "lorebook"] {
        if let Some(entries) = owner[list].as_array().map(|entries| entries.iter().map(|entry| laid(defaults, entry)).collect()) {
            parts::set(&mut owner, list, entries);
        }
    }
    for (n, message) in owner.get_mut("message").and_then(Json::as_array_mut).into_iter().flatten().enumerate() {
        if message["chatId"].is_null() {
            parts::set(message, "chatId", json!(format!("m{n}")));
        }
    }
    owner
}

/// What all recordings have in common.
fn baseline() -> &'static Json {
    static BASELINE: OnceLock<Json> = OnceLock::new();
    BASELINE.get_or_init(|| {
        let shared = Path::new(env!("CHECKOUT")).join("../shared/conformance");
        let folder: PathBuf = std::env::var("TAPSTER_CONFORMANCE").map_or(shared, Into::into);
        let read = |file: PathBuf| std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read(folder.join("risuai/baseline.json")).or_else(|| read(folder.join("baseline.json"))).unwrap_or_default()
    })
}
