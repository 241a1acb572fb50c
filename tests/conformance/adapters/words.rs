//! Persona, note and extension prompts of recorded inputs: what they say by numbers, in words.

use serde_json::{Value as Json, json};

use super::parts;

const ROLES: &[&str] = &["system", "user", "assistant"];

/// The persona, its numbers as words.
pub(crate) fn persona(persona: &Json, data: &mut Json) {
    parts::copy(persona, data, &[("description", "persona.text"), ("depth", "persona.depth")]);
    let positions = &["in_prompt", "after_char", "top_an", "bottom_an", "at_depth", "", "", "", "", "none"];
    parts::put(data, "persona.position", persona.get("position").map_or_else(|| json!("in_prompt"), |p| parts::code(p, positions)));
    if let Some(role) = persona.get("role") {
        parts::put(data, "persona.role", parts::code(role, ROLES));
    }
}

/// The author's note, its numbers as words.
pub(crate) fn note(note: &Json, data: &mut Json) {
    let names = [("prompt", "note.text"), ("interval", "note.frequency"), ("depth", "note.depth"), ("allow_wi_scan", "note.scan")];
    parts::copy(note, data, &names);
    if let Some(position) = note.get("position") {
        parts::put(data, "note.position", parts::code(position, &["after", "chat", "before"]));
    }
    if let Some(role) = note.get("role") {
        parts::put(data, "note.role", parts::code(role, ROLES));
    }
    let own = &note["chara"];
    if own.is_object() {
        parts::copy(own, data, &[("prompt", "card.note.text")]);
        parts::put(data, "card.note.enabled", json!(own["useChara"] != json!(false)));
        let mode = own.get("position").map_or_else(|| json!("replace"), |p| parts::code(p, &["replace", "before", "after"]));
        parts::put(data, "card.note.mode", mode);
    }
}

/// What extensions have registered, its numbers as words.
pub(crate) fn extension_prompts(list: &Json) -> Json {
    let prompt = |p: &Json| {
        let mut out =
            json!({ "id": p["key"], "text": p["value"], "depth": p.get("depth").unwrap_or(&json!(0)), "scan": p["scan"] == json!(true) });
        let position = p.get("position").and_then(Json::as_i64).unwrap_or(0);
        let words = [(-1, "none"), (0, "after"), (1, "chat"), (2, "before")];
        if let Some((_, word)) = words.iter().find(|(n, _)| *n == position) {
            parts::set(&mut out, "position", json!(word));
        }
        parts::set(&mut out, "role", parts::code(p.get("role").unwrap_or(&json!(0)), ROLES));
        if p["filter"].is_boolean() {
            parts::set(&mut out, "filter", p["filter"].clone());
        }
        out
    };
    list.as_array().into_iter().flatten().map(prompt).collect()
}
