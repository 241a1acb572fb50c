//! Functions that search a text: the first match, replacing, and splitting.

use super::function::{Function, FunctionArgs, FunctionRefusal, bounded, named, of, text, times};
use super::js_number::undefined;
use super::pattern::{Captures, Pattern};
use super::work::BudgetExceeded;
use super::written::listed;
use super::{pattern, surrogates};
use crate::diag::limits;
use crate::model::Value;

pub(super) const MATCH: Function = Function {
    name: "match",
    doc: "the first match of `find` (a plain text or `/pattern/flags`) and its groups, as a list; nothing if there is no match",
    args: &[("of", true), ("find", true)],
    run: first_match,
};

pub(super) const REPLACE: Function = Function {
    name: "replace",
    doc: "the text with `find` (a plain text or `/pattern/flags`) replaced by `with`, taken literally; at most `times` times. With `javascript = true` as `replaceAll` of a text does it, or `replace` with `times = 1`: `find` is never a pattern, an empty one is found between all characters, and `$$`, `$&`, `` $` `` and `$'` in `with` have their meaning",
    args: &[("of", true), ("find", true), ("with", false), ("times", false), ("javascript", false)],
    run: replace,
};

pub(super) const SPLIT: Function = Function {
    name: "split",
    doc: "the parts of a text between `sep` (a plain text or `/pattern/flags`), as a list; its characters for an empty `sep`. With `javascript = true`, `sep` is never a pattern, the whole text is one part if it is missing, and for an empty one the parts are UTF-16 units",
    args: &[("of", true), ("sep", true), ("javascript", false)],
    run: split,
};

fn javascript(args: &FunctionArgs) -> bool {
    args.get("javascript").is_some_and(Value::truthy)
}

fn replace(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    if javascript(args) {
        return replace_all(args);
    }
    let text = text(args);
    let find = pattern::cached(&named(args, "find")).map_err(|e| format!("`find` is no usable pattern: {e}"))?;
    if find.text().is_empty() {
        return Ok(Value::Text(text));
    }
    let with = named(args, "with");
    let replaced = find.rewrite(&text, times(args)?, |_, _, out| out.push_str(&with));
    let replaced = replaced.map_err(|e| FunctionRefusal::bound(&e, Value::Text(text.clone())))?;
    Ok(replaced.map_or_else(|| Value::Text(text), Value::text))
}

