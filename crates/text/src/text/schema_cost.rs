//! What compiling a JSON Schema and checking a value with it takes: both are paid before they are done, because the library
//! that does them counts nothing. A schema may look at each part of a value with each of its own.

use serde_json::Value as Json;

use super::pattern;
use super::work::{self, BudgetExceeded};
use super::written;
use crate::diag::short;
use crate::model::{Map, Value};

/// What compiling one value of a schema, or one part of a pattern, takes, in steps of the work of a call.
const STEPS_PER_PART: u64 = 100;
/// The memory of a part of a pattern, in bytes.
const BYTES_PER_PART: usize = 640;
/// The most parts that an automaton costs: the library makes none that takes more than 10 MB.
const PARTS_OF_AUTOMATON: u64 = 16_000;
/// The longest text for a pattern that backtracks, in bytes: the library bounds the attempts, and not what each of them reads.
const LONGEST_BACKTRACKED: usize = 20_000;
/// The most mistakes that there may be, which the library has in memory all at once.
const MOST_MISTAKES: u64 = 1_000_000;

/// Why a value is not checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckRefusal {
    /// The work of the call is spent.
    #[error(transparent)]
    Work(#[from] BudgetExceeded),
    /// A text is too long for a pattern that backtracks.
    #[error(
        "the `pattern` `{pattern}` of the JSON Schema has look-arounds or back references, so texts of {LONGEST_BACKTRACKED} bytes at \
         most are checked, and one has {length}; write it without them"
    )]
    Text {
        /// The pattern.
        pattern: String,
        /// The bytes of the text.
        length: usize,
    },
    /// There may be too many mistakes.
    #[error("the value breaks the JSON Schema, and both are too large to say where; check its parts one by one")]
    Mistakes,
}

impl From<CheckRefusal> for String {
    fn from(refused: CheckRefusal) -> Self {
        refused.to_string()
    }
}

/// What looks at each value that is checked.
#[derive(Debug, Default)]
pub(super) struct CheckCost {
    /// Values of the schema. One beside `unevaluatedProperties` or `unevaluatedItems` counts twice, since it is applied again.
    values: u64,
    /// Parts of its patterns, with counts written out.
    parts: u64,
    /// How many of them backtrack, and the first of these.
    backtracking: u64,
    first: Option<String>,
}

impl CheckCost {
    /// Measures a schema without references, and pays for compiling it.
    ///
    /// # Errors
    /// A pattern is too large, or the work of the call is spent.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        written::read(schema)?;
        let mut cost = Self::default();
        cost.add(schema, 1)?;
        work::spend(cost.values.saturating_add(cost.parts).saturating_mul(STEPS_PER_PART))?;
        work::make(usize::try_from(cost.parts).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_PART))?;
        Ok(cost)
    }

    fn add(&mut self, schema: &Value, times: u64) -> Result<(), String> {
        self.values = self.values.saturating_add(times);
        schema.as_list().unwrap_or_default().iter().try_for_each(|below| self.add(below, times))?;
        let Some(map) = schema.as_map() else { return Ok(()) };
        let again = map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems");
        let times = if again { times.saturating_mul(2) } else { times };
        map.values().try_for_each(|below| self.add(below, times))?;
        let named = map.get("patternProperties").and_then(Value::as_map).into_iter().flat_map(Map::keys).map(AsRef::as_ref);
        for source in map.get("pattern").and_then(Value::as_str).into_iter().chain(named) {
            let size = pattern::foreign(source).map_err(|e| format!("the JSON Schema cannot be used: `pattern`: {e}"))?;
            let parts = if size.backtracks { size.parts } else { size.parts.min(PARTS_OF_AUTOMATON) };
            self.parts = self.parts.saturating_add(parts.saturating_add(size.folded / STEPS_PER_PART).saturating_mul(times));
            if size.backtracks {
                self.backtracking = self.backtracking.saturating_add(times);
                self.first.get_or_insert_with(|| short::word(source));
            }
        }
        Ok(())
    }

    /// Pays for checking a value, where a pattern makes so many attempts at most, and gives how many mistakes there may be.
    ///
    /// # Errors
    /// The work of the call is spent, or a text is too long for a pattern that backtracks.
    pub(super) fn check(&self, value: &Json, attempts: u64) -> Result<u64, CheckRefusal> {
        let mut read = ValueSize { attempts, ..ValueSize::default() };
        read.add(value);
        match &self.first {
            Some(pattern) if read.longest > LONGEST_BACKTRACKED => {
                return Err(CheckRefusal::Text { pattern: pattern.clone(), length: read.longest });
            }
            _ => {}
        }
        let plain = self.values.saturating_add(self.parts).saturating_mul(read.values.saturating_add((read.bytes / 32) as u64));
        work::spend(plain.saturating_add(self.backtracking.saturating_mul(read.backtracked)))?;
        Ok(self.values.saturating_mul(read.values))
    }
}

/// Whether all mistakes can be kept.
///
/// # Errors
/// There may be too many.
pub(super) fn check_mistakes(mistakes: u64) -> Result<(), CheckRefusal> {
    if mistakes > MOST_MISTAKES { Err(CheckRefusal::Mistakes) } else { Ok(()) }
}

/// What there is to read of a value.
#[derive(Default)]
struct ValueSize {
    attempts: u64,
    values: u64,
    bytes: usize,
    longest: usize,
    /// The steps of a pattern that backtracks on each text: as many attempts as there may be, each over a part of the text.
    backtracked: u64,
}

impl ValueSize {
    fn add(&mut self, value: &Json) {
        self.values += 1;
        match value {
            Json::String(text) => self.text(text),
            Json::Array(list) => list.iter().for_each(|value| self.add(value)),
            Json::Object(fields) => fields.iter().for_each(|(name, value)| {
                self.text(name);
                self.add(value);
            }),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let length = text.len() as u64;
        self.bytes = self.bytes.saturating_add(text.len());
        self.longest = self.longest.max(text.len());
        self.backtracked =
            self.backtracked.saturating_add(self.attempts).saturating_add(length.saturating_mul(length.min(self.attempts)) / 8);
    }
}
