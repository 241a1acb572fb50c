//! The types that rules declare for paths and fields, and which values are of them.

use crate::diag::{FieldMap, NodeValue};
use crate::model::Value;
use crate::text::language_tag::LanguageTag;
use crate::text::moment::Moment;

/// What kind of value a path or field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Text.
    Text,
    /// Number, whole or not.
    Number,
    /// Whole number.
    Integer,
    /// Truth value.
    Boolean,
    /// List.
    List,
    /// A table; any path below it is known.
    Table,
    /// Any value.
    Any,
    /// A condition, from rule files or scene data.
    Condition,
    /// The name of a slot or region.
    Slot,
    /// The name of a budget group.
    Group,
    /// A point in time: a date text, or milliseconds since 1970.
    Time,
    /// A language tag (RFC 5646).
    Language,
}

impl ValueType {
    /// The type that a word of a rule file names; any type for another word.
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "text" => ValueType::Text,
            "number" => ValueType::Number,
            "integer" => ValueType::Integer,
            "boolean" => ValueType::Boolean,
            "list" => ValueType::List,
            "table" => ValueType::Table,
            "condition" => ValueType::Condition,
            "slot" => ValueType::Slot,
            "group" => ValueType::Group,
            "time" => ValueType::Time,
            "language" => ValueType::Language,
            _ => ValueType::Any,
        }
    }

    /// The word for it in rule files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ValueType::Text => "text",
            ValueType::Number => "number",
            ValueType::Integer => "integer",
            ValueType::Boolean => "boolean",
            ValueType::List => "list",
            ValueType::Table => "table",
            ValueType::Any => "any",
            ValueType::Condition => "condition",
            ValueType::Slot => "slot",
            ValueType::Group => "group",
            ValueType::Time => "time",
            ValueType::Language => "language",
        }
    }

    /// Whether a value of the scene may be of this type. A single value counts as a list of one, and a text may be a list of
    /// parts, each with its `type`.
    #[must_use]
    pub fn holds(self, value: &Value) -> bool {
        match self {
            ValueType::Any | ValueType::List | ValueType::Condition => true,
            ValueType::Text if value.as_list().is_some_and(|parts| !parts.is_empty()) => {
                value.elements().iter().all(|part| part.get("type").is_some_and(|kind| kind.as_str().is_some()))
            }
            ValueType::Text | ValueType::Slot | ValueType::Group => matches!(value, Value::Text(_)),
            ValueType::Number => matches!(value, Value::Int(_) | Value::Num(_)),
            ValueType::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0) && !matches!(value, Value::Text(_)),
            ValueType::Boolean => matches!(value, Value::Bool(_)),
            ValueType::Table => matches!(value, Value::Map(_)),
            ValueType::Language => value.as_str().is_some_and(|tag| tag.is_empty() || LanguageTag::parse_lenient(tag).is_ok()),
            ValueType::Time => Moment::of_value(value, 0).is_some(),
        }
    }

    /// Whether a literal may be a value of this type. References, texts with references in them and value forms may be
    /// of any type.
    #[must_use]
    pub fn accepts(self, data: &NodeValue) -> bool {
        match (data, self) {
            (_, ValueType::Any) | (NodeValue::Null, _) => true,
            (NodeValue::Text(text), _) if text.starts_with(['$', '@']) || text.contains("{{") => true,
            (NodeValue::Table(table), _) if is_form(table) => true,
            (
                NodeValue::Text(_),
                ValueType::Number | ValueType::Integer | ValueType::Boolean | ValueType::List | ValueType::Table | ValueType::Condition,
            ) => false,
            (
                NodeValue::Int(_) | NodeValue::Float(_),
                ValueType::Text | ValueType::Slot | ValueType::Group | ValueType::Boolean | ValueType::List | ValueType::Table,
            ) => false,
            (
                NodeValue::Bool(_),
                ValueType::Text
                | ValueType::Slot
                | ValueType::Group
                | ValueType::Number
                | ValueType::Integer
                | ValueType::List
                | ValueType::Table,
            ) => false,
            (NodeValue::Float(number), ValueType::Integer) => number.fract() == 0.0,
            // a text may be a list of parts
            (
                NodeValue::List(_),
                ValueType::Slot | ValueType::Group | ValueType::Number | ValueType::Integer | ValueType::Boolean | ValueType::Table,
            ) => false,
            (
                NodeValue::Table(_),
                ValueType::Text
                | ValueType::Slot
                | ValueType::Group
                | ValueType::Number
                | ValueType::Integer
                | ValueType::Boolean
                | ValueType::List,
            ) => false,
            _ => true,
        }
    }

    pub(super) fn open(self) -> bool {
        matches!(self, ValueType::Table | ValueType::Any | ValueType::List)
    }
}

/// Whether a table in a value position is an expression (`{ lookup = … }`) instead of a table of values.
#[must_use]
pub fn is_form(table: &FieldMap) -> bool {
    let alone = || {
        table.len() == 1
            && (table.contains_key("is") || table.contains_key("try") || table.get("value").is_some_and(|f| f.node.as_text().is_some()))
    };
    ["of", "lookup", "first", "merge", "if", "calc", "=", "read", "fn", "none", "form", "table", "fold"]
        .iter()
        .any(|k| table.contains_key(*k))
        || is_script(table)
        || alone()
}

/// Whether a table calls a function of a script: `{ script = "file.rhai::function", args? }`.
#[must_use]
pub fn is_script(table: &FieldMap) -> bool {
    table.get("script").is_some_and(|f| f.node.as_text().is_some())
        && table.keys().all(|key| matches!(key.as_ref(), "script" | "args" | "descending"))
}
