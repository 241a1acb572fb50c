//! Filters of lists. Each element that is made or looked at is paid for; a list that could nest without end is refused.

use std::cmp::Ordering;
use std::sync::Arc;

use super::MOST_ELEMENTS;
use super::expr::{Reader, Step, Trouble};
use super::filters::{Args, CompileContext, Given};
use super::val::{self, Val};
use crate::model::value::MAX_DEPTH;
use crate::model::{Map, Value};
use crate::text::js;

/// Element by element, whether it belongs.
type Chosen = Result<Vec<(Value, bool)>, Trouble>;

pub(super) fn join(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let sep = if args.get(0).is_nil() { " ".into() } else { cx.text(args.get(0))? };
    let list = cx.elements(value)?;
    let mut parts = Vec::with_capacity(list.len());
    let mut bytes = sep.len().saturating_mul(list.len());
    for value in list {
        let part = cx.text(&Val::Is(value))?;
        bytes = bytes.saturating_add(part.len());
        cx.room(bytes).map(|()| parts.push(part))?;
    }
    let out = parts.join(&*sep);
    Ok(Val::text(out))
}

pub(super) fn sentence(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let word = if args.get(0).is_nil() { "and".into() } else { cx.text(args.get(0))? };
    let mut parts = Vec::new();
    for value in cx.elements(value)? {
        parts.push(cx.text(&Val::Is(value))?);
    }
    let last = parts.pop().unwrap_or_default();
    let out = match parts.as_slice() {
        [] => last.to_string(),
        [first] => format!("{first} {word} {last}"),
        more => format!("{}, {word} {last}", more.join(", ")),
    };
    cx.made(out)
}

pub(super) fn first(_: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    Ok(match value {
        Val::Is(Value::List(list)) => list.first().map_or(Val::Missing, |v| Val::Is(v.clone())),
        Val::Is(Value::Text(text)) => text.chars().next().map_or(Val::Missing, |c| Val::text(c.to_string())),
        _ => Val::text(""),
    })
}

pub(super) fn last(_: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    Ok(match value {
        Val::Is(Value::List(list)) => list.last().map_or(Val::Missing, |v| Val::Is(v.clone())),
        Val::Is(Value::Text(text)) => text.chars().next_back().map_or(Val::Missing, |c| Val::text(c.to_string())),
        _ => Val::text(""),
    })
}

pub(super) fn size(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let length = match value {
        Val::Is(Value::List(list)) => list.len(),
        Val::Is(Value::Text(_)) => js::length(&cx.text(value)?),
        _ => 0,
    };
    Ok(Val::Is(Value::Int(i64::try_from(length).unwrap_or(i64::MAX))))
}

pub(super) fn reverse(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let mut list = cx.elements(value)?;
    list.reverse();
    Ok(Val::list(list))
}

pub(super) fn compact(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let mut list = cx.elements(value)?;
    list.retain(|value| !value.is_null());
    Ok(Val::list(list))
}

pub(super) fn concat(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let mut list = cx.elements(value)?;
    list.extend(cx.elements(args.get(0))?);
    cx.list(list)
}

/// A part of a list or, in UTF-16 units, of a text; from the end if negative; one if no length is given.
pub(super) fn slice(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let length = if args.is_given(1) { super::expr::whole(args.get(1)) } else { 1 };
    let span = |count: usize| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        // as `slice(begin, begin + length)`, where what is negative still counts from the end
        let place = |n: i64| usize::try_from(if n < 0 { (count.saturating_add(n)).max(0) } else { n.min(count) }).unwrap_or(0);
        let begin = super::expr::whole(args.get(0));
        let begin = if begin < 0 { count.saturating_add(begin) } else { begin };
        place(begin)..place(begin.saturating_add(length))
    };
    match value {
        Val::Is(Value::List(list)) => {
            let part = list.get(span(list.len())).unwrap_or_default().to_vec();
            cx.list(part)
        }
        other if other.is_nil() => Ok(Val::list(Vec::new())),
        other => {
            let text = cx.text(other)?;
            if text.is_ascii() {
                return Ok(Val::text(text.get(span(text.len())).unwrap_or_default()));
            }
            let units: Vec<u16> = text.encode_utf16().collect();
            Ok(Val::text(String::from_utf16_lossy(units.get(span(units.len())).unwrap_or_default())))
        }
    }
}

