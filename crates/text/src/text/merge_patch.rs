//! JSON Merge Patch (RFC 7396): a table laid over another one, where null removes.

use std::sync::Arc;

use crate::diag::limits;
use crate::model::{Map, Value};

/// The value with a patch applied. Tables are merged field by field, null removes a field, and anything else replaces
/// what was there. Below [`limits::NESTING`] levels the patch replaces as a whole.
pub(super) fn merge_patch(target: &Value, patch: &Value) -> Value {
    merged(Some(target), patch, 0)
}

fn merged(target: Option<&Value>, patch: &Value, depth: usize) -> Value {
    let Value::Map(patch) = patch else { return patch.clone() };
    let mut out = match target {
        Some(Value::Map(target)) => Map::clone(target),
        _ => Map::default(),
    };
    let mut removes = false;
    for (key, value) in patch.iter() {
        if value.is_null() {
            removes = removes || out.contains_key(key);
        } else if depth >= limits::NESTING {
            out.insert(Arc::clone(key), value.clone());
        } else {
            let value = merged(out.get(key), value, depth + 1);
            out.insert(Arc::clone(key), value);
        }
    }
    if removes {
        // all at once, because each removal moves the fields behind it
        out.retain(|key, _| !patch.get(key).is_some_and(Value::is_null));
    }
    Value::map(out)
}
