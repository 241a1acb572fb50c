//! Dates by tokens that are replaced one kind after another, and lengths of time as a clock shows them.

use super::function::{Args, Function, Refusal, named, of};
use super::js_number::number;
use super::moment::{INVALID, Moment};
use crate::model::Value;

/// Longer formats are refused.
const MOST_FORMAT: usize = 300;

/// The tokens in the order in which they are replaced, each with the pattern of `format_time` that gives its text; an
/// empty pattern stands for the hour from 00 to 11.
const TOKENS: [(&str, &str); 16] = [
    ("YYYY", "Y"),
    ("YY", "YY"),
    ("MMMM", "MMMM"),
    ("MMM", "MMM"),
    ("MM", "MM"),
    ("DDDD", "DDD"),
    ("DD", "DD"),
    ("dddd", "dddd"),
    ("ddd", "ddd"),
    ("HH", "HH"),
    ("hh", ""),
    ("mm", "mm"),
    ("ss", "ss"),
    ("X", "X"),
    ("x", "x"),
    ("A", "A"),
];

pub(super) const DATE_TOKENS: Function = Function {
    name: "date_tokens",
    doc: "a date text or milliseconds since 1970 by the tokens YYYY YY MMMM MMM MM DDDD DD dddd ddd HH hh mm ss X x A of `format`, replaced in this order, so that a later token is also replaced in the text of an earlier one; `hh` is 00 to 11; in UTC",
    args: &[("of", true), ("format", true)],
    run: date_tokens,
};

fn date_tokens(args: &Args) -> Result<Value, Refusal> {
    let format = named(args, "format");
    if format.len() > MOST_FORMAT {
        return Ok(Value::text(""));
    }
    let Some(at) = Moment::of_value(of(args), 0) else { return Ok(Value::text(INVALID)) };
    let mut text = format.to_string();
    for (token, pattern) in TOKENS {
        if !text.contains(token) {
            continue;
        }
        let shown = match pattern {
            "" => format!("{:02}", at.format("H").parse::<u8>().unwrap_or_default() % 12),
            pattern => at.format(pattern),
        };
        text = text.replace(token, &shown);
    }
    Ok(Value::text(text))
}

pub(super) const CLOCK: Function = Function {
    name: "clock",
    doc: "a length of time in milliseconds as `h:mm:ss`",
    args: &[("of", true)],
    run: |args| {
        let seconds = (number(of(args)) / 1000.0).floor();
        if !seconds.is_finite() {
            return Err("`of` is not a number of milliseconds".into());
        }
        let minutes = (seconds / 60.0).floor();
        let hours = (minutes / 60.0).floor();
        // the remainder has the sign of the number, as in JavaScript
        Ok(Value::text(format!("{hours}:{:0>2}:{:0>2}", minutes % 60.0, seconds % 60.0)))
    },
};