/// A property of each element, or each element itself.
fn property(cx: &mut CompileContext<'_, '_>, value: &Value, path: &Val) -> Given {
    let value = Val::Is(value.clone());
    if path.is_nil() {
        return Ok(value);
    }
    let path = cx.text(path)?;
    cx.pay(1 + path.len())?;
    if let Val::Is(Value::Text(text)) = &value {
        cx.pay(text.len() / 32)?;
    }
    Ok(value.path(&path))
}

fn sorted(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args, by: fn(&Val, &Val) -> Ordering, key: fn(Val) -> Val) -> Given {
    let list = cx.elements(value)?;
    cx.pay(list.len().saturating_mul(16))?;
    let mut keyed = Vec::with_capacity(list.len());
    for value in list {
        let found = key(property(cx, &value, args.get(0))?);
        if let Val::Is(Value::Text(text)) = &found {
            cx.pay(text.len())?;
        }
        keyed.push((found, value));
    }
    keyed.sort_by(|(a, _), (b, _)| by(a, b));
    Ok(Val::list(keyed.into_iter().map(|(_, value)| value).collect()))
}

pub(super) fn sort(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    sorted(cx, value, args, val::order, |key| key)
}

/// By text, without regard to case.
pub(super) fn sort_natural(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    sorted(cx, value, args, val::order, |key| match key {
        Val::Is(Value::Text(text)) => Val::text(text.to_lowercase()),
        other => other,
    })
}

pub(super) fn uniq(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let mut out: Vec<Value> = Vec::new();
    for value in cx.elements(value)? {
        let mut seen = 1;
        let known = out.iter().any(|old| val::same(old, &value, &mut seen));
        cx.pay(seen)?;
        if !known {
            out.push(value);
        }
    }
    Ok(Val::list(out))
}

pub(super) fn map(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let mut out = Vec::new();
    for value in cx.elements(value)? {
        out.push(property(cx, &value, args.get(0))?.value());
    }
    Ok(Val::list(out))
}

pub(super) fn sum(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let mut sum = 0.0;
    for value in cx.elements(value)? {
        let n = property(cx, &value, args.get(0))?.to_number();
        sum += if n.is_nan() { 0.0 } else { n };
    }
    Ok(Val::number(sum))
}

/// A list that holds one more value: what nests too deeply or repeats a part too often is refused.
fn fits(cx: &mut CompileContext<'_, '_>, list: Vec<Value>) -> Given {
    cx.pay(list.len())?;
    let list = Value::list(list);
    if !list.fits(MAX_DEPTH, MOST_ELEMENTS) {
        return Err(Trouble::bound(cx.at, format!("a list would nest deeper than {MAX_DEPTH} or hold more than {MOST_ELEMENTS} values")));
    }
    Ok(Val::Is(list))
}

pub(super) fn push(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let mut list = cx.elements(value)?;
    list.push(args.get(0).value());
    fits(cx, list)
}

pub(super) fn unshift(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let mut list = cx.elements(value)?;
    list.insert(0, args.get(0).value());
    fits(cx, list)
}

pub(super) fn pop(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let mut list = cx.elements(value)?;
    list.pop();
    Ok(Val::list(list))
}

pub(super) fn shift(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let list = cx.elements(value)?;
    Ok(Val::list(list.into_iter().skip(1).collect()))
}

