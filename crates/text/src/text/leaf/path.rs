//! Paths of leaf strings, and their resolution: only own properties, as in JavaScript.

use std::borrow::Cow;

use super::{LeafScope, TooLong};
use crate::diag::limits;
use crate::model::value::number_text;
use crate::model::{Map, Value};
use crate::text::{js, work};

/// A path, split into steps. Without steps it means the whole scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafPath {
    steps: Box<[PathStep]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PathStep {
    name: Box<str>,
    /// The name as an index of a list.
    index: Option<u32>,
}

/// Parses a path: names between dots, and the literal text between brackets. Empty pieces are dropped.
#[must_use]
pub fn path(text: &str) -> LeafPath {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['.', '[']) {
        let (name, tail) = rest.split_at(at);
        let bracket = tail.strip_prefix('[');
        match bracket.map(|inner| inner.split_once(']')) {
            Some(Some((inner, behind))) => {
                steps.extend([name, inner]);
                rest = behind;
            }
            // a bracket that is not closed is an ordinary character
            Some(None) => break,
            None => {
                steps.push(name);
                rest = tail.strip_prefix('.').unwrap_or(tail);
            }
        }
    }
    steps.push(rest);
    LeafPath::of_steps(steps)
}

impl LeafPath {
    /// A path of these steps; empty ones are dropped.
    pub(super) fn of_steps<'t>(steps: impl IntoIterator<Item = &'t str>) -> Self {
        let steps = steps.into_iter().filter(|s| !s.is_empty());
        Self { steps: steps.map(|s| PathStep { name: s.into(), index: js::index_key(s) }).collect() }
    }

    /// The first step; empty if the path has none.
    #[must_use]
    pub fn first(&self) -> &str {
        self.steps.first().map_or("", |step| &step.name)
    }

    /// The path without its first step.
    #[must_use]
    pub fn rest(&self) -> LeafPath {
        LeafPath { steps: self.steps.iter().skip(1).cloned().collect() }
    }

    /// Whether it has no steps and means the whole scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The value at the path in a scope; if there is none, the path is tried again in the scope's globals. `None` if it
    /// is absent, which is not the same as `null`. A new value is only made for the length of a list and for the whole
    /// scope.
    #[must_use]
    pub fn find<'v>(&self, scope: &LeafScope<'v>) -> Option<Cow<'v, Value>> {
        let Some((first, rest)) = self.steps.split_first() else { return Some(Cow::Owned(whole(scope))) };
        let direct = match scope.first(&first.name) {
            Some(None) if rest.is_empty() => return None,
            Some(value) => value.and_then(|value| walk(rest, value)),
            None => None,
        };
        direct.or_else(|| scope.globals?.get(&*first.name).and_then(|value| walk(rest, value)))
    }

    /// The value at the path below a value; the value itself if the path has no steps.
    #[must_use]
    #[inline]
    pub fn below<'v>(&self, value: &'v Value) -> Option<Cow<'v, Value>> {
        walk(&self.steps, value)
    }
}

impl<'v> LeafScope<'v> {
    /// The value of a name; the inner `None` is a name without a value.
    fn first(&self, name: &str) -> Option<Option<&'v Value>> {
        let over = self.over.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let root = || self.root.and_then(|root| root.get(name)).map(Some);
        over.or_else(root).or_else(|| self.under.iter().find(|(key, _)| *key == name).map(|(_, value)| Some(*value)))
    }
}

#[inline]
fn walk<'v>(steps: &[PathStep], from: &'v Value) -> Option<Cow<'v, Value>> {
    let mut at = from;
    for (n, step) in steps.iter().enumerate() {
        at = match (at, step.index) {
            (Value::Map(map), _) => map.get(&*step.name)?,
            (Value::List(list), Some(index)) => list.get(usize::try_from(index).ok()?)?,
            (Value::List(list), None) if &*step.name == "length" && n + 1 == steps.len() => {
                return Some(Cow::Owned(Value::Int(i64::try_from(list.len()).ok()?)));
            }
            _ => return None,
        };
    }
    Some(Cow::Borrowed(at))
}

/// The scope as one table: a name keeps its first position, and has the value that hides the others.
fn whole(scope: &LeafScope<'_>) -> Value {
    let mut all = Map::default();
    for (name, value) in scope.under {
        all.insert((*name).into(), (*value).clone());
    }
    for (name, value) in scope.root.into_iter().flatten() {
        all.insert(name.clone(), value.clone());
    }
    for (name, value) in scope.over {
        match value {
            Some(value) => drop(all.insert((*name).into(), (*value).clone())),
            None => drop(all.shift_remove(*name)),
        }
    }
    Value::map(all)
}

// Values as leaf strings print them: as JavaScript does, into one text of bounded length.

/// The number of bytes that are compared per step, and the number of table keys that are sorted per step.
const BYTES_A_STEP: usize = 64;
const KEYS_A_STEP: usize = 8;
/// Whole numbers beyond this are not exact in JavaScript.
const EXACT: u64 = 1 << 53;