/// `text.replaceAll(find, with)` for texts, at most `times` times.
fn replace_all(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = text(args);
    let word = |name: &str| undefined(args.get(name).unwrap_or(&Value::Null));
    let (find, with) = (word("find"), word("with"));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let most = times(args)?.unwrap_or(usize::MAX);
    for (start, found) in text.match_indices(find.as_ref()).take(most) {
        out.push_str(text.get(from..start).unwrap_or_default());
        from = start + found.len();
        let whole = pattern::TextMatch { start, end: from };
        fill(&mut out, &with, &text, &pattern::Captures { whole, groups: Vec::new() }, &[]);
        bounded(out.len())?;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    bounded(out.len())?;
    Ok(Value::text(out))
}

fn first_match(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = text(args);
    let find = pattern::cached(&named(args, "find")).map_err(|e| format!("`find` is no usable pattern: {e}"))?;
    let own = find.by_units(&text);
    let (find, text) = own.as_ref().map_or((&find, &*text), |(find, text)| (find, text.as_str()));
    let found = find.captures_all(text, 1).map_err(|e| FunctionRefusal::bound(&e, Value::Null))?;
    let Some(found) = found.first() else { return Ok(Value::Null) };
    let group = |m: &Option<pattern::TextMatch>| m.map_or(Value::Null, |m| piece(m.of(text), own.is_some()));
    Ok(Value::list(std::iter::once(&Some(found.whole)).chain(&found.groups).map(group).collect()))
}

fn split(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = text(args);
    let sep = named(args, "sep");
    if javascript(args) {
        return Ok(Value::list(match args.get("sep").unwrap_or(&Value::Null) {
            _ if of(args).is_null() => return Err("there is no text to split".into()),
            Value::Null => vec![Value::Text(text)],
            _ if sep.is_empty() => return Ok(characters(&surrogates::apart(&text))?),
            _ => return Ok(listed(text.split(sep.as_ref()).map(Value::text))?),
        }));
    }
    if sep.is_empty() {
        return Ok(characters(&text)?);
    }
    // a pattern cuts everywhere, with the flag `g` or without it, as in JavaScript
    let global =
        pattern::Pattern::split(&sep).filter(|(_, flags)| !flags.contains('g')).map(|(source, flags)| format!("/{source}/{flags}g"));
    let sep = global.as_deref().unwrap_or(&sep);
    let pattern = pattern::cached(sep).map_err(|e| format!("`sep` is no usable pattern: {e}"))?;
    let whole = Value::Text(text.clone());
    let own = pattern.by_units(&text);
    let (pattern, text) = own.as_ref().map_or((&pattern, &*text), |(pattern, text)| (pattern, text.as_str()));
    let hits = pattern.find_all(text, usize::MAX).map_err(|e| FunctionRefusal::bound(&e, Value::list(vec![whole])))?;
    let mut from = 0;
    let cuts = hits.into_iter().filter(|hit| hit.start < text.len()).map(|hit| (hit.start, hit.end));
    let parts = cuts.chain([(text.len(), usize::MAX)]).filter_map(|(start, end)| {
        let part = (end > from).then(|| piece(text.get(from..start).unwrap_or_default(), own.is_some()));
        from = from.max(end);
        part
    });
    Ok(listed(parts)?)
}

/// The characters of a text, as texts.
fn characters(text: &str) -> Result<Value, BudgetExceeded> {
    listed(text.chars().map(|c| Value::text(&*c.encode_utf8(&mut [0; 4]))))
}

/// A piece of a text, whose halves are joined if they stand apart in it.
fn piece(text: &str, apart: bool) -> Value {
    if apart { Value::text(surrogates::together(text)) } else { Value::text(text) }
}

// `substitute`: replaces in a text as JavaScript's `text.replace(find, with)` does, with the `$` marks of the
// replacement.

pub(super) const SUBSTITUTE: Function = Function {
    name: "substitute",
    doc: "the text with `find` replaced as `text.replace(find, with)` of JavaScript does it: the first occurrence of a plain text, or what `/pattern/flags` matches (a `find` from data that is never a pattern belongs to `replace` with `javascript = true`); `$1`, `$<name>`, `$&`, `` $` ``, `$'` and `$$` in `with` have their meaning",
    args: &[("of", true), ("find", true), ("with", false)],
    run: substitute,
};

fn substitute(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = |name: &str| args.get(name).map(Value::to_text).unwrap_or_default();
    let (of, find, with) = (text("of"), text("find"), text("with"));
    if Pattern::split(&find).is_none() {
        let Some(start) = of.find(find.as_ref()) else { return Ok(Value::Text(of)) };
        let whole = pattern::TextMatch { start, end: start + find.len() };
        let mut out = of.get(..start).unwrap_or_default().to_owned();
        fill(&mut out, &with, &of, &Captures { whole, groups: Vec::new() }, &[]);
        out.push_str(of.get(whole.end..).unwrap_or_default());
        return match out.len() > limits::OUTPUT_BYTES {
            true => Err(FunctionRefusal::Failed(format!("the replaced text is longer than {} bytes", limits::OUTPUT_BYTES))),
            false => Ok(Value::text(out)),
        };
    }
    let find = pattern::cached(&find).map_err(|e| format!("`find` is no usable pattern: {e}"))?;
    let replaced = find.rewrite(&of, None, |searched, found, out| fill(out, &with, searched.text, found, find.names()));
    match replaced {
        Ok(replaced) => Ok(replaced.map_or_else(|| Value::Text(of.clone()), Value::text)),
        Err(bound) => Err(FunctionRefusal::Bound { why: bound.to_string(), instead: Value::Text(of) }),
    }
}

/// Appends the replacement of a match: the only place that knows the `$` marks.
pub(super) fn fill(out: &mut String, with: &str, text: &str, found: &Captures, names: &[Option<std::sync::Arc<str>>]) {
    let mut rest = with;
    while let Some((plain, mark)) = rest.split_once('$') {
        // the callers refuse a text that is too long
        if out.len() > limits::OUTPUT_BYTES {
            return;
        }
        out.push_str(plain);
        let (length, means) = meaning(mark, text, found, names);
        out.push_str(means);
        rest = mark.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// What `$` and the text behind it stand for, and how many bytes behind the `$` belong to it.
fn meaning<'t>(mark: &str, text: &'t str, found: &Captures, names: &[Option<std::sync::Arc<str>>]) -> (usize, &'t str) {
    let group = |n: usize| found.groups.get(n).copied().flatten().map_or("", |m| m.of(text));
    match mark.bytes().next() {
        Some(b'$') => (1, "$"),
        Some(b'&') => (1, found.whole.of(text)),
        Some(b'`') => (1, text.get(..found.whole.start).unwrap_or_default()),
        Some(b'\'') => (1, text.get(found.whole.end..).unwrap_or_default()),
        Some(b'<') if names.iter().any(Option::is_some) => match mark.get(1..).and_then(|name| name.split_once('>')) {
            Some((name, _)) => {
                let n = names.iter().position(|known| known.as_deref() == Some(name));
                (name.len() + 2, n.map_or("", group))
            }
            None => (0, "$"),
        },
        _ => {
            // two digits if there are so many groups, otherwise one
            let number = |length: usize| {
                let digits = mark.get(..length).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
                let n = digits.parse::<usize>().ok()?.checked_sub(1)?;
                (n < found.groups.len()).then_some((length, n))
            };
            number(2).or_else(|| number(1)).map_or((0, "$"), |(length, n)| (length, group(n)))
        }
    }
}
