//! Lists as JavaScript changes and reads them: indexes from the end, splicing, and places that are not filled.

use super::function::{Function, FunctionArgs, FunctionRefusal, bounded, of};
use super::js;
use super::js_number::{number, number_of, undefined, whole};
use super::written::ToText as _;
use crate::diag::limits;
use crate::model::Value;

/// The property `key` of a value: a field, an element or a unit of a text, or the length.
pub(super) fn property(value: &Value, key: &str) -> Option<Value> {
    let at = js::index_key(key).and_then(|at| usize::try_from(at).ok());
    let length = |length: usize| i64::try_from(length).ok().filter(|_| key == "length").map(Value::Int);
    match value {
        Value::Map(map) => map.get(key).cloned(),
        Value::List(list) => at.and_then(|at| list.get(at).cloned()).or_else(|| length(list.len())),
        Value::Text(text) => {
            let unit = at.and_then(|at| super::surrogates::apart(text).chars().nth(at));
            unit.map(|unit| Value::text(unit.to_string())).or_else(|| length(js::length(text)))
        }
        _ => None,
    }
}

fn list(args: &FunctionArgs) -> Result<&[Value], FunctionRefusal> {
    of(args).as_list().ok_or_else(|| "`of` is not a list".into())
}

pub(super) const ELEMENT: Function = Function {
    name: "element",
    doc: "the element of a list at the index `at`, which counts from the end if it is negative; `else` if there is none",
    args: &[("of", true), ("at", true), ("else", false)],
    run: |args| {
        let (list, at) = (list(args)?, whole(number_of(args, "at")));
        let place = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        let found = if at < 0 { list.len().checked_sub(place).and_then(|at| list.get(at)) } else { list.get(place) };
        Ok(found.or_else(|| args.get("else")).cloned().unwrap_or_default())
    },
};

pub(super) const SPLICE: Function = Function {
    name: "splice",
    doc: "the list without the `drop` elements from the index `at` on (counted from the end if it is negative), and with the elements `with` in their place",
    args: &[("of", true), ("at", true), ("drop", false), ("with", false)],
    run: |args| {
        let mut list = list(args)?.to_vec();
        let at = whole(number_of(args, "at"));
        let place = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        let from = if at < 0 { list.len().saturating_sub(place) } else { place.min(list.len()) };
        let drop = usize::try_from(whole(number_of(args, "drop"))).unwrap_or_default().min(list.len() - from);
        let with = args.get("with").and_then(Value::as_list).unwrap_or_default();
        list.splice(from..from + drop, with.iter().cloned());
        Ok(Value::list(list))
    },
};

pub(super) const SET_MISSING: Function = Function {
    name: "set_missing",
    doc: "a list with `value` at the index `at`, if it is beyond the end (places between are nothing); a table with it at the key `at`, if what is there does not count as true in JavaScript",
    args: &[("of", true), ("at", true), ("value", true)],
    run: set_missing,
};

fn set_missing(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let key = args.get("at").unwrap_or(&Value::Null);
    let value = args.get("value").cloned().unwrap_or_default();
    match of(args) {
        Value::List(list) => {
            let place = key.as_str().map_or_else(|| js::place(number(key)), |key| js::index_key(key).and_then(|at| at.try_into().ok()));
            let Some(at) = place.filter(|at| *at >= list.len()) else { return Ok(of(args).clone()) };
            if at >= limits::ELEMENTS {
                return Err(format!("the list would have more than {} elements", limits::ELEMENTS).into());
            }
            let mut list = list.as_ref().clone();
            list.resize(at, Value::Null);
            list.push(value);
            Ok(Value::list(list))
        }
        Value::Map(map) => {
            let key = undefined(key);
            if map.get(&key).is_some_and(super::truthiness::javascript) {
                return Ok(of(args).clone());
            }
            let mut map = map.as_ref().clone();
            // a missing value is no field in JSON
            match value {
                Value::Null => drop(map.shift_remove(&key)),
                value => drop(map.insert(key, value)),
            }
            Ok(Value::map(map))
        }
        _ => Err("`of` is neither a list nor a table".into()),
    }
}

pub(super) const DISTINCT: Function = Function {
    name: "distinct",
    doc: "the list without repeated elements and without empty texts; `repeated = true` and `empty = true` keep them",
    args: &[("of", true), ("repeated", false), ("empty", false)],
    run: |args| {
        let keeps = |name: &str| args.get(name).is_some_and(Value::truthy);
        let (repeated, empty) = (keeps("repeated"), keeps("empty"));
        let mut seen = rustc_hash::FxHashSet::default();
        let kept = list(args)?.iter().filter(|value| {
            let new = repeated || seen.insert(value.shown());
            new && (empty || value.as_str() != Some(""))
        });
        Ok(Value::list(kept.cloned().collect()))
    },
};

pub(super) const JOIN: Function = Function {
    name: "join",
    doc: "the elements of a list as one text, with `sep` (default: a comma) between them; a missing element is empty",
    args: &[("of", true), ("sep", false)],
    run: |args| {
        let sep = args.get("sep").filter(|sep| !sep.is_null()).map_or_else(|| ",".into(), Value::shown);
        let parts: Vec<_> = list(args)?.iter().map(Value::shown).collect();
        bounded(parts.iter().map(|part| part.len() + sep.len()).sum())?;
        Ok(Value::text(parts.join(sep.as_ref())))
    },
};
