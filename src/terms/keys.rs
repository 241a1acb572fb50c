//! Sort keys: `by = ["field", "-field", { field = ranks }, { key = "field", collate = "utf16" }, { script = function }]`.
//!
//! Numbers sort as numbers, texts by code point (or by UTF-16 unit, if a pack must agree with JavaScript). A missing
//! value sorts like 0 or an empty text. Sorting is stable, and keys are evaluated once per item.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::model::Value;
use crate::text::work::{self, BudgetExceeded};
use crate::text::written;

use super::eval::{CurrentItem, Env, EvalFault};
use super::expr::{Expr, FieldRef, ScriptCall};
use super::select::SelectSequence;

/// With so many others a key is compared, about.
const COMPARED: u64 = 8;

/// One sort key.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The field.
    pub field: FieldRef,
    /// How its values compare.
    pub how: KeyComparison,
    /// Largest first.
    pub descending: bool,
}

/// How two values of a key are compared.
#[derive(Debug, Clone)]
pub enum KeyComparison {
    /// Numbers as numbers, texts by code point.
    Plain,
    /// Texts by UTF-16 code unit.
    Utf16,
    /// By position in a list of ranks. A nested list is one rank, an unknown value sorts last, and a list field takes
    /// its best rank.
    Ranks(Expr),
    /// By what a function of a script gives for the item.
    Script(Box<ScriptCall>),
}

/// A key's value for one item, ready to compare.
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    /// A number; a missing value is 0.
    Number(f64),
    /// A text.
    Text(Arc<str>),
    /// A text as UTF-16 units.
    Units(Box<[u16]>),
    /// No value.
    Missing,
}

impl SortKey {
    /// Whether the key's ranks depend on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        match &self.how {
            KeyComparison::Ranks(e) if depth > 0 && e.refers(depth) => true,
            KeyComparison::Script(s) => s.refers(depth),
            _ => self.field.up >= depth,
        }
    }

    /// The value by which one element is sorted.
    pub fn value(&self, cur: CurrentItem<'_>, outer: &Env<'_>) -> Result<SortValue, EvalFault> {
        let env = outer.inner(cur);
        if let KeyComparison::Script(scripted) = &self.how {
            return Ok(plain(&scripted.eval(&env)?));
        }
        let value = env.field(&self.field)?;
        // a key is compared with about so many others
        work::spend(value.steps().saturating_mul(COMPARED))?;
        Ok(match &self.how {
            KeyComparison::Ranks(ranks) => {
                let ranks = env.eval(ranks)?;
                let list = ranks.as_list().unwrap_or(&[]);
                #[allow(clippy::cast_precision_loss)]
                let rank = rank_of(&value, list)? as f64;
                SortValue::Number(rank)
            }
            KeyComparison::Utf16 => match &value {
                Value::Text(t) => {
                    work::make(t.len().saturating_mul(2))?;
                    SortValue::Units(t.encode_utf16().collect())
                }
                other => plain(other),
            },
            KeyComparison::Plain | KeyComparison::Script(_) => plain(&value),
        })
    }
}

fn plain(value: &Value) -> SortValue {
    match value {
        Value::Text(t) => SortValue::Text(t.clone()),
        Value::Bool(b) => SortValue::Number(f64::from(u8::from(*b))),
        Value::Null => SortValue::Missing,
        other => other.as_f64().map_or(SortValue::Missing, SortValue::Number),
    }
}

fn rank_of(value: &Value, ranks: &[Value]) -> Result<usize, BudgetExceeded> {
    let Value::List(values) = value else { return best(value, ranks) };
    values.iter().try_fold(ranks.len(), |least, value| Ok(least.min(best(value, ranks)?)))
}

/// The first rank of a value.
fn best(value: &Value, ranks: &[Value]) -> Result<usize, BudgetExceeded> {
    for (n, rank) in ranks.iter().enumerate() {
        let equal = if let Value::List(equal) = rank { equal } else { std::slice::from_ref(rank) };
        for wanted in equal {
            // a rank of `""` also represents a missing value
            if written::same(wanted, value)? || (value.is_null() && wanted.as_str() == Some("")) {
                return Ok(n);
            }
        }
    }
    Ok(ranks.len())
}

impl SortValue {
    fn compare(&self, other: &Self) -> Ordering {
        use SortValue::{Missing, Number, Text, Units};
        match (self, other) {
            (Number(a), Number(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            (Text(a), Text(b)) => a.cmp(b),
            (Units(a), Units(b)) => a.cmp(b),
            (Missing, Missing) => Ordering::Equal,
            (Missing, Number(b)) => 0.0f64.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Number(a), Missing) => a.partial_cmp(&0.0).unwrap_or(Ordering::Equal),
            (Missing, _) | (Number(_), _) => Ordering::Less,
            (_, Missing | Number(_)) => Ordering::Greater,
            (Text(a), Units(b)) => a.encode_utf16().collect::<Vec<_>>().as_slice().cmp(b),
            (Units(a), Text(b)) => a.as_ref().cmp(b.encode_utf16().collect::<Vec<_>>().as_slice()),
        }
    }
}

/// Sorts `part` (indices into `seq`) by the keys, stably.
pub fn sort(part: &mut Vec<usize>, keys: &[SortKey], seq: SelectSequence<'_>, outer: &Env<'_>) -> Result<(), EvalFault> {
    let mut rows = Vec::with_capacity(part.len());
    for n in part.iter() {
        let values = keys.iter().map(|k| k.value(seq.cur(*n), outer)).collect::<Result<Vec<_>, _>>()?;
        rows.push((values, *n));
    }
    rows.sort_by(|a, b| {
        for ((x, y), key) in a.0.iter().zip(&b.0).zip(keys) {
            let order = if key.descending { y.compare(x) } else { x.compare(y) };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    });
    *part = rows.into_iter().map(|(_, n)| n).collect();
    Ok(())
}
