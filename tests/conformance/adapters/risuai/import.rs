//! `risuai-import`: files and documents as the program reads them: containers through the readers, what they hold
//! through the pack's conversions.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::PACK;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine;

/// What stands for a value that is made anew each time, and for a field that is not there.
const RANDOM: &str = "(random)";
const ABSENT: &str = "(absent)";

/// A file, card, lorebook, preset, module or text, and the parts of what is made of it that the case names.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let read = document(&case.input).and_then(|document| made(&document, &case.expected));
    let actual = read.unwrap_or_else(|error| error);
    vec![case.check(actual, |want, have| fits(want, have, true))]
}

/// The document of a case: the one in its file, or the one it gives.
fn document(input: &Json) -> Result<Json, Json> {
    if let Some(name) = input["file"].as_str() {
        let bytes = std::fs::read(folder().join(name)).map_err(|e| json!({ "error": format!("{name}: {e}") }))?;
        let contents = tapster_exchange::import::read(name, &bytes).map_err(|e| json!({ "error": format!("{e:?}") }))?;
        return Ok(contents.main().map(|d| d.json()).unwrap_or_default());
    }
    if !input["entries"].is_null() {
        return Ok(input.clone());
    }
    let given = input.as_object().and_then(|fields| fields.values().next());
    Ok(given.cloned().unwrap_or_default())
}

/// What the program makes of a document, by the words that the case uses for it.
fn made(document: &Json, expected: &Json) -> Result<Json, Json> {
    let wanted = |key: &str| expected.get(key).is_some();
    let by = |row: &str| engine::convert(PACK, row, document);
    if wanted("module") {
        return Ok(json!({ "module": by("risu_module")? }));
    }
    if wanted("preset") {
        // a preset of the program itself is what it is
        let foreign = document["prompts"].is_array();
        return Ok(json!({ "preset": if foreign { by("risu_read_preset")? } else { document.clone() } }));
    }
    if wanted("promptTemplate") {
        return by("risu_read_preset");
    }
    if wanted("lorebook") {
        return Ok(json!({ "lorebook": by("risu_read_lore")?["data"] }));
    }
    if wanted("messages") {
        return by("risu_messages");
    }
    by("risu_character")
}

/// The fields of `want` are those of `have`; below the first `loose` levels, there are no others either.
fn fits(want: &Json, have: &Json, loose: bool) -> bool {
    match (want, have) {
        (Json::String(word), _) if word == RANDOM => true,
        (Json::String(word), _) if word == ABSENT => have.is_null(),
        (Json::Object(fields), Json::Object(_)) if loose => {
            fields.iter().all(|(key, value)| fits(value, have.get(key).unwrap_or(&Json::Null), matches!(key.as_str(), "preset" | "module")))
        }
        (Json::Object(fields), Json::Object(others)) if fields.values().any(|v| v == RANDOM || v == ABSENT) => {
            others.keys().all(|key| fields.contains_key(key)) && fits(want, have, true)
        }
        _ => same(want, have),
    }
}

/// The folder of the recordings.
fn folder() -> PathBuf {
    let shared = Path::new(env!("CHECKOUT")).join("../shared/conformance");
    let folder: PathBuf = std::env::var("TAPSTER_CONFORMANCE").map_or(shared, Into::into);
    let below = folder.join("risuai");
    if below.is_dir() { below } else { folder }
}
