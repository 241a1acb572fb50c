//! The filters: their table, and how the crate calls one.

use std::fmt;
use std::sync::Arc;

use liquid_core::parser::{FilterArguments, ParameterReflection};
use liquid_core::{Expression, Filter, FilterReflection, ParseFilter, Runtime, ValueView};

use super::state::{State, handle, place, with};
use super::val::Val;
use super::words::RANGE;
use super::{Trouble, lists, numbers, texts};
use crate::model::Value;

pub(super) type Given = Result<Val, Trouble>;
pub(super) type Plain = fn(&mut State, &Val, &Args) -> Given;

/// A filter as the crate knows it; one without a function evaluates an expression for each element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    name: &'static str,
    plain: Option<Plain>,
}

/// A filter at a place of a template.
#[derive(Debug)]
struct Call {
    known: Known,
    positional: Vec<Expression>,
    named: Vec<(Box<str>, Expression)>,
}

/// The arguments of a call, evaluated.
pub(super) struct Args {
    list: Vec<Val>,
    named: Vec<(Box<str>, Val)>,
}

impl Args {
    pub(super) fn get(&self, n: usize) -> &Val {
        self.list.get(n).unwrap_or(&Val::Missing)
    }

    pub(super) fn is_given(&self, n: usize) -> bool {
        self.list.len() > n
    }

    pub(super) fn named(&self, name: &str) -> &Val {
        self.named.iter().find(|(n, _)| **n == *name).map_or(&Val::Missing, |(_, value)| value)
    }
}

impl State {
    /// A value as text, and what reading it costs.
    pub(super) fn text(&mut self, value: &Val) -> Result<Arc<str>, Trouble> {
        let text = self.printed(value)?;
        self.pay(text.len() / 32)?;
        Ok(text)
    }

    /// A text that was made, at most some times as long as what it was made of.
    pub(super) fn made(&mut self, text: String) -> Given {
        self.room(text.len())?;
        Ok(Val::text(text))
    }

    /// A value's elements, paid for.
    pub(super) fn elements(&mut self, value: &Val) -> Result<Vec<Value>, Trouble> {
        let count = if let Val::Is(Value::List(list)) = value { list.len() } else { 1 };
        self.pay_list(count)?;
        Ok(value.elements())
    }

    pub(super) fn list(&mut self, list: Vec<Value>) -> Given {
        self.pay_list(list.len())?;
        Ok(Val::list(list))
    }
}

/// The slot that the crate hands on as a value.
pub(super) fn slot(value: &dyn ValueView) -> usize {
    value.as_scalar().and_then(|scalar| scalar.to_integer()).map_or(usize::MAX, place)
}

impl Filter for Call {
    fn evaluate(&self, input: &dyn ValueView, runtime: &dyn Runtime) -> liquid_core::Result<liquid_core::Value> {
        let input = slot(input);
        let mark = with(runtime, |state| {
            state.pay(1)?;
            Ok(state.mark())
        })?;
        let given = |argument: &Expression| {
            let slot = slot(&argument.evaluate(runtime)?);
            with(runtime, |state| Ok(state.value(slot)))
        };
        let list = self.positional.iter().map(given).collect::<liquid_core::Result<_>>()?;
        let named = self.named.iter().map(|(name, argument)| Ok((name.clone(), given(argument)?)));
        let args = Args { list, named: named.collect::<liquid_core::Result<_>>()? };
        let value = with(runtime, |state| Ok(state.value(input)))?;
        let made = match self.known.plain {
            Some(plain) => with(runtime, |state| plain(state, &value, &args))?,
            None => lists::each(runtime, self.known.name, &value, &args)?,
        };
        with(runtime, |state| {
            // what the filter was given is not needed any more; a constant stays
            state.release(mark.min(input.max(state.first())));
            Ok(handle(state.keep(made)))
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.known.name)
    }
}

impl ParseFilter for Known {
    fn parse(&self, arguments: FilterArguments<'_>) -> liquid_core::Result<Box<dyn Filter>> {
        let named = arguments.keyword.map(|(name, argument)| (name.into(), argument)).collect();
        Ok(Box::new(Call { known: *self, positional: arguments.positional.collect(), named }))
    }

