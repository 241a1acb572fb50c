//! Values as leaf strings print them: as JavaScript does, into one text of bounded length.

use std::borrow::Cow;

use crate::model::Value;
use crate::model::value::{MAX_DEPTH, number_text};
use crate::text::{js, work};

use super::TooLong;

/// The deepest value that is written as JSON: the deepest context, with the levels around it.
const DEEPEST: usize = MAX_DEPTH * 2;
/// The number of bytes that are compared per step, and the number of table keys that are sorted per step.
const BYTES_A_STEP: usize = 64;
const KEYS_A_STEP: usize = 8;
/// Whole numbers beyond this are not exact in JavaScript.
const EXACT: u64 = 1 << 53;

/// A value as a text: a text as it is, numbers and truth as JavaScript writes them, lists and tables as compact JSON in
/// JavaScript's order of keys, and nothing for `null`. Tags in texts are not evaluated.
///
/// # Errors
/// More than `most` bytes; a value that nests too deep.
pub fn value_text(value: &Value, most: usize) -> Result<Cow<'_, str>, TooLong> {
    if let Value::Text(text) = value {
        return if text.len() > most { Err(TooLong::Text(most)) } else { Ok(Cow::Borrowed(text)) };
    }
    let mut out = BoundedText::new(most);
    out.value(value)?;
    Ok(Cow::Owned(out.text))
}

/// Whether two values are the same without coercion; lists and tables by their JSON text, so that the order of keys
/// counts. An absent value equals only an absent one, and `null` only `null`. Each compared value takes a step of
/// `left`, and long texts take more.
///
/// # Errors
/// The values need more steps than are left, or nest too deep.
pub fn same(a: Option<&Value>, b: Option<&Value>, left: &mut usize) -> Result<bool, TooLong> {
    match (a, b) {
        (Some(a), Some(b)) => ComparisonWriter { left, inside: false }.same(a, b, DEEPEST),
        (a, b) => Ok(a.is_none() && b.is_none()),
    }
}

struct ComparisonWriter<'l> {
    left: &'l mut usize,
    /// Writes a value inside a list or table, where JSON has `null` for NaN and infinity.
    inside: bool,
}

impl ComparisonWriter<'_> {
    fn spend(&mut self, steps: usize) -> Result<(), TooLong> {
        *self.left = self.left.checked_sub(steps).ok_or(TooLong::Work)?;
        Ok(())
    }

    fn same(&mut self, a: &Value, b: &Value, depth: usize) -> Result<bool, TooLong> {
        let bytes = if let Value::Text(text) = a { text.len() } else { 0 };
        self.spend(1 + bytes / BYTES_A_STEP)?;
        let below = || depth.checked_sub(1).ok_or(TooLong::Deep);
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                let depth = below()?;
                self.inside = true;
                Ok(a.len() == b.len() && self.all(a.iter().zip(b.iter()), depth)?)
            }
            (Value::Map(a), Value::Map(b)) => {
                let depth = below()?;
                self.inside = true;
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.spend(a.len() / KEYS_A_STEP)?;
                let (a, b) = (js::fields(a), js::fields(b));
                let names = a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
                Ok(names && self.all(a.iter().zip(&b).map(|((_, a), (_, b))| (*a, *b)), depth)?)
            }
            (Value::Text(a), Value::Text(b)) => Ok(a == b),
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::Int(_) | Value::Num(_), Value::Int(_) | Value::Num(_)) => {
                let (a, b) = (js::to_number(a), js::to_number(b));
                #[expect(clippy::float_cmp, reason = "the same number, to the bit")]
                Ok(a == b || (self.inside && !a.is_finite() && !b.is_finite()))
            }
            (Value::Null | Value::Rule(_), Value::Null | Value::Rule(_)) => Ok(true),
            _ => Ok(false),
        }
    }

    fn all<'v>(&mut self, mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>, depth: usize) -> Result<bool, TooLong> {
        pairs.try_fold(true, |same, (a, b)| Ok(same && self.same(a, b, depth)?))
    }
}

/// Pays for so many values that are printed.
fn paid(values: usize) -> Result<(), TooLong> {
    work::spend(values as u64).map_err(|_| TooLong::Work)
}

/// A text of bounded length.
pub(super) struct BoundedText {
    pub(super) text: String,
    most: usize,
}

impl BoundedText {
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), most }
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TooLong::Text(self.most));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Prints a value unchanged; what a list or a table holds is paid before it is printed.
    pub(super) fn value(&mut self, value: &Value) -> Result<(), TooLong> {
        match value {
            Value::Null | Value::Rule(_) => Ok(()),
            Value::Text(text) => self.push(text),
            Value::Num(n) if !n.is_finite() => self.push(&number_text(*n)),
            other => self.json(other, DEEPEST),
        }
    }

    fn json(&mut self, value: &Value, depth: usize) -> Result<(), TooLong> {
        let below = || depth.checked_sub(1).ok_or(TooLong::Deep);
        paid(1)?;
        match value {
            Value::Null | Value::Rule(_) => self.push("null"),
            Value::Bool(b) => self.push(if *b { "true" } else { "false" }),
            Value::Int(n) if n.unsigned_abs() <= EXACT => self.push(&n.to_string()),
            Value::Int(_) | Value::Num(_) => match js::to_number(value) {
                n if n.is_finite() => self.push(&number_text(n)),
                _ => self.push("null"),
            },
            Value::Text(text) => self.quoted(text),
            Value::List(list) => {
                let depth = below()?;
                self.push("[")?;
                for (n, value) in list.iter().enumerate() {
                    self.push(if n == 0 { "" } else { "," })?;
                    self.json(value, depth)?;
                }
                self.push("]")
            }
            Value::Map(map) => {
                let depth = below()?;
                // its names are sorted first
                paid(map.len())?;
                self.push("{")?;
                for (n, (key, value)) in js::fields(map).into_iter().enumerate() {
                    self.push(if n == 0 { "" } else { "," })?;
                    self.quoted(key)?;
                    self.push(":")?;
                    self.json(value, depth)?;
                }
                self.push("}")
            }
        }
    }

    fn quoted(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TooLong::Text(self.most));
        }
        self.push(&serde_json::Value::from(text).to_string())
    }
}
