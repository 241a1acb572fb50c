//! How recorded and actual values are compared, as the READMEs of the cases define it.

use serde_json::Value as Json;

/// Only the keys that `expected` names are compared, values exactly, lists in order; `null` is absent or null.
pub(crate) fn fits(expected: &Json, actual: &Json) -> bool {
    match (expected, actual) {
        (Json::Object(want), Json::Object(have)) => want.iter().all(|(key, value)| fits(value, have.get(key).unwrap_or(&Json::Null))),
        (Json::Array(want), Json::Array(have)) => want.len() == have.len() && want.iter().zip(have).all(|(w, h)| fits(w, h)),
        _ => scalar(expected, actual),
    }
}

/// All keys are compared; absent and null are the same.
pub(crate) fn same(expected: &Json, actual: &Json) -> bool {
    match (expected, actual) {
        (Json::Object(want), Json::Object(have)) => {
            let absent = |key: &String| !want.contains_key(key);
            want.iter().all(|(key, value)| same(value, have.get(key).unwrap_or(&Json::Null)))
                && have.iter().filter(|(key, _)| absent(key)).all(|(_, value)| value.is_null())
        }
        (Json::Array(want), Json::Array(have)) => want.len() == have.len() && want.iter().zip(have).all(|(w, h)| same(w, h)),
        _ => scalar(expected, actual),
    }
}

fn scalar(expected: &Json, actual: &Json) -> bool {
    match (expected.as_f64(), actual.as_f64()) {
        (Some(want), Some(have)) => want == have,
        _ => expected == actual,
    }
}

/// The list under `key` in an order of its own, so that two of them compare as sets.
pub(crate) fn unordered(value: &mut Json, key: &str) {
    if let Some(Json::Array(list)) = value.get_mut(key) {
        list.sort_by_cached_key(Json::to_string);
    }
}

/// `value` without the keys that say how to compare.
pub(crate) fn without(value: &Json, keys: &[&str]) -> Json {
    let mut value = value.clone();
    if let Json::Object(map) = &mut value {
        keys.iter().for_each(|key| {
            map.remove(*key);
        });
    }
    value
}

/// The texts of a JSON list.
pub(crate) fn texts(list: &Json) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}
