//! Options: the settings that a pack offers to its users, each with a type, a title and a default, so that an application
//! can draw a form from them. One pack so serves many tastes.
//!
//! A pack declares them in its manifest (`[options.NAME]`). An overlay or a scene sets them, and rules read them as
//! `$option.NAME`.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::Value;
use crate::diag::{Code, Help, Span, limits, short, suggest};

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

// Which values an option may have, and which values of several options fit together.

/// What is wrong with the values that are given to options.
#[derive(Debug, Clone)]
pub struct OptionFault {
    /// The option, or the name that is none; empty if the values are no table.
    pub option: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Help,
    /// The code of the diagnostic.
    pub code: Code,
}

impl PackOptions {
    /// What is wrong with values that are given to these options (the table `option` of a scene): unknown names, values that
    /// an option cannot have, and values that do not fit together. Empty if nothing is.
    #[must_use]
    pub fn faults(&self, given: &Value) -> Vec<OptionFault> {
        let mut found = self.unusable(given);
        if !given.is_null() {
            found.extend(self.unfit(&self.values(given)));
        }
        found.truncate(limits::WARNED);
        found
    }

    /// The names and values that cannot be used.
    pub(crate) fn unusable(&self, given: &Value) -> Vec<OptionFault> {
        let Some(map) = given.as_map() else {
            let message = format!("`{TABLE}` holds the values of options by name, but is {}", shown(given));
            let help = format!("write `{TABLE}.NAME = VALUE`");
            let fault = OptionFault { option: String::new(), message, help: help.into(), code: Code::OptionValue };
            return if given.is_null() { Vec::new() } else { vec![fault] };
        };
        let wrong = map.iter().take(limits::OPTIONS).filter_map(|(name, value)| match self.get(name) {
            None => Some(self.unknown(name)),
            Some(_) if value.is_null() => None,
            Some(option) => option.refuses(value),
        });
        wrong.take(limits::WARNED).collect()
    }

    /// The fault of a name that is none of an option.
    pub fn unknown(&self, name: &str) -> OptionFault {
        let name = short::first(name, limits::QUOTED);
        let near = suggest::help(name, self.0.keys().map(AsRef::as_ref));
        let help = if self.is_empty() {
            "the pack declares no options; `[options.NAME]` in its `pack.toml` declares one".into()
        } else {
            near.unwrap_or_else(|| "`tapster options` lists the options of a pack".into())
        };
        OptionFault { message: format!("there is no option `{name}`"), option: name.to_owned(), help, code: Code::OptionUnknown }
    }

    /// Which of these values, one for every option, do not fit together.
    pub fn unfit(&self, values: &Value) -> Vec<OptionFault> {
        let mut found = Vec::new();
        let mut told: HashSet<[Arc<str>; 2]> = HashSet::new();
        for option in self.iter() {
            let Some(value) = values.get(&option.name).filter(|value| value.truthy()) else { continue };
            for need in option.needs(value, true).filter(|need| !need.is_met(values)) {
                let message = format!("option `{}` requires {}", option.name, need.said());
                found.push(option.fault(Code::OptionRequires, message, format!("set {}, or {}", need.wanted(), option.way_out(value))));
            }
            for need in option.needs(value, false).filter(|need| need.is_met(values)) {
                let mut pair = [option.name.clone(), need.option.clone()];
                pair.sort();
                if told.insert(pair) {
                    let message = format!("option `{}` conflicts with {}", option.name, need.said());
                    let help = format!("change `{TABLE}.{}`, or {}", need.option, option.way_out(value));
                    found.push(option.fault(Code::OptionRequires, message, help));
                }
            }
            if found.len() >= limits::WARNED {
                break;
            }
        }
        found
    }
}

impl PackOption {
    /// Why the option cannot have a value; `None` if it can.
    #[must_use]
    pub fn refuses(&self, value: &Value) -> Option<OptionFault> {
        let wrong = |message: String, help: Help| Some(self.fault(Code::OptionValue, format!("option `{}` {message}", self.name), help));
        let of_type = |what: &str, like: &str| wrong(format!("is {what}, but is set to {}", shown(value)), format!("write {like}").into());
        let within = |number: f64, of: &str| {
            let said = |bound: f64| Value::Num(bound).to_text();
            match (self.min, self.max) {
                (Some(min), _) if number < min => wrong(format!("must be at least {}{of}", said(min)), "use a larger value".into()),
                (_, Some(max)) if number > max => wrong(format!("must be at most {}{of}", said(max)), "use a smaller value".into()),
                _ => None,
            }
        };
        match (self.kind, value) {
            (OptionType::Bool, Value::Bool(_)) => None,
            (OptionType::Bool, _) => of_type("on or off", "`true` or `false`"),
            (OptionType::Number, Value::Int(_) | Value::Num(_)) => {
                let number = value.as_f64().filter(|number| number.is_finite());
                match number {
                    Some(number) if self.whole && number.fract() != 0.0 => {
                        wrong(format!("is a whole number, but is set to {}", shown(value)), "leave the fraction out".into())
                    }
                    Some(number) => within(number, ""),
                    None => of_type("a number", "a number"),
                }
            }
            (OptionType::Number, _) => of_type("a number", "a number, without quotes"),
            (OptionType::Text, Value::Text(text)) => within(text.chars().count() as f64, " characters long"),
            (OptionType::Text, _) => of_type("a text", "a text, in quotes"),
            (OptionType::Enum, Value::Text(text)) if self.choices.iter().any(|choice| choice.value == *text) => None,
            (OptionType::Enum, _) => {
                let words = || self.choices.iter().map(|choice| choice.value.as_ref());
                let near = value.as_str().and_then(|word| suggest::nearest(word, words()));
                let listed: Vec<String> = words().take(limits::LISTED).map(|word| format!("`{word}`")).collect();
                let more = if self.choices.len() > limits::LISTED { " …" } else { "" };
                let help = near.map_or_else(|| format!("one of {}{more}", listed.join(", ")).into(), Help::from);
                wrong(format!("cannot be {}", shown(value)), help)
            }
        }
    }

