//! Fields that a conversion loses without a word: rules read them, and nothing of the result depends on them.
//!
//! The rules say what they read, and not what they do with it. So each field is given another value, and the document is
//! converted once more: if the result stays the same, the field is lost. This is tried on a few elements of each list,
//! which have all fields of the others.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::model::{Map, Value};
use crate::pack::Ruleset;
use crate::program::foreign::{Fate, FieldReport, Imported};

/// The most fields of a document that are tried out.
const MOST: usize = 500;
/// How many elements of a list are looked at, beside those with fields that the others do not have.
const FIRST: usize = 2;
/// A key and a value that no document has.
const OTHER: &str = "~other~";
/// What a row of `map` does with a value; without any of these, it says that the value needs no place.
const USES: [&str; 5] = ["to", "drop", "approximate", "warn", "item"];

/// The single values of a document by their paths, in which elements of lists have no number.
type Leaves<'d> = IndexMap<String, Vec<&'d Value>>;

/// Adds to the report of a conversion the fields that are lost although rules read them. `again` is the conversion.
pub(super) fn add(made: &mut Imported, document: &Value, rules: &Ruleset, again: &dyn Fn(Value) -> Option<Imported>) {
    let few = sample(document, "");
    let Some(usual) = again(few.clone()) else { return };
    let mut all = Leaves::new();
    leaves(document, "", &mut all);
    let excused = excused(rules);
    let bad = made.fields.iter().filter(|field| matches!(field.fate, Fate::Dropped | Fate::Approximated));
    let told: Vec<String> = bad.map(|field| field.field.clone()).collect();
    let is_told = |path: &str| told.iter().any(|field| is_within(path, field)) || excused.iter().any(|read| is_last(path, read));
    let format = rules.programs().formats.iter().find(|format| *format.name == *made.format);
    let format = format.and_then(|format| format.makes.as_deref()).unwrap_or(&made.format).to_owned();
    let tried = Tried { few: &few, usual: &usual, again };
    let mut open = 0_usize;
    for (path, values) in all.iter().filter(|(path, _)| !is_told(path)) {
        open += 1;
        if open <= MOST && !tried.counts(path) {
            let note = tried.why(path, &format, values);
            made.fields.push(FieldReport { field: path.clone(), fate: Fate::Dropped, to: String::new(), note, times: values.len() });
        }
    }
    if open > MOST {
        made.warnings.push(format!("{} fields were not tried out, so they may be lost without being named", open - MOST));
    }
}

/// The report with every field of tables and lists that are dropped as a whole.
pub(super) fn each(fields: Vec<FieldReport>, document: &Value) -> Vec<FieldReport> {
    let mut all = Leaves::new();
    leaves(document, "", &mut all);
    let split = |field: FieldReport| {
        // a row that makes its values itself is named by its own name
        if field.fate != Fate::Dropped || field.field.contains('/') {
            return vec![field];
        }
        let below = all.iter().filter(|(path, _)| **path != field.field && is_within(path, &field.field));
        let below = below.map(|(path, values)| FieldReport { field: path.clone(), times: values.len(), ..field.clone() });
        let below: Vec<FieldReport> = below.collect();
        if below.is_empty() { vec![field] } else { below }
    };
    fields.into_iter().flat_map(split).collect()
}

/// A document with few elements, what it becomes, and the conversion.
struct Tried<'t> {
    few: &'t Value,
    usual: &'t Imported,
    again: &'t dyn Fn(Value) -> Option<Imported>,
}

impl Tried<'_> {
    /// Whether the result depends on the values at a path, or holds them.
    fn counts(&self, path: &str) -> bool {
        let differs = |document: Value| (self.again)(document).is_none_or(|made| !is_same(&made, self.usual));
        if (0..2).any(|n| differs(with(self.few, "", path, &|value| other(value, n)))) {
            return true;
        }
        let (mut own, mut result) = (Leaves::new(), Leaves::new());
        leaves(self.few, "", &mut own);
        leaves(&self.usual.scene, "", &mut result);
        let has = |value: &Value| {
            let is_there =
                |(at, found): (&String, &Vec<&Value>)| (value.as_str().is_some() || last(at) == last(path)) && found.contains(&value);
            result.iter().any(is_there)
        };
        if own.get(path).is_some_and(|values| values.iter().all(|value| has(value))) {
            return true;
        }
        // a table that is copied as a whole: another value stands above this one
        self.says(beside(self.few, "", above(path)), OTHER)
    }

    /// Whether a document becomes one with a text.
    fn says(&self, document: Value, text: &str) -> bool {
        let Some(made) = (self.again)(document) else { return false };
        let mut result = Leaves::new();
        leaves(&made.scene, "", &mut result);
        result.values().flatten().any(|value| value.as_str() == Some(text))
    }

    /// Why the values at a path are lost, and what to do.
    fn why(&self, path: &str, format: &str, values: &[&Value]) -> String {
        let kind = match values.first() {
            Some(Value::Text(_)) => "text",
            Some(Value::Bool(_)) => "truth value",
            _ => "number",
        };
        let why = format!("`{format}` takes nothing from this {kind}");
        let listed = || with(self.few, "", path, &|value| Value::list(vec![value.clone()]));
        let mut texts = values.iter().filter_map(|value| value.as_str()).filter(|_| !path.ends_with("[]"));
        match texts.next() {
            Some(text) if self.says(listed(), text) => format!("{why}, but it does from a list: write `[…]` around the text"),
            _ => why,
        }
    }
}

fn is_same(a: &Imported, b: &Imported) -> bool {
    a.scene == b.scene && a.rest == b.rest && a.warnings == b.warnings
}

