//! `sillytavern-macro`: single texts expanded by the recorded client, with what they wrote and drew.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, imports, parts, words};
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, EXACT, Scene};

/// Where the oracle keeps the texts of outlets.
const OUTLET: &str = "customWIOutlet_";

/// One text or several over one state.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let actual = expanded(&case.input).unwrap_or_else(|error| error);
    vec![case.check(actual, same)]
}

fn expanded(input: &Json) -> Result<Json, Json> {
    let mut texts: Vec<&str> = input["texts"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let single = texts.is_empty();
    if single {
        texts.push(input["text"].as_str().unwrap_or_default());
    }
    let options = &input["options"];
    let mut names = options["dynamic_macros"].as_object().cloned().unwrap_or_default();
    if let Some(original) = options.get("original").filter(|o| o.is_string()) {
        names.insert("original".to_owned(), original.clone());
    }
    // when the script of draws ends, the recorder goes on with zeros
    let mut draws: Vec<f64> = input["random"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
    draws.resize(draws.len() + 1000, 0.0);
    let data = scene(input)?;
    let done = engine::expand(EXACT, Scene { draws: Some(draws), ..Scene::new(data.clone()) }, &texts, &Json::Object(names))?;
    let mut variables = json!({ "local": {}, "global": {} });
    parts::lay(&mut variables, data["vars"].clone());
    for store in ["local", "global"] {
        for (name, value) in done["patch"]["vars"][store].as_object().into_iter().flatten() {
            match (variables[store].as_object_mut(), value) {
                (Some(of), Json::Null) => drop(of.remove(name)),
                (Some(of), value) => drop(of.insert(name.clone(), value.clone())),
                (None, _) => {}
            }
        }
    }
    let mut out = json!({ "variables": variables, "random_calls": done["draws"] });
    match single {
        true => parts::set(&mut out, "output", done["texts"][0].clone()),
        false => parts::set(&mut out, "outputs", done["texts"].clone()),
    }
    Ok(out)
}

/// What a fresh install has of the settings that macros quote.
fn stored() -> Json {
    json!({
        "instruct": { "enabled": false },
        "context": { "example_separator": "***", "chat_start": "***" },
        "sysprompt": { "enabled": true, "content": "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}." },
        "extensions": { "regex": true },
    })
}

fn scene(input: &Json) -> Result<Json, Json> {
    let mut data = json!({ "type": "normal" });
    parts::lay(&mut data, imports::card(EXACT, &chat::speaker(input))?);
    parts::lay(&mut data, imports::chat(EXACT, &chat::chat(input))?);
    parts::put(&mut data, "names", chat::names(input));
    parts::put(&mut data, "now", input.get("now").cloned().unwrap_or_else(|| json!("2024-03-05T14:07:09Z")));
    parts::put(&mut data, "chat.id", input.get("chat_id").cloned().unwrap_or_else(|| json!("oracle-chat")));
    parts::put(&mut data, "chat.metadata", input.get("chat_metadata").cloned().unwrap_or_else(|| json!({})));
    let text = input["main_api"] == json!("textgenerationwebui");
    parts::put(&mut data, "dialect", json!(if text { "text" } else { "openai" }));
    parts::put(&mut data, "context.window", json!(if text { 8192 } else { 4095 }));
    parts::put(&mut data, "context.reserve", json!(if text { 350 } else { 300 }));
    parts::put(&mut data, "provider.model", input.get("model").cloned().unwrap_or_else(|| json!("oracle-model")));
    chat::settings(input, &mut data);
    words::persona(&input["persona"], &mut data);
    words::note(&input["authors_note"], &mut data);
    chat::group(input, &mut data)?;
    options(&input["options"], &mut data);
    if input["engine"] == json!("legacy") {
        parts::put(&mut data, "macro_flavour", json!("passes"));
    }
    let mut settings = stored();
    for key in ["instruct", "context", "sysprompt"] {
        if let Some(given) = input["power_user"].get(key) {
            parts::lay(&mut settings, json!({ key: given }));
        }
    }
    if let Some(instruct) = input.get("instruct").filter(|i| i.is_object()) {
        parts::lay(&mut settings, json!({ "instruct": instruct }));
        parts::put(&mut settings, "instruct.enabled", json!(true));
    }
    parts::put(&mut data, "stored", settings);
    parts::put(&mut data, "vars", input.get("variables").cloned().unwrap_or_else(|| json!({})));
    for prompt in input["extension_prompts"].as_array().into_iter().flatten() {
        if let Some(name) = prompt["key"].as_str().and_then(|key| key.strip_prefix(OUTLET)) {
            parts::put(&mut data, &format!("outlet.{name}"), prompt["value"].clone());
        }
    }
    Ok(data)
}

/// What the call itself says in place of the chat.
fn options(options: &Json, data: &mut Json) {
    parts::copy(options, data, &[("name1", "names.user"), ("name2", "names.char"), ("group", "names.group_override")]);
    if options["replace_character_card"] == json!(false) {
        parts::put(data, "card_macros", json!(false));
    }
}