    fn reflection(&self) -> &dyn FilterReflection {
        self
    }
}

impl FilterReflection for Known {
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

/// All filters as the crate is to know them.
pub(super) fn all() -> impl Iterator<Item = Known> {
    let plain = FILTERS.iter().map(|(name, plain)| Known { name, plain: Some(*plain) });
    let each = EXPRESSIONS.iter().map(|name| Known { name, plain: None });
    plain.chain(each).chain([RANGES])
}

/// The names of all filters that a template may call.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|(name, _)| *name).chain(EXPRESSIONS.iter().copied())
}

pub(super) fn is_known(name: &str) -> bool {
    FILTERS.binary_search_by_key(&name, |(n, _)| n).is_ok() || EXPRESSIONS.contains(&name)
}

/// The filter that stands for a range.
pub(super) const RANGES: Known = Known { name: RANGE, plain: Some(range) };
/// A filter that leaves its value as it is.
pub(super) const NOTHING: &str = "raw";

/// Filters over an expression, sorted.
pub(super) const EXPRESSIONS: &[&str] = &["find_exp", "find_index_exp", "group_by_exp", "has_exp", "reject_exp", "where_exp"];

/// All others, sorted.
pub(super) const FILTERS: &[(&str, Plain)] = &[
    ("abs", numbers::abs),
    ("append", texts::append),
    ("array_to_sentence_string", lists::sentence),
    ("at_least", numbers::at_least),
    ("at_most", numbers::at_most),
    ("base64_decode", texts::base64_decode),
    ("base64_encode", texts::base64_encode),
    ("capitalize", texts::capitalize),
    ("ceil", numbers::ceil),
    ("cgi_escape", texts::cgi_escape),
    ("compact", lists::compact),
    ("concat", lists::concat),
    ("date", numbers::date),
    ("default", default),
    ("divided_by", numbers::divided_by),
    ("downcase", texts::downcase),
    ("escape", texts::escape),
    ("escape_once", texts::escape_once),
    ("find", lists::find),
    ("find_index", lists::find_index),
    ("first", lists::first),
    ("floor", numbers::floor),
    ("group_by", lists::group_by),
    ("has", lists::has),
    ("inspect", json),
    ("join", lists::join),
    ("json", json),
    ("jsonify", json),
    ("last", lists::last),
    ("lstrip", texts::lstrip),
    ("map", lists::map),
    ("minus", numbers::minus),
    ("modulo", numbers::modulo),
    ("newline_to_br", texts::newline_to_br),
    ("normalize_whitespace", texts::normalize_whitespace),
    ("number_of_words", texts::number_of_words),
    ("plus", numbers::plus),
    ("pop", lists::pop),
    ("prepend", texts::prepend),
    ("push", lists::push),
    ("raw", |_, value, _| Ok(value.clone())),
    ("reject", lists::reject),
    ("remove", texts::remove),
    ("remove_first", texts::remove_first),
    ("remove_last", texts::remove_last),
    ("replace", texts::replace),
    ("replace_first", texts::replace_first),
    ("replace_last", texts::replace_last),
    ("reverse", lists::reverse),
    ("round", numbers::round),
    ("rstrip", texts::rstrip),
    ("shift", lists::shift),
    ("size", lists::size),
    ("slice", lists::slice),
    ("sort", lists::sort),
    ("sort_natural", lists::sort_natural),
    ("split", texts::split),
    ("strip", texts::strip),
    ("strip_html", texts::strip_html),
    ("strip_newlines", texts::strip_newlines),
    ("sum", lists::sum),
    ("times", numbers::times),
    ("to_integer", numbers::to_integer),
    ("truncate", texts::truncate),
    ("truncatewords", texts::truncatewords),
    ("uniq", lists::uniq),
    ("unshift", lists::unshift),
    ("upcase", texts::upcase),
    ("url_decode", texts::url_decode),
    ("url_encode", texts::url_encode),
    ("where", lists::filter),
    ("xml_escape", texts::escape),
];

fn range(state: &mut State, value: &Val, args: &Args) -> Given {
    let (from, to) = (value.whole(), args.get(0).whole());
    let count = to.saturating_sub(from).saturating_add(1).max(0);
    state.pay_list(usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok(Val::list((from..=to).map(Value::Int).collect()))
}

fn default(_: &mut State, value: &Val, args: &Args) -> Given {
    let keeps = match value {
        Val::Is(Value::Bool(false)) => args.named("allow_false").truthy(),
        Val::Is(Value::Text(_) | Value::List(_)) => !value.value().is_empty(),
        other => other.truthy(),
    };
    Ok(if keeps { value.clone() } else { args.get(0).clone() })
}

fn json(state: &mut State, value: &Val, _: &Args) -> Given {
    match value {
        Val::Missing => Ok(Val::Missing),
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
