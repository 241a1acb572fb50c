//! Options: the settings that a pack offers to its users, each with a type, a title and a default, so that an application
//! can draw a form from them. One pack so serves many tastes.
//!
//! A pack declares them in its manifest (`[options.NAME]`). An overlay or a scene sets them, and rules read them as
//! `$option.NAME`.

mod check;
mod schema;

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map as JsonMap, Value as Json, json};

use crate::diag::Span;

use super::Value;

pub use check::OptionFault;

/// The name of the table of the scene that sets options: `option`.
pub const TABLE: &str = "option";

/// What an option holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionType {
    /// On or off.
    Bool,
    /// One of several texts.
    Enum,
    /// A number.
    Number,
    /// A text that the user writes.
    Text,
}

impl OptionType {
    /// The word for it in a manifest.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Enum => "enum",
            Self::Number => "number",
            Self::Text => "text",
        }
    }

    /// The type of this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Bool, Self::Enum, Self::Number, Self::Text].into_iter().find(|kind| kind.word() == word)
    }
}

/// One of the texts that an option of type [`OptionType::Enum`] may be.
#[derive(Debug, Clone, Default)]
pub struct OptionChoice {
    /// The text.
    pub value: Arc<str>,
    /// How a form calls it; the text itself if the pack gives no title.
    pub title: Arc<str>,
    /// What it does; empty if the pack does not say.
    pub help: Arc<str>,
    /// What must hold for other options if this one is chosen.
    pub requires: Vec<OptionCondition>,
    /// What must not hold for other options if this one is chosen.
    pub conflicts: Vec<OptionCondition>,
}

/// A condition on another option.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionCondition {
    /// The other option.
    pub option: Arc<str>,
    /// The values of which it has one. If there are none: it is on, which is `true`, a number other than 0, or a text that is
    /// not empty.
    pub values: Vec<Value>,
    /// Where it is written.
    pub span: Span,
}

/// An option that a pack declares.
#[derive(Debug, Clone)]
pub struct PackOption {
    /// Its name: rules read `$option.NAME`.
    pub name: Arc<str>,
    /// What it holds.
    pub kind: OptionType,
    /// How a form calls it; its name if the pack gives no title.
    pub title: Arc<str>,
    /// What it does; empty if the pack does not say.
    pub help: Arc<str>,
    /// Its value where nobody sets it.
    pub default: Value,
    /// The layer that decides the default.
    pub default_from: Arc<str>,
    /// Its value in this pack with these overlays, where no scene sets it.
    pub value: Value,
    /// The layer that decides this value: a pack, or an overlay.
    pub value_from: Arc<str>,
    /// What it may be, for an enum.
    pub choices: Vec<OptionChoice>,
    /// The least number, or the least number of characters of a text.
    pub min: Option<f64>,
    /// The greatest number, or the greatest number of characters of a text.
    pub max: Option<f64>,
    /// Whether a number must be whole.
    pub whole: bool,
    /// What must hold for other options while this one is on.
    pub requires: Vec<OptionCondition>,
    /// What must not hold for other options while this one is on.
    pub conflicts: Vec<OptionCondition>,
    /// Where its name is written.
    pub name_span: Span,
    /// Where its default is written, or else its name.
    pub default_span: Span,
    /// Where its value is written: in an overlay, as its default, or else its name.
    pub value_span: Span,
}

