//! The types of directives that there are: their names, aliases and payloads. A directive of a reply that does not fit is dropped
//! with a warning.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::super::Problem;
use super::extract::{DirectiveReadError, FoundObject};
use crate::model::Value;
use crate::text::loose_name::loose_name;
use crate::text::schema::SchemaChecker;

/// The keys of a type.
const KEYS: [&str; 6] = ["type", "aliases", "payload", "text", "about", "description"];

/// A type of directive.
#[derive(Debug, Clone)]
pub struct DirectiveType {
    /// Its name.
    pub name: String,
    /// Other names that a model may use for it.
    pub aliases: Vec<String>,
    /// The JSON Schema of its payload; without one, any object is a payload.
    pub payload: Option<Json>,
    /// What a model is told of it.
    pub text: String,
    checker: Option<SchemaChecker>,
}

impl DirectiveType {
    /// What is wrong with a payload by the schema of the type.
    pub(super) fn mistakes(&self, payload: &Json) -> Vec<String> {
        self.checker.as_ref().map(|checker| checker.mistakes(payload)).unwrap_or_default()
    }

    fn json(&self) -> Json {
        let mut out = Map::new();
        out.insert("type".to_owned(), self.name.as_str().into());
        out.insert("aliases".to_owned(), self.aliases.clone().into());
        out.extend(self.payload.clone().map(|payload| ("payload".to_owned(), payload)));
        out.insert("text".to_owned(), self.text.as_str().into());
        Json::Object(out)
    }
}

/// The types of directives of an application, in order, with the text that asks for them.
#[derive(Debug, Clone, Default)]
pub struct DirectiveRegistry {
    instructions: Option<String>,
    types: Vec<DirectiveType>,
    exact: HashMap<String, usize>,
    loose: HashMap<String, usize>,
}

impl DirectiveRegistry {
    /// Reads `{ instructions?, types: [{ type, aliases?, payload?, text? }] }`.
    ///
    /// # Errors
    /// Everything that is wrong, with JSON Pointers: `required`, `invalid_type`, `unknown_key`, `invalid_schema` (the
    /// payload is no JSON Schema), and `name_collision` (another type has the name or alias).
    pub fn parse(json: &Json) -> Result<Self, Vec<Problem>> {
        let mut reader = RegistryReader { registry: Self::default(), problems: Vec::new() };
        reader.read(json);
        if reader.problems.is_empty() { Ok(reader.registry) } else { Err(reader.problems) }
    }

    /// The types, in order.
    #[must_use]
    pub fn types(&self) -> &[DirectiveType] {
        &self.types
    }

    /// The type that a model means by a name: the name or alias itself, else one that differs only in case, or in
    /// blanks and hyphens for `_`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&DirectiveType> {
        let at = self.exact.get(name).or_else(|| self.loose.get(&loose_name(name)))?;
        self.types.get(*at)
    }

    /// The registry as programs read it.
    pub(super) fn json(&self) -> Json {
        let mut out = Map::new();
        out.insert("types".to_owned(), self.types.iter().map(DirectiveType::json).collect());
        out.extend(self.instructions.clone().map(|text| ("instructions".to_owned(), text.into())));
        Json::Object(out)
    }
}

struct RegistryReader {
    registry: DirectiveRegistry,
    problems: Vec<Problem>,
}

impl RegistryReader {
    fn wrong(&mut self, code: &str, at: String, message: impl Into<String>) {
        self.problems.push(Problem { code: code.to_owned(), at, message: message.into() });
    }

    fn read(&mut self, json: &Json) {
        let Some(registry) = json.as_object() else {
            return self.wrong("invalid_type", String::new(), "write a table with the list `types`");
        };
        match registry.get("instructions") {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => self.registry.instructions = Some(text.clone()),
            Some(_) => self.wrong("invalid_type", "/instructions".to_owned(), "write a text"),
        }
        match registry.get("types") {
            Some(Json::Array(types)) => {
                for (n, kind) in types.iter().enumerate() {
                    self.kind(kind, &format!("/types/{n}"));
                }
            }
            Some(_) => self.wrong("invalid_type", "/types".to_owned(), "write a list of types"),
            None => self.wrong("required", "/types".to_owned(), "write a list of types; it may be empty"),
        }
        for key in registry.keys().filter(|key| !matches!(key.as_str(), "instructions" | "types")) {
            self.wrong("unknown_key", format!("/{}", token(key)), "a registry has `instructions` and `types`");
        }
    }

    fn kind(&mut self, json: &Json, at: &str) {
        let Some(kind) = json.as_object() else {
            return self.wrong("invalid_type", at.to_owned(), "write a table with the key `type`");
        };
        let mut own = DirectiveType { name: String::new(), aliases: Vec::new(), payload: None, text: String::new(), checker: None };
        match kind.get("type") {
            Some(Json::String(name)) if !name.trim().is_empty() => {
                own.name.clone_from(name);
                self.claim(name, &format!("{at}/type"));
            }
            None | Some(Json::Null | Json::String(_)) => self.wrong("required", format!("{at}/type"), "give the type a name"),
            Some(_) => self.wrong("invalid_type", format!("{at}/type"), "write the name as a text"),
        }
        self.aliases(kind.get("aliases"), at, &mut own);
        self.payload(kind.get("payload"), at, &mut own);
        match kind.get("text") {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => own.text.clone_from(text),
            Some(_) => self.wrong("invalid_type", format!("{at}/text"), "write a text"),
        }
        for key in kind.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            self.wrong("unknown_key", format!("{at}/{}", token(key)), "a type has `type`, `aliases`, `payload` and `text`");
        }
        self.registry.types.push(own);
    }

    fn aliases(&mut self, json: Option<&Json>, at: &str, own: &mut DirectiveType) {
        match json {
            None | Some(Json::Null) => {}
            Some(Json::Array(list)) => {
                for (n, alias) in list.iter().enumerate() {
                    let at = format!("{at}/aliases/{n}");
                    match alias.as_str().filter(|alias| !alias.trim().is_empty()) {
                        Some(alias) => {
                            self.claim(alias, &at);
                            own.aliases.push(alias.to_owned());
                        }
                        None => self.wrong("invalid_type", at, "write the alias as a text that is not blank"),
                    }
                }
            }
            Some(_) => self.wrong("invalid_type", format!("{at}/aliases"), "write a list of texts"),
        }
    }

    fn payload(&mut self, json: Option<&Json>, at: &str, own: &mut DirectiveType) {
        match json {
            None | Some(Json::Null) => {}
            Some(schema @ Json::Object(_)) => match SchemaChecker::new(&Value::from(schema)) {
                Ok(checker) => {
                    own.payload = Some(schema.clone());
                    own.checker = Some(checker);
                }
                Err(why) => self.wrong("invalid_schema", format!("{at}/payload"), why),
            },
            Some(_) => self.wrong("invalid_type", format!("{at}/payload"), "write a JSON Schema as a table"),
        }
    }

    /// A name belongs to one type, and is written once. Names that are alike belong to one type too.
    fn claim(&mut self, name: &str, at: &str) {
        let own = self.registry.types.len();
        let alike = loose_name(name);
        let taken = self.registry.exact.contains_key(name) || self.registry.loose.get(&alike).is_some_and(|other| *other != own);
        if taken {
            return self.wrong("name_collision", at.to_owned(), format!("`{name}` already is a name or alias: choose another one"));
        }
        self.registry.exact.insert(name.to_owned(), own);
        self.registry.loose.entry(alike).or_insert(own);
    }
}

fn token(key: &str) -> String {
    crate::text::json_pointer::escape(key)
}

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
