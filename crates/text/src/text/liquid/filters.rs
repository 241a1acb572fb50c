//! The filters: their table, and their adapter for the crate.

use std::fmt;
use std::sync::Arc;

use liquid_core::parser::{FilterArguments, ParameterReflection};
use liquid_core::{Expression, Filter, FilterReflection, ParseFilter, Runtime, ValueView};

use super::state::{RenderState, handle, place, state, with};
use super::val::LiquidValue;
use super::{lists, texts};
use crate::model::Value;
use crate::text::Mistake;

pub(super) type FilterResult = Result<LiquidValue, Mistake>;
pub(super) type FilterFunction = fn(&mut RenderState, &LiquidValue, &FilterArgs) -> FilterResult;

/// A filter as the crate knows it; one without a function evaluates an expression for each element.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownFilter {
    pub name: &'static str,
    plain: Option<FilterFunction>,
}

/// A filter in a template.
#[derive(Debug)]
struct FilterCall {
    known: KnownFilter,
    positional: Vec<Expression>,
    named: Vec<(Box<str>, Expression)>,
}

/// The arguments of a call, evaluated.
pub(super) struct FilterArgs {
    list: Vec<LiquidValue>,
    named: Vec<(Box<str>, LiquidValue)>,
}

impl FilterArgs {
    pub(super) fn get(&self, n: usize) -> &LiquidValue {
        self.list.get(n).unwrap_or(&LiquidValue::Missing)
    }

    pub(super) fn is_given(&self, n: usize) -> bool {
        self.list.len() > n
    }

    pub(super) fn has_named(&self) -> bool {
        !self.named.is_empty()
    }

    pub(super) fn named(&self, name: &str) -> &LiquidValue {
        self.named.iter().find(|(n, _)| **n == *name).map_or(&LiquidValue::Missing, |(_, value)| value)
    }
}

impl RenderState {
    /// A value as text, and what reading it costs.
    pub(super) fn text(&mut self, value: &LiquidValue) -> Result<Arc<str>, Mistake> {
        let text = self.printed(value)?;
        self.pay(text.len() / 32)?;
        Ok(text)
    }

    /// Makes a text that is at most a fixed factor longer than its input.
    pub(super) fn made(&mut self, text: String) -> FilterResult {
        self.room(text.len())?;
        Ok(LiquidValue::text(text))
    }

    /// The elements of a value; their cost is counted.
    pub(super) fn elements(&mut self, value: &LiquidValue) -> Result<Vec<Value>, Mistake> {
        let count = if let LiquidValue::Is(Value::List(list)) = value { list.len() } else { 1 };
        self.pay_list(count)?;
        Ok(value.elements())
    }

    pub(super) fn list(&mut self, list: Vec<Value>) -> FilterResult {
        self.pay_list(list.len())?;
        Ok(LiquidValue::list(list))
    }
}

/// The slot that the crate hands on as a value.
pub(super) fn slot(value: &dyn ValueView) -> usize {
    value.as_scalar().and_then(|scalar| scalar.to_integer()).map_or(usize::MAX, place)
}

impl Filter for FilterCall {
    fn evaluate(&self, input: &dyn ValueView, runtime: &dyn Runtime) -> liquid_core::Result<liquid_core::Value> {
        let input = slot(input);
        with(runtime, |state| state.pay(1))?;
        let mark = state(runtime).mark();
        let given = |argument: &Expression| {
            let slot = slot(&argument.evaluate(runtime)?);
            Ok(state(runtime).value(slot))
        };
        let list = self.positional.iter().map(given).collect::<liquid_core::Result<_>>()?;
        let named = self.named.iter().map(|(name, argument)| Ok((name.clone(), given(argument)?)));
        let args = FilterArgs { list, named: named.collect::<liquid_core::Result<_>>()? };
        let value = state(runtime).value(input);
        let made = match self.known.plain {
            Some(plain) => with(runtime, |state| plain(state, &value, &args))?,
            None => lists::each(runtime, self.known.name, &value, &args)?,
        };
        let mut state = state(runtime);
        // the input of the filter is no longer needed; `release` keeps constants
        state.release(mark.min(input));
        Ok(handle(state.keep(made)))
    }
}

impl fmt::Display for FilterCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.known.name)
    }
}

impl ParseFilter for KnownFilter {
    fn parse(&self, arguments: FilterArguments<'_>) -> liquid_core::Result<Box<dyn Filter>> {
        let named = arguments.keyword.map(|(name, argument)| (name.into(), argument)).collect();
        Ok(Box::new(FilterCall { known: *self, positional: arguments.positional.collect(), named }))
    }

