//! What may be written at a place of a rule file, read from the JSON Schema of its kind.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::outline::{NodeContent, NodeId, Outline, PathStep};

/// The most schemas that are looked at for one place: they refer to each other in circles.
const MOST_NODES: usize = 400;

/// A schema, and the text that is written by it.
pub(crate) struct SchemaReader<'s> {
    pub(crate) root: &'s Json,
    pub(crate) outline: &'s Outline,
    pub(crate) text: &'s str,
}

/// A key that may be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KnownKey {
    pub(crate) doc: String,
    pub(crate) default: Option<Json>,
    /// The kind of its value, in words: `text`, `true or false`, `one of …`.
    pub(crate) kind: String,
}

impl<'s> SchemaReader<'s> {
    /// The schemas of what is written at the end of a path. `nodes` are the values on the way, the root first.
    pub(crate) fn at(&self, path: &[PathStep], nodes: &[NodeId]) -> Vec<&'s Json> {
        let mut current = self.expand(&[self.root], nodes.first().copied());
        for (n, step) in path.iter().enumerate() {
            let next: Vec<&Json> = match step {
                PathStep::Key(key) => current.iter().flat_map(|schema| property(schema, key)).collect(),
                PathStep::Index(_) => current.iter().flat_map(|schema| elements(schema)).collect(),
            };
            current = self.expand(&next, nodes.get(n + 1).copied());
        }
        current
    }

    /// Follows references and branches: all schemas that may hold for a value. A branch with a condition counts if the value
    /// meets it as far as it is written.
    fn expand(&self, schemas: &[&'s Json], value: Option<NodeId>) -> Vec<&'s Json> {
        let mut out: Vec<&'s Json> = Vec::new();
        let mut open: Vec<&'s Json> = schemas.iter().rev().copied().collect();
        while let Some(schema) = open.pop() {
            if out.len() >= MOST_NODES {
                break;
            }
            if out.iter().any(|known| std::ptr::eq(*known, schema)) {
                continue;
            }
            out.push(schema);
            if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
                open.extend(target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)));
            }
            for word in ["allOf", "anyOf", "oneOf"] {
                open.extend(schema.get(word).and_then(Json::as_array).into_iter().flatten().rev());
            }
            if let Some(condition) = schema.get("if") {
                let branch = if self.meets(condition, value) { "then" } else { "else" };
                open.extend(schema.get(branch));
            }
        }
        out
    }

    /// Whether a value meets the condition of a branch. Of a value that is not written yet, every type is possible.
    fn meets(&self, condition: &Json, value: Option<NodeId>) -> bool {
        let node = value.and_then(|id| Some((id, self.outline.node(id)?)));
        let Some(condition) = condition.as_object() else { return condition.as_bool().unwrap_or(true) };
        condition.iter().all(|(word, wanted)| match word.as_str() {
            "not" => !self.meets(wanted, value),
            "type" => node.is_none_or(|(_, node)| has_type(wanted, &node.content)),
            "required" => {
                let keys = wanted.as_array().into_iter().flatten().filter_map(Json::as_str);
                node.is_some_and(|(id, _)| keys.into_iter().all(|key| self.outline.entry(id, key).is_some()))
            }
            "properties" => wanted.as_object().into_iter().flatten().all(|(key, wanted)| {
                let written = node.and_then(|(id, _)| self.outline.text_at(id, key, self.text));
                written.is_none_or(|written| allows(wanted, written))
            }),
            // what is not looked at decides nothing
            _ => true,
        })
    }

    /// The keys that a table may have by its schemas.
    pub(crate) fn keys(&self, schemas: &[&'s Json]) -> BTreeMap<&'s str, KnownKey> {
        let mut known: BTreeMap<&str, KnownKey> = BTreeMap::new();
        // a branch that allows no others says which of all keys these are
        let closed: Vec<&Json> =
            schemas.iter().copied().filter(|schema| schema.get("additionalProperties") == Some(&Json::Bool(false))).collect();
        for schema in schemas {
            for (key, value) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
                let is_allowed = closed.iter().all(|closed| closed.get("properties").is_some_and(|known| known.get(key).is_some()));
                if !is_allowed || value == &Json::Bool(false) {
                    continue;
                }
                let found = self.describe(value);
                let entry = known.entry(key).or_default();
                // the words of the branch of a verb are about that verb alone
                if !found.doc.is_empty() && (entry.doc.is_empty() || closed.iter().any(|closed| std::ptr::eq(*closed, *schema))) {
                    entry.doc = found.doc;
                }
                if entry.kind.is_empty() {
                    entry.kind = found.kind;
                }
                entry.default = entry.default.take().or(found.default);
            }
        }
        known
    }

    /// What a schema says about its values.
    pub(crate) fn describe(&self, schema: &'s Json) -> KnownKey {
        let all = self.expand(&[schema], None);
        let doc = all.iter().find_map(|schema| schema.get("description").and_then(Json::as_str)).unwrap_or_default();
        let default = all.iter().find_map(|schema| schema.get("default").cloned());
        let words = self.words(&all);
        let types = || all.iter().find_map(|schema| schema.get("type")).map(type_words).unwrap_or_default();
        let kind = match words.as_slice() {
            [] => types(),
            words => {
                let words: Vec<String> = words.iter().take(12).map(|(word, _)| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
        };
        KnownKey { doc: doc.to_owned(), default, kind }
    }

    /// The words that a value may be, each with what it means.
    pub(crate) fn words(&self, schemas: &[&'s Json]) -> Vec<(String, String)> {
        let mut words: Vec<(String, String)> = Vec::new();
        let mut add = |value: &Json, doc: &str| {
            let word = match value {
                Json::String(word) => word.clone(),
                Json::Bool(_) | Json::Number(_) => value.to_string(),
                _ => return,
            };
            if !words.iter().any(|(known, _)| *known == word) {
                words.push((word, doc.to_owned()));
            }
        };
        for schema in schemas {
            let doc = schema.get("description").and_then(Json::as_str).unwrap_or_default();
            schema.get("enum").and_then(Json::as_array).into_iter().flatten().for_each(|value| add(value, ""));
            schema.get("const").into_iter().for_each(|value| add(value, doc));
            if schema.get("type").is_some_and(|kind| has_word(kind, "boolean")) && schema.get("const").is_none() {
                [true, false].iter().for_each(|value| add(&Json::Bool(*value), ""));
            }
        }
        words
    }
}

fn property<'s>(schema: &'s Json, key: &str) -> Option<&'s Json> {
    let own = schema.get("properties").and_then(|known| known.get(key));
    own.or_else(|| schema.get("additionalProperties").filter(|other| other.is_object()))
}

fn elements(schema: &Json) -> Option<&Json> {
    schema.get("items").filter(|items| items.is_object())
}

/// Whether a schema of a single text allows it.
fn allows(schema: &Json, text: &str) -> bool {
    let is = |value: &Json| value.as_str() == Some(text);
    schema.get("const").is_none_or(is) && schema.get("enum").and_then(Json::as_array).is_none_or(|words| words.iter().any(is))
}

fn has_word(kind: &Json, word: &str) -> bool {
    kind.as_str() == Some(word) || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind.as_str() == Some(word)))
}

/// Whether what is written is of one of these types of JSON Schema.
fn has_type(kind: &Json, content: &NodeContent) -> bool {
    match content {
        NodeContent::Table(_) => has_word(kind, "object"),
        NodeContent::List(_) => has_word(kind, "array"),
        NodeContent::Text(_) => has_word(kind, "string"),
        NodeContent::Other => ["boolean", "number", "integer", "null"].iter().any(|word| has_word(kind, word)),
        NodeContent::Missing => true,
    }
}

fn type_words(kind: &Json) -> String {
    let word = |kind: &str| match kind {
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".to_owned(),
        "array" => "list".to_owned(),
        "object" => "table".to_owned(),
        other => other.to_owned(),
    };
    match kind {
        Json::String(one) => word(one),
        Json::Array(several) => several.iter().filter_map(Json::as_str).map(word).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}
