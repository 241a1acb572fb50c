//! Values that are written out, read as a whole or compared: each pays for its size before anything is made of it.
//!
//! A list may hold one text many times over, so what it takes in memory says nothing about its text ([`SerializedSize`]).
//! Scalars and texts cost what they cost everywhere else; only lists and tables are measured.

use std::sync::Arc;

use super::work::{self, BYTES_PER_STEP, BudgetExceeded};
use crate::diag::limits;
use crate::model::json_reader::JsonReader;
use crate::model::{SerializedSize, SizeExcess, Value};

/// The text of a value that rules or data have made.
pub trait ToText {
    /// As [`Value::to_text`], but the text of a list or table is paid before it is made. If that exceeds the work of the
    /// call, the text is empty, every later step of work fails, and so does the call.
    fn shown(&self) -> Arc<str>;
}

impl ToText for Value {
    fn shown(&self) -> Arc<str> {
        match self {
            Value::List(_) | Value::Map(_) => json(self).unwrap_or_default().into(),
            other => other.to_text(),
        }
    }
}

/// The JSON text of a value.
///
/// # Errors
/// It would be too large, or the budget of the call is spent.
pub fn json(value: &Value) -> Result<String, BudgetExceeded> {
    read(value)?;
    work::make(value.json_bytes(limits::OUTPUT_BYTES).ok_or_else(|| work::too_large(SizeExcess::Bytes))?)?;
    Ok(serde_json::to_string(value).unwrap_or_default())
}

/// Charges for a value that is read as a whole, and gives its size.
///
/// # Errors
/// It nests too deeply, or the budget of the call is spent.
pub fn read(value: &Value) -> Result<SerializedSize, BudgetExceeded> {
    let most = SerializedSize { values: work::steps_left(), bytes: usize::MAX };
    let written = value.written(limits::OUTPUT_NESTING, most).map_err(work::too_large)?;
    work::spend((written.values + written.bytes / BYTES_PER_STEP) as u64)?;
    // a copy of it may be made for a moment
    work::check_room(written.bytes)?;
    Ok(written)
}

/// Whether two values are equal; what is compared is paid.
///
/// # Errors
/// The work of the call is spent.
#[inline]
pub fn same(a: &Value, b: &Value) -> Result<bool, BudgetExceeded> {
    match (a, b) {
        (Value::Text(_) | Value::List(_) | Value::Map(_), _) => same_within(a, b, limits::OUTPUT_NESTING),
        _ => Ok(a == b),
    }
}

fn same_within(a: &Value, b: &Value, depth: usize) -> Result<bool, BudgetExceeded> {
    let bytes = match (a, b) {
        (Value::Text(a), Value::Text(b)) if a.len() == b.len() && !Arc::ptr_eq(a, b) => a.len(),
        _ => 0,
    };
    work::spend(1 + (bytes / BYTES_PER_STEP) as u64)?;
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Ok(Arc::ptr_eq(a, b) || a == b),
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) if depth == 0 => Err(work::too_large(SizeExcess::Depth)),
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() || Arc::ptr_eq(a, b) {
                return Ok(a.len() == b.len());
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !same_within(a, b, depth - 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() || Arc::ptr_eq(a, b) {
                return Ok(a.len() == b.len());
            }
            for (key, a) in a.iter() {
                let Some(b) = b.get(key) else { return Ok(false) };
                if !same_within(a, b, depth - 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(a == b),
    }
}

/// Whether a list holds a value; what is compared is paid.
///
/// # Errors
/// The work of the call is spent.
pub fn holds(list: &[Value], wanted: &Value) -> Result<bool, BudgetExceeded> {
    for value in list {
        if same_within(value, wanted, limits::OUTPUT_NESTING)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The list of elements that are made one by one: there may be more of them than memory holds.
///
/// # Errors
/// The budget of the call is spent.
pub fn listed(mut elements: impl Iterator<Item = Value>) -> Result<Value, BudgetExceeded> {
    let list = elements.try_fold(Vec::new(), |mut list, element| {
        push(&mut list, element, 0)?;
        Ok(list)
    })?;
    Ok(Value::list(list))
}

/// Adds an element, which holds so many bytes elsewhere, to a list that may become larger than memory.
///
/// # Errors
/// The budget of the call is spent; then it is not added.
pub fn push<T>(list: &mut Vec<T>, element: T, bytes: usize) -> Result<(), BudgetExceeded> {
    work::make(size_of::<T>().saturating_add(bytes))?;
    list.push(element);
    Ok(())
}

/// A text that is equal for values that are the [`same`]: a key of parts or of a set.
///
/// # Errors
/// The work of the build is spent, or the value nests too deeply.
pub fn key(value: &Value) -> Result<String, BudgetExceeded> {
    key_within(value, limits::OUTPUT_NESTING)
}

fn key_within(value: &Value, depth: usize) -> Result<String, BudgetExceeded> {
    // where each part ends is said before it, whatever it holds
    let part = |out: &mut String, part: &str| {
        work::make(part.len() + 1)?;
        *out += &format!("{}:{part}", part.len());
        Ok(())
    };
    Ok(match value {
        Value::Text(t) => {
            work::make(t.len() + 1)?;
            format!("t{t}")
        }
        Value::Null => String::new(),
        Value::Bool(b) => format!("b{b}"),
        Value::Int(n) => format!("n{n}"),
        // -0 is 0
        Value::Num(n) => format!("n{}", n + 0.0),
        Value::List(_) | Value::Map(_) if depth == 0 => return Err(work::too_large(SizeExcess::Depth)),
        Value::List(list) => {
            let mut out = String::from("l");
            for value in list.iter() {
                part(&mut out, &key_within(value, depth - 1)?)?;
            }
            out
        }
        Value::Map(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let mut out = String::from("m");
            for (name, value) in fields {
                part(&mut out, name)?;
                part(&mut out, &key_within(value, depth - 1)?)?;
            }
            out
        }
        other @ Value::Rule(_) => format!("j{}", json(other)?),
    })
}

/// `JSON.parse(text)`; `None` if it is not JSON, or if the budget of the call does not hold the value.
#[must_use]
pub fn parse_json(text: &str) -> Option<Value> {
    work::spend(text.len() as u64).ok()?;
    let mut reader = JsonReader::new(work::bytes_left());
    let value = reader.read(text).ok();
    if reader.is_full() {
        work::check_room(usize::MAX).ok()?;
    }
    value
}
