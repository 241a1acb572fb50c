//! Filters of lists. Each element that is made or looked at is paid for; a list that could nest without end is refused.

use std::cmp::Ordering;
use std::sync::Arc;

use liquid_core::{Renderable, Runtime};

use super::filters::{Args, Given};
use super::state::{State, Turn, with};
use super::val::{self, Val};
use super::{MOST_ELEMENTS, Trouble, expression};
use crate::model::value::MAX_DEPTH;
use crate::model::{Map, Value};
use crate::text::js;

/// Element by element, whether it belongs.
type Chosen = Result<Vec<(Value, bool)>, Trouble>;

pub(super) fn join(state: &mut State, value: &Val, args: &Args) -> Given {
    let sep = if args.get(0).is_nil() { " ".into() } else { state.text(args.get(0))? };
    let list = state.elements(value)?;
    let mut parts = Vec::with_capacity(list.len());
    let mut bytes = sep.len().saturating_mul(list.len());
    for value in list {
        let part = state.text(&Val::Is(value))?;
        bytes = bytes.saturating_add(part.len());
        state.room(bytes).map(|()| parts.push(part))?;
    }
    let out = parts.join(&*sep);
    Ok(Val::text(out))
}

pub(super) fn sentence(state: &mut State, value: &Val, args: &Args) -> Given {
    let word = if args.get(0).is_nil() { "and".into() } else { state.text(args.get(0))? };
    let mut parts = Vec::new();
    for value in state.elements(value)? {
        parts.push(state.text(&Val::Is(value))?);
    }
    let last = parts.pop().unwrap_or_default();
    let out = match parts.as_slice() {
        [] => last.to_string(),
        [first] => format!("{first} {word} {last}"),
        more => format!("{}, {word} {last}", more.join(", ")),
    };
    state.made(out)
}

pub(super) fn first(_: &mut State, value: &Val, _: &Args) -> Given {
    Ok(match value {
        Val::Is(Value::List(list)) => list.first().map_or(Val::Missing, |v| Val::Is(v.clone())),
        Val::Is(Value::Text(text)) => text.chars().next().map_or(Val::Missing, |c| Val::text(c.to_string())),
        _ => Val::text(""),
    })
}

pub(super) fn last(_: &mut State, value: &Val, _: &Args) -> Given {
    Ok(match value {
        Val::Is(Value::List(list)) => list.last().map_or(Val::Missing, |v| Val::Is(v.clone())),
        Val::Is(Value::Text(text)) => text.chars().next_back().map_or(Val::Missing, |c| Val::text(c.to_string())),
        _ => Val::text(""),
    })
}

pub(super) fn size(state: &mut State, value: &Val, _: &Args) -> Given {
    let length = match value {
        Val::Is(Value::List(list)) => list.len(),
        Val::Is(Value::Text(_)) => js::length(&state.text(value)?),
        _ => 0,
    };
    Ok(Val::Is(Value::Int(val::int(length))))
}

pub(super) fn reverse(state: &mut State, value: &Val, _: &Args) -> Given {
    let mut list = state.elements(value)?;
    list.reverse();
    Ok(Val::list(list))
}

pub(super) fn compact(state: &mut State, value: &Val, _: &Args) -> Given {
    let mut list = state.elements(value)?;
    list.retain(|value| !value.is_null());
    Ok(Val::list(list))
}

pub(super) fn concat(state: &mut State, value: &Val, args: &Args) -> Given {
    let mut list = state.elements(value)?;
    list.extend(state.elements(args.get(0))?);
    state.list(list)
}

