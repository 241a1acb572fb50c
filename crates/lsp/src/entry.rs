//! Which lore entry of a scene a place in a file is about: in the scene file by its numbers, in a lorebook or card by what it says.

use std::ops::Range;

use serde_json::Value as Json;
use tapster::model::Value;

use crate::document::OpenDocument;
use crate::outline::{Cursor, NodeContent, NodeId, PathStep};

/// The numbers of a book in the scene, and of an entry in the book.
pub(crate) type EntryPlace = (usize, usize);

/// The entry of a scene that a byte of a document is about. `is_scene_file`: the document is the scene file itself.
pub(crate) fn entry_at(document: &OpenDocument, is_scene_file: bool, offset: usize, scene: &Value) -> Option<EntryPlace> {
    let cursor = document.outline().cursor(offset);
    if is_scene_file {
        return numbered_entry(&cursor, scene);
    }
    // the innermost table is the most exact
    let tables = 1..cursor.nodes.len();
    tables.rev().find_map(|depth| {
        let range = element_range(document, cursor.nodes.get(depth - 1).copied()?, cursor.nodes.get(depth).copied()?)?;
        described_entry(document.text.get(range)?, scene)
    })
}

/// The entry at `scene.books.N.entries.N`.
fn numbered_entry(cursor: &Cursor, scene: &Value) -> Option<EntryPlace> {
    let [PathStep::Key(top), PathStep::Key(books), PathStep::Index(book), PathStep::Key(entries), PathStep::Index(entry), ..] =
        cursor.path.as_slice()
    else {
        return None;
    };
    let is_known = (top.as_str(), books.as_str(), entries.as_str()) == ("scene", "books", "entries");
    let book_value = scene.get("books")?.as_list()?.get(*book)?;
    (is_known && book_value.get("entries")?.as_list()?.get(*entry).is_some()).then_some((*book, *entry))
}

/// The range of a table that is one of several: an element of a list, or of a table that holds nothing but tables.
fn element_range(document: &OpenDocument, above: NodeId, id: NodeId) -> Option<Range<usize>> {
    let outline = document.outline();
    let is_table = |id: NodeId| matches!(outline.node(id).map(|node| &node.content), Some(NodeContent::Table(_)));
    let is_element = match &outline.node(above)?.content {
        NodeContent::List(_) => true,
        NodeContent::Table(entries) => entries.iter().all(|entry| is_table(entry.node)),
        _ => false,
    };
    (is_element && is_table(id)).then(|| outline.node(id).map(|node| node.range.clone())).flatten()
}

/// The only entry of the scene whose title or text the values of a JSON table are, best with both and the id.
fn described_entry(text: &str, scene: &Value) -> Option<EntryPlace> {
    let Ok(Json::Object(table)) = serde_json::from_str::<Json>(text) else { return None };
    let said: Vec<String> = table.values().filter_map(scalar_text).filter(|text| !text.is_empty()).collect();
    let says = |entry: &Value, field: &str| entry.get(field).is_some_and(|value| said.contains(&value.to_text().trim().to_owned()));
    let mut best: Option<(usize, Vec<EntryPlace>)> = None;
    for (book, value) in scene.get("books")?.as_list()?.iter().enumerate() {
        for (at, entry) in value.get("entries").and_then(Value::as_list).unwrap_or_default().iter().enumerate() {
            let named = ["name", "title", "text"].into_iter().filter(|field| says(entry, field)).count();
            if named == 0 {
                continue;
            }
            let score = named + usize::from(says(entry, "id"));
            match &mut best {
                Some((known, places)) if *known == score => places.push((book, at)),
                Some((known, _)) if *known > score => {}
                _ => best = Some((score, vec![(book, at)])),
            }
        }
    }
    match best?.1.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// A text or number as a text.
fn scalar_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.trim().to_owned()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
