//! Values with which the parts of a condition hold that do not: they are tried as remedies.

use serde_json::{Value as Json, json};

use crate::model::Value;

use super::gate::{Part, short};
use super::remedy::{Edit, Step, Trials, path};

/// Tries values with which the parts of a condition hold that do not, one by one and then all together.
pub(super) fn try_parts(parts: &[Part], trials: &mut Trials<'_>) {
    let (mut edits, mut said) = (Vec::new(), Vec::new());
    // parts of which one is enough stand next to each other
    for group in parts.chunk_by(|a, b| a.how == "any" && b.how == "any") {
        let any = group.first().is_some_and(|part| part.how == "any");
        if any && group.iter().any(|part| part.holds == Some(true)) {
            continue;
        }
        let before = edits.len();
        for part in group.iter().filter(|part| part.holds == Some(false) && !part.path.is_empty()) {
            try_part(part, trials, &mut edits, &mut said);
            if any {
                // the first is enough for all groups together
                edits.truncate(before + 1);
                said.truncate(before + 1);
            }
        }
    }
    if trials.found.is_empty() && edits.len() > 1 {
        trials.attempt(&format!("together: {}", said.join(", ")), None, &edits);
    }
}

/// Tries a value with which a part holds.
fn try_part(part: &Part, trials: &mut Trials<'_>, edits: &mut Vec<(Vec<Step>, Edit)>, said: &mut Vec<String>) {
    let steps = path(&part.path);
    match meeting(&part.test, part.how == "not") {
        Some(Some(value)) => {
            trials.replace(&steps, part.now.as_ref(), value.clone());
            said.push(format!("{} = {}", part.path, short(&value)));
            edits.push((steps, Edit::Set(value)));
        }
        Some(None) => {
            trials.leave_out(&steps, None);
            said.push(format!("no {}", part.path));
            edits.push((steps, Edit::Remove));
        }
        None => {}
    }
}

/// A value with which a test holds: `Some(None)` if the path must have no value; `None` if it cannot be said.
fn meeting(test: &Json, negated: bool) -> Option<Option<Value>> {
    let literal = |json: &Json| (!json.as_str().is_some_and(|text| text.starts_with(['$', '@']))).then(|| Some(Value::from(json)));
    match test {
        Json::Bool(wanted) => Some(Some(Value::Bool(*wanted != negated))),
        _ if negated => Some(None),
        Json::String(_) | Json::Number(_) => literal(test),
        Json::Array(list) => list.first().and_then(literal),
        Json::Object(tests) if tests.len() == 1 => {
            let (word, value) = tests.iter().next()?;
            let number = |by: f64| value.as_f64().map(|n| Some(Value::from(&json!(n + by))));
            match (word.as_str(), value) {
                ("exists" | "nonempty" | "given", Json::Bool(true)) => Some(Some(Value::text("x"))),
                ("exists" | "nonempty" | "given", Json::Bool(false)) => Some(None),
                ("ne", Json::Bool(is)) => Some(Some(Value::Bool(!is))),
                ("ge" | "le", _) => number(0.0),
                ("gt", _) => number(1.0),
                ("lt", _) => number(-1.0),
                ("in" | "starts", Json::Array(list)) => list.first().and_then(literal),
                _ => None,
            }
        }
        _ => None,
    }
}
