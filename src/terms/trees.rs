//! Reads and changes trees of tables by the names along a path.

use std::sync::Arc;

use crate::model::{Map, Value};

/// Whether a value hides the layers below it. A table does not: its missing leaves are looked up in the next layer
/// too.
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

/// Sets a value inside a tree of tables; anything on the way that is not a table becomes one.
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

/// Marks a value of a tree of tables as missing, whatever the layers below hold at its place; anything on the way that is not a
/// table becomes one.
pub(super) fn hide(tree: &mut Value, names: &[Arc<str>]) {
    let Some((name, rest)) = names.split_first() else {
        *tree = Value::Null;
        return;
    };
    if !matches!(tree, Value::Map(_)) {
        *tree = Value::map(Map::default());
    }
    let Value::Map(map) = tree else { return };
    hide(Arc::make_mut(map).entry(name.clone()).or_default(), rest);
}

/// The elements of the lists of a scene, and of the lists that those elements hold (the entries of its books).
pub(super) fn elements(of: &Value, levels: u32) -> u64 {
    if levels == 0 {
        return 0;
    }
    let below = |value: &Value| match value {
        Value::List(list) => list.len() as u64,
        _ => 0,
    };
    let held = |element: &Value| element.as_map().map_or(0, |map| map.values().map(below).sum());
    match of {
        Value::Map(map) => map.values().map(|value| elements(value, levels - 1)).sum(),
        Value::List(list) => list.len() as u64 + list.iter().map(held).sum::<u64>(),
        _ => 0,
    }
}

/// Whether a name after a list's name means one of its items or their number.
pub(super) fn is_place(name: &str) -> bool {
    matches!(name, "last" | "count") || name.parse::<usize>().is_ok()
}
