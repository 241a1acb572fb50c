//! From an envelope to directives: what is wrong with one of them drops that one, with a warning.

use serde_json::{Map, Value as Json, json};

use super::extract::{DirectiveReadError, FoundObject};
use super::registry::DirectiveRegistry;

/// What an envelope calls its parts.
#[derive(Debug, Clone)]
pub(super) struct EnvelopeKeys {
    pub(super) text: String,
    pub(super) list: String,
    pub(super) kind: String,
    pub(super) payload: String,
}

/// What counts.
pub(super) struct DirectiveRules<'a> {
    pub(super) envelope: &'a EnvelopeKeys,
    pub(super) registry: &'a DirectiveRegistry,
    /// The types that this request may use; without it, all.
    pub(super) allow: Option<&'a [String]>,
    /// The most directives of one reply.
    pub(super) most: Option<usize>,
}

/// A directive that may be applied.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Directive {
    /// The name of its type, whatever alias the model has used.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its payload, which fits the schema of the type.
    pub payload: Map<String, Json>,
}

/// Something about a reply that was tolerated, or a directive that was dropped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DirectiveWarning {
    /// `lenient_json`, `assistant_text_missing`, `directives_missing`, or why a directive was dropped: `not_an_object`,
    /// `type_missing`, `unknown_type`, `type_not_allowed`, `payload_not_an_object`, `payload_invalid`,
    /// `too_many_directives`.
    pub code: String,
    /// Which directive, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Its type: as the model wrote it if it is unknown, and otherwise its name.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// More about it, such as what does not fit the schema.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl DirectiveWarning {
    fn of(code: &str) -> Self {
        Self { code: code.to_owned(), index: None, kind: None, message: String::new() }
    }
}

/// What was read of a reply.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct DirectiveReply {
    /// The text for the user.
    pub assistant_text: String,
    /// The directives that may be applied, in the order of the reply.
    pub directives: Vec<Directive>,
    /// What was tolerated and dropped.
    pub warnings: Vec<DirectiveWarning>,
}

/// Reads an envelope.
pub(super) fn validate(found: &FoundObject, rules: &DirectiveRules<'_>) -> Result<DirectiveReply, DirectiveReadError> {
    let words = rules.envelope;
    let part = |key: &str| found.object.get(key).filter(|value| !value.is_null());
    let (text, list) = (part(&words.text), part(&words.list));
    let at = |key: &str| DirectiveReadError::Envelope(format!("/{}", crate::text::json_pointer::escape(key)));
    if text.is_none() && list.is_none() {
        return Err(DirectiveReadError::Envelope(String::new()));
    }
    if text.is_some_and(|text| !text.is_string()) {
        return Err(at(&words.text));
    }
    if list.is_some_and(|list| !list.is_array()) {
        return Err(at(&words.list));
    }
    let mut reply = DirectiveReply { assistant_text: text.and_then(Json::as_str).unwrap_or_default().to_owned(), ..Default::default() };
    let tolerated = [(found.lenient, "lenient_json"), (text.is_none(), "assistant_text_missing"), (list.is_none(), "directives_missing")];
    reply.warnings.extend(tolerated.iter().filter(|(so, _)| *so).map(|(_, code)| DirectiveWarning::of(code)));
    for (index, directive) in list.and_then(Json::as_array).into_iter().flatten().enumerate() {
        match one(directive, reply.directives.len(), rules) {
            Ok(directive) => reply.directives.push(directive),
            Err(warning) => reply.warnings.push(DirectiveWarning { index: Some(index), ..warning }),
        }
    }
    Ok(reply)
}

/// One directive; the first thing that is wrong decides.
fn one(json: &Json, before: usize, rules: &DirectiveRules<'_>) -> Result<Directive, DirectiveWarning> {
    let Some(object) = json.as_object() else { return Err(DirectiveWarning::of("not_an_object")) };
    let name = object.get(&rules.envelope.kind).and_then(Json::as_str).filter(|name| !name.trim().is_empty());
    let Some(name) = name else { return Err(DirectiveWarning::of("type_missing")) };
    let dropped = |code: &str, kind: &str| DirectiveWarning { kind: Some(kind.to_owned()), ..DirectiveWarning::of(code) };
    let Some(kind) = rules.registry.find(name) else { return Err(dropped("unknown_type", name)) };
    if rules.allow.is_some_and(|allow| !allow.contains(&kind.name)) {
        return Err(dropped("type_not_allowed", &kind.name));
    }
    let payload = match object.get(&rules.envelope.payload) {
        None | Some(Json::Null) => json!({}),
        Some(payload @ Json::Object(_)) => payload.clone(),
        Some(_) => return Err(dropped("payload_not_an_object", &kind.name)),
    };
    let mistakes = kind.mistakes(&payload);
    if !mistakes.is_empty() {
        return Err(DirectiveWarning { message: mistakes.join("; "), ..dropped("payload_invalid", &kind.name) });
    }
    if rules.most.is_some_and(|most| before >= most) {
        return Err(dropped("too_many_directives", &kind.name));
    }
    let Json::Object(payload) = payload else { return Err(dropped("payload_not_an_object", &kind.name)) };
    Ok(Directive { kind: kind.name.clone(), payload })
}
