//! Plain values: those that only an equal value is as good as, so that many of them can be looked up at once.

use serde_json::Value as Json;

/// A plain value. Two of them are equal if the values are.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum PlainKey<'v> {
    Null,
    Bool(bool),
    /// A number, by the bits of its value.
    Number(u64),
    Text(&'v str),
    List(Vec<PlainKey<'v>>),
}

/// The plain value that a value is; `None` for one with a table in it, which may have more keys than are written.
pub(super) fn key(value: &Json) -> Option<PlainKey<'_>> {
    Some(match value {
        Json::Null => PlainKey::Null,
        Json::Bool(b) => PlainKey::Bool(*b),
        Json::Number(n) => {
            let n = n.as_f64()?;
            // the two zeros are equal
            PlainKey::Number(if n == 0.0 { 0 } else { n.to_bits() })
        }
        Json::String(text) => PlainKey::Text(text),
        Json::Array(list) => PlainKey::List(list.iter().map(key).collect::<Option<_>>()?),
        Json::Object(_) => return None,
    })
}
