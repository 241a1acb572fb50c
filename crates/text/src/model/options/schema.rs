//! Options as a JSON Schema, from which editors complete and form libraries draw.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::{OptionType, PackOption, PackOptions};
use crate::model::Value;

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
                let one = |choice: &super::OptionChoice| json!({ "const": &*choice.value, "title": &*choice.title, "description": &*choice.help });
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
