//! The JSON Schemas of the files that sharing writes: the lock and the index. Whatever is read is checked by them first, so
//! that the schemas, which other programs may use, say what is accepted.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

use super::shown;

/// The schemas by the names of their files, in the folder `schemas` of this crate.
pub const FILES: [(&str, &str); 2] = [
    ("lock.v1.json", include_str!("../../schemas/lock.v1.json")),
    ("index.v1.json", include_str!("../../schemas/index.v1.json")),
];

/// A schema by the name of its file.
#[must_use]
pub fn get(file: &str) -> Option<Value> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == file)?;
    serde_json::from_str(text).ok()
}

/// What is wrong with a lock, as far as a schema can tell.
pub(super) fn wrong_in_lock(value: &Value) -> Option<String> {
    static LOCK: LazyLock<Option<Validator>> = LazyLock::new(|| compiled("lock.v1.json"));
    wrong(LOCK.as_ref(), value)
}

/// What is wrong with an index.
pub(super) fn wrong_in_index(value: &Value) -> Option<String> {
    static INDEX: LazyLock<Option<Validator>> = LazyLock::new(|| compiled("index.v1.json"));
    wrong(INDEX.as_ref(), value)
}

fn compiled(file: &str) -> Option<Validator> {
    jsonschema::validator_for(&get(file)?).ok()
}

/// The first mistake with its place. A schema that cannot be used is a fault of the program that refuses everything.
fn wrong(schema: Option<&Validator>, value: &Value) -> Option<String> {
    let Some(schema) = schema else { return Some("its schema cannot be used".to_owned()) };
    let error = schema.validate(value).err()?;
    let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let place = if place.is_empty() { String::new() } else { format!("at `{}`: ", shown(&place)) };
    // without the value, which may be the whole file
    Some(format!("{place}{}", shown(&error.masked().to_string())))
}
