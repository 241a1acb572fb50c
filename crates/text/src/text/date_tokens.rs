//! Dates by tokens that are replaced one kind after another, and lengths of time as a clock shows them.

use super::function::{Function, FunctionArgs, FunctionRefusal, bounded, named, of};
use super::js_number::number;
use super::moment::{Calendar, INVALID, Moment};
use crate::model::Value;

/// The most tokens of one call.
const MOST_TOKENS: usize = 100;

pub(super) const DATE_TOKENS: Function = Function {
    name: "date_tokens",
    doc: "a date text or milliseconds since 1970 by the `tokens` of `format`, in UTC: each is a table with the text `from`, its `format` for `format_time`, and perhaps a number `modulo` by which the remainder is taken. They are replaced in their order, so that a later token is also replaced in the text of an earlier one",
    args: &[("of", true), ("format", true), ("tokens", true)],
    run: date_tokens,
};

fn date_tokens(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let tokens = args.get("tokens").and_then(Value::as_list).unwrap_or_default();
    if tokens.len() > MOST_TOKENS {
        return Err(format!("there are more than {MOST_TOKENS} tokens").into());
    }
    let Some(at) = Moment::of_value(of(args), 0) else { return Ok(Value::text(INVALID)) };
    let mut text = named(args, "format").to_string();
    bounded(text.len())?;
    for token in tokens {
        let cell = |name: &str| token.get(name).map(Value::to_text).unwrap_or_default();
        let (from, format) = (cell("from"), cell("format"));
        let found = if from.is_empty() { 0 } else { text.matches(from.as_ref()).count() };
        if found == 0 {
            continue;
        }
        let mut shown = at.format(&format, Calendar::default());
        if let Some(modulo) = token.get("modulo").and_then(Value::as_i64).filter(|modulo| *modulo > 0) {
            let number = shown.parse::<i64>().map_err(|_| format!("`{format}` gives no number of which there is a remainder"))?;
            shown = format!("{:0width$}", number % modulo, width = shown.len());
        }
        let longest = found.saturating_mul(shown.len()).saturating_add(text.len());
        bounded(longest)?;
        text = text.replace(from.as_ref(), &shown);
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
