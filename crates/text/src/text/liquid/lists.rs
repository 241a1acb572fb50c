//! Filters of lists. The cost of each element that is made or visited is counted; a list that could nest without end is
//! refused.

use std::sync::Arc;

use liquid_core::{Renderable, Runtime};

use super::expression;
use super::filters::{FilterArgs, FilterFunction, FilterResult};
use super::state::{RenderState, state, with};
use super::val::{self, LiquidValue};
use crate::diag::limits;
use crate::model::{Map, Value};
use crate::text::js;

pub(super) const FILTERS: &[(&str, FilterFunction)] = &[
    ("array_to_sentence_string", sentence),
    ("compact", |state, value, _| changed(state, value, |list| list.retain(|value| !value.is_null()))),
    ("concat", concat),
    ("find", |state, value, args| chosen(state, value, args, "find")),
    ("find_index", |state, value, args| chosen(state, value, args, "find_index")),
    ("first", |_, value, _| Ok(end_of(value, <[Value]>::first, |text| text.chars().next()))),
    ("group_by", group_by),
    ("has", |state, value, args| chosen(state, value, args, "has")),
    ("join", join),
    ("last", |_, value, _| Ok(end_of(value, <[Value]>::last, |text| text.chars().next_back()))),
    ("map", map),
    ("pop", |state, value, _| changed(state, value, |list| drop(list.pop()))),
    ("push", |state, value, args| grown(state, value, |list| list.push(args.get(0).value()))),
    ("recent", recent),
    ("reject", |state, value, args| chosen(state, value, args, "reject")),
    ("reverse", |state, value, _| changed(state, value, |list| list.reverse())),
    ("shift", |state, value, _| changed(state, value, |list| drop(list.drain(..list.len().min(1))))),
    ("size", size),
    ("slice", slice),
    ("sort", |state, value, args| sorted(state, value, args, |key| key)),
    ("sort_natural", |state, value, args| sorted(state, value, args, without_case)),
    ("sum", sum),
    ("uniq", uniq),
    ("unshift", |state, value, args| grown(state, value, |list| list.insert(0, args.get(0).value()))),
    ("where", |state, value, args| chosen(state, value, args, "where")),
];

/// Filters over an expression that is evaluated for each element.
pub(super) const EXPRESSIONS: &[&str] = &["find_exp", "find_index_exp", "group_by_exp", "has_exp", "reject_exp", "where_exp"];

fn changed(state: &mut RenderState, value: &LiquidValue, change: impl FnOnce(&mut Vec<Value>)) -> FilterResult {
    let mut list = state.elements(value)?;
    change(&mut list);
    Ok(LiquidValue::list(list))
}

fn join(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let list = state.elements(value)?;
    joined(state, list, args.get(0))
}

fn joined(state: &mut RenderState, list: Vec<Value>, sep: &LiquidValue) -> FilterResult {
    let sep = if sep.is_nil() { " ".into() } else { state.text(sep)? };
    let mut parts = Vec::with_capacity(list.len());
    let mut bytes = sep.len().saturating_mul(list.len());
    for value in list {
        let part = state.text(&LiquidValue::Is(value))?;
        bytes = bytes.saturating_add(part.len());
        state.room(bytes).map(|()| parts.push(part))?;
    }
    let out = parts.join(&*sep);
    Ok(LiquidValue::text(out))
}

fn sentence(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let word = if args.get(0).is_nil() { "and".into() } else { state.text(args.get(0))? };
    let mut parts = Vec::new();
    for value in state.elements(value)? {
        parts.push(state.text(&LiquidValue::Is(value))?);
    }
    let last = parts.pop().unwrap_or_default();
    let out = match parts.as_slice() {
        [] => last.to_string(),
        [first] => format!("{first} {word} {last}"),
        more => format!("{}, {word} {last}", more.join(", ")),
    };
    state.made(out)
}

fn end_of(value: &LiquidValue, list: fn(&[Value]) -> Option<&Value>, text: fn(&str) -> Option<char>) -> LiquidValue {
    match value {
        LiquidValue::Is(Value::List(elements)) => list(elements).map_or(LiquidValue::Missing, |v| LiquidValue::Is(v.clone())),
        LiquidValue::Is(Value::Text(chars)) => text(chars).map_or(LiquidValue::Missing, |c| LiquidValue::text(c.to_string())),
        _ => LiquidValue::text(""),
    }
}