/// A part of a list or, in UTF-16 units, of a text; from the end if negative; one if no length is given.
pub(super) fn slice(state: &mut State, value: &Val, args: &Args) -> Given {
    let length = if args.is_given(1) { args.get(1).whole() } else { 1 };
    let span = |count: usize| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        // as `slice(begin, begin + length)`, where what is negative still counts from the end
        let place = |n: i64| usize::try_from(if n < 0 { (count.saturating_add(n)).max(0) } else { n.min(count) }).unwrap_or(0);
        let begin = args.get(0).whole();
        let begin = if begin < 0 { count.saturating_add(begin) } else { begin };
        place(begin)..place(begin.saturating_add(length))
    };
    match value {
        Val::Is(Value::List(list)) => {
            let part = list.get(span(list.len())).unwrap_or_default().to_vec();
            state.list(part)
        }
        other if other.is_nil() => Ok(Val::list(Vec::new())),
        other => {
            let text = state.text(other)?;
            if text.is_ascii() {
                return Ok(Val::text(text.get(span(text.len())).unwrap_or_default()));
            }
            let units: Vec<u16> = text.encode_utf16().collect();
            Ok(Val::text(String::from_utf16_lossy(units.get(span(units.len())).unwrap_or_default())))
        }
    }
}

/// A property of each element, or each element itself.
fn property(state: &mut State, value: &Value, path: &Val) -> Given {
    let value = Val::Is(value.clone());
    if path.is_nil() {
        return Ok(value);
    }
    let path = state.text(path)?;
    state.pay(1 + path.len())?;
    if let Val::Is(Value::Text(text)) = &value {
        state.pay(text.len() / 32)?;
    }
    Ok(value.path(&path))
}

fn sorted(state: &mut State, value: &Val, args: &Args, by: fn(&Val, &Val) -> Ordering, key: fn(Val) -> Val) -> Given {
    let list = state.elements(value)?;
    state.pay(list.len().saturating_mul(16))?;
    let mut keyed = Vec::with_capacity(list.len());
    for value in list {
        let found = key(property(state, &value, args.get(0))?);
        if let Val::Is(Value::Text(text)) = &found {
            state.pay(text.len())?;
        }
        keyed.push((found, value));
    }
    keyed.sort_by(|(a, _), (b, _)| by(a, b));
    Ok(Val::list(keyed.into_iter().map(|(_, value)| value).collect()))
}

pub(super) fn sort(state: &mut State, value: &Val, args: &Args) -> Given {
    sorted(state, value, args, val::order, |key| key)
}

/// By text, without regard to case.
pub(super) fn sort_natural(state: &mut State, value: &Val, args: &Args) -> Given {
    sorted(state, value, args, val::order, |key| match key {
        Val::Is(Value::Text(text)) => Val::text(text.to_lowercase()),
        other => other,
    })
}

pub(super) fn uniq(state: &mut State, value: &Val, _: &Args) -> Given {
    let mut out: Vec<Value> = Vec::new();
    for value in state.elements(value)? {
        let mut seen = 1;
        let known = out.iter().any(|old| val::same(old, &value, &mut seen));
        state.pay(seen)?;
        if !known {
            out.push(value);
        }
    }
    Ok(Val::list(out))
}

pub(super) fn map(state: &mut State, value: &Val, args: &Args) -> Given {
    let mut out = Vec::new();
    for value in state.elements(value)? {
        out.push(property(state, &value, args.get(0))?.value());
    }
    Ok(Val::list(out))
}

pub(super) fn sum(state: &mut State, value: &Val, args: &Args) -> Given {
    let mut sum = 0.0;
    for value in state.elements(value)? {
        let n = property(state, &value, args.get(0))?.to_number();
        sum += if n.is_nan() { 0.0 } else { n };
    }
    Ok(Val::number(sum))
}

/// A list that holds one more value: what nests too deeply or repeats a part too often is refused.
fn fits(state: &mut State, list: Vec<Value>) -> Given {
    state.pay(list.len())?;
    let list = Value::list(list);
    if !list.fits(MAX_DEPTH, MOST_ELEMENTS) {
        return state.bound(format!("a list would nest deeper than {MAX_DEPTH} or hold more than {MOST_ELEMENTS} values"));
    }
    Ok(Val::Is(list))
}

pub(super) fn push(state: &mut State, value: &Val, args: &Args) -> Given {
    let mut list = state.elements(value)?;
    list.push(args.get(0).value());
    fits(state, list)
}

