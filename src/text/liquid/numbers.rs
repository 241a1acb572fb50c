//! Filters of numbers, in JavaScript's arithmetic, and dates in UTC.

use super::filters::{Args, Given, Plain};
use super::state::State;
use super::val::Val;
use crate::model::Value;

pub(super) const FILTERS: &[(&str, Plain)] = &[
    ("abs", |_, value, _| number(value.to_number().abs())),
    ("at_least", |_, value, args| with(value, args, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })),
    ("at_most", |_, value, args| with(value, args, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) })),
    ("ceil", |_, value, _| number(value.to_number().ceil())),
    ("date", date),
    // the second argument requests a whole number; division by 0 is infinity, as in JavaScript
    ("divided_by", |_, value, args| with(value, args, if args.get(1).truthy() { |a, b| (a / b).floor() } else { |a, b| a / b })),
    ("floor", |_, value, _| number(value.to_number().floor())),
    ("minus", |_, value, args| with(value, args, |a, b| a - b)),
    ("modulo", |_, value, args| with(value, args, |a, b| a % b)),
    ("plus", |_, value, args| with(value, args, |a, b| a + b)),
    ("round", round),
    ("times", |_, value, args| with(value, args, |a, b| a * b)),
    ("to_integer", |_, value, _| number(value.to_number())),
];

fn number(n: f64) -> Given {
    Ok(Val::number(n))
}

fn with(value: &Val, args: &Args, work: fn(f64, f64) -> f64) -> Given {
    number(work(value.to_number(), args.get(0).to_number()))
}

/// Halves go up, as with `Math.round`.
fn round(_: &mut State, value: &Val, args: &Args) -> Given {
    let digits = if args.get(0).is_nil() { 0.0 } else { args.get(0).to_number() };
    let by = 10_f64.powf(digits);
    number((value.to_number() * by + 0.5).floor() / by)
}

/// A time (ISO 8601, or seconds since 1970) by a format of `strftime`. There is no clock: `now` and anything that is not
/// a time stay as they are.
fn date(state: &mut State, value: &Val, args: &Args) -> Given {
    let text = state.text(value)?;
    let format = if args.get(0).is_nil() { "%A, %B %-e, %Y at %-l:%M %P %z".into() } else { state.text(args.get(0))? };
    let Some(time) = moment(value, &text) else { return Ok(value.clone()) };
    match jiff::fmt::strtime::format(format.as_bytes(), &time.to_zoned(jiff::tz::TimeZone::UTC)) {
        Ok(text) => state.made(text),
        Err(_) => state.fail("this format of a date cannot be read"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates; a time out of range is none")]
fn moment(value: &Val, text: &str) -> Option<jiff::Timestamp> {
    if let Val::Is(Value::Int(_) | Value::Num(_)) = value {
        return jiff::Timestamp::from_millisecond((value.to_number() * 1000.0) as i64).ok();
    }
    let civil = || {
        let time = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    text.parse().ok().or_else(civil)
}