/// What rows read without any use for it, because another value says the same.
fn excused(rules: &Ruleset) -> Vec<String> {
    let rows = rules.pack().tables.get("map").into_iter().flat_map(|rows| rows.values());
    let unused = rows.filter(|row| !USES.iter().any(|key| row.fields.contains_key(*key)));
    let from = unused.filter_map(|row| row.fields.get("from")).map(|field| &field.node);
    let texts = from.flat_map(|node| node.as_list().unwrap_or(std::slice::from_ref(node))).filter_map(|node| node.as_text());
    texts.filter_map(|text| text.strip_prefix('@')).map(str::to_owned).collect()
}

/// Whether a path is that of a field, or below it. A field of a row that makes its values itself is known by its end.
fn is_within(path: &str, field: &str) -> bool {
    let below = path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    below || field.contains('/') && field.split_once("[].").is_some_and(|(_, end)| path.ends_with(&format!("[].{end}")))
}

/// Whether a path is another one, or ends with it.
fn is_last(path: &str, end: &str) -> bool {
    path == end || path.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
}

/// The name that a path ends with.
fn last(path: &str) -> &str {
    path.trim_end_matches("[]").rsplit(['.', ']']).next().unwrap_or(path)
}

/// The path of the table or list that a value stands in.
fn above(path: &str) -> &str {
    path.strip_suffix("[]").or_else(|| path.rsplit_once('.').map(|(above, _)| above)).unwrap_or_default()
}

/// Another value of the same kind; of a number there are two.
fn other(value: &Value, n: usize) -> Value {
    match value {
        Value::Bool(is) => Value::Bool(!is),
        Value::Int(0) if n > 0 => Value::Int(-1),
        Value::Int(_) if n > 0 => Value::Int(0),
        Value::Int(number) => Value::Int(number.saturating_add(1)),
        Value::Num(_) if n > 0 => Value::Num(0.0),
        Value::Num(number) => Value::Num(number + 1.0),
        Value::Text(text) => Value::text(format!("{text}{OTHER}")),
        value => value.clone(),
    }
}

/// What a list or a table holds, each with its path. The keys of a table that are numbers are those of elements.
fn parts<'v>(value: &'v Value, at: &str) -> Vec<(String, &'v Value)> {
    match value {
        Value::List(list) => list.iter().map(|one| (format!("{at}[]"), one)).collect(),
        Value::Map(map) if is_numbered(map) => map.values().map(|one| (format!("{at}[]"), one)).collect(),
        Value::Map(map) => {
            let dot = if at.is_empty() { "" } else { "." };
            map.iter().map(|(key, one)| (format!("{at}{dot}{key}"), one)).collect()
        }
        _ => Vec::new(),
    }
}

fn is_numbered(map: &Map) -> bool {
    !map.is_empty() && map.keys().all(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()))
}

/// The single values of a document that say something.
fn leaves<'d>(value: &'d Value, at: &str, out: &mut Leaves<'d>) {
    match value {
        Value::List(_) | Value::Map(_) => parts(value, at).into_iter().for_each(|(path, one)| leaves(one, &path, out)),
        one if one.is_empty() => {}
        one => out.entry(at.to_owned()).or_default().push(one),
    }
}

/// A document with few elements in each list: the first ones, and those with fields that no other one has.
fn sample(value: &Value, at: &str) -> Value {
    let mut seen = IndexSet::new();
    let mut is_new = |n: usize, path: &str, one: &Value| {
        let (before, mut own) = (seen.len(), Leaves::new());
        leaves(one, path, &mut own);
        seen.extend(own.into_keys());
        n < FIRST || seen.len() > before
    };
    let are_elements = value.as_map().is_none_or(is_numbered);
    let inner = parts(value, at);
    let kept: Vec<bool> = inner.iter().enumerate().map(|(n, (path, one))| !are_elements || is_new(n, path, one)).collect();
    let inner = inner.into_iter().zip(kept).map(|((path, one), is_kept)| is_kept.then(|| sample(one, &path)));
    match value {
        Value::List(_) => Value::list(inner.flatten().collect()),
        Value::Map(map) => Value::map(map.keys().cloned().zip(inner).filter_map(|(key, one)| Some((key, one?))).collect()),
        one => one.clone(),
    }
}

/// A document with other single values at a path.
fn with(value: &Value, at: &str, path: &str, change: &dyn Fn(&Value) -> Value) -> Value {
    let inner = |(below, one): (String, &Value)| with(one, &below, path, change);
    match value {
        Value::List(_) | Value::Map(_) if !path.starts_with(at) => value.clone(),
        Value::List(_) => Value::list(parts(value, at).into_iter().map(inner).collect()),
        Value::Map(map) => Value::map(map.keys().cloned().zip(parts(value, at).into_iter().map(inner)).collect()),
        one if at == path && !one.is_empty() => change(one),
        one => one.clone(),
    }
}

/// A document with another value in each table or list at a path.
fn beside(value: &Value, at: &str, path: &str) -> Value {
    let inner = |(below, one): (String, &Value)| beside(one, &below, path);
    match value {
        Value::List(_) | Value::Map(_) if !path.starts_with(at) => value.clone(),
        Value::List(_) => {
            let more = (at == path).then(|| Value::text(OTHER));
            Value::list(parts(value, at).into_iter().map(inner).chain(more).collect())
        }
        Value::Map(map) => {
            let more = (at == path).then(|| (Arc::<str>::from(OTHER), Value::text(OTHER)));
            Value::map(map.keys().cloned().zip(parts(value, at).into_iter().map(inner)).chain(more).collect())
        }
        one => one.clone(),
    }
}
