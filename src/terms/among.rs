//! Values as keys that are equal for equal values, and a list that values are looked for in, as `in` does: hashed once, and
//! asked for each item of a pass.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::model::Value;
use crate::text::work::{self, BudgetExceeded};
use crate::text::written;

/// Values to look for others among. A text is looked up as it is, because a long list is asked for each of its items.
#[derive(Debug, Default)]
pub(super) struct ValueSet {
    texts: FxHashSet<Arc<str>>,
    /// The others, as [`canonical`] writes them.
    others: FxHashSet<String>,
}

impl ValueSet {
    /// The values of a list.
    ///
    /// # Errors
    /// As for [`canonical`].
    pub(super) fn of(values: &[Value]) -> Result<Self, BudgetExceeded> {
        let mut made = Self::default();
        for value in values {
            if let Value::Text(text) = value {
                made.texts.insert(text.clone());
            } else {
                made.others.insert(canonical(value)?);
            }
        }
        Ok(made)
    }

    /// Whether a value is one of them.
    ///
    /// # Errors
    /// As for [`canonical`].
    pub(super) fn has(&self, value: &Value) -> Result<bool, BudgetExceeded> {
        if self.texts.is_empty() && self.others.is_empty() {
            return Ok(false);
        }
        if let Value::Text(text) = value {
            return Ok(self.texts.contains(text));
        }
        Ok(self.others.contains(&canonical(value)?))
    }
}

/// A text that is equal for equal values: a key of parts or of a set.
///
/// # Errors
/// The work of the build is spent.
pub fn canonical(value: &Value) -> Result<String, BudgetExceeded> {
    Ok(match value {
        Value::Text(t) => {
            work::make(t.len() + 1)?;
            format!("t{t}")
        }
        Value::Null => String::new(),
        Value::Bool(b) => format!("b{b}"),
        other => match other.as_f64() {
            Some(n) => format!("n{n}"),
            None => format!("j{}", written::json(other)?),
        },
    })
}
