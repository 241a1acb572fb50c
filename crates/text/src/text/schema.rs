//! JSON Schemas as values: resolves references, for providers that do not support them, and checks values.
//!
//! A reference may lead to itself, which is an error. Depth and size of the result are bounded.

use std::fmt::{self, Write};
use std::sync::Arc;

use jsonschema::PatternOptions;
use serde_json::Value as Json;

use super::language_tag::LanguageTag;
use super::schema_cost::{self, CheckCost, CheckRefusal};
use super::work::BudgetScope;
use crate::diag::short;
use crate::model::{Map, Value, value::MAX_DEPTH};

/// The most values of one schema.
const MOST_VALUES: usize = 100_000;
/// The key of the definitions.
const DEFINITIONS: &str = "$defs";
/// Keys by which a schema leads to another place.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The most backtracking steps of a pattern of a schema.
const BACKTRACK: usize = 10_000;
/// The format of texts that must be language tags (RFC 5646).
const LANGUAGE_TAG: &str = "language-tag";
/// The longest sentence that holds a value, in bytes, before it is cut.
const LONGEST_SENTENCE: usize = 10_000;
/// The most mistakes that are told.
const MOST_MISTAKES: usize = 20;

/// The schema with each `{ "$ref": "#/$defs/NAME" }` replaced by its definition, and without `$defs`. A reference
/// without a definition stays.
///
/// # Errors
/// References lead in a circle, or the schema would grow too large.
pub(super) fn inline_refs(schema: &Value) -> Result<Value, String> {
    let Some(map) = schema.as_map() else { return Ok(schema.clone()) };
    let definitions = map.get(DEFINITIONS).and_then(Value::as_map);
    let own: Map = map.iter().filter(|(key, _)| key.as_ref() != DEFINITIONS).map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut left = MOST_VALUES;
    inlined(&Value::map(own), definitions, MAX_DEPTH, &mut left)
}

/// What is wrong with a value by a JSON Schema: one sentence for each mistake, with its JSON Pointer.
///
/// # Errors
/// The schema cannot be used, or has references to anything else than its own `$defs`.
pub(super) fn mistakes(value: &Value, schema: &Value) -> Result<Value, String> {
    let told = SchemaChecker::new(schema)?.try_mistakes(&value.to_json())?;
    Ok(Value::list(told.into_iter().map(Value::text).collect()))
}

/// A JSON Schema that is compiled once, for values that come one after another.
#[derive(Debug, Clone)]
pub struct SchemaChecker(Arc<PaidSchema>);

/// A compiled schema, whose checks are paid.
#[derive(Debug)]
pub(super) struct PaidSchema {
    validator: jsonschema::Validator,
    cost: CheckCost,
}

impl PaidSchema {
    /// The mistakes of a value, which are all found at once.
    ///
    /// # Errors
    /// The work of the call is spent, or a text is too long for a pattern that backtracks.
    pub(super) fn errors<'v>(&'v self, value: &'v Json) -> Result<jsonschema::ErrorIterator<'v>, CheckRefusal> {
        let most = self.cost.check(value, BACKTRACK as u64)?;
        // most values have no mistake, and then there is nothing to keep
        if !self.validator.is_valid(value) {
            schema_cost::check_mistakes(most)?;
        }
        Ok(self.validator.iter_errors(value))
    }
}

impl SchemaChecker {
    /// # Errors
    /// As for `mistakes`.
    pub fn new(schema: &Value) -> Result<Self, String> {
        Ok(Self(Arc::new(validator(schema)?)))
    }

    /// What is wrong with a value: one sentence for each mistake, with its JSON Pointer; or why it is not checked.
    pub fn mistakes(&self, value: &Json) -> Vec<String> {
        let _door = BudgetScope::unless_open();
        self.try_mistakes(value).unwrap_or_else(|refused| vec![refused.to_string()])
    }

    /// # Errors
    /// As for [`PaidSchema::errors`].
    fn try_mistakes(&self, value: &Json) -> Result<Vec<String>, CheckRefusal> {
        let mut told = Vec::new();
        for error in self.0.errors(value)?.take(MOST_MISTAKES) {
            told.push(short::cut(format!("at `{}`: {}", error.instance_path().as_str(), sentence(&error))));
        }
        Ok(told)
    }
}

/// A text that is given up when it grows long.
struct BoundedSentence(String);

impl Write for BoundedSentence {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > LONGEST_SENTENCE {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The sentence of a mistake; the value stands in it unless that is large.
fn sentence(error: &jsonschema::ValidationError<'_>) -> String {
    let mut sentence = BoundedSentence(String::new());
    match write!(sentence, "{error}") {
        Ok(()) => sentence.0,
        Err(_) => error.masked_with("the value").to_string(),
    }
}

/// Whether values can be checked by a JSON Schema.
///
/// # Errors
/// As for `mistakes`.
pub fn usable(schema: &Value) -> Result<(), String> {
    validator(schema).map(drop)
}

fn validator(schema: &Value) -> Result<PaidSchema, String> {
    build(schema, options())
}

/// A validator that knows the format `language-tag` as well; the formats of JSON Schema are checked too.
pub(super) fn strict_validator(schema: &Value) -> Result<PaidSchema, String> {
    let tag = |text: &str| LanguageTag::parse(text).is_ok();
    build(schema, options().with_format(LANGUAGE_TAG, tag).should_validate_formats(true))
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK))
}

fn build(schema: &Value, options: jsonschema::ValidationOptions<'static>) -> Result<PaidSchema, String> {
    let _door = BudgetScope::unless_open();
    // a schema whose references lead in a circle could be followed without end
    let schema = inline_refs(schema)?;
    if refers(&schema) {
        return Err("a JSON Schema may refer to its own `$defs`, and to nothing else".into());
    }
    let cost = CheckCost::compile(&schema)?;
    let validator =
        options.build(&schema.to_json()).map_err(|e| format!("the JSON Schema cannot be used: {}", short::cut(e.to_string())))?;
    Ok(PaidSchema { validator, cost })
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::List(list) => list.iter().any(refers),
        Value::Map(map) => map.iter().any(|(key, value)| REFERENCES.contains(&key.as_ref()) || refers(value)),
        _ => false,
    }
}

fn inlined(value: &Value, definitions: Option<&Map>, depth: usize, left: &mut usize) -> Result<Value, String> {
    let (Some(depth), Some(fewer)) = (depth.checked_sub(1), left.checked_sub(1)) else {
        return Err("the references of a JSON Schema lead in a circle, or it grows too large".into());
    };
    *left = fewer;
    match value {
        Value::List(list) => {
            let list: Result<Vec<_>, _> = list.iter().map(|v| inlined(v, definitions, depth, left)).collect();
            Ok(Value::list(list?))
        }
        Value::Map(map) => {
            if let Some(meant) = referred(map, definitions) {
                return inlined(meant, definitions, depth, left);
            }
            let map: Result<Map, String> =
                map.iter().map(|(key, v)| Ok((Arc::clone(key), inlined(v, definitions, depth, left)?))).collect();
            Ok(Value::map(map?))
        }
        other => Ok(other.clone()),
    }
}

/// The definition that a reference refers to, if it refers to one.
fn referred<'a>(map: &Map, definitions: Option<&'a Map>) -> Option<&'a Value> {
    let name = map.get("$ref")?.as_str()?.strip_prefix("#/")?.strip_prefix(DEFINITIONS)?.strip_prefix('/')?;
    definitions?.get(name.rsplit('/').next().unwrap_or(name))
}
