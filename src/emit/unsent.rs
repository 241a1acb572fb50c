//! Settings that a payload does not have: what a scene or its preset asks for, and the dialect does not send.
//!
//! Which paths of the scene are settings is said by the rows of `option`. A setting counts as sent if the payload has its
//! value, or a key of nearly its name, because dialects rename and limit what they send.

use serde_json::Value as Json;

use crate::diag::Code;
use crate::model::{Plan, Value};
use crate::pack::Ruleset;
use crate::terms::State;

/// The table whose rows name settings.
const TABLE: &str = "option";

/// Warns of each setting that the payload lacks.
pub(super) fn warn(rules: &Ruleset, plan: &Plan, dialect: &str, payload: &Json, st: &State) {
    let Some(rows) = rules.pack().tables.get(TABLE) else { return };
    for row in rows.values() {
        let cell = |key: &str| row.fields.get(key).map(|field| &field.node);
        let Some(path) = cell("path").and_then(|node| node.as_text()) else { continue };
        if cell("told").and_then(|node| node.as_bool()) == Some(false) {
            continue;
        }
        let given = plan.scene.at(path).unwrap_or(&Value::Null);
        if !asks(given) || sent(path.rsplit('.').next().unwrap_or(path), &given.to_json(), payload) {
            continue;
        }
        let message = format!("dialect `{dialect}` does not send `{path}` to this model");
        let help = "take it out of the preset or the scene, or name another dialect or model";
        st.warn_with(Code::SettingUnsent, message, Some(help.to_owned()), Some(format!("{TABLE}/{}", row.name)));
    }
}

/// Whether a value asks for something: 0, 1 and negative numbers are what most settings have if they do nothing.
fn asks(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number > 1,
        Value::Num(number) => number.abs() > f64::EPSILON && (number - 1.0).abs() > f64::EPSILON,
        Value::Text(text) => !text.is_empty() && &**text != "auto",
        Value::List(list) => !list.is_empty(),
        _ => false,
    }
}

/// Whether the payload has the value, or a key of this name in any spelling.
fn sent(name: &str, value: &Json, payload: &Json) -> bool {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let name = plain(name);
    let equal = |found: &Json| found == value || found.as_f64().is_some_and(|n| value.as_f64() == Some(n));
    let mut open = vec![payload];
    while let Some(found) = open.pop() {
        if equal(found) {
            return true;
        }
        match found {
            Json::Array(list) => open.extend(list),
            Json::Object(table) => {
                // messages are not settings, and may be long
                let settings = table.iter().filter(|(key, _)| !matches!(key.as_str(), "messages" | "contents" | "input" | "system"));
                for (key, found) in settings {
                    if plain(key).contains(&name) && !name.is_empty() && (name.len() > 1 || plain(key) == name) {
                        return true;
                    }
                    open.push(found);
                }
            }
            _ => {}
        }
    }
    false
}
