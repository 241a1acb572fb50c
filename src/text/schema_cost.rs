//! What compiling a JSON Schema and checking a value with it takes: both are paid before they are done.
//!
//! The library that checks values counts nothing, and collects all mistakes before it tells the first. So the schema is walked
//! beside the value as that library does it, and each part that it would look at is paid.

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::pattern::{self, Foreign};
use super::work::{self, Exceeded};
use super::written;
use crate::diag::short;
use crate::model::{Map, Value};

/// What compiling one value of a schema takes, in steps of the work of a call.
const STEPS_PER_VALUE: u64 = 60;
/// What compiling one part of a pattern takes, and the memory of it.
const STEPS_PER_PART: u64 = 380;
const BYTES_PER_PART: usize = 640;
/// The most parts that an automaton costs: the library makes none that takes more than 10 MB.
const PARTS_OF_AUTOMATON: u64 = 16_000;
/// What one schema takes that is applied to a value.
const STEPS_PER_SCHEMA: u64 = 6;
/// At how many places of a pattern a byte of a text is compared in a step.
const PLACES_PER_STEP: u64 = 4;
/// What one attempt of a backtracking pattern takes.
const STEPS_PER_ATTEMPT: u64 = 3;
/// So many bytes of a text an attempt reads within a step.
const BYTES_PER_STEP: u64 = 4;
/// The longest text that a backtracking pattern is looked for in, in bytes: the library bounds the attempts, and not what
/// each of them reads.
const LONGEST_BACKTRACKED: usize = 1_000;
/// The memory of one mistake.
const BYTES_PER_MISTAKE: usize = 320;

/// The patterns of a schema by their text.
pub(super) type Patterns = FxHashMap<String, Foreign>;

/// Pays for compiling a schema, and measures its patterns.
///
/// # Errors
/// A pattern is too large, or the work of the call is spent.
pub(super) fn compiled(schema: &Value) -> Result<Patterns, String> {
    let written = written::read(schema)?;
    work::spend((written.values as u64).saturating_mul(STEPS_PER_VALUE))?;
    let mut patterns = Patterns::default();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        open.extend(schema.as_list().unwrap_or_default());
        let Some(map) = schema.as_map() else { continue };
        open.extend(map.values());
        let named = map.get("patternProperties").and_then(Value::as_map).into_iter().flat_map(Map::keys).map(AsRef::as_ref);
        for source in map.get("pattern").and_then(Value::as_str).into_iter().chain(named) {
            work::read(source.len())?;
            let measured = match patterns.get(source) {
                Some(known) => *known,
                None => pattern::foreign(source).map_err(|e| format!("the JSON Schema cannot be used: `pattern`: {e}"))?,
            };
            // each place has its own engine, also if they are the same
            let most = if measured.is_automaton { PARTS_OF_AUTOMATON } else { u64::MAX };
            let parts = measured.parts.min(most);
            work::spend(parts.saturating_mul(STEPS_PER_PART).saturating_add(measured.folded))?;
            work::make(usize::try_from(parts).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_PART))?;
            patterns.insert(source.to_owned(), measured);
        }
    }
    Ok(patterns)
}

/// Why a value is not checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// The work of the call is spent.
    #[error(transparent)]
    Work(#[from] Exceeded),
    /// A text is too long for a pattern that backtracks.
    #[error(
        "the `pattern` `{pattern}` of the JSON Schema has look-arounds or back references, so it is looked for in texts of \
         {LONGEST_BACKTRACKED} bytes at most, and this one has {length}; write it without them, or bound the text with `maxLength`"
    )]
    Text {
        /// The pattern.
        pattern: String,
        /// The bytes of the text.
        length: usize,
    },
}

impl From<Refused> for String {
    fn from(refused: Refused) -> Self {
        refused.to_string()
    }
}

/// A schema that is applied to values.
pub(super) struct Cost<'a> {
    pub(super) patterns: &'a Patterns,
    /// The most backtracking steps of a pattern.
    pub(super) attempts: u64,
}

