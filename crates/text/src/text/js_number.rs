//! JavaScript's numbers: reading them from texts, writing them, and arithmetic on values of any type.
//!
//! A missing value is `undefined` here, which is not a number; `null` of a JSON text counts as missing, too.

use super::function::{Function, FunctionArgs, FunctionRefusal, bounded, named, of};
use super::js;
use super::written::ToText as _;
use crate::model::{Value, value::number_text};

/// `Number(value)`; a missing value is not a number.
pub(super) fn number(value: &Value) -> f64 {
    if value.is_null() { f64::NAN } else { js::to_number(value) }
}

/// `Number` of an argument.
pub(super) fn number_of(args: &FunctionArgs, name: &str) -> f64 {
    args.get(name).map_or(f64::NAN, number)
}

/// The whole number towards zero, 0 for what is not a number, within what an `i64` holds exactly.
#[expect(clippy::cast_possible_truncation, reason = "the number is clamped and whole")]
pub(super) fn whole(number: f64) -> i64 {
    if number.is_nan() { 0 } else { number.trunc().clamp(-9e15, 9e15) as i64 }
}

/// `parseInt(text, base)`; base 0 is 10, or 16 behind `0x`.
pub(super) fn parse_int(text: &str, base: u32) -> f64 {
    let text = js::trim_start(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hex = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")).filter(|_| matches!(base, 0 | 16));
    let (digits, base) = match (hex, base) {
        (Some(hex), _) => (hex, 16),
        (None, 0) => (unsigned, 10),
        (None, base) => (unsigned, base),
    };
    if !(2..=36).contains(&base) {
        return f64::NAN;
    }
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    let digits = digits.get(..end).unwrap_or_default();
    let number = match base {
        _ if digits.is_empty() => f64::NAN,
        10 => digits.parse().unwrap_or(f64::NAN),
        _ => digits.chars().filter_map(|c| c.to_digit(base)).fold(0.0, |sum: f64, digit| sum * f64::from(base) + f64::from(digit)),
    };
    if text.starts_with('-') { -number } else { number }
}

/// `Math.pow(a, b)`, for which 1 to the power of what is not finite is not a number. The last digit depends on the
/// method; engines of JavaScript use the same one as this library, and the standard library does not.
pub(super) fn power(a: f64, b: f64) -> f64 {
    if b.is_nan() || (b.is_infinite() && a.abs() == 1.0) { f64::NAN } else { libm::pow(a, b) }
}

/// `number.toFixed(digits)`; nothing if the digits are out of range.
pub(super) fn fixed(number: f64, digits: f64) -> Option<String> {
    let digits = usize::try_from(whole(digits)).ok().filter(|digits| *digits <= 100)?;
    if number.is_nan() || number.abs() >= 1e21 {
        return Some(number_text(number));
    }
    // halves are rounded away from zero; a number is such a half if one binary digit more than `digits` writes it
    let scale = f64::from(u32::try_from(digits).unwrap_or_default()).exp2();
    let size = number.abs();
    let half = (size * scale).fract() != 0.0 && (size * scale * 2.0).fract() == 0.0;
    let size = if half { size.next_up() } else { size };
    let sign = if number < 0.0 { "-" } else { "" };
    Some(format!("{sign}{size:.digits$}"))
}

/// `number.toString(base)` for whole numbers; nothing for other ones.
fn in_base(number: f64, base: u32) -> Option<String> {
    if !number.is_finite() {
        return Some(number_text(number));
    }
    if number.fract() != 0.0 || number.abs() >= 1e30 || !(2..=36).contains(&base) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is whole and below 1e30")]
    let mut rest = number.abs() as u128;
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(u32::try_from(rest % u128::from(base)).unwrap_or_default(), base));
        rest /= u128::from(base);
        if rest == 0 {
            break;
        }
    }
    digits.extend((number < 0.0).then_some('-'));
    Some(digits.iter().rev().collect())
}

pub(super) const PARSE_INT: Function = Function {
    name: "parse_int",
    doc: "the whole number at the start of a text in `base` (default: 10, or 16 behind `0x`), as JavaScript's `parseInt`; not a number if there is none",
    args: &[("of", true), ("base", false)],
    run: |args| Ok(js_value(parse_int(&undefined(of(args)), u32::try_from(whole(number_of(args, "base"))).unwrap_or(1)))),
};

pub(super) const TO_BASE: Function = Function {
    name: "to_base",
    doc: "a whole number as text in `base`, 2 to 36",
    args: &[("of", true), ("base", true)],
    run: |args| {
        let base = u32::try_from(whole(number_of(args, "base"))).unwrap_or_default();
        in_base(number(of(args)), base).map(Value::text).ok_or_else(|| "`of` is not whole, or `base` is not 2 to 36".into())
    },
};