/// A value as a text: a text as it is, numbers and truth as JavaScript writes them, lists and tables as compact JSON in
/// JavaScript's order of keys, and nothing for `null`. Tags in texts are not evaluated.
///
/// # Errors
/// More than `most` bytes; a value that nests too deep.
pub fn value_text(value: &Value, most: usize) -> Result<Cow<'_, str>, TooLong> {
    if let Value::Text(text) = value {
        return if text.len() > most { Err(TooLong::Text(most)) } else { Ok(Cow::Borrowed(text)) };
    }
    let mut out = BoundedText::new(most);
    out.value(value)?;
    Ok(Cow::Owned(out.text))
}

/// Whether two values are the same without coercion; lists and tables by their JSON text, so that the order of keys
/// counts. An absent value equals only an absent one, and `null` only `null`. Each compared value takes a step of
/// `left`, and long texts take more.
///
/// # Errors
/// The values need more steps than are left, or nest too deep.
pub fn same(a: Option<&Value>, b: Option<&Value>, left: &mut usize) -> Result<bool, TooLong> {
    match (a, b) {
        (Some(a), Some(b)) => ComparisonWriter { left, inside: false }.same(a, b, limits::OUTPUT_NESTING),
        (a, b) => Ok(a.is_none() && b.is_none()),
    }
}

struct ComparisonWriter<'l> {
    left: &'l mut usize,
    /// Writes a value inside a list or table, where JSON has `null` for NaN and infinity.
    inside: bool,
}

impl ComparisonWriter<'_> {
    fn spend(&mut self, steps: usize) -> Result<(), TooLong> {
        *self.left = self.left.checked_sub(steps).ok_or(TooLong::Work)?;
        Ok(())
    }

    fn same(&mut self, a: &Value, b: &Value, depth: usize) -> Result<bool, TooLong> {
        let bytes = if let Value::Text(text) = a { text.len() } else { 0 };
        self.spend(1 + bytes / BYTES_A_STEP)?;
        let below = || depth.checked_sub(1).ok_or(TooLong::Deep);
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                let depth = below()?;
                self.inside = true;
                Ok(a.len() == b.len() && self.all(a.iter().zip(b.iter()), depth)?)
            }
            (Value::Map(a), Value::Map(b)) => {
                let depth = below()?;
                self.inside = true;
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.spend(a.len() / KEYS_A_STEP)?;
                let (a, b) = (js::fields(a), js::fields(b));
                let names = a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
                Ok(names && self.all(a.iter().zip(&b).map(|((_, a), (_, b))| (*a, *b)), depth)?)
            }
            (Value::Text(a), Value::Text(b)) => Ok(a == b),
            (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
            (Value::Int(_) | Value::Num(_), Value::Int(_) | Value::Num(_)) => {
                let (a, b) = (js::to_number(a), js::to_number(b));
                #[expect(clippy::float_cmp, reason = "the same number, to the bit")]
                Ok(a == b || (self.inside && !a.is_finite() && !b.is_finite()))
            }
            (Value::Null | Value::Rule(_), Value::Null | Value::Rule(_)) => Ok(true),
            _ => Ok(false),
        }
    }

    fn all<'v>(&mut self, mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>, depth: usize) -> Result<bool, TooLong> {
        pairs.try_fold(true, |same, (a, b)| Ok(same && self.same(a, b, depth)?))
    }
}

/// Pays for so many values that are printed.
fn paid(values: usize) -> Result<(), TooLong> {
    work::spend(values as u64).map_err(|_| TooLong::Work)
}

/// A text of bounded length.
pub(super) struct BoundedText {
    pub(super) text: String,
    most: usize,
}

impl BoundedText {
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), most }
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TooLong::Text(self.most));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Prints a value unchanged; what a list or a table holds is paid before it is printed.
    pub(super) fn value(&mut self, value: &Value) -> Result<(), TooLong> {
        match value {
            Value::Null | Value::Rule(_) => Ok(()),
            Value::Text(text) => self.push(text),
            Value::Num(n) if !n.is_finite() => self.push(&number_text(*n)),
            other => self.json(other, limits::OUTPUT_NESTING),
        }
    }

    fn json(&mut self, value: &Value, depth: usize) -> Result<(), TooLong> {
        let below = || depth.checked_sub(1).ok_or(TooLong::Deep);
        paid(1)?;
        match value {
            Value::Null | Value::Rule(_) => self.push("null"),
            Value::Bool(b) => self.push(if *b { "true" } else { "false" }),
            Value::Int(n) if n.unsigned_abs() <= EXACT => self.push(&n.to_string()),
            Value::Int(_) | Value::Num(_) => match js::to_number(value) {
                n if n.is_finite() => self.push(&number_text(n)),
                _ => self.push("null"),
            },
            Value::Text(text) => self.quoted(text),
            Value::List(list) => {
                let depth = below()?;
                self.push("[")?;
                for (n, value) in list.iter().enumerate() {
                    self.push(if n == 0 { "" } else { "," })?;
                    self.json(value, depth)?;
                }
                self.push("]")
            }
            Value::Map(map) => {
                let depth = below()?;
                // its names are sorted first
                paid(map.len())?;
                self.push("{")?;
                for (n, (key, value)) in js::fields(map).into_iter().enumerate() {
                    self.push(if n == 0 { "" } else { "," })?;
                    self.quoted(key)?;
                    self.push(":")?;
                    self.json(value, depth)?;
                }
                self.push("}")
            }
        }
    }

    fn quoted(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TooLong::Text(self.most));
        }
        self.push(&serde_json::Value::from(text).to_string())
    }
}
