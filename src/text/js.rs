//! JavaScript's notions that differ from Rust's: what white space is, how long a text is, what is a number, and what
//! a value of one kind is as another.
//!
//! Prompts were written against programs in JavaScript, so "trimmed" and "length" mean what they mean there.

use std::sync::Arc;

use crate::model::Value;

/// Lists that nest deeper, or hold more, have no text.
const DEEPEST: usize = 64;
const MOST_NODES: usize = 100_000;

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

/// `Number(text)`; NaN where the text is no number.
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

/// `Number(value)`: nothing is 0, a list is what its text is, a table is NaN.
#[must_use]
pub fn number_of(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Int(_) | Value::Num(_) => value.as_f64().unwrap_or(f64::NAN),
        Value::Text(text) => number(text),
        Value::List(_) => number(&text_of(value)),
        Value::Map(_) | Value::Rule(_) => f64::NAN,
    }
}

/// `String(value)`: a list is its elements with commas between, nothing in it being empty; a table is `[object Object]`.
#[must_use]
pub fn text_of(value: &Value) -> Arc<str> {
    match value {
        Value::Null => "null".into(),
        Value::List(_) if !value.fits(DEEPEST, MOST_NODES) => "".into(),
        Value::List(list) => {
            let part = |v: &Value| if v.is_null() { "".into() } else { text_of(v) };
            list.iter().map(part).collect::<Vec<_>>().join(",").into()
        }
        Value::Map(_) | Value::Rule(_) => "[object Object]".into(),
        other => other.to_text(),
    }
}

/// `Boolean(value)`: unlike [`Value::truthy`], empty lists and tables are true.
#[must_use]
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Num(n) => *n != 0.0 && !n.is_nan(),
        Value::List(_) | Value::Map(_) | Value::Rule(_) => true,
        other => other.truthy(),
    }
}
