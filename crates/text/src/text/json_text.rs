//! Lists and tables that texts hold as JSON: read leniently, and written as JavaScript's `JSON.stringify` writes them.

use std::fmt::Write;

use super::function::{Function, FunctionArgs, FunctionRefusal, bounded, named, of};
use super::js_number::{number_of, undefined};
use super::written::{self, ToText as _, listed};
use super::{js, lists, surrogates, work};
use crate::diag::limits;
use crate::model::value::number_text;
use crate::model::{Map, Value};

pub(super) const READ_LIST: Function = Function {
    name: "read_list",
    doc: "the list that a JSON text holds, with each element as a text; the parts between `sep` of any other text; of a list, its only element read so, or all of several as they are",
    args: &[("of", true), ("sep", true)],
    run: |args| {
        let text = match of(args) {
            Value::List(list) => match list.as_slice() {
                [one] => one,
                [] => &Value::Null,
                _ => return Ok(of(args).clone()),
            },
            other => other,
        };
        if text.is_null() {
            return Err("there is no list".into());
        }
        let text = text.shown();
        if let Some(Value::List(list)) = written::parse_json(&text) {
            return Ok(listed(list.iter().map(element))?);
        }
        let sep = named(args, "sep");
        if sep.is_empty() {
            return Ok(Value::list(vec![Value::Text(text)]));
        }
        Ok(listed(text.split(sep.as_ref()).map(Value::text))?)
    },
};

/// An element as a text: JSON, if it is not a text.
fn element(value: &Value) -> Value {
    if let Value::Text(_) = value { value.clone() } else { Value::text(written(value)) }
}

pub(super) const READ_PAIRS: Function = Function {
    name: "read_pairs",
    doc: "a table of the texts of a list that have the form `key=value`, with `sep` for `=`; the others are left out",
    args: &[("of", true), ("sep", true)],
    run: |args| {
        let (sep, texts) = (named(args, "sep"), of(args).as_list().unwrap_or_default());
        let texts = texts.iter().map(Value::shown).collect::<Vec<_>>();
        let pairs = texts.iter().filter_map(|text| text.split_once(sep.as_ref()));
        // one long text may stand there many times
        let pairs = pairs.take_while(|_| !work::is_over());
        Ok(Value::map(pairs.map(|(key, value)| (key.into(), Value::text(value))).collect::<Map>()))
    },
};

pub(super) const STRINGIFY: Function = Function {
    name: "stringify",
    doc: "the value as JSON text, exactly as JavaScript writes it: its numbers, and keys that are whole numbers first; with `find`, this text in the texts of a list is replaced by `with` beforehand",
    args: &[("of", true), ("find", false), ("with", false)],
    run: |args| {
        let (find, with) = (named(args, "find"), named(args, "with"));
        let text = match of(args) {
            Value::List(list) if !find.is_empty() => {
                let found = |text: &str| text.matches(find.as_ref()).count();
                let longer = |text: &str| found(text).saturating_mul(with.len()).saturating_add(text.len());
                let bytes = list.iter().filter_map(Value::as_str).map(longer).fold(0, usize::saturating_add);
                bounded(bytes)?;
                let replaced = |value: &Value| match value {
                    Value::Text(text) if text.contains(find.as_ref()) => Value::text(text.replace(find.as_ref(), &with)),
                    other => other.clone(),
                };
                written(&Value::list(list.iter().map(replaced).collect()))
            }
            value => written(value),
        };
        bounded(text.len())?;
        Ok(Value::text(text))
    },
};

/// The JSON text of a value.
fn written(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out, limits::NESTING);
    out
}

/// Recursion is bounded by `depth`; what is deeper is null. What is longer than a text may be is not written to its end.
fn write(value: &Value, out: &mut String, depth: usize) {
    if out.len() > limits::OUTPUT_BYTES {
        return;
    }
    match value {
        Value::Text(text) => quoted(text, out),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(_) | Value::Num(_) => {
            let number = value.as_f64().filter(|n| n.is_finite());
            out.push_str(&number.map_or_else(|| "null".to_owned(), number_text));
        }
        Value::List(list) if depth > 0 => {
            out.push('[');
            for (n, element) in list.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                write(element, out, depth - 1);
            }
            out.push(']');
        }
        Value::Map(map) if depth > 0 => {
            out.push('{');
            for (n, (key, field)) in js::fields(map).into_iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                quoted(key, out);
                out.push(':');
                write(field, out, depth - 1);
            }
            out.push('}');
        }
        _ => out.push_str("null"),
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c => match surrogates::unit(c).or_else(|| Some(c as u32).filter(|n| *n < 32).and_then(|n| u16::try_from(n).ok())) {
                // such a character comes to be six bytes
                Some(_) if out.len() > limits::OUTPUT_BYTES => return,
                // writing to a text cannot fail
                Some(unit) => drop(write!(out, "\\u{unit:04x}")),
                None => out.push(c),
            },
        }
    }
    out.push('"');
}

pub(super) const MEMBER: Function = Function {
    name: "member",
    doc: "the text at the key `at` of a table, or at this index of a list or text; `else` if there is none, `other` if it is not a text",
    args: &[("of", true), ("at", true), ("else", false), ("other", false)],
    run: |args| {
        if of(args).is_null() {
            return Err("there is nothing to look into".into());
        }
        let found = lists::property(of(args), &undefined(args.get("at").unwrap_or(&Value::Null)));
        Ok(text_or(args, found.filter(|value| !value.is_null())))
    },
};

pub(super) const DIG: Function = Function {
    name: "dig",
    doc: "the text to which a list of keys and indexes, `path`, leads in a JSON text, in which each level on the way is JSON text again; `else` if it leads nowhere or to nothing, `other` if it is not a text",
    args: &[("of", true), ("path", true), ("else", false), ("other", false)],
    run: dig,
};

fn dig(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    if of(args).is_null() {
        return Err("there is nothing to look into".into());
    }
    let mut at = of(args).clone();
    for key in args.get("path").and_then(Value::as_list).unwrap_or_default() {
        let parsed = written::parse_json(&js::string(&at)).filter(|v| matches!(v, Value::List(_) | Value::Map(_)));
        let found = parsed.and_then(|parsed| lists::property(&parsed, &key.shown()));
        match found.filter(super::truthiness::javascript) {
            Some(found) => at = found,
            None => return Ok(text_or(args, None)),
        }
    }
    Ok(text_or(args, Some(at)))
}

fn text_or(args: &FunctionArgs, found: Option<Value>) -> Value {
    match found {
        Some(Value::Text(text)) => Value::Text(text),
        Some(other) => args.get("other").cloned().unwrap_or(other),
        None => args.get("else").cloned().unwrap_or_default(),
    }
}

pub(super) const RANGE: Function = Function {
    name: "range",
    doc: "the numbers, as texts, from `of` up to but not including `to`, by `step` (default: 1); at most 100,000",
    args: &[("of", true), ("to", true), ("step", false)],
    run: |args| {
        let (mut at, to) = (number_of(args, "of"), number_of(args, "to"));
        let step = args.get("step").filter(|step| !step.is_null()).map_or(1.0, js::to_number);
        let mut numbers = Vec::new();
        if at < to && step <= 0.0 {
            return Err("the numbers never reach `to`, because `step` is not above 0".into());
        }
        while at < to {
            if numbers.len() >= limits::ELEMENTS {
                return Err(format!("the list would have more than {} elements", limits::ELEMENTS).into());
            }
            numbers.push(Value::text(number_text(at)));
            at += step;
        }
        Ok(Value::list(numbers))
    },
};