    fn reflection(&self) -> &dyn FilterReflection {
        self
    }
}

impl FilterReflection for KnownFilter {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        ""
    }

    fn positional_parameters(&self) -> &'static [ParameterReflection] {
        &[]
    }

    fn keyword_parameters(&self) -> &'static [ParameterReflection] {
        &[]
    }
}

/// All filters that a template may call.
pub(super) fn all() -> impl Iterator<Item = KnownFilter> {
    let plain = [texts::FILTERS, lists::FILTERS, NUMBER_FILTERS, OTHERS].into_iter().flatten();
    let plain = plain.map(|(name, plain)| KnownFilter { name, plain: Some(*plain) });
    plain.chain(lists::EXPRESSIONS.iter().map(|name| KnownFilter { name, plain: None }))
}

pub(super) fn is_known(name: &str) -> bool {
    all().any(|known| known.name == name)
}

/// A filter that leaves its value as it is.
pub(super) const NOTHING: &str = "raw";

/// The filters that are not for texts, numbers or lists.
const OTHERS: &[(&str, FilterFunction)] =
    &[("default", default), ("inspect", json), ("json", json), ("jsonify", json), (NOTHING, |_, value, _| Ok(value.clone()))];

fn default(_: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let keeps = match value {
        LiquidValue::Is(Value::Bool(false)) => args.named("allow_false").truthy(),
        LiquidValue::Is(Value::Text(_) | Value::List(_)) => !value.value().is_empty(),
        other => other.truthy(),
    };
    Ok(if keeps { value.clone() } else { args.get(0).clone() })
}

fn json(state: &mut RenderState, value: &LiquidValue, _: &FilterArgs) -> FilterResult {
    match value {
        LiquidValue::Missing => Ok(LiquidValue::Missing),
        // in LiquidJS these words are objects
        LiquidValue::Nil | LiquidValue::Empty | LiquidValue::Blank => Ok(LiquidValue::text("{}")),
        other => {
            let value = other.value();
            // a list may hold one part many times over
            let mut left = 100_000;
            if !measure(&value, &mut left) {
                return state.fail("this value is too large to be written as JSON");
            }
            state.pay(100_000 - left)?;
            let text = value.to_json().to_string();
            state.made(text)
        }
    }
}

/// Counts a value's parts, texts by their length, shared ones each time.
fn measure(value: &Value, left: &mut usize) -> bool {
    let units = if let Value::Text(text) = value { 1 + text.len() / 32 } else { 1 };
    let Some(rest) = left.checked_sub(units) else { return false };
    *left = rest;
    match value {
        Value::List(list) => list.iter().all(|value| measure(value, left)),
        Value::Map(map) => map.values().all(|value| measure(value, left)),
        _ => true,
    }
}

// Filters of numbers, in JavaScript's arithmetic, and dates in UTC.

pub(super) const NUMBER_FILTERS: &[(&str, FilterFunction)] = &[
    ("abs", |_, value, _| number(of(value).abs())),
    ("at_least", |_, value, args| compute(value, args, f64::max)),
    ("at_most", |_, value, args| compute(value, args, f64::min)),
    ("ceil", |_, value, _| number(of(value).ceil())),
    ("date", date),
    ("date_to_long_string", |state, value, _| in_format(state, value, "%d %B %Y")),
    ("date_to_rfc822", |state, value, _| in_format(state, value, "%a, %d %b %Y %H:%M:%S %z")),
    ("date_to_string", |state, value, _| in_format(state, value, "%d %b %Y")),
    ("date_to_xmlschema", |state, value, _| in_format(state, value, "%Y-%m-%dT%H:%M:%S%:z")),
    // the second argument requests a whole number; division by 0 is infinity, as in JavaScript
    ("divided_by", |_, value, args| compute(value, args, if args.get(1).truthy() { |a, b| (a / b).floor() } else { |a, b| a / b })),
    ("floor", |_, value, _| number(of(value).floor())),
    ("minus", |_, value, args| compute(value, args, |a, b| a - b)),
    ("modulo", |_, value, args| compute(value, args, |a, b| a % b)),
    ("plus", |_, value, args| compute(value, args, |a, b| a + b)),
    ("round", round),
    ("times", |_, value, args| compute(value, args, |a, b| a * b)),
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

fn compute(value: &LiquidValue, args: &FilterArgs, work: fn(f64, f64) -> f64) -> FilterResult {
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
    state.pay(text.len().saturating_add(format.len()) / 8)?;
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
