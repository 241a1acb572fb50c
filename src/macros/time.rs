//! Times: what a clock shows, and how far two dates are apart.

use std::sync::Arc;

use super::call::{FunctionCall, says};
use crate::model::Value;
use crate::text::js;
use crate::macros::syntax::MacroResult;
use crate::text::moment::{Calendar, INVALID, Moment};
use crate::text::written::ToText as _;

/// Minutes that the local clock is east of UTC.
fn zone(call: &FunctionCall<'_>) -> i32 {
    call.value("zone").and_then(|v| v.as_i64()).and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
}

/// `UTC+2` as a distance; nothing for anything else.
fn offset(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("UTC").filter(|d| d.starts_with(['+', '-']))?;
    digits.get(1..)?.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

pub(super) fn format(call: &FunctionCall<'_>) -> MacroResult {
    let pattern = call.text("format").unwrap_or_default();
    if pattern.len() > MOST_PATTERN {
        return MacroResult::Failed(format!("a date pattern is longer than {MOST_PATTERN} bytes"));
    }
    let now = Moment::of_value(&call.value("time").unwrap_or_default(), zone(call));
    let distance = call.text("distance").and_then(|d| d.parse().ok());
    let at = match call.text("offset").as_deref().and_then(offset).or(distance) {
        Some(offset) => now.and_then(|now| now.utc_offset(offset)),
        None => now,
    };
    let table = call.value("calendar").unwrap_or_default();
    match Calendar::of(&table) {
        Ok(calendar) => says(at.map_or_else(|| INVALID.to_owned(), |at| at.format(&pattern, calendar))),
        Err(message) => MacroResult::Failed(message),
    }
}

/// Longest date pattern.
const MOST_PATTERN: usize = 10_000;

pub(super) fn difference(call: &FunctionCall<'_>) -> MacroResult {
    let side = |name: &str| call.value(name).filter(|v| !v.is_null() && !matches!(v, Value::List(_)));
    let none: Option<Arc<str>> = call.row.with.get("otherwise").map(Value::shown);
    let (Some(left), Some(right)) = (side("left"), side("right")) else { return MacroResult::Text(none.unwrap_or_default()) };
    if let Some(none) = none.filter(|_| js::trim(&right.shown()).is_empty()) {
        return MacroResult::Text(none);
    }
    let stamps = call.value("stamps").filter(|stamps| !stamps.is_null());
    let read = |value: &Value| match (value, &stamps) {
        (Value::Text(text), Some(stamps)) => Moment::parse_stamp(text, zone(call), stamps),
        (other, _) => Ok(Moment::of_value(other, zone(call))),
    };
    let suffix = call.row.with.get("suffix") == Some(&Value::Bool(true));
    let table = call.value("calendar").unwrap_or_default();
    let calendar = match Calendar::of(&table) {
        Ok(calendar) => calendar,
        Err(message) => return MacroResult::Failed(message),
    };
    let (left, right) = match (read(&left), read(&right)) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(message), _) | (_, Err(message)) => return MacroResult::Failed(message),
    };
    let words = left.zip(right).map(|(left, right)| left.difference(right, suffix, calendar));
    says(words.unwrap_or_else(|| INVALID.to_owned()))
}
