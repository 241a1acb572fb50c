//! Conditions: tests of the value that a reference returns, without type conversion.

use super::super::form::{Test, TypedCondition};
use crate::model::Value;
use crate::text::leaf::{TooLong, same};

/// Whether a condition holds for the value of its reference; `None` is absent, which is not the same as `null`.
/// Comparing counts as steps of `left`.
pub(super) fn holds(condition: &TypedCondition, found: Option<&Value>, left: &mut usize) -> Result<bool, TooLong> {
    let with = condition.value.as_ref();
    Ok(match condition.test {
        Test::Exists => found.is_some_and(|v| !v.is_null()),
        Test::NonEmpty => matches!(found, Some(v @ (Value::Text(_) | Value::List(_))) if !v.is_empty()),
        Test::Eq => same(found, with, left)?,
        Test::Neq => !same(found, with, left)?,
        Test::Gt => numbers(found, with).is_some_and(|(a, b)| a > b),
        Test::Lt => numbers(found, with).is_some_and(|(a, b)| a < b),
    })
}

fn numbers(a: Option<&Value>, b: Option<&Value>) -> Option<(f64, f64)> {
    Some((a?.as_f64()?, b?.as_f64()?))
}
