//! The semantics of values in Liquid where they differ from a pack's: truth, equality, order, printing, properties.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::model::Value;
use crate::model::value::number_text;
use crate::text::{js, truthiness};

/// A value while a template is rendered.
#[derive(Debug, Clone, Default)]
pub(super) enum LiquidValue {
    /// An unknown name.
    #[default]
    Missing,
    /// The word `nil`.
    Nil,
    /// The word `empty`.
    Empty,
    /// The word `blank`.
    Blank,
    /// Anything that a table can hold; `null` too.
    Is(Value),
}

impl LiquidValue {
    pub(super) fn text(text: impl Into<Arc<str>>) -> Self {
        LiquidValue::Is(Value::text(text))
    }

    pub(super) fn list(list: Vec<Value>) -> Self {
        LiquidValue::Is(Value::list(list))
    }

    pub(super) fn bool(truth: bool) -> Self {
        LiquidValue::Is(Value::Bool(truth))
    }

    /// A number; a whole one stays an integer, so that it can be used as a count or index.
    pub(super) fn number(n: f64) -> Self {
        let value = Value::Num(n);
        LiquidValue::Is(value.as_i64().map_or(value, Value::Int))
    }

    pub(super) fn count(n: usize) -> Self {
        LiquidValue::Is(Value::Int(int(n)))
    }

    /// As a value that a table can hold.
    pub(super) fn value(&self) -> Value {
        if let LiquidValue::Is(value) = self { value.clone() } else { Value::Null }
    }

    /// A whole number, for limits and the like.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, which is what a bound wants")]
    pub(super) fn whole(&self) -> i64 {
        match self {
            LiquidValue::Is(Value::Int(n)) => *n,
            other => other.to_number().trunc() as i64,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, LiquidValue::Missing | LiquidValue::Nil | LiquidValue::Is(Value::Null))
    }

    /// Only `false` and nil are not true; 0 and `""` are.
    pub(super) fn truthy(&self) -> bool {
        match self {
            LiquidValue::Is(value) => truthiness::liquid(value),
            other => !other.is_nil(),
        }
    }

    /// Its text when printed.
    pub(super) fn print(&self) -> Arc<str> {
        match self {
            LiquidValue::Is(Value::Text(text)) => text.clone(),
            LiquidValue::Is(value) => {
                let mut out = String::new();
                print(value, &mut out);
                out.into()
            }
            _ => Arc::default(),
        }
    }

    /// `Number(value)` of JavaScript.
    pub(super) fn to_number(&self) -> f64 {
        match self {
            LiquidValue::Is(Value::Null) | LiquidValue::Nil => 0.0,
            LiquidValue::Is(Value::Bool(b)) => f64::from(u8::from(*b)),
            LiquidValue::Is(Value::Text(text)) => js::number(text),
            LiquidValue::Is(value) => value.as_f64().unwrap_or(f64::NAN),
            _ => f64::NAN,
        }
    }

    /// As a list: nil is an empty list, and any other value that is not a list is its only element.
    pub(super) fn elements(&self) -> Vec<Value> {
        match self {
            LiquidValue::Is(Value::List(list)) => list.to_vec(),
            other if other.is_nil() => Vec::new(),
            other => vec![other.value()],
        }
    }

    /// A property: a field, an element (negative from the end), or `size`, `first`, `last`.
    pub(super) fn property(&self, name: &str) -> LiquidValue {
        let LiquidValue::Is(value) = self else { return LiquidValue::Missing };
        let given = |value: Option<&Value>| value.map_or(LiquidValue::Missing, |v| LiquidValue::Is(v.clone()));
        match value {
            Value::Map(map) => match map.get(name) {
                None if name == "size" => LiquidValue::count(map.len()),
                found => given(found),
            },
            Value::List(list) => match name {
                "size" => LiquidValue::count(list.len()),
                "first" => given(list.first()),
                "last" => given(list.last()),
                _ => given(index(name, list.len()).and_then(|n| list.get(n))),
            },
            Value::Text(text) if name == "size" => LiquidValue::count(js::length(text)),
            Value::Text(text) => name
                .parse()
                .ok()
                .and_then(|n: usize| text.chars().nth(n))
                .map_or(LiquidValue::Missing, |c| LiquidValue::text(c.to_string())),
            // what is null has no properties, but is not missing
            Value::Null => LiquidValue::Is(Value::Null),
            _ => LiquidValue::Missing,
        }
    }

    /// A property along a path with dots.
    pub(super) fn path(&self, path: &str) -> LiquidValue {
        path.split('.').fold(self.clone(), |value, key| value.property(key))
    }
}

