//! Kind `dialect`: finished messages in the shape of a provider, and whole requests. What all its operations share.
//!
//! Names are changed on the way in and out, and nothing else: a message's `content` is the `text` of an item, and what
//! a request holds becomes paths of the scene.

use serde_json::{Map, Value as Json, json};

use super::parts;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, EXACT, Scene};

/// What a request calls one way and a scene another; everything else of a request is `provider.` and its own name.
const PATHS: &[(&str, &str)] = &[
    ("char_name", "names.char"),
    ("user_name", "names.user"),
    ("group_names", "names.group"),
    ("charName", "names.char"),
    ("userName", "names.user"),
    ("groupNames", "names.group"),
    ("chat_completion_source", "provider.source"),
    ("max_tokens", "context.reserve"),
    ("custom_prompt_post_processing", "post.mode"),
    ("assistant_prefill", "preset.prefill"),
    ("prefill", "preset.prefill"),
    ("cachingAtDepth", "provider.cache_depth"),
    ("ttl", "provider.cache_ttl"),
];

/// The options of a case as a scene: `config` with its dotted keys under `config.`, everything else as [`PATHS`] says.
pub(crate) fn scene(case: &Case) -> Json {
    let options = &case.input["options"];
    let mut scene = json!({});
    for (key, value) in fields(options).chain(fields(&options["request"])).chain(fields(&options["names"])) {
        match key.as_str() {
            "request" | "names" => {}
            "config" => fields(value).for_each(|(key, value)| put(&mut scene, &format!("config.{key}"), value)),
            key => put(&mut scene, &path(key), value),
        }
    }
    scene
}

fn path(key: &str) -> String {
    PATHS.iter().find(|(theirs, _)| *theirs == key).map_or_else(|| format!("provider.{key}"), |(_, path)| (*path).to_owned())
}

fn fields(object: &Json) -> impl Iterator<Item = (&String, &Json)> {
    object.as_object().into_iter().flatten()
}

/// Sets what stands under a dotted path.
fn put(scene: &mut Json, path: &str, value: &Json) {
    match path.split_once('.') {
        None => parts::set(scene, path, value.clone()),
        Some((first, rest)) => {
            let mut inner = if scene[first].is_object() { scene[first].clone() } else { Json::Object(Map::new()) };
            put(&mut inner, rest, value);
            parts::set(scene, first, inner);
        }
    }
}

/// Messages of a provider as items: the text of an item may be a list of parts. One text is a message of no role.
pub(crate) fn items(messages: &Json) -> Json {
    if let Json::String(text) = messages {
        return json!([{ "role": "", "text": text }]);
    }
    messages.as_array().into_iter().flatten().map(|m| renamed(m, "content", "text")).collect()
}

/// And back.
pub(crate) fn messages(items: &[Json]) -> Json {
    items.iter().map(|item| renamed(item, "text", "content")).collect()
}

fn renamed(object: &Json, from: &str, to: &str) -> Json {
    fields(object).map(|(key, value)| (if key == from { to.to_owned() } else { key.clone() }, value.clone())).collect::<Map<_, _>>().into()
}

/// The messages that a program of a dialect leaves.
pub(crate) fn converted(case: &Case, dialect: &str, program: &str) -> Vec<Check> {
    let mut scene = scene(case);
    parts::set(&mut scene, "dialect", json!(dialect));
    let actual = match engine::run(EXACT, program, Scene::new(scene), &[("messages", items(&case.input["messages"]))]) {
        Ok(ran) => json!({ "messages": messages(&ran.list("messages")) }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// A whole request: the payload of a dialect, and where it goes.
pub(crate) fn request(case: &Case, dialect: &str) -> Vec<Check> {
    let actual = match engine::emit_request(EXACT, scene(case), items(&case.input["messages"]), dialect) {
        Ok(sent) => json!({ "url": sent["request"]["url"], "headers": sent["request"]["headers"], "body": sent["payload"] }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// The payload of a dialect alone.
pub(crate) fn payload(case: &Case, dialect: &str) -> Vec<Check> {
    let sent = engine::emit_request(EXACT, scene(case), items(&case.input["messages"]), dialect);
    vec![case.check(sent.map_or_else(|error| error, |sent| sent["payload"].clone()), fits)]
}

/// Of a whole request only what the recording has is compared; where the real program throws, an error will do.
pub(crate) fn fits(expected: &Json, actual: &Json) -> bool {
    if !expected["throws"].is_null() {
        return !actual["error"].is_null();
    }
    let recorded = |(key, _): &(&String, &Json)| expected.get(key.as_str()).is_some() || key.as_str() == "error";
    match actual {
        Json::Object(_) => {
            let actual: Map<_, _> = fields(actual).filter(recorded).map(|(key, value)| (key.clone(), value.clone())).collect();
            same(expected, &actual.into())
        }
        other => same(expected, other),
    }
}
