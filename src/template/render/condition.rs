//! Conditions: tests of the value that a reference returns, without type conversion.

use super::super::form::{ConditionTest, TypedCondition};
use crate::model::Value;
use crate::text::leaf::{TooLong, same};

/// Whether a condition holds for the value of its reference; `None` is absent, which is not the same as `null`.
/// Comparing counts as steps of `left`.
pub(super) fn holds(condition: &TypedCondition, found: Option<&Value>, left: &mut usize) -> Result<bool, TooLong> {
    let with = condition.value.as_ref();
    Ok(match condition.test {
        ConditionTest::Exists => found.is_some_and(|v| !v.is_null()),
        ConditionTest::NonEmpty => matches!(found, Some(v @ (Value::Text(_) | Value::List(_))) if !v.is_empty()),
        ConditionTest::Eq => same(found, with, left)?,
        ConditionTest::Neq => !same(found, with, left)?,
        ConditionTest::Gt => numbers(found, with).is_some_and(|(a, b)| a > b),
        ConditionTest::Lt => numbers(found, with).is_some_and(|(a, b)| a < b),
    })
}

fn numbers(a: Option<&Value>, b: Option<&Value>) -> Option<(f64, f64)> {
    Some((a?.as_f64()?, b?.as_f64()?))
}
