//! A JSON document as it is read here, and places in it: texts borrow from the document, and tables are lists of fields.
//!
//! A stream has thousands of small documents, of which a few texts are wanted. To look these up in a list costs less than
//! to build a map of every table.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use crate::diag::limits;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTree<'a> {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<JsonTree<'a>>),
    /// A table. Of fields with one name the last counts.
    Table(Vec<(Cow<'a, str>, JsonTree<'a>)>),
}

impl<'a> JsonTree<'a> {
    /// Reads a document of at most 128 levels.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn parse(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let JsonTree::Text(text) = self { Some(text) } else { None }
    }

    /// The field `key` of a table.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&JsonTree<'a>> {
        let JsonTree::Table(fields) = self else { return None };
        fields.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The same value as a document of its own.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            JsonTree::Null => Json::Null,
            JsonTree::Bool(truth) => Json::Bool(*truth),
            JsonTree::Number(number) => Json::Number(number.clone()),
            JsonTree::Text(text) => Json::String(text.clone().into_owned()),
            JsonTree::List(list) => Json::Array(list.iter().map(JsonTree::to_json).collect()),
            JsonTree::Table(fields) => Json::Object(map(fields)),
        }
    }

    /// Whether the value is equal to one of a rule.
    pub(super) fn is(&self, other: &Json) -> bool {
        match (self, other) {
            (JsonTree::Null, Json::Null) => true,
            (JsonTree::Bool(a), Json::Bool(b)) => a == b,
            (JsonTree::Number(a), Json::Number(b)) => a == b,
            (JsonTree::Text(a), Json::String(b)) => a == b,
            _ => false,
        }
    }
}

/// The fields of a table as a map.
pub(super) fn map(fields: &[(Cow<'_, str>, JsonTree<'_>)]) -> Map<String, Json> {
    fields.iter().map(|(key, value)| (key.clone().into_owned(), value.to_json())).collect()
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = JsonTree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(JsonTree::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(JsonTree::Bool(truth))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(JsonTree::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(JsonTree::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(JsonTree::Null, JsonTree::Number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonTree::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonTree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(JsonTree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::with_capacity(8);
        while let Some((FieldKey(key), value)) = entries.next_entry()? {
            fields.push((key, value));
        }
        Ok(JsonTree::Table(fields))
    }
}

impl<'de> Deserialize<'de> for JsonTree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

/// A name of a field, borrowed where it holds nothing that is escaped.
struct FieldKey<'a>(Cow<'a, str>);

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = FieldKey<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(FieldKey(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(FieldKey(Cow::Owned(text.to_owned())))
    }
}

impl<'de> Deserialize<'de> for FieldKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

/// A dotted path; an empty one is the document itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DocumentPath(pub(super) Vec<ReplyStep>);

/// One step of a path: a key of a table, or an index of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyStep {
    pub(super) key: Arc<str>,
    index: Option<usize>,
}

impl DocumentPath {
    /// Reads a path: `a.b.0`, or `@` for the document itself.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "@" {
            return Ok(Self::default());
        }
        let steps: Vec<ReplyStep> = text.split('.').map(|key| ReplyStep { key: Arc::from(key), index: key.parse().ok() }).collect();
        if steps.iter().any(|step| step.key.is_empty()) {
            return Err("it has an empty step");
        }
        if steps.iter().any(|step| step.key.starts_with(['$', '@', '/'])) {
            return Err("it is not a reference of the rule language, but keys of the reply, separated by dots");
        }
        if steps.iter().any(|step| step.key.as_ref() == "*") {
            return Err("`*` may stand only in `each`");
        }
        if steps.len() > limits::CHAIN { Err("it has more than 16 steps") } else { Ok(Self(steps)) }
    }

    /// The value at the path; `None` if there is none, or if it is null.
    pub(super) fn of<'a, 'd>(&self, document: &'a JsonTree<'d>) -> Option<&'a JsonTree<'d>> {
        let mut at = document;
        for step in &self.0 {
            at = match at {
                JsonTree::List(list) => list.get(step.index?)?,
                other => other.get(&step.key)?,
            };
        }
        Some(at).filter(|at| !matches!(at, JsonTree::Null))
    }

    /// The key with which this path goes on behind another one.
    pub(super) fn key_behind(&self, start: &Self) -> Option<&Arc<str>> {
        let rest = self.0.strip_prefix(start.0.as_slice())?;
        rest.first().map(|step| &step.key)
    }
}

/// The elements of a list, or of the lists inside the elements of one: `a.b`, `a.*.b`.
#[derive(Debug, Clone)]
pub(super) struct ElementPath(pub(super) Vec<DocumentPath>);

impl ElementPath {
    /// Reads a path in which `*` stands for every element of a list.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let paths: Result<Vec<DocumentPath>, _> = text.split(".*.").map(DocumentPath::parse).collect();
        paths.map(Self)
    }

    /// Calls `then` with every element. A value that is no list is its own only element.
    pub(super) fn visit(&self, document: &JsonTree<'_>, then: &mut dyn FnMut(&JsonTree<'_>)) {
        fn walk(paths: &[DocumentPath], at: &JsonTree<'_>, then: &mut dyn FnMut(&JsonTree<'_>)) {
            let Some((first, rest)) = paths.split_first() else { return then(at) };
            match first.of(at) {
                Some(JsonTree::List(list)) => list.iter().for_each(|element| walk(rest, element, then)),
                Some(other) => walk(rest, other, then),
                None => {}
            }
        }
        walk(&self.0, document, then);
    }
}

/// A condition: the value at a path is one of these.
#[derive(Debug, Clone)]
pub(super) struct PathTest {
    /// Where; `None` is the name of the event.
    pub(super) at: Option<DocumentPath>,
    pub(super) one_of: Vec<Json>,
}

impl PathTest {
    pub(super) fn holds(&self, event: &str, document: &JsonTree<'_>) -> bool {
        let Some(at) = &self.at else { return self.one_of.iter().any(|word| word.as_str() == Some(event)) };
        match at.of(document) {
            Some(value) => self.one_of.iter().any(|one| value.is(one)),
            None => self.one_of.contains(&Json::Null),
        }
    }
}
