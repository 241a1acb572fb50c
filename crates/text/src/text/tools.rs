//! Language tags, JSON Pointers and verbatim zones as values of rule files.

use super::function::listed;
use super::json_pointer::JsonPointer;
use super::language_tag::LanguageTag;
use super::verbatim::{VerbatimMasker, Zone};
use super::written::ToText as _;
use crate::model::{Map, Value};

/// The most names of escape tags.
const MOST_TAGS: usize = 1_000;

/// The value to which a pointer leads; `otherwise` if it leads nowhere.
pub(super) fn at_pointer(of: &Value, pointer: &str, otherwise: &Value) -> Value {
    let document = of.to_json();
    let found = JsonPointer::parse(pointer).and_then(|pointer| pointer.get(&document).map(Value::from));
    found.unwrap_or_else(|_| otherwise.clone())
}

/// The pointer of a list of tokens; missing elements are left out.
pub(super) fn pointer(tokens: &Value) -> Value {
    let tokens = tokens.as_list().unwrap_or(std::slice::from_ref(tokens));
    let tokens = tokens.iter().filter(|token| !token.is_null()).map(|token| token.shown().to_string());
    Value::text(JsonPointer::of(tokens).to_string())
}

/// The parts of a language tag, or `{ error }`.
pub(super) fn language_tag(text: &str, lenient: bool) -> Result<Value, String> {
    let read = if lenient { LanguageTag::parse_lenient(text) } else { LanguageTag::parse(text) };
    Ok(match read {
        Ok(tag) => Value::from(&serde_json::to_value(&tag).map_err(|e| e.to_string())?),
        Err(error) => table([("error", Value::text(error.code()))]),
    })
}

/// The text cut into `{ text }` and `{ zone, raw }`.
pub(super) fn verbatim_parts(text: &str, zones: Option<&Value>, escape_tags: Option<&Value>) -> Result<Value, String> {
    let zones = match texts(zones) {
        None => Zone::ALL.to_vec(),
        Some(names) => {
            let zone = |name: &String| Zone::named(name).ok_or_else(|| format!("`zones` holds `{name}`, which is no kind of zone"));
            names.iter().map(zone).collect::<Result<_, _>>()?
        }
    };
    let tags = texts(escape_tags).unwrap_or_else(|| vec!["verbatim".to_owned()]);
    if tags.len() > MOST_TAGS {
        return Err(format!("`escape_tags` holds more than {MOST_TAGS} names"));
    }
    let parts = VerbatimMasker::new(&zones, tags).split(text).into_iter().map(|part| match part.zone {
        None => table([("text", Value::text(part.text))]),
        Some(zone) => table([("zone", Value::text(zone.name())), ("raw", Value::text(part.text))]),
    });
    Ok(listed(parts)?)
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let value = value.filter(|value| !value.is_null())?;
    let list = value.as_list().unwrap_or(std::slice::from_ref(value));
    Some(list.iter().map(|value| value.shown().to_string()).collect())
}

fn table<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::map(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}
