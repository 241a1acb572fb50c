//! `contract-cards`: one card out of many.

use serde_json::{Value as Json, json};

use crate::adapters::wire::parts;
use crate::case::{Case, Check, fits};
use crate::engine;
use crate::engine::{CONTRACT, Scene};

/// Members with their cards, merged.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let members = input["members"].as_array().into_iter().flatten();
    let members: Json = members.map(|id| member(id, &input["cards"][id.as_str().unwrap_or("")])).collect();
    let scene = Scene::new(json!({
        "group": {
            "active": true, "mode": input["generation_mode"], "disabled_members": input["disabled_members"],
            "join_prefix": input["join_prefix"], "join_suffix": input["join_suffix"],
        },
        "speaker": input["current_speaker"],
        "overrides": input["overrides"],
        "members": members,
    }));
    let actual = match engine::run(CONTRACT, "merge_cards", scene, &[]) {
        Ok(ran) => json!({ "merged": merged(&ran.get("card")) }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// The joined fields of a card; nothing if there is none.
pub(super) fn merged(card: &Json) -> Json {
    let fields = ["description", "personality", "scenario", "mes_example"];
    if fields.iter().all(|f| card[*f].is_null()) {
        return Json::Null;
    }
    fields.iter().map(|f| ((*f).to_owned(), card[*f].clone())).collect::<serde_json::Map<_, _>>().into()
}

fn member(id: &Json, card: &Json) -> Json {
    json!({ "id": id, "name": card["name"], "card": card })
}

// Foreign files inside recorded inputs: presets, cards, lorebooks and chats go through the pack's `foreign` maps.

/// A chat-completion preset as the scene has it.
pub(crate) fn preset(pack: &str, file: &Json) -> Result<Json, Json> {
    engine::import(pack, "st_preset", file)
}

/// A text-completion context preset.
pub(crate) fn context(pack: &str, file: &Json) -> Result<Json, Json> {
    engine::import(pack, "st_context", file)
}

/// A card: a part of a scene with `card`.
pub(crate) fn card(pack: &str, file: &Json) -> Result<Json, Json> {
    engine::import(pack, "st_card", file)
}

/// A chat: a part of a scene with `history`.
pub(crate) fn chat(pack: &str, messages: &Json) -> Result<Json, Json> {
    engine::import(pack, "st_chat", &json!({ "lines": messages }))
}

/// Regex scripts: a part of a scene with `scripts`.
pub(crate) fn scripts(pack: &str, list: &Json) -> Result<Json, Json> {
    if list.is_null() { Ok(json!({})) } else { engine::import(pack, "st_regex", list) }
}

/// The word for a placement of regex scripts.
pub(crate) fn placement(code: &Json) -> Json {
    parts::code(code, &["", "user", "reply", "slash", "", "lore", "reasoning"])
}

/// Lorebooks of a case, each with whose it is, as list `books`.
pub(crate) fn books(pack: &str, world_info: &Json) -> Result<Json, Json> {
    let mut books = Vec::new();
    for role in ["global", "chat", "persona", "character"] {
        let given = &world_info[role];
        let many = given.as_array().cloned().unwrap_or_else(|| vec![given.clone()]);
        for book in many.iter().filter(|b| !b.is_null()) {
            let book = &filled(world_info, book_of(world_info, book));
            // the spelling of cards is a list of entries with `keys`
            let format = if book["entries"].is_array() { "st_character_book" } else { "st_lorebook" };
            let mut part = engine::import(pack, format, book)?;
            for book in part["books"].as_array_mut().into_iter().flatten() {
                parts::set(book, "role", json!(role));
                books.push(book.clone());
            }
        }
    }
    Ok(Json::Array(books))
}

/// The recorder fills in what an entry leaves out, unless a case says `fill_entries: false`; of that only the position has
/// no default in the pack, as the real program puts an entry without one nowhere.
fn filled(world_info: &Json, book: &Json) -> Json {
    let mut book = book.clone();
    if world_info["fill_entries"] != json!(false)
        && let Some(entries) = book.get_mut("entries").and_then(Json::as_object_mut)
    {
        for entry in entries.values_mut().filter(|e| e.get("position").is_none()) {
            parts::set(entry, "position", json!(0));
        }
    }
    book
}

/// A book may be given by the name of another.
fn book_of<'a>(world_info: &'a Json, book: &'a Json) -> &'a Json {
    if !book.is_string() {
        return book;
    }
    let mut known = world_info["books"].as_array().into_iter().flatten();
    known.find(|b| b["name"] == *book).unwrap_or(book)
}