fn size(state: &mut RenderState, value: &LiquidValue, _: &FilterArgs) -> FilterResult {
    let length = match value {
        LiquidValue::Is(Value::List(list)) => list.len(),
        LiquidValue::Is(Value::Text(_)) => js::length(&state.text(value)?),
        _ => 0,
    };
    Ok(LiquidValue::count(length))
}

fn concat(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let mut list = state.elements(value)?;
    list.extend(state.elements(args.get(0))?);
    state.list(list)
}

/// A part of a list or, in UTF-16 units, of a text; from the end if negative; one if no length is given.
fn slice(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let length = if args.is_given(1) { args.get(1).whole() } else { 1 };
    let span = |count: usize| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        // as `slice(begin, begin + length)`, where a negative number still counts from the end
        let place = |n: i64| usize::try_from(if n < 0 { (count.saturating_add(n)).max(0) } else { n.min(count) }).unwrap_or(0);
        let begin = args.get(0).whole();
        let begin = if begin < 0 { count.saturating_add(begin) } else { begin };
        place(begin)..place(begin.saturating_add(length))
    };
    match value {
        LiquidValue::Is(Value::List(list)) => {
            let part = list.get(span(list.len())).unwrap_or_default().to_vec();
            state.list(part)
        }
        other if other.is_nil() => Ok(LiquidValue::list(Vec::new())),
        other => {
            let text = state.text(other)?;
            if text.is_ascii() {
                return Ok(LiquidValue::text(text.get(span(text.len())).unwrap_or_default()));
            }
            let units: Vec<u16> = text.encode_utf16().collect();
            Ok(LiquidValue::text(String::from_utf16_lossy(units.get(span(units.len())).unwrap_or_default())))
        }
    }
}

/// The last `n` elements of the value, or of the list in `of:`; with weights in `by:`, elements from the end until their
/// weights add up to `n`. A fraction of `n` is cut off and a text is read as a number; if that is not above 0, there are
/// none. With `join:`, they are joined to a text. LiquidJS has no such filter.
fn recent(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let wanted = match args.get(0) {
        LiquidValue::Is(Value::Text(text)) if js::trim(text).is_empty() => f64::NAN,
        LiquidValue::Is(Value::Text(_) | Value::Int(_) | Value::Num(_)) => args.get(0).to_number(),
        _ => f64::NAN,
    };
    let of = args.named("of");
    let mut list = state.elements(if of.is_nil() { value } else { of })?;
    let by = args.named("by");
    let weights = if by.is_nil() { None } else { Some(state.elements(by)?) };
    let (mut sum, mut from) = (0.0, list.len());
    while from > 0 && wanted.is_finite() && sum < wanted.floor() {
        from -= 1;
        sum += weights.as_ref().map_or(1.0, |weights| weights.get(from).and_then(Value::as_f64).unwrap_or(0.0));
    }
    let list = list.split_off(from);
    let sep = args.named("join");
    if sep.is_nil() { Ok(LiquidValue::list(list)) } else { joined(state, list, sep) }
}

/// A property of each element, or each element itself.
fn property(state: &mut RenderState, value: &Value, path: &LiquidValue) -> FilterResult {
    let value = LiquidValue::Is(value.clone());
    if path.is_nil() {
        return Ok(value);
    }
    let path = state.text(path)?;
    state.pay(1 + path.len())?;
    if let LiquidValue::Is(Value::Text(text)) = &value {
        state.pay(text.len() / 32)?;
    }
    Ok(value.path(&path))
}

/// A property that, where names are strict, must be there.
fn needed(state: &mut RenderState, value: &Value, path: &LiquidValue) -> FilterResult {
    match property(state, value, path)? {
        LiquidValue::Missing if state.options.strict => state.fail("an element has no such property"),
        found => Ok(found),
    }
}

fn sorted(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs, key: fn(LiquidValue) -> LiquidValue) -> FilterResult {
    let list = state.elements(value)?;
    state.pay(list.len().saturating_mul(16))?;
    let mut keyed = Vec::with_capacity(list.len());
    for value in list {
        let found = key(property(state, &value, args.get(0))?);
        if let LiquidValue::Is(Value::Text(text)) = &found {
            state.pay(text.len())?;
        }
        keyed.push((found, value));
    }
    keyed.sort_by(|(a, _), (b, _)| val::order(a, b));
    Ok(LiquidValue::list(keyed.into_iter().map(|(_, value)| value).collect()))
}

fn without_case(key: LiquidValue) -> LiquidValue {
    match key {
        LiquidValue::Is(Value::Text(text)) => LiquidValue::text(text.to_lowercase()),
        other => other,
    }
}

