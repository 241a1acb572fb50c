//! Settings that a payload does not have: what a scene or its preset asks for, and the dialect does not send.
//!
//! The rows of `option` say which paths of the scene are settings, which of their values ask for nothing (`neutral`), and
//! under which other keys dialects send them (`keys`). A setting counts as sent if the payload has a key that contains its
//! name in any spelling, because dialects rename settings, or its whole text, list or table.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::diag::{Code, Diagnostic, DocumentNode};
use crate::model::{Pack, Plan, Value};
use crate::terms::CompiledRules;

/// The table whose rows name settings.
const TABLE: &str = "option";
/// The path of the pack's list of payload keys that hold no settings, such as messages.
const CONTENT: &str = "payload.content_keys";

/// Warns of each setting that the payload lacks.
pub(crate) fn check(pack: &Pack, rules: &CompiledRules, plan: &Plan, dialect: &str, payload: &Json) -> Vec<Diagnostic> {
    let content = rules.values.at(CONTENT).cloned().unwrap_or_default();
    let content: Vec<Arc<str>> = content.elements().iter().map(Value::to_text).collect();
    let mut found = Vec::new();
    for row in pack.rows(TABLE) {
        let values = |key: &str| row.node(key).map(Value::from).unwrap_or_default();
        let Some(path) = row.text("path") else { continue };
        let given = plan.scene.at(path).unwrap_or(&Value::Null);
        let neutral = values("neutral").elements().iter().any(|value| equal(value, given));
        let untold = row.node("told").and_then(DocumentNode::as_bool) == Some(false);
        if untold || given.is_empty() || given == &Value::Bool(false) || neutral {
            continue;
        }
        let last = path.rsplit('.').next().unwrap_or(path);
        let names: Vec<String> =
            values("keys").elements().iter().map(Value::to_text).chain([last.into()]).map(|name| plain(&name)).collect();
        if sent(&names, &given.to_json(), payload, &content) {
            continue;
        }
        let message = format!("dialect `{dialect}` does not send `{path}` to this model");
        let help = "take it out of the preset or the scene, or name another dialect or model";
        found.push(Diagnostic { row: Some(format!("{TABLE}/{}", row.name)), ..Diagnostic::new(Code::SettingUnsent, message).help(help) });
    }
    found
}

/// Whether two values are the same; 1 and 1.0 are.
fn equal(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().is_some_and(|number| b.as_f64() == Some(number))
}

/// A name without the marks and capitals in which spellings differ.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether the payload has a key of one of these names, or the value where that is more than a number.
fn sent(names: &[String], value: &Json, payload: &Json, content: &[Arc<str>]) -> bool {
    let whole = !value.is_number() && !value.is_boolean();
    let mut open = vec![payload];
    while let Some(found) = open.pop() {
        match found {
            found if whole && found == value => return true,
            Json::Array(list) => open.extend(list),
            Json::Object(table) => {
                for (key, found) in table.iter().filter(|(key, _)| content.iter().all(|name| **name != ***key)) {
                    let key = plain(key);
                    let named = |name: &String| if name.len() > 1 { key.contains(name.as_str()) } else { key == *name };
                    if !found.is_null() && names.iter().any(named) {
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
