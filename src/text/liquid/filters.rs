//! The filters of Liquid: their table, and how one is called.

use std::sync::Arc;

use super::expr::{Filter, Trouble};
use super::run::Run;
use super::val::Val;
use super::{lists, numbers, texts};
use crate::model::Value;

/// What a filter is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// It leaves its value as it is.
    Unknown,
    /// A function of its value and its arguments.
    Plain(Plain),
    /// An expression is worked out for each element.
    Each(&'static str),
}

pub(super) type Given = Result<Val, Trouble>;
pub(super) type Plain = fn(&mut CompileContext<'_, '_>, &Val, &Args) -> Given;

/// The arguments of a call, worked out.
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

/// Where a filter is called, and the account that pays for it.
pub(super) struct CompileContext<'r, 'a> {
    pub run: &'r mut Run<'a>,
    pub at: usize,
}

impl CompileContext<'_, '_> {
    pub(super) fn pay(&mut self, units: usize) -> Result<(), Trouble> {
        self.run.pay(self.at, units)
    }

    /// A value as text, and what reading it costs.
    pub(super) fn text(&mut self, value: &Val) -> Result<Arc<str>, Trouble> {
        let text = self.run.printed(self.at, value)?;
        self.pay(text.len() / 32)?;
        Ok(text)
    }

    /// Pays for a text before it is made.
    pub(super) fn room(&mut self, bytes: usize) -> Result<(), Trouble> {
        self.run.pay_text(self.at, bytes)
    }

    /// A text that was made, at most some times as long as what it was made of.
    pub(super) fn made(&mut self, text: String) -> Given {
        self.room(text.len())?;
        Ok(Val::text(text))
    }

    /// A value's elements, paid for.
    pub(super) fn elements(&mut self, value: &Val) -> Result<Vec<Value>, Trouble> {
        let count = if let Val::Is(Value::List(list)) = value { list.len() } else { 1 };
        self.run.pay_list(self.at, count)?;
        Ok(value.elements())
    }

    pub(super) fn list(&mut self, list: Vec<Value>) -> Given {
        self.run.pay_list(self.at, list.len())?;
        Ok(Val::list(list))
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Trouble> {
        Err(Trouble::new(self.at, message))
    }
}

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

pub(super) fn find(name: &str) -> Call {
    if let Some((_, call)) = FILTERS.binary_search_by_key(&name, |(n, _)| n).ok().and_then(|n| FILTERS.get(n)) {
        return Call::Plain(*call);
    }
    EXPRESSIONS.iter().find(|n| **n == name).map_or(Call::Unknown, |n| Call::Each(n))
}

pub(super) fn apply(run: &mut Run<'_>, filter: &Filter, value: Val) -> Given {
    run.pay(filter.at, 1)?;
    let mut list = Vec::with_capacity(filter.args.len());
    for arg in &filter.args {
        list.push(run.operand(arg)?);
    }
    let mut named = Vec::with_capacity(filter.named.len());
    for (name, arg) in &filter.named {
        named.push((name.clone(), run.operand(arg)?));
    }
    let args = Args { list, named };
    let mut cx = CompileContext { run, at: filter.at };
    match filter.call {
        Call::Unknown => Ok(value),
        Call::Plain(call) => call(&mut cx, &value, &args),
        Call::Each(name) => lists::each(&mut cx, name, &value, &args),
    }
}

fn default(_: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let keeps = match value {
        Val::Is(Value::Bool(false)) => args.named("allow_false").truthy(),
        Val::Is(Value::Text(_) | Value::List(_)) => !value.value().is_empty(),
        other => other.truthy(),
    };
    Ok(if keeps { value.clone() } else { args.get(0).clone() })
}

fn json(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    match value {
        Val::Missing => Ok(Val::Missing),
        other => {
            let value = other.value();
            // a list may hold one part many times over
            let mut left = 100_000;
            if !measure(&value, &mut left) {
                return cx.fail("this value is too large to be written as JSON");
            }
            cx.pay(100_000 - left)?;
            let text = value.to_json().to_string();
            cx.made(text)
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