pub(super) const TO_FIXED: Function = Function {
    name: "to_fixed",
    doc: "a number as text with `digits` digits (0 to 100) behind the point, as JavaScript's `toFixed`",
    args: &[("of", true), ("digits", false)],
    run: |args| {
        let text = fixed(number(of(args)), number_of(args, "digits"));
        text.map(Value::text).ok_or_else(|| "`digits` is not 0 to 100".into())
    },
};

pub(super) const PAD_START: Function = Function {
    name: "pad_start",
    doc: "the text with `with` (default: blanks) in front of it until it has `width` UTF-16 units",
    args: &[("of", true), ("width", true), ("with", false)],
    run: |args| {
        let text = of(args).shown();
        let width = usize::try_from(whole(number_of(args, "width"))).unwrap_or_default();
        let with = args.get("with").map_or_else(|| " ".into(), Value::shown);
        let (units, missing) = (js::length(&with), width.saturating_sub(js::length(&text)));
        if missing == 0 || units == 0 {
            return Ok(Value::Text(text));
        }
        let (whole, rest) = (missing / units, missing % units);
        // a unit takes three bytes at most
        bounded(with.len().saturating_mul(whole).saturating_add(rest.saturating_mul(3)).saturating_add(text.len()))?;
        let rest = with.encode_utf16().take(rest).collect::<Vec<_>>();
        Ok(Value::text(with.repeat(whole) + String::from_utf16_lossy(&rest).as_str() + text.as_ref()))
    },
};

pub(super) const COMPUTE: Function = Function {
    name: "compute",
    doc: "JavaScript's arithmetic on a number or a list of them: `do` is `add`, `subtract`, `multiply`, `divide`, `remainder`, `power`, `min`, `max`, `mean`, or `round`, `floor`, `ceil`, `abs` of one; texts count as the numbers in them, and `else` (default: not a number) for other ones",
    args: &[("of", true), ("do", true), ("else", false)],
    run: compute,
};

fn compute(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let list = of(args).as_list().unwrap_or(std::slice::from_ref(of(args)));
    let instead = number_of(args, "else");
    let numbers: Vec<f64> = list.iter().map(number).map(|n| if n.is_nan() { instead } else { n }).collect();
    let first = numbers.first().copied().unwrap_or(f64::NAN);
    let fold = |with: fn(f64, f64) -> f64| numbers.iter().copied().reduce(with).unwrap_or(f64::NAN);
    let lower = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) };
    let higher = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    let sum = || numbers.iter().fold(0.0, |a, b| a + b);
    #[expect(clippy::cast_precision_loss, reason = "lists are far shorter than 2^53")]
    Ok(js_value(match named(args, "do").as_ref() {
        "add" => sum(),
        "subtract" => fold(|a, b| a - b),
        "multiply" => fold(|a, b| a * b),
        "divide" => fold(|a, b| a / b),
        "remainder" => fold(|a, b| a % b),
        "power" => fold(power),
        "min" => numbers.iter().copied().fold(f64::INFINITY, lower),
        "max" => numbers.iter().copied().fold(f64::NEG_INFINITY, higher),
        "mean" => sum() / numbers.len() as f64,
        "round" if first - first.floor() >= 0.5 => first.floor() + 1.0,
        "round" | "floor" => first.floor(),
        "ceil" => first.ceil(),
        "abs" => first.abs(),
        other => return Err(format!("`do` is `{other}`, which `compute` does not know").into()),
    }))
}

pub(super) const COMPARE: Function = Function {
    name: "compare",
    doc: "1 or 0: whether `of` and `with` are as `is` says: `equal` or `different` as texts; `less`, `greater`, `at_most`, `at_least` as JavaScript's numbers; or the text `starts`, `ends` with or `contains` the other",
    args: &[("of", true), ("with", true), ("is", true)],
    run: |args| {
        let (a, b) = (of(args), args.get("with").unwrap_or(&Value::Null));
        let (x, y) = (number(a), number(b));
        let same = a.is_null() == b.is_null() && a.shown() == b.shown();
        let is = named(args, "is");
        if matches!(is.as_ref(), "starts" | "ends" | "contains") && a.is_null() {
            return Err("there is no text to compare".into());
        }
        let holds = match is.as_ref() {
            "equal" => same,
            "different" => !same,
            "less" => x < y,
            "greater" => x > y,
            "at_most" => x <= y,
            "at_least" => x >= y,
            "starts" => a.shown().starts_with(undefined(b).as_ref()),
            "ends" => a.shown().ends_with(undefined(b).as_ref()),
            "contains" => a.shown().contains(undefined(b).as_ref()),
            other => return Err(format!("`is` is `{other}`, which `compare` does not know").into()),
        };
        Ok(Value::Int(holds.into()))
    },
};

/// The text of a value; `undefined` if it is missing.
pub(super) fn undefined(value: &Value) -> std::sync::Arc<str> {
    if value.is_null() { "undefined".into() } else { value.shown() }
}

/// The number as a value: whole ones as integers, as far as these print the same.
fn js_value(number: f64) -> Value {
    js::value(number)
}
