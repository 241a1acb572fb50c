//! Which values an option may have, and which values of several options fit together.

use std::collections::HashSet;
use std::sync::Arc;

use crate::diag::{Code, suggest};

use super::{OptionCondition, OptionType, PackOption, PackOptions, TABLE};
use crate::model::Value;

/// The most faults that are reported together.
const MAX_FAULTS: usize = 20;
/// The most characters of a value that a message shows.
const MAX_SHOWN: usize = 60;
/// The most choices that a remedy lists.
const MAX_LISTED: usize = 12;
/// The most keys of a table of values that are looked at.
const MAX_KEYS: usize = 2_000;

/// What is wrong with the values that are given to options.
#[derive(Debug, Clone)]
pub struct OptionFault {
    /// The option, or the name that is none; empty if the values are no table.
    pub option: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
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
        found.truncate(MAX_FAULTS);
        found
    }

    /// The names and values that cannot be used.
    pub(crate) fn unusable(&self, given: &Value) -> Vec<OptionFault> {
        let Some(map) = given.as_map() else {
            let message = format!("`{TABLE}` holds the values of options by name, but is {}", shown(given));
            let help = format!("write `{TABLE}.NAME = VALUE`");
            let fault = OptionFault { option: String::new(), message, help, code: Code::OptionValue };
            return if given.is_null() { Vec::new() } else { vec![fault] };
        };
        let wrong = map.iter().take(MAX_KEYS).filter_map(|(name, value)| match self.get(name) {
            None => Some(self.unknown(name)),
            Some(_) if value.is_null() => None,
            Some(option) => option.refuses(value),
        });
        wrong.take(MAX_FAULTS).collect()
    }

    /// The fault of a name that is none of an option.
    pub fn unknown(&self, name: &str) -> OptionFault {
        let name: String = name.chars().take(MAX_SHOWN).collect();
        let near = suggest::help(&name, self.0.keys().map(AsRef::as_ref));
        let help = if self.is_empty() {
            "the pack declares no options; `[options.NAME]` in its `pack.toml` declares one".to_owned()
        } else {
            near.unwrap_or_else(|| "`tapster options` lists the options of a pack".to_owned())
        };
        OptionFault { message: format!("there is no option `{name}`"), option: name, help, code: Code::OptionUnknown }
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
            if found.len() >= MAX_FAULTS {
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
        let wrong = |message: String, help: String| Some(self.fault(Code::OptionValue, format!("option `{}` {message}", self.name), help));
        let of_type = |what: &str, like: &str| wrong(format!("is {what}, but is set to {}", shown(value)), format!("write {like}"));
        let within = |number: f64, of: &str| {
            let said = |bound: f64| Value::Num(bound).to_text();
            match (self.min, self.max) {
                (Some(min), _) if number < min => wrong(format!("must be at least {}{of}", said(min)), "use a larger value".to_owned()),
                (_, Some(max)) if number > max => wrong(format!("must be at most {}{of}", said(max)), "use a smaller value".to_owned()),
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
                        wrong(format!("is a whole number, but is set to {}", shown(value)), "leave the fraction out".to_owned())
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
                let listed: Vec<String> = words().take(MAX_LISTED).map(|word| format!("`{word}`")).collect();
                let more = if self.choices.len() > MAX_LISTED { " …" } else { "" };
                let help = near.map_or_else(|| format!("one of {}{more}", listed.join(", ")), |near| format!("did you mean `{near}`?"));
                wrong(format!("cannot be {}", shown(value)), help)
            }
        }
    }

    pub(crate) fn fault(&self, code: Code, message: String, help: String) -> OptionFault {
        OptionFault { option: self.name.to_string(), message, help, code }
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
        let words: Vec<String> = self.values.iter().take(MAX_LISTED).map(shown).collect();
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
    let text = value.to_json().to_string();
    let cut: String = text.chars().take(MAX_SHOWN).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