pub(super) fn unshift(state: &mut State, value: &Val, args: &Args) -> Given {
    let mut list = state.elements(value)?;
    list.insert(0, args.get(0).value());
    fits(state, list)
}

pub(super) fn pop(state: &mut State, value: &Val, _: &Args) -> Given {
    let mut list = state.elements(value)?;
    list.pop();
    Ok(Val::list(list))
}

pub(super) fn shift(state: &mut State, value: &Val, _: &Args) -> Given {
    let list = state.elements(value)?;
    Ok(Val::list(list.into_iter().skip(1).collect()))
}

/// Which elements have a property of that value, or one that counts as true.
fn chosen(state: &mut State, value: &Val, args: &Args) -> Chosen {
    let mut out = Vec::new();
    for value in state.elements(value)? {
        let found = property(state, &value, args.get(0))?;
        let mut seen = 0;
        let fits = if args.is_given(1) { val::equals(&found, args.get(1), &mut seen) } else { found.truthy() };
        state.pay(seen)?;
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

pub(super) fn filter(state: &mut State, value: &Val, args: &Args) -> Given {
    Ok(kept(chosen(state, value, args)?, true))
}

pub(super) fn reject(state: &mut State, value: &Val, args: &Args) -> Given {
    Ok(kept(chosen(state, value, args)?, false))
}

pub(super) fn find(state: &mut State, value: &Val, args: &Args) -> Given {
    Ok(one(chosen(state, value, args)?))
}

pub(super) fn find_index(state: &mut State, value: &Val, args: &Args) -> Given {
    Ok(place(&chosen(state, value, args)?))
}

pub(super) fn has(state: &mut State, value: &Val, args: &Args) -> Given {
    Ok(Val::bool(chosen(state, value, args)?.iter().any(|(_, fits)| *fits)))
}

pub(super) fn group_by(state: &mut State, value: &Val, args: &Args) -> Given {
    let mut keyed = Vec::new();
    for value in state.elements(value)? {
        keyed.push((property(state, &value, args.get(0))?.value(), value));
    }
    grouped(state, keyed)
}

/// Tables of `name` and `items`, in the order in which names are first seen.
fn grouped(state: &mut State, keyed: Vec<(Value, Value)>) -> Given {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (name, value) in keyed {
        let mut seen = 1;
        let known = groups.iter_mut().find(|(old, _)| val::same(old, &name, &mut seen));
        match known {
            Some((_, items)) => items.push(value),
            None => groups.push((name, vec![value])),
        }
        state.pay(seen)?;
    }
    let table = |(name, items)| {
        let fields = [(Arc::from("name"), name), (Arc::from("items"), Value::list(items))];
        Value::map(fields.into_iter().collect::<Map>())
    };
    fits(state, groups.into_iter().map(table).collect())
}

/// The filters over an expression: `where_exp: "name", "name.field > 1"`. The expression has operators, but no filters.
pub(super) fn each(runtime: &dyn Runtime, filter: &str, value: &Val, args: &Args) -> liquid_core::Result<Val> {
    let (name, list, expression) = with(runtime, |state| {
        let (name, text) = (state.text(args.get(0))?, state.text(args.get(1))?);
        state.pay(64 + text.len())?;
        let expression = expression(&text, state)
            .or_else(|message| state.fail(format!("the expression of `{filter}` cannot be read: {message}")))?;
        Ok((name, state.elements(value)?, expression))
    })?;
    let mut out = Vec::new();
    for value in list {
        with(runtime, |state| {
            state.turns.push(Turn { name: name.clone(), value: Val::Is(value.clone()), place: None });
            Ok(())
        })?;
        let given = expression.render_to(&mut std::io::sink(), runtime);
        with(runtime, |state| {
            state.turns.pop();
            Ok(())
        })?;
        given?;
        out.push((value, with(runtime, |state| Ok(std::mem::take(&mut state.answer)))?));
    }
    if filter == "group_by_exp" {
        let keyed = out.into_iter().map(|(value, found)| (found.value(), value)).collect();
        return with(runtime, |state| grouped(state, keyed));
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
