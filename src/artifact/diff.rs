//! What changed between two versions, short enough for a log: which parts of a JSON value, or how long a text became.

use serde_json::{Map, Value as Json, json};

use super::ContentType;

/// Compares two values of an artifact; `before` is `None` if there was none. Texts are compared by their length in
/// characters: `{chars: [before, after]}`. JSON is compared by the JSON Pointers (RFC 6901) of what was added, removed
/// and changed, each list sorted: `{added, removed, changed}`. Only objects are looked into; arrays and everything else
/// count as one value.
#[must_use]
pub fn diff(content_type: ContentType, before: Option<&Json>, after: &Json) -> Json {
    if content_type != ContentType::Json {
        let chars = |value: &Json| value.as_str().map(|text| text.chars().count());
        return json!({ "chars": [before.and_then(chars), chars(after)] });
    }
    let mut found = ItemChanges::default();
    match before {
        None => found.added.push(String::new()),
        Some(before) => found.compare(before, after, &mut String::new()),
    }
    for list in [&mut found.added, &mut found.removed, &mut found.changed] {
        list.sort();
    }
    json!({ "added": found.added, "removed": found.removed, "changed": found.changed })
}

#[derive(Default)]
struct ItemChanges {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

impl ItemChanges {
    /// `at` is the pointer of both values. Values of a store are at most as deep as JSON parsers allow.
    fn compare(&mut self, before: &Json, after: &Json, at: &mut String) {
        match (before, after) {
            (Json::Object(before), Json::Object(after)) => self.fields(before, after, at),
            _ if before == after => {}
            _ => self.changed.push(at.clone()),
        }
    }

    fn fields(&mut self, before: &Map<String, Json>, after: &Map<String, Json>, at: &mut String) {
        let length = at.len();
        for (key, old) in before {
            step(at, key);
            match after.get(key) {
                Some(new) => self.compare(old, new, at),
                None => self.removed.push(at.clone()),
            }
            at.truncate(length);
        }
        for key in after.keys().filter(|key| !before.contains_key(*key)) {
            step(at, key);
            self.added.push(at.clone());
            at.truncate(length);
        }
    }
}

/// Appends a step to a pointer.
fn step(at: &mut String, key: &str) {
    at.push('/');
    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
}