impl Cost<'_> {
    /// Pays for applying a schema to a value, and gives the number of mistakes that this may find at most.
    ///
    /// # Errors
    /// The work of the call is spent, or a text is too long for a pattern that backtracks.
    pub(super) fn applied(&self, schema: &Value, value: &Json) -> Result<u64, Refused> {
        work::spend(STEPS_PER_SCHEMA)?;
        let Value::Map(map) = schema else { return Ok(1) };
        work::spend(map.len() as u64)?;
        // what stands beside is applied again, for what it has looked at
        let again = map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems");
        let mut most = 1;
        for (keyword, below) in map.iter() {
            let found = self.keyword(keyword, below, value)?;
            if again {
                self.keyword(keyword, below, value)?;
            }
            most += found;
        }
        Ok(most)
    }

    fn keyword(&self, keyword: &str, below: &Value, value: &Json) -> Result<u64, Refused> {
        match (keyword, value) {
            ("allOf" | "anyOf" | "oneOf", _) => self.all(below.as_list().unwrap_or_default().iter().map(|schema| (schema, value))),
            ("not" | "if" | "then" | "else", _) => self.applied(below, value),
            ("enum" | "const", Json::Array(_) | Json::Object(_)) => Ok(written::read(below).map(|_| 1)?),
            ("enum" | "required", _) => Ok(work::spend(below.elements().len() as u64).map(|()| below.elements().len() as u64)?),
            (_, Json::Object(fields)) => self.of_object(keyword, below, value, fields),
            (_, Json::Array(list)) => self.of_list(keyword, below, list),
            (_, Json::String(text)) => self.of_text(keyword, below, text).map(|()| 1),
            _ => Ok(1),
        }
    }

    fn of_object(&self, keyword: &str, below: &Value, value: &Json, fields: &serde_json::Map<String, Json>) -> Result<u64, Refused> {
        let schemas = || below.as_map().into_iter().flatten();
        work::spend(if matches!(below, Value::Map(_)) { schemas().count() as u64 } else { 0 })?;
        match keyword {
            "properties" => self.all(schemas().filter_map(|(name, schema)| Some((schema, fields.get(name.as_ref())?)))),
            "patternProperties" => {
                let mut most = 0;
                for (source, schema) in schemas() {
                    for (name, field) in fields {
                        self.matched(source, name)?;
                        most += self.applied(schema, field)?;
                    }
                }
                Ok(most)
            }
            "additionalProperties" | "unevaluatedProperties" => {
                // which fields are meant is found by their names
                work::spend(fields.len() as u64)?;
                self.all(fields.values().map(|field| (below, field)))
            }
            "propertyNames" => {
                let names: Vec<Json> = fields.keys().map(|name| Json::String(name.clone())).collect();
                self.all(names.iter().map(|name| (below, name)))
            }
            "dependencies" | "dependentSchemas" | "dependentRequired" => {
                work::spend(schemas().map(|(_, names)| names.elements().len() as u64).sum())?;
                self.all(schemas().map(|(_, schema)| (schema, value)))
            }
            _ => Ok(1),
        }
    }

    fn of_list(&self, keyword: &str, below: &Value, list: &[Json]) -> Result<u64, Refused> {
        match keyword {
            "items" | "prefixItems" if below.as_list().is_some() => self.all(below.elements().iter().zip(list)),
            "items" | "additionalItems" | "unevaluatedItems" | "contains" => self.all(list.iter().map(|element| (below, element))),
            "uniqueItems" => {
                let parts = list.iter().map(parts).fold(1, u64::saturating_add);
                Ok(work::spend(parts.saturating_mul(STEPS_PER_SCHEMA).saturating_mul(2)).map(|()| 1)?)
            }
            _ => Ok(1),
        }
    }

    fn of_text(&self, keyword: &str, below: &Value, text: &str) -> Result<(), Refused> {
        match keyword {
            "pattern" => self.matched(below.as_str().unwrap_or_default(), text),
            "format" | "contentEncoding" | "contentMediaType" => Ok(work::spend(text.len() as u64 + 1)?),
            "minLength" | "maxLength" => Ok(work::read(text.len())?),
            _ => Ok(()),
        }
    }

    fn all<'v>(&self, pairs: impl Iterator<Item = (&'v Value, &'v Json)>) -> Result<u64, Refused> {
        let mut most = 1;
        for (schema, value) in pairs {
            most += self.applied(schema, value)?;
        }
        Ok(most)
    }

    /// Pays for a search of a pattern in a text.
    fn matched(&self, source: &str, text: &str) -> Result<(), Refused> {
        let Some(measured) = self.patterns.get(source) else { return Ok(()) };
        work::spend(measured.places.saturating_mul(text.len() as u64) / PLACES_PER_STEP)?;
        if !measured.is_automaton && text.len() > LONGEST_BACKTRACKED {
            return Err(Refused::Text { pattern: short::word(source), length: text.len() });
        }
        let attempts = measured.attempts(text.len()).min(self.attempts);
        // an attempt may look as far as the text goes
        let each = STEPS_PER_ATTEMPT.saturating_add(text.len() as u64 / BYTES_PER_STEP);
        Ok(work::spend(attempts.saturating_mul(each))?)
    }
}

/// Pays for the mistakes that checking a value may find, which are all in memory at once.
///
/// # Errors
/// The work of the call is spent.
pub(super) fn mistakes(most: u64) -> Result<(), Exceeded> {
    work::hold(usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_MISTAKE))
}

/// About how many bytes a value is when it is written out.
pub(super) fn shown(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len(),
        Json::Array(list) => list.iter().map(shown).fold(2, usize::saturating_add),
        Json::Object(fields) => fields.iter().map(|(name, field)| name.len().saturating_add(shown(field))).fold(2, usize::saturating_add),
        _ => 8,
    }
}

/// How many values a value holds, itself included.
fn parts(value: &Json) -> u64 {
    match value {
        Json::Array(list) => list.iter().map(parts).fold(1, u64::saturating_add),
        Json::Object(fields) => fields.values().map(parts).fold(1, u64::saturating_add),
        _ => 1,
    }
}
