//! Paths of leaf strings, and their resolution: only own properties, as in JavaScript.

use std::borrow::Cow;

use crate::model::{Map, Value};
use crate::text::js;

use super::LeafScope;

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
