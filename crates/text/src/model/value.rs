//! [`Value`]: one value of a scene, an item or a rule. Values are cheap to copy and never changed in place.
//!
//! Texts, lists and tables are reference-counted, so passing a message's text from stage to stage copies nothing. Only
//! the compiler of rules makes a [`Value::Rule`]: a text of a card that looks like a reference stays a text.

use std::sync::Arc;

use indexmap::IndexMap;

use super::budget::{self, BYTES_PER_VALUE};
use crate::diag::limits;

/// The fields of a table, in the order in which they were written.
pub type Map = IndexMap<Arc<str>, Value, rustc_hash::FxBuildHasher>;

/// A value as in JSON, plus compiled cells of rules. `Clone` is O(1). Equality ignores the number type: 3 equals 3.0.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// A missing value, or JSON `null`.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any number that is not an `i64`.
    Num(f64),
    /// A text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// A table.
    Map(Arc<Map>),
    /// A cell of a pack's own table that holds a compiled expression or condition.
    Rule(RuleRef),
}

/// A compiled cell: an index into the ruleset that compiled it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleRef {
    /// The index of a value expression.
    Expr(u32),
    /// The index of a condition.
    Cond(u32),
}

impl Value {
    /// Makes a text value.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        budget::charge(BYTES_PER_VALUE + text.len());
        Value::Text(text)
    }

    /// Makes a list value.
    #[must_use]
    pub fn list(items: Vec<Value>) -> Self {
        budget::charge(BYTES_PER_VALUE + items.len().saturating_mul(size_of::<Value>()));
        Value::List(Arc::new(items))
    }

    /// Makes a table value.
    #[must_use]
    pub fn map(map: Map) -> Self {
        // with the index of its names
        budget::charge(2 * BYTES_PER_VALUE + map.len().saturating_mul(BYTES_PER_VALUE));
        Value::Map(Arc::new(map))
    }

    /// Whether the value is missing or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether the value shows nothing to a reader: missing, `""`, an empty list or an empty table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Text(t) => t.is_empty(),
            Value::List(l) => l.is_empty(),
            Value::Map(m) => m.is_empty(),
            _ => false,
        }
    }

    /// Whether the value counts as true: `false` for a missing value, `false`, 0, NaN, `""`, an empty list and an empty
    /// table.
    #[must_use]
    pub fn truthy(&self) -> bool {
        match self {
            Value::Bool(b) => *b,
            Value::Int(n) => *n != 0,
            Value::Num(n) => *n != 0.0 && !n.is_nan(),
            Value::Rule(_) => true,
            other => !other.is_empty(),
        }
    }

    /// The text; `None` if the value is not a text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Text(t) = self { Some(t) } else { None }
    }

    /// The number; `None` if the value is not a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            #[allow(clippy::cast_precision_loss)]
            Value::Int(n) => Some(*n as f64),
            Value::Num(n) => Some(*n),
            _ => None,
        }
    }

    /// The whole number; `None` if the value is not a whole number. 3.0 is one.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            #[allow(clippy::cast_possible_truncation)]
            Value::Num(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
            _ => None,
        }
    }

    /// The list; `None` if the value is not a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(l) = self { Some(l) } else { None }
    }

    /// The elements that the value has where a list is wanted: none if it is missing, and a single value is one element.
    #[must_use]
    pub fn elements(&self) -> &[Value] {
        match self {
            Value::Null => &[],
            Value::List(l) => l,
            other => std::slice::from_ref(other),
        }
    }

    /// The table; `None` if the value is not a table.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(m) = self { Some(m) } else { None }
    }

    /// The field `key` of a table, or the element with the index `key` of a list; `None` if there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(m) => m.get(key),
            Value::List(l) => key.parse::<usize>().ok().and_then(|n| l.get(n)),
            _ => None,
        }
    }

    /// The value at `path`, field names and list indexes separated by dots; `None` if there is none.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').filter(|p| !p.is_empty()).try_fold(self, |v, key| v.get(key))
    }

    /// Whether both values are identical: of the same number type, bit for bit, and with table fields in the same
    /// order.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Num(a), Value::Num(b)) => a.to_bits() == b.to_bits(),
            (Value::Text(a), Value::Text(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Rule(a), Value::Rule(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                let same = || a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_same(b));
                Arc::ptr_eq(a, b) || same()
            }
            (Value::Map(a), Value::Map(b)) => {
                let same = || a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && a.is_same(b));
                Arc::ptr_eq(a, b) || same()
            }
            _ => false,
        }
    }

    /// The value as it is printed in a text: texts unchanged, numbers in JavaScript's form, lists and tables as JSON,
    /// and the empty text for a missing value.
    #[must_use]
    pub fn to_text(&self) -> Arc<str> {
        match self {
            Value::Text(t) => t.clone(),
            Value::Null | Value::Rule(_) => Arc::default(),
            Value::Bool(b) => truth_text(*b),
            Value::Int(n) => Arc::from(n.to_string()),
            Value::Num(n) => Arc::from(number_text(*n)),
            Value::List(_) | Value::Map(_) => Arc::from(serde_json::to_string(self).unwrap_or_default()),
        }
    }

    /// The value as JSON. Compiled cells become `null`; a whole number stored as a float is written without a fraction.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as J;
        match self {
            Value::Null | Value::Rule(_) => J::Null,
            Value::Bool(b) => J::Bool(*b),
            Value::Int(n) => J::from(*n),
            Value::Num(n) => match self.as_i64() {
                Some(whole) => J::from(whole),
                None => J::from(*n),
            },
            Value::Text(t) => J::String(t.to_string()),
            Value::List(l) => J::Array(l.iter().map(Value::to_json).collect()),
            Value::Map(m) => J::Object(m.iter().map(|(k, v)| (k.to_string(), v.to_json())).collect()),
        }
    }

    /// What reading the value once takes of the budget, in steps, without the values in it.
    #[inline]
    #[must_use]
    pub fn steps(&self) -> u64 {
        1 + match self {
            Value::Text(text) => (text.len() / budget::BYTES_PER_STEP) as u64,
            Value::List(list) => (list.len() / budget::READ_PER_STEP) as u64,
            Value::Map(map) => (map.len() / budget::READ_PER_STEP) as u64,
            _ => 0,
        }
    }

    /// Opens the budget of a call that is given this value, whose size adds to the bounds.
    pub fn open_budget(&self, limits: budget::WorkLimits) -> budget::BudgetScope {
        budget::BudgetScope::with_parts(limits, |most| self.estimate_parts(most))
    }

    /// This table merged over `below`, field by field and level by level. Anything but a table replaces the value below
    /// it; a missing value keeps it.
    #[must_use]
    pub fn over(self, below: Value) -> Value {
        match (self, below) {
            (Value::Null, below) => below,
            (Value::Map(top), Value::Map(low)) => {
                // the table below is changed in place if nobody else holds it
                let mut out = Arc::unwrap_or_clone(low);
                for (key, value) in top.iter() {
                    match out.get_mut(key) {
                        Some(place) => *place = value.clone().over(std::mem::take(place)),
                        None => {
                            budget::charge(BYTES_PER_VALUE);
                            out.insert(key.clone(), value.clone());
                        }
                    }
                }
                Value::Map(Arc::new(out))
            }
            (top, _) => top,
        }
    }
}

