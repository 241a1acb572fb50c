//! JavaScript's notions of text that differ from Rust's: white space, length, and numbers.
//!
//! Prompts were written against programs in JavaScript, so "trimmed" and "length" have JavaScript's meaning.

use std::sync::Arc;

use super::written;
use crate::diag::limits;
use crate::model::{Map, Value};

/// Whether `\s` and `trim()` of JavaScript count `c` as white space (U+FEFF is, U+0085 is not).
#[must_use]
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// `text.trim()`.
#[must_use]
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text.trimStart()`.
#[must_use]
pub fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// `text.trimEnd()`.
#[must_use]
pub fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// `text.length`: UTF-16 code units.
#[must_use]
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// `Number(text)`; NaN if the text is not a number.
#[must_use]
pub fn number(text: &str) -> f64 {
    let text = trim(text);
    let radix = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => return decimal(text),
    };
    let digits = text.get(2..).unwrap_or_default();
    if digits.is_empty() {
        return f64::NAN;
    }
    digits.chars().try_fold(0.0_f64, |sum, c| c.to_digit(radix).map(|d| sum.mul_add(f64::from(radix), f64::from(d)))).unwrap_or(f64::NAN)
}

/// `parseFloat(text)`: the number that a text begins with; NaN if it begins with none.
#[must_use]
pub fn leading_number(text: &str) -> f64 {
    let text = trim_start(text);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.starts_with("Infinity") {
        return sign * f64::INFINITY;
    }
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let behind = digits.get(whole..).unwrap_or_default();
    let fraction = behind.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count() + 1);
    if whole == 0 && fraction < 2 {
        return f64::NAN;
    }
    let mut end = whole + fraction;
    if let Some(power) = digits.get(end..).and_then(|rest| rest.strip_prefix(['e', 'E'])) {
        let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
        let count = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        end += if count > 0 { 1 + (power.len() - unsigned.len()) + count } else { 0 };
    }
    digits.get(..end).and_then(|number| number.parse::<f64>().ok()).map_or(f64::NAN, |number| sign * number)
}

fn decimal(text: &str) -> f64 {
    match text {
        "" => 0.0,
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also reads "inf", "nan" and the like, which JavaScript does not
        _ if text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) => text.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// `Number(value)`: a list is converted to a text first.
#[must_use]
pub fn to_number(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Int(_) | Value::Num(_) => value.as_f64().unwrap_or(f64::NAN),
        Value::Text(text) => number(text),
        Value::List(_) => number(&string(value)),
        Value::Map(_) | Value::Rule(_) => f64::NAN,
    }
}

/// `String(value)`. A list is paid before it is read; if it is too large, the text is empty and the call around it fails.
#[must_use]
pub fn string(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Null => out.push_str("null"),
        Value::List(list) if written::read(value).is_ok() => joined(list, &mut out),
        Value::List(_) => {}
        other => one(other, &mut out),
    }
    out
}

/// The elements with commas between them.
pub(super) fn joined(list: &[Value], out: &mut String) {
    for (n, value) in list.iter().enumerate() {
        if out.len() > limits::OUTPUT_BYTES {
            return;
        }
        out.push_str(if n == 0 { "" } else { "," });
        one(value, out);
    }
}

fn one(value: &Value, out: &mut String) {
    match value {
        Value::Null => {}
        Value::List(list) => joined(list, out),
        Value::Map(_) => out.push_str("[object Object]"),
        other => out.push_str(&other.to_text()),
    }
}

/// A number as a value: whole numbers become integers, and negative zero becomes zero.
#[must_use]
pub fn value(number: f64) -> Value {
    let value = Value::Num(number + 0.0);
    value.as_i64().map_or(value, Value::Int)
}

/// A number as the index of an element.
#[must_use]
pub fn place(number: f64) -> Option<usize> {
    let whole = number >= 0.0 && number.fract() == 0.0;
    whole.then(|| Value::Num(number + 0.0).as_i64()).flatten().and_then(|n| usize::try_from(n).ok())
}

/// The fields of a table in the order in which JavaScript visits an object's keys: array indices first, by size.
#[must_use]
pub fn fields(map: &Map) -> Vec<(&Arc<str>, &Value)> {
    let mut fields: Vec<_> = map.iter().collect();
    if fields.iter().any(|(key, _)| index_key(key).is_some()) {
        fields.sort_by_key(|(key, _)| index_key(key).map_or((true, 0), |n| (false, n)));
    }
    fields
}

/// A key that is an array index: a whole number below 2^32 - 1, written without a sign or needless zeros.
#[must_use]
pub fn index_key(key: &str) -> Option<u32> {
    let plain = key == "0" || (!key.starts_with('0') && !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()));
    if plain { key.parse().ok().filter(|n| *n != u32::MAX) } else { None }
}
