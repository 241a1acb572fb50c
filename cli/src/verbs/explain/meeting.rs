//! Values with which the parts of a condition hold that do not: they are tried as remedies.

use serde_json::{Value as Json, json};

use crate::model::Value;

use super::gate::{ConditionPart, short};
use super::remedy::{ChangeTrials, SceneEdit, ScenePathStep, path};

/// A change that was tried, in words.
type TriedChange = (String, (Vec<ScenePathStep>, SceneEdit));

/// Tries values with which the parts of a condition hold that do not, one by one and then all together.
pub(super) fn try_parts(parts: &[ConditionPart], trials: &mut ChangeTrials<'_>) {
    let mut together: Vec<TriedChange> = Vec::new();
    // parts of which one is enough stand next to each other
    for group in parts.chunk_by(|a, b| a.how == "any" && b.how == "any") {
        let one_is_enough = group.first().is_some_and(|part| part.how == "any");
        if one_is_enough && group.iter().any(|part| part.holds == Some(true)) {
            continue;
        }
        let missing = group.iter().filter(|part| part.holds == Some(false) && !part.path.is_empty());
        let tried: Vec<TriedChange> = missing.filter_map(|part| try_part(part, trials)).collect();
        together.extend(tried.into_iter().take(if one_is_enough { 1 } else { usize::MAX }));
    }
    if trials.found.is_empty() && together.len() > 1 {
        let (said, edits): (Vec<String>, Vec<_>) = together.into_iter().unzip();
        trials.attempt(&format!("together: {}", said.join(", ")), None, &edits);
    }
}

/// Tries a value with which a part holds, if one can be said.
fn try_part(part: &ConditionPart, trials: &mut ChangeTrials<'_>) -> Option<TriedChange> {
    let steps = path(&part.path);
    Some(match meeting(&part.test, part.how == "not")? {
        Some(value) => {
            trials.replace(&steps, part.now.as_ref(), value.clone());
            (format!("{} = {}", part.path, short(&value)), (steps, SceneEdit::Set(value)))
        }
        None => {
            trials.leave_out(&steps, None);
            (format!("no {}", part.path), (steps, SceneEdit::Remove))
        }
    })
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
