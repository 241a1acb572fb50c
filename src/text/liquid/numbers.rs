//! Filters of numbers, in JavaScript's arithmetic, and dates in UTC.

use super::filters::{Args, CompileContext, Given};
use super::val::Val;
use crate::model::Value;

fn with(value: &Val, args: &Args, work: fn(f64, f64) -> f64) -> Given {
    Ok(Val::number(work(value.to_number(), args.get(0).to_number())))
}

pub(super) fn abs(_: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    Ok(Val::number(value.to_number().abs()))
}

pub(super) fn at_least(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

pub(super) fn at_most(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) })
}

pub(super) fn ceil(_: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    Ok(Val::number(value.to_number().ceil()))
}

pub(super) fn floor(_: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    Ok(Val::number(value.to_number().floor()))
}

pub(super) fn plus(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, |a, b| a + b)
}

pub(super) fn minus(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, |a, b| a - b)
}

pub(super) fn times(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, |a, b| a * b)
}

/// The second argument asks for a whole number. By 0 it is infinity, as in JavaScript.
pub(super) fn divided_by(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, if args.get(1).truthy() { |a, b| (a / b).floor() } else { |a, b| a / b })
}

pub(super) fn modulo(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    with(value, args, |a, b| a % b)
}

/// Halves go up, as with `Math.round`.
pub(super) fn round(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let digits = if args.get(0).is_nil() { 0.0 } else { args.get(0).to_number() };
    let by = 10_f64.powf(digits);
    Ok(Val::number((value.to_number() * by + 0.5).floor() / by))
}

pub(super) fn to_integer(_: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    Ok(Val::number(value.to_number()))
}

/// A time (ISO 8601, or seconds since 1970) by a format of `strftime`. There is no clock: `now` and what is no time
/// stay as they are.
pub(super) fn date(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let text = cx.text(value)?;
    let format = if args.get(0).is_nil() { "%A, %B %-e, %Y at %-l:%M %P %z".into() } else { cx.text(args.get(0))? };
    let Some(time) = moment(value, &text) else { return Ok(value.clone()) };
    match jiff::fmt::strtime::format(format.as_bytes(), &time.to_zoned(jiff::tz::TimeZone::UTC)) {
        Ok(text) => cx.made(text),
        Err(_) => cx.fail("this format of a date cannot be read"),
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