    pub(crate) fn fault(&self, code: Code, message: String, help: impl Into<Help>) -> OptionFault {
        OptionFault { option: self.name.to_string(), message, help: help.into(), code }
    }

    /// What this value of the option requires, or what it conflicts with.
    pub(crate) fn needs(&self, value: &Value, required: bool) -> impl Iterator<Item = &OptionCondition> {
        let choice = value.as_str().and_then(|text| self.choices.iter().find(|choice| *choice.value == *text));
        let own = if required { &self.requires } else { &self.conflicts };
        own.iter().chain(choice.into_iter().flat_map(move |choice| if required { &choice.requires } else { &choice.conflicts }))
    }

    /// How to make the option ask for nothing.
    fn way_out(&self, value: &Value) -> String {
        match self.kind {
            OptionType::Bool => format!("set `{TABLE}.{} = false`", self.name),
            _ => format!("set `{TABLE}.{}` to something other than {}", self.name, shown(value)),
        }
    }
}

impl OptionCondition {
    /// Whether the values of all options meet it.
    pub(crate) fn is_met(&self, values: &Value) -> bool {
        let Some(value) = values.get(&self.option) else { return false };
        if self.values.is_empty() { value.truthy() } else { self.values.iter().any(|wanted| is_equal(wanted, value)) }
    }

    /// As a part of a sentence: `` `memory` ``, `` `tone` to be "dark" or "warm" ``.
    fn said(&self) -> String {
        let words: Vec<String> = self.values.iter().take(limits::LISTED).map(shown).collect();
        if words.is_empty() { format!("`{}`", self.option) } else { format!("`{}` = {}", self.option, words.join(" or ")) }
    }

    /// An assignment that meets it.
    fn wanted(&self) -> String {
        let value = self.values.first().map_or_else(|| "true".to_owned(), shown);
        format!("`{TABLE}.{} = {value}`", self.option)
    }
}

/// Whether two values of an option are the same: 1 and 1.0 are.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one.is_same(other),
    }
}

/// The beginning of a value, as it is written.
fn shown(value: &Value) -> String {
    short::head(&value.to_json().to_string(), limits::QUOTED)
}

// Options as a JSON Schema, from which editors complete and form libraries draw.

impl PackOptions {
    /// A JSON Schema (draft 7) of the table that sets options: one property for each option. What options require of each
    /// other is not in it; [`faults`](Self::faults) checks that.
    #[must_use]
    pub fn schema(&self) -> Json {
        let properties: JsonMap<String, Json> = self.iter().map(|option| (option.name.to_string(), property(option))).collect();
        json!({
            "type": "object",
            "description": "The values of the pack's options.",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

fn property(option: &PackOption) -> Json {
    let mut out = JsonMap::new();
    let mut put = |key: &str, value: Json| drop(out.insert(key.to_owned(), value));
    put("title", (&*option.title).into());
    if !option.help.is_empty() {
        put("description", (&*option.help).into());
    }
    let bound = |bound: f64| Value::Num(bound).to_json();
    let (least, most) = match option.kind {
        OptionType::Text => ("minLength", "maxLength"),
        _ => ("minimum", "maximum"),
    };
    match option.kind {
        OptionType::Bool => put("type", "boolean".into()),
        OptionType::Number => put("type", if option.whole { "integer" } else { "number" }.into()),
        OptionType::Text => put("type", "string".into()),
        OptionType::Enum => {
            put("type", "string".into());
            let has_titles = option.choices.iter().any(|choice| choice.title != choice.value || !choice.help.is_empty());
            if has_titles {
                let one =
                    |choice: &self::OptionChoice| json!({ "const": &*choice.value, "title": &*choice.title, "description": &*choice.help });
                put("oneOf", option.choices.iter().map(one).collect());
            } else {
                put("enum", option.choices.iter().map(|choice| Json::from(&*choice.value)).collect());
            }
        }
    }
    if let Some(min) = option.min {
        put(least, bound(min));
    }
    if let Some(max) = option.max {
        put(most, bound(max));
    }
    put("default", option.value.to_json());
    Json::Object(out)
}
