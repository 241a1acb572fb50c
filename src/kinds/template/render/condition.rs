//! Conditions: five tests of what a reference leads to, without any coercion.

use crate::kinds::template::form::{Condition, Test};
use crate::model::Value;
use crate::text::leaf::value_text;

/// Whether a condition holds for the value of its reference; `None` is absent, which is not `null`.
pub(super) fn holds(condition: &Condition, found: Option<&Value>) -> bool {
    let with = condition.value.as_ref();
    match condition.test {
        Test::Exists => found.is_some_and(|v| !v.is_null()),
        Test::NonEmpty => matches!(found, Some(v @ (Value::Text(_) | Value::List(_))) if !v.is_empty()),
        Test::Eq => equal(found, with),
        Test::Neq => !equal(found, with),
        Test::Gt => numbers(found, with).is_some_and(|(a, b)| a > b),
        Test::Lt => numbers(found, with).is_some_and(|(a, b)| a < b),
    }
}

/// Scalars by kind and value, lists and tables by their JSON text: the order of keys counts.
fn equal(a: Option<&Value>, b: Option<&Value>) -> bool {
    let is_container = |v: &Value| matches!(v, Value::List(_) | Value::Map(_));
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) if is_container(a) && is_container(b) => value_text(a) == value_text(b),
        (Some(a), Some(b)) => !is_container(a) && !is_container(b) && a == b,
        _ => false,
    }
}

fn numbers(a: Option<&Value>, b: Option<&Value>) -> Option<(f64, f64)> {
    Some((a?.as_f64()?, b?.as_f64()?))
}
