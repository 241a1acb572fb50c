//! The types that rules declare for paths and fields, and which values are of them.

use crate::diag::{Data, Table};
use crate::model::Value;
use crate::text::language_tag::LanguageTag;
use crate::text::moment::Moment;

/// What kind of value a path or field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
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

impl Type {
    /// The type that a word of a rule file names; any type for another word.
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "text" => Type::Text,
            "number" => Type::Number,
            "integer" => Type::Integer,
            "boolean" => Type::Boolean,
            "list" => Type::List,
            "table" => Type::Table,
            "condition" => Type::Condition,
            "slot" => Type::Slot,
            "group" => Type::Group,
            "time" => Type::Time,
            "language" => Type::Language,
            _ => Type::Any,
        }
    }

    /// The word for it in rule files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Type::Text => "text",
            Type::Number => "number",
            Type::Integer => "integer",
            Type::Boolean => "boolean",
            Type::List => "list",
            Type::Table => "table",
            Type::Any => "any",
            Type::Condition => "condition",
            Type::Slot => "slot",
            Type::Group => "group",
            Type::Time => "time",
            Type::Language => "language",
        }
    }

    /// Whether a value of the scene may be of this type. A single value counts as a list of one, and a text may be a list of
    /// parts, each with its `type`.
    #[must_use]
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Type::Any | Type::List | Type::Condition => true,
            Type::Text if value.as_list().is_some_and(|parts| !parts.is_empty()) => {
                value.elements().iter().all(|part| part.get("type").is_some_and(|kind| kind.as_str().is_some()))
            }
            Type::Text | Type::Slot | Type::Group => matches!(value, Value::Text(_)),
            Type::Number => matches!(value, Value::Int(_) | Value::Num(_)),
            Type::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0) && !matches!(value, Value::Text(_)),
            Type::Boolean => matches!(value, Value::Bool(_)),
            Type::Table => matches!(value, Value::Map(_)),
            Type::Language => value.as_str().is_some_and(|tag| tag.is_empty() || LanguageTag::parse_lenient(tag).is_ok()),
            Type::Time => Moment::of_value(value, 0).is_some(),
        }
    }

    /// Whether a literal may be a value of this type. References, texts with references in them and value forms may be
    /// of any type.
    #[must_use]
    pub fn accepts(self, data: &Data) -> bool {
        match (data, self) {
            (_, Type::Any) | (Data::Null, _) => true,
            (Data::Text(text), _) if text.starts_with(['$', '@']) || text.contains("{{") => true,
            (Data::Table(table), _) if is_form(table) => true,
            (Data::Text(_), Type::Number | Type::Integer | Type::Boolean | Type::List | Type::Table | Type::Condition) => false,
            (Data::Int(_) | Data::Float(_), Type::Text | Type::Slot | Type::Group | Type::Boolean | Type::List | Type::Table) => false,
            (Data::Bool(_), Type::Text | Type::Slot | Type::Group | Type::Number | Type::Integer | Type::List | Type::Table) => false,
            (Data::Float(number), Type::Integer) => number.fract() == 0.0,
            // a text may be a list of parts
            (Data::List(_), Type::Slot | Type::Group | Type::Number | Type::Integer | Type::Boolean | Type::Table) => false,
            (Data::Table(_), Type::Text | Type::Slot | Type::Group | Type::Number | Type::Integer | Type::Boolean | Type::List) => false,
            _ => true,
        }
    }

    pub(super) fn open(self) -> bool {
        matches!(self, Type::Table | Type::Any | Type::List)
    }
}

/// Whether a table in a value position is an expression (`{ lookup = … }`) instead of a table of values.
#[must_use]
pub fn is_form(table: &Table) -> bool {
    let alone = || {
        table.len() == 1
            && (table.contains_key("is") || table.contains_key("try") || table.get("value").is_some_and(|f| f.node.as_text().is_some()))
    };
    ["of", "lookup", "first", "over", "if", "calc", "read", "fn", "none", "form", "table", "fold"].iter().any(|k| table.contains_key(*k))
        || is_script(table)
        || alone()
}

/// Whether a table calls a function of a script: `{ script = "file.rhai::function", args? }`.
#[must_use]
pub fn is_script(table: &Table) -> bool {
    table.get("script").is_some_and(|f| f.node.as_text().is_some())
        && table.keys().all(|key| matches!(key.as_ref(), "script" | "args" | "descending"))
}