/// Which elements have a property of that value, or one that counts as true.
fn chosen(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Chosen {
    let mut out = Vec::new();
    for value in cx.elements(value)? {
        let found = property(cx, &value, args.get(0))?;
        let mut seen = 0;
        let fits = if args.is_given(1) { val::equals(&found, args.get(1), &mut seen) } else { found.truthy() };
        cx.pay(seen)?;
        out.push((value, fits));
    }
    Ok(out)
}

fn kept(chosen: Vec<(Value, bool)>, wanted: bool) -> Val {
    Val::list(chosen.into_iter().filter(|(_, fits)| *fits == wanted).map(|(value, _)| value).collect())
}

fn one(chosen: Vec<(Value, bool)>) -> Val {
    chosen.into_iter().find(|(_, fits)| *fits).map_or(Val::Missing, |(value, _)| Val::Is(value))
}

fn place(chosen: &[(Value, bool)]) -> Val {
    let n = chosen.iter().position(|(_, fits)| *fits).and_then(|n| i64::try_from(n).ok());
    n.map_or(Val::Missing, |n| Val::Is(Value::Int(n)))
}

pub(super) fn filter(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    Ok(kept(chosen(cx, value, args)?, true))
}

pub(super) fn reject(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    Ok(kept(chosen(cx, value, args)?, false))
}

pub(super) fn find(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    Ok(one(chosen(cx, value, args)?))
}

pub(super) fn find_index(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    Ok(place(&chosen(cx, value, args)?))
}

pub(super) fn has(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    Ok(Val::bool(chosen(cx, value, args)?.iter().any(|(_, fits)| *fits)))
}

pub(super) fn group_by(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let mut keyed = Vec::new();
    for value in cx.elements(value)? {
        keyed.push((property(cx, &value, args.get(0))?.value(), value));
    }
    grouped(cx, keyed)
}

/// Tables of `name` and `items`, in the order in which names are first seen.
fn grouped(cx: &mut CompileContext<'_, '_>, keyed: Vec<(Value, Value)>) -> Given {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (name, value) in keyed {
        let mut seen = 1;
        let known = groups.iter_mut().find(|(old, _)| val::same(old, &name, &mut seen));
        match known {
            Some((_, items)) => items.push(value),
            None => groups.push((name, vec![value])),
        }
        cx.pay(seen)?;
    }
    let table = |(name, items)| {
        let fields = [(Arc::from("name"), name), (Arc::from("items"), Value::list(items))];
        Value::map(fields.into_iter().collect::<Map>())
    };
    fits(cx, groups.into_iter().map(table).collect())
}

/// The filters over an expression: `where_exp: "name", "name.field > 1"`. The expression has operators, but no filters.
pub(super) fn each(cx: &mut CompileContext<'_, '_>, filter: &str, value: &Val, args: &Args) -> Given {
    let (name, text) = (cx.text(args.get(0))?, cx.text(args.get(1))?);
    cx.pay(text.len())?;
    let mut reader = Reader::new(&text, 0, text.len());
    let steps = reader.expression().map_err(|e| Trouble::new(cx.at, format!("in the expression of `{filter}`: {}", e.message)))?;
    if !reader.is_done() {
        return cx.fail(format!("the expression of `{filter}` cannot be read to its end"));
    }
    let found = |cx: &mut CompileContext<'_, '_>, value: &Value| {
        cx.pay(1)?;
        let at = cx.at;
        let given = cx.run.with(&name, value.clone(), |run| run.steps(at, &steps as &[Step]));
        given.map_err(|e| Trouble { at, ..e })
    };
    let mut out = Vec::new();
    for value in cx.elements(value)? {
        let found = found(cx, &value)?;
        out.push((value, found));
    }
    if filter == "group_by_exp" {
        return grouped(cx, out.into_iter().map(|(value, found)| (found.value(), value)).collect());
    }
    let chosen: Vec<_> = out.into_iter().map(|(value, found)| (value, found.truthy())).collect();
    Ok(match filter {
        "where_exp" => kept(chosen, true),
        "reject_exp" => kept(chosen, false),
        "find_exp" => one(chosen),
        "find_index_exp" => place(&chosen),
        _ => Val::bool(chosen.iter().any(|(_, fits)| *fits)),
    })
}
