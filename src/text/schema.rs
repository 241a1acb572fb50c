//! JSON Schemas as values: resolves references, for providers that do not support them.
//!
//! A reference may lead to itself, which is an error. Depth and size of the result are bounded.

use std::sync::Arc;

use crate::model::{Map, Value, value::MAX_DEPTH};

/// The most values of one schema.
const MOST_VALUES: usize = 100_000;
/// The key of the definitions.
const DEFINITIONS: &str = "$defs";

/// The schema with each `{ "$ref": "#/$defs/NAME" }` replaced by its definition, and without `$defs`. A reference
/// without a definition stays.
///
/// # Errors
/// References lead in a circle, or the schema would grow too large.
pub(super) fn inline_refs(schema: &Value) -> Result<Value, String> {
    let Some(map) = schema.as_map() else { return Ok(schema.clone()) };
    let definitions = map.get(DEFINITIONS).and_then(Value::as_map);
    let own: Map = map.iter().filter(|(key, _)| key.as_ref() != DEFINITIONS).map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut left = MOST_VALUES;
    inlined(&Value::map(own), definitions, MAX_DEPTH, &mut left)
}

fn inlined(value: &Value, definitions: Option<&Map>, depth: usize, left: &mut usize) -> Result<Value, String> {
    let (Some(depth), Some(fewer)) = (depth.checked_sub(1), left.checked_sub(1)) else {
        return Err("the references of a JSON Schema lead in a circle, or it grows too large".into());
    };
    *left = fewer;
    match value {
        Value::List(list) => {
            let list: Result<Vec<_>, _> = list.iter().map(|v| inlined(v, definitions, depth, left)).collect();
            Ok(Value::list(list?))
        }
        Value::Map(map) => {
            if let Some(meant) = referred(map, definitions) {
                return inlined(meant, definitions, depth, left);
            }
            let map: Result<Map, String> =
                map.iter().map(|(key, v)| Ok((Arc::clone(key), inlined(v, definitions, depth, left)?))).collect();
            Ok(Value::map(map?))
        }
        other => Ok(other.clone()),
    }
}

/// The definition that a reference refers to, if it refers to one.
fn referred<'a>(map: &Map, definitions: Option<&'a Map>) -> Option<&'a Value> {
    let name = map.get("$ref")?.as_str()?.strip_prefix("#/")?.strip_prefix(DEFINITIONS)?.strip_prefix('/')?;
    definitions?.get(name.rsplit('/').next().unwrap_or(name))
}
