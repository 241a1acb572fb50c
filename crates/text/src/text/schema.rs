//! JSON Schemas as values: resolves references, for providers that do not support them, and checks values.
//!
//! A reference may lead to itself, which is an error. Depth and size of the result are bounded.

use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value as Json;

use super::json_pointer::escape;
use super::language_tag::LanguageTag;
use super::work::{BudgetExceeded, BudgetScope};
use super::{pattern, work, written};
use crate::diag::limits::SHORT_TEXT;
use crate::diag::{limits, short, suggest};
use crate::model::{Map, Value};

/// The key of the definitions.
const DEFINITIONS: &str = "$defs";
/// Keys by which a schema leads to another place.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The most backtracking steps of a pattern of a schema.
const BACKTRACK: usize = 10_000;
/// The format of texts that must be language tags (RFC 5646).
const LANGUAGE_TAG: &str = "language-tag";

/// The schema with each `{ "$ref": "#/$defs/NAME" }` replaced by its definition, and without `$defs`. A reference
/// without a definition stays.
///
/// # Errors
/// References lead in a circle, or the schema would grow too large.
pub(super) fn inline_refs(schema: &Value) -> Result<Value, String> {
    let Some(map) = schema.as_map() else { return Ok(schema.clone()) };
    let definitions = map.get(DEFINITIONS).and_then(Value::as_map);
    let own: Map = map.iter().filter(|(key, _)| key.as_ref() != DEFINITIONS).map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut left = limits::ELEMENTS;
    inlined(&Value::map(own), definitions, limits::NESTING, &mut left)
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
            check_mistakes(most)?;
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
        for error in self.0.errors(value)?.take(limits::WARNED) {
            told.push(short::cut(format!("at `{}`: {}", error.instance_path().as_str(), sentence(&error))));
        }
        Ok(told)
    }
}

/// A text that is given up when it grows long.
struct BoundedSentence(String);

impl Write for BoundedSentence {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > limits::PATTERN_BYTES {
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

// What compiling a JSON Schema and checking a value with it takes: both are paid before they are done, because the library
// that does them counts nothing. A schema may look at each part of a value with each of its own.

/// Why a value is not checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckRefusal {
    /// The work of the call is spent.
    #[error(transparent)]
    Work(#[from] BudgetExceeded),
    /// A text is too long for a pattern that backtracks.
    #[error(
        "the `pattern` `{pattern}` of the JSON Schema has look-arounds or back references, so texts of {SHORT_TEXT} bytes at \
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
        // the library takes more for a part than the engines of rules, and as much for a value as they do
        work::compile(cost.values.saturating_add(cost.parts.saturating_mul(5)))?;
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
            self.parts = self.parts.saturating_add(size.parts.saturating_mul(times));
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
            // the library bounds the attempts, and not what each of them reads
            Some(pattern) if read.longest > SHORT_TEXT => {
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
    // the library has them all in memory at once, each as large as some four values
    if mistakes > (work::bytes_left() / (4 * work::BYTES_PER_VALUE)) as u64 { Err(CheckRefusal::Mistakes) } else { Ok(()) }
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

// What is wrong with a value by a JSON Schema, as data: a code and a JSON Pointer for each place.
//
// Strict readers of configurations are schemas in rule files. They report everything at once, in the order in which
// the value was written, and say one thing for each place: a value of the wrong type breaks other keywords as well.

/// The key of `codes` for keywords that it does not name.
const OTHERS: &str = "else";

/// One place, and the keyword that is broken there.
struct SchemaProblem {
    tokens: Vec<String>,
    keyword: String,
    message: String,
    /// What the order of problems follows: the position of each token in its container.
    order: Vec<usize>,
}

/// One table `{ code, at, keyword, message }` for each place of a value that breaks the schema.
///
/// # Errors
/// As for the function `schema_mistakes`.
pub(super) fn problems(value: &Value, schema: &Value, at: &str, codes: &Value) -> Result<Value, String> {
    let validator = strict_validator(schema)?;
    let (value, schema) = (value.to_json(), schema.to_json());
    let mut found: Vec<SchemaProblem> = Vec::new();
    for error in validator.errors(&value)? {
        for (tokens, keyword) in places(&error).into_iter().take(limits::OPTIONS - found.len()) {
            let (order, fields) = order(&value, &tokens);
            work::spend(fields as u64)?;
            let message = problem_sentence(&error, &schema, tokens.last().map_or("", String::as_str));
            found.push(SchemaProblem { order, tokens, keyword, message });
        }
    }
    // at one place the type comes first, since the rest follows from it
    found.sort_by(|a, b| (&a.order, a.keyword != "type").cmp(&(&b.order, b.keyword != "type")));
    found.dedup_by(|later, first| later.tokens == first.tokens);
    let told = |problem: &SchemaProblem| {
        let mut out = Map::default();
        let code = [problem.keyword.as_str(), OTHERS].iter().find_map(|key| codes.get(key)).cloned();
        out.insert("code".into(), code.unwrap_or_else(|| Value::text(problem.keyword.as_str())));
        let at = problem.tokens.iter().fold(at.to_owned(), |at, token| format!("{at}/{}", escape(token)));
        out.insert("at".into(), Value::text(at));
        out.insert("keyword".into(), Value::text(problem.keyword.as_str()));
        out.insert("message".into(), Value::text(problem.message.as_str()));
        Value::map(out)
    };
    Ok(Value::list(found.iter().map(told).collect()))
}

/// The places of one error: a key that is missing or not allowed is a place of its own.
fn places(error: &ValidationError<'_>) -> Vec<(Vec<String>, String)> {
    let path: Vec<String> = error.instance_path().as_str().split('/').skip(1).map(unescaped).collect();
    let below = |key: &str| path.iter().cloned().chain([key.to_owned()]).collect::<Vec<_>>();
    let one = |keyword: &str| vec![(path.clone(), keyword.to_owned())];
    match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|key| (below(key), "additionalProperties".to_owned())).collect()
        }
        Kind::Required { property } => vec![(below(property.as_str().unwrap_or_default()), "required".to_owned())],
        Kind::PropertyNames { error } => vec![(below(error.instance().as_str().unwrap_or_default()), "propertyNames".to_owned())],
        kind => one(kind.keyword()),
    }
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

fn below<'v>(at: Option<&'v Json>, token: &str) -> Option<&'v Json> {
    match at {
        Some(Json::Object(map)) => map.get(token),
        Some(Json::Array(list)) => token.parse::<usize>().ok().and_then(|n| list.get(n)),
        _ => None,
    }
}

