//! Filters of numbers, in JavaScript's arithmetic, and dates in UTC.

use super::filters::{FilterArgs, FilterFunction, FilterResult};
use super::state::RenderState;
use super::val::LiquidValue;
use crate::model::Value;

pub(super) const FILTERS: &[(&str, FilterFunction)] = &[
    ("abs", |_, value, _| number(of(value).abs())),
    ("at_least", |_, value, args| with(value, args, f64::max)),
    ("at_most", |_, value, args| with(value, args, f64::min)),
    ("ceil", |_, value, _| number(of(value).ceil())),
    ("date", date),
    ("date_to_long_string", |state, value, _| in_format(state, value, "%d %B %Y")),
    ("date_to_rfc822", |state, value, _| in_format(state, value, "%a, %d %b %Y %H:%M:%S %z")),
    ("date_to_string", |state, value, _| in_format(state, value, "%d %b %Y")),
    ("date_to_xmlschema", |state, value, _| in_format(state, value, "%Y-%m-%dT%H:%M:%S%:z")),
    // the second argument requests a whole number; division by 0 is infinity, as in JavaScript
    ("divided_by", |_, value, args| with(value, args, if args.get(1).truthy() { |a, b| (a / b).floor() } else { |a, b| a / b })),
    ("floor", |_, value, _| number(of(value).floor())),
    ("minus", |_, value, args| with(value, args, |a, b| a - b)),
    ("modulo", |_, value, args| with(value, args, |a, b| a % b)),
    ("plus", |_, value, args| with(value, args, |a, b| a + b)),
    ("round", round),
    ("times", |_, value, args| with(value, args, |a, b| a * b)),
    ("to_integer", |_, value, _| number(value.to_number())),
];

fn number(n: f64) -> FilterResult {
    Ok(LiquidValue::number(n))
}

/// A value that is not a number counts as 0.
fn of(value: &LiquidValue) -> f64 {
    let n = value.to_number();
    if n.is_nan() { 0.0 } else { n }
}

fn with(value: &LiquidValue, args: &FilterArgs, work: fn(f64, f64) -> f64) -> FilterResult {
    number(work(of(value), of(args.get(0))))
}

/// Halves go up, as with `Math.round`.
fn round(_: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let by = 10_f64.powf(of(args.get(0)));
    number((of(value) * by + 0.5).floor() / by)
}

/// A time (ISO 8601, or seconds since 1970) by a format of `strftime`. There is no clock: `now` and anything that is not
/// a time stay as they are.
fn date(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let format = if args.get(0).is_nil() { "%A, %B %-e, %Y at %-l:%M %P %z".into() } else { state.text(args.get(0))? };
    in_format(state, value, &format)
}

fn in_format(state: &mut RenderState, value: &LiquidValue, format: &str) -> FilterResult {
    let text = state.text(value)?;
    state.spend(text.len().saturating_add(format.len()) as u64)?;
    let Some(time) = moment(value, &text) else { return Ok(value.clone()) };
    let format = fractions(format, time.subsec_nanosecond());
    match jiff::fmt::strtime::format(format.as_bytes(), &time.to_zoned(jiff::tz::TimeZone::UTC)) {
        Ok(text) => state.made(text),
        Err(_) => state.fail("this format of a date cannot be read"),
    }
}

/// A format in which the digits of a second are written out: `%L` for three of them, `%N` for nine.
fn fractions(format: &str, nanoseconds: i32) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let mut chars = after.chars();
        let sign = chars.next();
        match sign {
            Some('L') => {
                let _ = write!(out, "{:03}", nanoseconds / 1_000_000);
            }
            Some('N') => {
                let _ = write!(out, "{nanoseconds:09}");
            }
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}

#[expect(clippy::cast_possible_truncation, reason = "saturates; a time out of range is none")]
fn moment(value: &LiquidValue, text: &str) -> Option<jiff::Timestamp> {
    let digits = || !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if matches!(value, LiquidValue::Is(Value::Int(_) | Value::Num(_))) || digits() {
        return jiff::Timestamp::from_millisecond((value.to_number() * 1000.0) as i64).ok();
    }
    let civil = || {
        let time = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    text.parse().ok().or_else(civil)
}
