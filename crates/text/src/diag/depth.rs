//! How deep lists and tables of a value stand inside each other, found without recursion: what is written must be readable
//! again.

use serde_json::Value as Json;

/// Whether more than `most` lists and tables of a value stand inside each other.
pub fn nests_deeper(value: &Json, most: usize) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Json::Array(_) | Json::Object(_) if depth > most => return true,
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    false
}