pub(super) fn int(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn index(name: &str, length: usize) -> Option<usize> {
    let n: i64 = name.parse().ok()?;
    if n >= 0 { usize::try_from(n).ok() } else { length.checked_sub(usize::try_from(n.checked_neg()?).ok()?) }
}

/// Lists print as their elements one after another. Depth is bounded by that of values.
fn print(value: &Value, out: &mut String) {
    match value {
        Value::List(list) => list.iter().for_each(|value| print(value, out)),
        Value::Map(_) => out.push_str("[object Object]"),
        Value::Num(n) => out.push_str(&number_text(*n)),
        other => out.push_str(&other.to_text()),
    }
}

/// `==`. Tables are equal only to themselves. `seen` grows by the number of compared values.
pub(super) fn equals(left: &LiquidValue, right: &LiquidValue, seen: &mut usize) -> bool {
    match (left, right) {
        (LiquidValue::Nil, LiquidValue::Empty | LiquidValue::Blank) => false,
        (LiquidValue::Empty, other) | (other, LiquidValue::Empty) => is_empty(other),
        (LiquidValue::Blank, other) | (other, LiquidValue::Blank) => is_blank(other),
        (LiquidValue::Nil, other) | (other, LiquidValue::Nil) => other.is_nil(),
        (LiquidValue::Missing, other) | (other, LiquidValue::Missing) => matches!(other, LiquidValue::Missing),
        (LiquidValue::Is(left), LiquidValue::Is(right)) => same(left, right, seen),
    }
}

/// Depth is bounded by that of values.
pub(super) fn same(left: &Value, right: &Value, seen: &mut usize) -> bool {
    *seen += 1;
    match (left, right) {
        (Value::Map(left), Value::Map(right)) => Arc::ptr_eq(left, right),
        (Value::List(left), Value::List(right)) => {
            Arc::ptr_eq(left, right) || left.len() == right.len() && left.iter().zip(right.iter()).all(|(a, b)| same(a, b, seen))
        }
        (Value::Text(left), Value::Text(right)) => {
            *seen += left.len().min(right.len()) / 64;
            left == right
        }
        _ => left == right,
    }
}

fn is_empty(value: &LiquidValue) -> bool {
    matches!(value, LiquidValue::Is(Value::Text(_) | Value::List(_) | Value::Map(_))) && value.value().is_empty()
}

fn is_blank(value: &LiquidValue) -> bool {
    match value {
        LiquidValue::Is(Value::Text(text)) => js::trim(text).is_empty(),
        other => !other.truthy() || is_empty(other),
    }
}

/// `<`, `>` and the like; `None` if JavaScript finds neither.
pub(super) fn compare(left: &LiquidValue, right: &LiquidValue) -> Option<Ordering> {
    match (left, right) {
        (LiquidValue::Nil | LiquidValue::Empty | LiquidValue::Blank, _)
        | (_, LiquidValue::Nil | LiquidValue::Empty | LiquidValue::Blank) => None,
        (LiquidValue::Is(Value::Text(left)), LiquidValue::Is(Value::Text(right))) => Some(left.encode_utf16().cmp(right.encode_utf16())),
        _ => left.to_number().partial_cmp(&right.to_number()),
    }
}

/// `contains`. `seen` grows by the work.
pub(super) fn contains(left: &LiquidValue, right: &LiquidValue, seen: &mut usize) -> bool {
    match (left, right) {
        (LiquidValue::Is(Value::List(list)), right) => list.iter().any(|value| equals(&LiquidValue::Is(value.clone()), right, seen)),
        (LiquidValue::Is(Value::Text(text)), LiquidValue::Is(Value::Text(part))) => {
            *seen += text.len() / 32;
            text.contains(&**part)
        }
        (LiquidValue::Is(Value::Text(text)), LiquidValue::Is(Value::Int(_) | Value::Num(_) | Value::Bool(_))) => {
            *seen += text.len() / 32;
            text.contains(&*right.print())
        }
        _ => false,
    }
}

/// An order of all values, for sorting: numbers, then texts, then other values in their given order, and nil last.
pub(super) fn order(left: &LiquidValue, right: &LiquidValue) -> Ordering {
    let rank = |value: &LiquidValue| match value {
        LiquidValue::Is(Value::Int(_) | Value::Num(_)) => 0,
        LiquidValue::Is(Value::Text(_)) => 1,
        other if other.is_nil() => 3,
        _ => 2,
    };
    match (rank(left), rank(right)) {
        (0, 0) => left.to_number().total_cmp(&right.to_number()),
        (1, 1) => compare(left, right).unwrap_or(Ordering::Equal),
        (a, b) => a.cmp(&b),
    }
}