/// `true` and `false` are printed so often that their texts are made once.
fn truth_text(truth: bool) -> Arc<str> {
    static TEXTS: std::sync::LazyLock<[Arc<str>; 2]> = std::sync::LazyLock::new(|| ["false".into(), "true".into()]);
    let [no, yes] = &*TEXTS;
    if truth { yes.clone() } else { no.clone() }
}

/// A number as JavaScript prints it, for the magnitudes that occur in prompts.
#[must_use]
pub fn number_text(n: f64) -> String {
    if n.is_nan() {
        "NaN".into()
    } else if n.is_infinite() {
        if n > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else if n == 0.0 {
        "0".into()
    } else if n.abs() < 1e-6 || n.abs() >= 1e21 {
        let text = format!("{n:e}");
        if n.abs() < 1.0 { text } else { text.replace('e', "e+") }
    } else {
        format!("{n}")
    }
}

/// Equality as a pack author expects it: 3 equals 3.0, texts compare by content, tables by their fields in any order.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Rule(a), Value::Rule(b)) => a == b,
            (a, b) => matches!((a.as_f64(), b.as_f64()), (Some(x), Some(y)) if x == y),
        }
    }
}

impl From<&serde_json::Value> for Value {
    /// A part that nests deeper than [`limits::NESTING`] becomes a text that says so. One level more is kept, so that
    /// [`Value::fits`] can still report that the value was too deep.
    fn from(json: &serde_json::Value) -> Self {
        from_json(json, limits::NESTING + 1)
    }
}

fn from_json(json: &serde_json::Value, depth: usize) -> Value {
    use serde_json::Value as J;
    match json {
        J::Null => Value::Null,
        J::Bool(b) => Value::Bool(*b),
        J::Number(n) => n.as_i64().map_or_else(|| Value::Num(n.as_f64().unwrap_or(f64::NAN)), Value::Int),
        J::String(s) => Value::text(s.as_str()),
        J::Array(_) | J::Object(_) if depth == 0 => Value::text(format!("(nests deeper than {} levels)", limits::NESTING)),
        J::Array(a) => Value::list(a.iter().map(|v| from_json(v, depth - 1)).collect()),
        J::Object(o) => Value::map(o.iter().map(|(k, v)| (Arc::from(k.as_str()), from_json(v, depth - 1))).collect()),
    }
}

impl From<&crate::diag::DocumentNode> for Value {
    fn from(node: &crate::diag::DocumentNode) -> Self {
        use crate::diag::NodeValue;
        match &node.data {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(b) => Value::Bool(*b),
            NodeValue::Int(n) => Value::Int(*n),
            NodeValue::Float(n) => Value::Num(*n),
            NodeValue::Text(t) => Value::Text(t.clone()),
            NodeValue::List(l) => Value::list(l.iter().map(Value::from).collect()),
            NodeValue::Table(t) => Value::map(t.iter().map(|(k, f)| (k.clone(), Value::from(&f.node))).collect()),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::text(text)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Value::Int(n)
    }
}

impl From<f64> for Value {
    fn from(n: f64) -> Self {
        Value::Num(n)
    }
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_json::Value::deserialize(deserializer).map(|j| Value::from(&j))
    }
}