/// The options of a pack, in the order in which they are declared.
#[derive(Debug, Clone, Default)]
pub struct PackOptions(#[doc(hidden)] pub IndexMap<Arc<str>, PackOption>);

impl PackOptions {
    /// The option of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&PackOption> {
        self.0.get(name)
    }

    /// All options.
    pub fn iter(&self) -> impl Iterator<Item = &PackOption> {
        self.0.values()
    }

    /// Whether the pack has no options.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many options the pack has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of every option where these values are set (the table `option` of a scene). A value that an option cannot
    /// have does not count.
    #[must_use]
    pub fn values(&self, set: &Value) -> Value {
        let value = |option: &PackOption| {
            let own = set.get(&option.name).filter(|value| option.refuses(value).is_none());
            (option.name.clone(), own.unwrap_or(&option.value).clone())
        };
        Value::map(self.iter().map(value).collect())
    }

    /// Those of the given values that options can have.
    pub fn usable(&self, given: &Value) -> Value {
        let fits = |name: &str, value: &Value| self.get(name).is_some_and(|option| option.refuses(value).is_none());
        let kept = given.as_map().into_iter().flat_map(|map| map.iter()).filter(|(name, value)| fits(name, value));
        Value::map(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// All options as JSON, from which a form can be drawn; `set` are the values that are set, as for
    /// [`values`](Self::values).
    #[must_use]
    pub fn to_json(&self, set: &Value) -> Json {
        let values = self.values(set);
        let one = |option: &PackOption| {
            let mut row = option.to_json();
            let is_set = set.get(&option.name).is_some_and(|value| option.refuses(value).is_none());
            let from: &str = if is_set { "scene" } else { &option.value_from };
            if let Some(row) = row.as_object_mut() {
                row.insert("value".to_owned(), values.get(&option.name).map(Value::to_json).unwrap_or_default());
                row.insert("value_from".to_owned(), from.into());
            }
            row
        };
        self.iter().map(one).collect()
    }
}

impl PackOption {
    /// The default of an option that has none.
    #[doc(hidden)]
    #[must_use]
    pub fn natural(&self) -> Value {
        match self.kind {
            OptionType::Bool => Value::Bool(false),
            OptionType::Enum => self.choices.first().map(|choice| Value::Text(choice.value.clone())).unwrap_or_default(),
            OptionType::Number => {
                let number = 0_f64.max(self.min.unwrap_or(f64::MIN)).min(self.max.unwrap_or(f64::MAX));
                Value::Num(number).as_i64().map_or(Value::Num(number), Value::Int)
            }
            OptionType::Text => Value::text(""),
        }
    }

    /// The option as JSON. Keys that say nothing are left out.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut row = JsonMap::new();
        let mut put = |key: &str, value: Json| drop(row.insert(key.to_owned(), value));
        put("name", (&*self.name).into());
        put("type", self.kind.word().into());
        put("title", (&*self.title).into());
        put("help", (&*self.help).into());
        put("default", self.default.to_json());
        put("default_from", (&*self.default_from).into());
        put("value", self.value.to_json());
        put("value_from", (&*self.value_from).into());
        if self.kind == OptionType::Enum {
            put("choices", self.choices.iter().map(OptionChoice::to_json).collect());
        }
        for (key, bound) in [("min", self.min), ("max", self.max)] {
            if let Some(bound) = bound {
                put(key, Value::Num(bound).to_json());
            }
        }
        if self.whole {
            put("whole", true.into());
        }
        for (key, needs) in [("requires", &self.requires), ("conflicts", &self.conflicts)] {
            if !needs.is_empty() {
                put(key, needs.iter().map(OptionCondition::to_json).collect());
            }
        }
        Json::Object(row)
    }
}

impl OptionChoice {
    fn to_json(&self) -> Json {
        let mut row = json!({ "value": &*self.value, "title": &*self.title, "help": &*self.help });
        for (key, needs) in [("requires", &self.requires), ("conflicts", &self.conflicts)] {
            if let Some(row) = row.as_object_mut().filter(|_| !needs.is_empty()) {
                row.insert(key.to_owned(), needs.iter().map(OptionCondition::to_json).collect());
            }
        }
        row
    }
}

impl OptionCondition {
    fn to_json(&self) -> Json {
        let mut row = json!({ "option": &*self.option });
        if let Some(row) = row.as_object_mut().filter(|_| !self.values.is_empty()) {
            row.insert("values".to_owned(), self.values.iter().map(Value::to_json).collect());
        }
        row
    }
}
