//! Holds what came out against what is written.
//!
//! The rule: a table is compared by the keys that are written; a list must have the same number of elements, in the same
//! order; anything else must be equal. A table with a single key of `MATCHERS` asks for
//! something else, unless what came out is a table that has this key itself.

use std::cell::Cell;

use serde_json::Value as Json;

use crate::model::WorkLimits;
use crate::text::work::BudgetScope;

use super::fitting::{ValueMatcher, equal, rows};
use super::matchers::{MOST_STEPS, matcher, near_test};

/// One step to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueStep {
    /// The field of a table.
    Key(String),
    /// The element of a list.
    Index(usize),
}

/// Something that is not as expected.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Where, from the expectation: `lists`, `blocks`, 0, `text`.
    pub steps: Vec<ValueStep>,
    /// What is written.
    pub wanted: Json,
    /// What came out.
    pub got: Json,
    /// What is wrong, where the two values do not say it.
    pub said: Option<String>,
}

impl Difference {
    /// The place in words: `lists.blocks[0].text`.
    #[must_use]
    pub fn place(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step {
                ValueStep::Key(key) if out.is_empty() => out.push_str(key),
                ValueStep::Key(key) => {
                    out.push('.');
                    out.push_str(key);
                }
                ValueStep::Index(n) => out.push_str(&format!("[{n}]")),
            }
        }
        out
    }
}

/// Holds what came out of one case against what is expected of it. All tests of the case share one bound of work.
pub(super) struct CaseComparison {
    /// The steps of work that are left.
    left: Cell<u64>,
    fitting: ValueMatcher,
}

impl CaseComparison {
    /// For a case.
    pub(super) fn new() -> Self {
        Self { left: Cell::new(MOST_STEPS), fitting: ValueMatcher::default() }
    }

    /// Finds the differences between what is written and what came out.
    pub(super) fn compare(&self, steps: &mut Vec<ValueStep>, wanted: &Json, got: &Json, out: &mut Vec<Difference>) {
        let door = BudgetScope::open(WorkLimits { steps: self.left.get(), ..WorkLimits::default() });
        self.differences(steps, wanted, got, out);
        let (spent, _) = door.spent();
        self.left.set(self.left.get().saturating_sub(spent));
    }

    fn differences(&self, steps: &mut Vec<ValueStep>, wanted: &Json, got: &Json, out: &mut Vec<Difference>) {
        let mut differs =
            |said: Option<String>| out.push(Difference { steps: steps.clone(), wanted: wanted.clone(), got: got.clone(), said });
        match (wanted, got) {
            (Json::Object(table), _) if matcher(table, got).is_some() => {
                let Some((word, value)) = matcher(table, got) else { return };
                if let Some(wrong) = self.fitting.test(word, value, got) {
                    differs(Some(wrong.to_string()));
                }
            }
            (Json::Object(table), Json::Object(found)) => {
                for (key, value) in table {
                    steps.push(ValueStep::Key(key.clone()));
                    self.differences(steps, value, found.get(key).unwrap_or(&Json::Null), out);
                    steps.pop();
                }
            }
            (Json::Array(list), Json::Array(found)) if list.len() == found.len() => {
                for (n, (wanted, got)) in list.iter().zip(found).enumerate() {
                    steps.push(ValueStep::Index(n));
                    self.differences(steps, wanted, got, out);
                    steps.pop();
                }
            }
            (Json::Array(list), Json::Array(found)) => differs(Some(rows(found.len(), list.len()))),
            _ if equal(wanted, got) => {}
            (Json::Object(table), _) if table.len() == 1 => {
                let near = table.keys().find_map(|word| Some((word, near_test(word)?)));
                differs(near.map(|(word, near)| format!("`{word}` is no test; did you mean `{near}`?")));
            }
            _ => differs(None),
        }
    }
}
