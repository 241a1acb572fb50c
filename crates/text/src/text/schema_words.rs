//! One broken keyword of a JSON Schema as a sentence for a person: what must stand there, and what is probably meant.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value as Json;

use crate::diag::{short, suggest};

/// The most keys that are listed.
const MOST_KEYS: usize = 20;

/// What is wrong at one place of an error. `key` is the last token of the place.
pub(super) fn sentence(error: &ValidationError<'_>, schema: &Json, key: &str) -> String {
    match error.kind() {
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => unknown(error, schema, key),
        Kind::Required { .. } => format!("{} is required", short::word(key)),
        Kind::PropertyNames { error } => match (spelled(key), error.kind()) {
            (Some(meant), Kind::Pattern { .. }) => format!("the key is not spelled as keys are here; write `{}`", short::word(&meant)),
            _ => "the key is not spelled as keys are here".to_owned(),
        },
        Kind::FalseSchema => format!("{} must not be given here", short::word(key)),
        _ => short::cut(error.masked_with("the value").to_string()),
    }
}

fn unknown(error: &ValidationError<'_>, schema: &Json, key: &str) -> String {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let known = schema.pointer(parent).and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    let known: Vec<&str> = known.into_iter().flatten().filter(|(_, of)| **of != Json::Bool(false)).map(|(key, _)| key.as_str()).collect();
    if let Some(near) = suggest::nearest(key, known.iter().copied()) {
        return format!("there is no such key; did you mean `{near}`?");
    }
    match known.len() {
        0 | MOST_KEYS.. => "there is no such key".to_owned(),
        _ => format!("there is no such key; known here: {}", known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// The key in lower-case words with `_` between them, if that is another spelling.
fn spelled(key: &str) -> Option<String> {
    let mut out = String::new();
    for c in key.chars().take(MOST_KEYS * 4) {
        match c {
            'A'..='Z' => {
                if out.ends_with(|last: char| last.is_ascii_lowercase() || last.is_ascii_digit()) {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' | '_' => out.push(c),
            '-' | ' ' | '.' => out.push('_'),
            _ => return None,
        }
    }
    (out != key && out.starts_with(|first: char| first.is_ascii_lowercase())).then_some(out)
}
