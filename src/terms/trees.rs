//! Walking and changing trees of tables by the names along a path.

use std::sync::Arc;

use crate::model::{Map, Value};

/// Whether a value hides what lies below it: a table does not, its leaves are looked for below too.
pub(super) fn decides(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Map(_))
}

pub(super) fn walk(value: &Value, names: &[Arc<str>]) -> Value {
    let mut at = value;
    for (n, name) in names.iter().enumerate() {
        let special = match (at, name.as_ref()) {
            (Value::List(l), "last") => Some(l.last().cloned().unwrap_or_default()),
            (Value::List(l), "count") => Some(Value::Int(i64::try_from(l.len()).unwrap_or(i64::MAX))),
            _ => None,
        };
        if let Some(found) = special {
            return walk(&found, names.get(n + 1..).unwrap_or(&[]));
        }
        match at.get(name) {
            Some(v) => at = v,
            None => return Value::Null,
        }
    }
    at.clone()
}

/// Sets a value inside a tree of tables; what is no table on the way becomes one.
pub fn put(tree: &mut Value, names: &[Arc<str>], value: Value) {
    let Some((name, rest)) = names.split_first() else {
        *tree = value;
        return;
    };
    if !matches!(tree, Value::Map(_)) {
        *tree = Value::map(Map::default());
    }
    let Value::Map(map) = tree else { return };
    let map = Arc::make_mut(map);
    if rest.is_empty() && value.is_null() {
        map.shift_remove(name);
        return;
    }
    let below = map.entry(name.clone()).or_default();
    put(below, rest, value);
}
