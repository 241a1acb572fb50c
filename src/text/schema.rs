//! JSON Schemas as values: references put in place, for providers that follow none.
//!
//! A reference may lead to itself. Whoever writes such a schema gets an error and not an endless value, so depth and
//! size of what comes out are bounded.

use std::sync::Arc;

use crate::model::{Map, Value, value::MAX_DEPTH};

/// More values than this in one schema are refused.
const MOST_VALUES: usize = 100_000;
/// Where definitions stand.
const DEFINITIONS: &str = "$defs";

/// The schema with what each `{ "$ref": "#/$defs/NAME" }` means in its place, and without `$defs`; a reference that
/// leads nowhere stays.
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

/// What a reference of a schema means, where a definition of the schema is meant.
fn referred<'a>(map: &Map, definitions: Option<&'a Map>) -> Option<&'a Value> {
    let name = map.get("$ref")?.as_str()?.strip_prefix("#/")?.strip_prefix(DEFINITIONS)?.strip_prefix('/')?;
    definitions?.get(name.rsplit('/').next().unwrap_or(name))
}
