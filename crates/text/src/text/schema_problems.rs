//! What is wrong with a value by a JSON Schema, as data: a code and a JSON Pointer for each place.
//!
//! Strict readers of configurations are schemas in rule files. They report everything at once, in the order in which
//! the value was written, and say one thing for each place: a value of the wrong type breaks other keywords as well.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value as Json;

use super::json_pointer::escape;
use super::schema::strict_validator;
use super::schema_words::sentence;
use super::work;
use crate::model::{Map, Value};

/// The most problems that are told.
const MOST_PROBLEMS: usize = 1000;
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
        for (tokens, keyword) in places(&error).into_iter().take(MOST_PROBLEMS - found.len()) {
            let (order, fields) = order(&value, &tokens);
            work::spend(fields as u64)?;
            let message = sentence(&error, &schema, tokens.last().map_or("", String::as_str));
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
