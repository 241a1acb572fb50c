//! Values as scripts see them, and what scripts give back as values.

use std::sync::Arc;

use rhai::Dynamic;

use super::fuel::LazyMap;
use crate::diag::limits;
use crate::model::{Map, Value};

/// A value as a whole: tables become tables of the language.
pub(super) fn to_dynamic(value: &Value) -> Dynamic {
    match value {
        Value::Null | Value::Rule(_) => Dynamic::UNIT,
        Value::Bool(b) => Dynamic::from(*b),
        Value::Int(n) => Dynamic::from(*n),
        Value::Num(n) => Dynamic::from(*n),
        Value::Text(t) => Dynamic::from(rhai::ImmutableString::from(&**t)),
        Value::List(list) => Dynamic::from_array(list.iter().map(to_dynamic).collect()),
        Value::Map(map) => Dynamic::from_map(map.iter().map(|(k, v)| ((&**k).into(), to_dynamic(v))).collect()),
    }
}

/// What a script gives back. `unread`: items of a list may be given back although the script may not read all of them.
pub(super) fn from_dynamic(value: Dynamic, depth: usize, unread: bool) -> Result<Value, String> {
    if depth > limits::RULE_NESTING {
        return Err(format!("a value is nested deeper than {}", limits::RULE_NESTING));
    }
    let value = value.flatten();
    // most of what comes back are items of a list
    if value.is::<LazyMap>() {
        return value.try_cast::<LazyMap>().map_or(Ok(Value::Null), |view| view.given_back(unread && depth > 0));
    }
    if value.is_unit() {
        return Ok(Value::Null);
    }
    if let Ok(b) = value.as_bool() {
        return Ok(Value::Bool(b));
    }
    if let Ok(n) = value.as_int() {
        return Ok(Value::Int(n));
    }
    if let Ok(n) = value.as_float() {
        return Ok(Value::Num(n));
    }
    if value.is_string() || value.is_char() {
        return Ok(Value::text(value.to_string()));
    }
    if value.is_array() {
        let list = value.into_array().unwrap_or_default();
        return list.into_iter().map(|v| from_dynamic(v, depth + 1, unread)).collect::<Result<Vec<_>, _>>().map(Value::list);
    }
    let kind = value.type_name();
    match value.try_cast::<rhai::Map>() {
        Some(map) => {
            let items = |key: &str| unread && depth == 0 && key == "items";
            let fields = map.into_iter().map(|(k, v)| {
                let items = items(&k);
                Ok((Arc::from(k.as_str()), from_dynamic(v, depth + 1, items)?))
            });
            fields.collect::<Result<Map, String>>().map(Value::map)
        }
        None => Err(format!("a script may give back texts, numbers, truth values, lists and tables, not a `{kind}`")),
    }
}