fn uniq(state: &mut RenderState, value: &LiquidValue, _: &FilterArgs) -> FilterResult {
    let mut out: Vec<Value> = Vec::new();
    for value in state.elements(value)? {
        let mut seen = 1;
        let known = out.iter().any(|old| val::same(old, &value, &mut seen));
        state.pay(seen)?;
        if !known {
            out.push(value);
        }
    }
    Ok(LiquidValue::list(out))
}

fn map(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let mut out = Vec::new();
    for value in state.elements(value)? {
        out.push(property(state, &value, args.get(0))?.value());
    }
    Ok(LiquidValue::list(out))
}

fn sum(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let mut sum = 0.0;
    for value in state.elements(value)? {
        let n = property(state, &value, args.get(0))?.to_number();
        sum += if n.is_nan() { 0.0 } else { n };
    }
    Ok(LiquidValue::number(sum))
}

/// A list that holds one more value: what nests too deeply or repeats a part too often is refused.
fn fits(state: &mut RenderState, list: Vec<Value>) -> FilterResult {
    state.pay(list.len())?;
    let list = Value::list(list);
    if !list.fits(limits::NESTING, limits::ELEMENTS) {
        return state.bound(format!("a list would nest deeper than {} or hold more than {} values", limits::NESTING, limits::ELEMENTS));
    }
    Ok(LiquidValue::Is(list))
}

fn grown(state: &mut RenderState, value: &LiquidValue, grow: impl FnOnce(&mut Vec<Value>)) -> FilterResult {
    let mut list = state.elements(value)?;
    grow(&mut list);
    fits(state, list)
}

/// The elements that have a property of that value, or one that counts as true.
fn chosen(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs, filter: &str) -> FilterResult {
    let mut out = Vec::new();
    for value in state.elements(value)? {
        let found = needed(state, &value, args.get(0))?;
        let mut seen = 0;
        let fits = if args.is_given(1) { val::equals(&found, args.get(1), &mut seen) } else { found.truthy() };
        state.pay(seen)?;
        out.push((value, fits));
    }
    Ok(pick(filter, out))
}

/// The result of a filter, after each element has been tested.
fn pick(filter: &str, mut elements: Vec<(Value, bool)>) -> LiquidValue {
    let first = elements.iter().position(|(_, fits)| *fits);
    match filter {
        "has" => return LiquidValue::bool(first.is_some()),
        "find_index" => return first.map_or(LiquidValue::Missing, LiquidValue::count),
        "find" => return first.map_or(LiquidValue::Missing, |n| LiquidValue::Is(elements.swap_remove(n).0)),
        _ => {}
    }
    let wanted = filter == "where";
    LiquidValue::list(elements.into_iter().filter(|(_, fits)| *fits == wanted).map(|(value, _)| value).collect())
}

fn group_by(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let mut keyed = Vec::new();
    for value in state.elements(value)? {
        keyed.push((needed(state, &value, args.get(0))?.value(), value));
    }
    grouped(state, keyed)
}

/// Tables of `name` and `items`, in the order in which names are first seen.
fn grouped(state: &mut RenderState, keyed: Vec<(Value, Value)>) -> FilterResult {
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
pub(super) fn each(runtime: &dyn Runtime, filter: &str, value: &LiquidValue, args: &FilterArgs) -> liquid_core::Result<LiquidValue> {
    let (name, list, expression) = with(runtime, |state| {
        let (name, text) = (state.text(args.get(0))?, state.text(args.get(1))?);
        state.pay(64 + text.len())?;
        let expression =
            expression(&text, state).or_else(|message| state.fail(format!("the expression of `{filter}` cannot be read: {message}")))?;
        Ok((name, state.elements(value)?, expression))
    })?;
    let mut out = Vec::new();
    state(runtime).begin(name);
    for value in list {
        with(runtime, |state| state.turn(LiquidValue::Is(value.clone()), None))?;
        expression.render_to(&mut std::io::sink(), runtime)?;
        out.push((value, std::mem::take(&mut state(runtime).answer)));
    }
    state(runtime).turns.pop();
    if filter == "group_by_exp" {
        let keyed = out.into_iter().map(|(value, found)| (found.value(), value)).collect();
        return with(runtime, |state| grouped(state, keyed));
    }
    let chosen = out.into_iter().map(|(value, found)| (value, found.truthy())).collect();
    Ok(pick(filter.trim_end_matches("_exp"), chosen))
}
