//! A JSON document as it is read here: texts borrow from the document, and tables are lists of fields.
//!
//! A stream has thousands of small documents, of which a few texts are wanted. To look these up in a list costs less than
//! to build a map of every table.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

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
