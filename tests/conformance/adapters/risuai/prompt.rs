//! `risuai-prompt`: whole sends up to the request. Empty lists of a recorded message are the same as none.

use serde_json::{Map, Value as Json, json};

use super::PACK;
use super::scene::scene;
use crate::adapters::parts;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, Built};

/// A message list, or the error, and what a case records besides.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let built = scene(case, "prompt").and_then(|scene| engine::build(PACK, scene));
    let expected = normal(&case.expected);
    let actual = match built {
        Ok(built) => sent(&built, &expected, &case.input["bodyPick"]),
        Err(error) => refused(&error, &expected),
    };
    vec![Check { level: String::new(), passed: same(&expected, &actual), expected, actual }]
}

/// What a recording names, of a prompt that was built.
fn sent(built: &Built, expected: &Json, pick: &Json) -> Json {
    let mut out = json!({});
    for key in expected.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
        let value = match key {
            "ok" => json!(true),
            "formatted" => normal(&json!(built.blocks().iter().filter(|b| b["enabled"] != json!(false)).map(message).collect::<Vec<_>>())),
            "tokens" => built.set("plan.tokens"),
            "lastMemory" => built.set("plan.last_memory"),
            "messagesAfter" => built.set("plan.history"),
            "scriptstate" => variables(&built.patch()),
            "body" => request(built, "payload", pick),
            "url" => request(built, "url", &Json::Null),
            _ => Json::Null,
        };
        parts::set(&mut out, key, value);
    }
    out
}

/// Of a send that fails: that it does, and what is told.
fn refused(error: &Json, expected: &Json) -> Json {
    let error = &error["error"];
    let mut out = json!({ "ok": false });
    if !expected["alert"].is_null() {
        parts::set(&mut out, "alert", json!({ "type": "error", "msg": error["message"] }));
    }
    // what the application throws by mistake is an error of its own words here
    for key in ["throws", "lastMemory"] {
        if error["kind"].is_string() && !expected[key].is_null() {
            parts::set(&mut out, key, expected[key].clone());
        }
    }
    if expected["ok"].is_null() {
        parts::set(&mut out, "ok", Json::Null);
    }
    parts::set(&mut out, "error", if expected["ok"] == json!(true) { error.clone() } else { Json::Null });
    out
}

/// A block as the application lists it.
fn message(block: &Json) -> Json {
    let flag = |name: &str| if block[name] == json!(true) { json!(true) } else { Json::Null };
    // an item with a role that the application does not know is sent without one
    let role = if block["role"] == json!("") { Json::Null } else { block["role"].clone() };
    json!({
        "role": role, "content": block["text"], "memo": block["memo"], "name": block["name"],
        "removable": flag("removable"), "cachePoint": flag("cache"), "thoughts": block["thoughts"],
        "attr": if block["name_added"] == json!(true) { json!(["nameAdded"]) } else { Json::Null },
    })
}

/// The payload of the dialect that the pack chooses, or where it goes.
fn request(built: &Built, what: &str, pick: &Json) -> Json {
    let dialect = built.set("plan.dialect");
    match built.request(dialect.as_str().unwrap_or("openai")) {
        Ok(sent) if what == "url" => sent["request"]["url"].clone(),
        Ok(sent) => {
            let picked = |key: &Json| key.as_str().map(|key| (key.to_owned(), sent["payload"][key].clone()));
            pick.as_array().into_iter().flatten().filter_map(picked).filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into()
        }
        Err(error) => error,
    }
}

/// The chat's variables under the names that the application stores them by.
fn variables(patch: &Json) -> Json {
    let local = patch["vars"]["local"].as_object().into_iter().flatten();
    local.map(|(name, value)| (format!("${name}"), value.clone())).collect::<Map<_, _>>().into()
}

/// A recording without empty lists in messages.
fn normal(json: &Json) -> Json {
    match json {
        Json::Object(map) => {
            let full = |(key, value): &(&String, &Json)| !(matches!(key.as_str(), "attr" | "thoughts") && **value == json!([]));
            map.iter().filter(full).map(|(key, value)| (key.clone(), normal(value))).collect::<Map<_, _>>().into()
        }
        Json::Array(list) => list.iter().map(normal).collect(),
        other => other.clone(),
    }
}
