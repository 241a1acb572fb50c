//! Fingerprints of values: equal values have equal ones, in whatever order their keys are written.

use crate::model::Value;

/// The blake3 hash of the canonical JSON of a value, in hex: equal values have equal fingerprints in any order of keys.
#[must_use]
pub fn fingerprint(value: &Value) -> String {
    let mut text = String::new();
    canonical(value, &mut text);
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Recursion is bounded, because values come from files or scripts, whose depth is bounded.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::List(list) => {
            out.push('[');
            for (n, value) in list.iter().enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                canonical(value, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            let mut keys: Vec<_> = map.iter().filter(|(_, v)| !v.is_null()).collect();
            keys.sort_unstable_by_key(|(key, _)| (*key).clone());
            out.push('{');
            for (n, (key, value)) in keys.into_iter().enumerate() {
                out.push_str(if n == 0 { "" } else { "," });
                out.push_str(&Value::Text(key.clone()).to_json().to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Int(_) | Value::Num(_) => out.push_str(&value.to_text()),
        other => out.push_str(&other.to_json().to_string()),
    }
}