/// Where a place stands in the value, and how many fields were looked at for that; what is not there stands in front of
/// everything else of its container.
fn order(value: &Json, tokens: &[String]) -> (Vec<usize>, usize) {
    let (mut at, mut fields) = (Some(value), 0);
    let mut order = Vec::with_capacity(tokens.len());
    for token in tokens {
        let position = match at {
            Some(Json::Object(map)) => {
                fields += map.len();
                map.keys().position(|key| key == token).map_or(0, |n| n + 1)
            }
            Some(Json::Array(_)) => token.parse::<usize>().map_or(0, |n| n + 1),
            _ => 0,
        };
        order.push(position);
        at = below(at, token);
    }
    (order, fields)
}

// One broken keyword of a JSON Schema as a sentence for a person: what must stand there, and what is probably meant.

/// What is wrong at one place of an error. `key` is the last token of the place.
pub(super) fn problem_sentence(error: &ValidationError<'_>, schema: &Json, key: &str) -> String {
    match error.kind() {
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => unknown(error, schema, key),
        Kind::Required { .. } => format!("{} is required", short::word(key)),
        Kind::PropertyNames { error } => match (spelled(key), error.kind()) {
            (Some(meant), Kind::Pattern { .. }) => format!("the key is not spelled as keys are here; write `{}`", short::word(&meant)),
            _ => "the key is not spelled as keys are here".to_owned(),
        },
        Kind::FalseSchema => format!("{} must not be given here", short::word(key)),
        _ => short::cut(error.masked_with("the value").to_string()),
    }
}

fn unknown(error: &ValidationError<'_>, schema: &Json, key: &str) -> String {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let known = schema.pointer(parent).and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    let known: Vec<&str> = known.into_iter().flatten().filter(|(_, of)| **of != Json::Bool(false)).map(|(key, _)| key.as_str()).collect();
    if let Some(near) = suggest::nearest(key, known.iter().copied()) {
        return format!("there is no such key; {near}");
    }
    match known.len() {
        0 | limits::VOCABULARY.. => "there is no such key".to_owned(),
        _ => format!("there is no such key; known here: {}", known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// The key in lower-case words with `_` between them, if that is another spelling.
fn spelled(key: &str) -> Option<String> {
    let mut out = String::new();
    for c in key.chars().take(limits::VOCABULARY * 4) {
        match c {
            'A'..='Z' => {
                if out.ends_with(|last: char| last.is_ascii_lowercase() || last.is_ascii_digit()) {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' | '_' => out.push(c),
            '-' | ' ' | '.' => out.push('_'),
            _ => return None,
        }
    }
    (out != key && out.starts_with(|first: char| first.is_ascii_lowercase())).then_some(out)
}
