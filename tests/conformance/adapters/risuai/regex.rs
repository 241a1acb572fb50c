//! `risuai-regex`: one text through the scripts of a mode, and what else they have done.

use serde_json::{Value as Json, json};

use super::{PACK, scene};
use crate::adapters::parts;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine;

/// One text.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let actual = rewritten(case).unwrap_or_else(|error| error);
    vec![case.check(actual, same)]
}

fn rewritten(case: &Case) -> Result<Json, Json> {
    let input = &case.input;
    let mut scene = scene::scene(case, "regex")?;
    parts::put(&mut scene.data, "edit.mode", input["mode"].clone());
    let number = input["chatID"].as_i64().filter(|number| *number >= 0);
    let text = json!([{ "id": "text", "text": input["data"], "number": number, "spoken_as": input["cbsConditions"]["chatRole"] }]);
    let ran = engine::run(PACK, "edit", scene, &[("edited", text)])?;
    let emotion = ran.get("edit.emotion");
    let mut out = json!({ "data": ran.column("edited", "text")[0], "emoChanged": emotion.is_object() });
    if emotion.is_object() {
        parts::set(&mut out, "emotions", json!([[emotion["name"], emotion["file"]]]));
    }
    let stored = ran.get("edit.stored");
    if let Some(stored) = stored.as_object().filter(|stored| !stored.is_empty()) {
        let mut messages = scene::documents(case, "regex")["chat"]["message"].clone();
        for (number, text) in stored {
            if let Some(message) = number.parse::<usize>().ok().and_then(|n| messages.get_mut(n)) {
                parts::set(message, "data", text.clone());
            }
        }
        parts::set(&mut out, "messages", messages);
    }
    Ok(out)
}
