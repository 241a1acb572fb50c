//! Kind `dialect`, the converters for providers that take OpenAI's shape with rules of their own, and the bodies of
//! the requests to them.

use serde_json::{Value as Json, json};

use super::post;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, EXACT, Scene};

/// Fields of a request that are the scene's under another name; the others are `provider.*`.
const REQUEST: &[(&str, &str)] = &[
    ("char_name", "names.char"),
    ("user_name", "names.user"),
    ("group_names", "names.group"),
    ("max_tokens", "context.reserve"),
    ("stop", "plan.stops"),
    ("chat_completion_source", "provider.source"),
    ("custom_prompt_post_processing", "post.mode"),
    ("reverse_proxy", "provider.url"),
];

/// Messages through a dialect.
pub(crate) fn converted(case: &Case) -> Vec<Check> {
    let names = &case.input["options"]["names"];
    let mut scene =
        json!({ "dialect": case.op(), "names": { "char": names["charName"], "user": names["userName"], "group": names["groupNames"] } });
    around(case, &mut scene);
    let key = if case.op() == "cohere" { "chatHistory" } else { "messages" };
    let actual = match engine::run(EXACT, case.op(), Scene::new(scene), &[("messages", post::items(&case.input["messages"]))]) {
        Ok(ran) => json!({ key: prefixes(post::messages(&ran.list("messages"))) }),
        Err(error) => error,
    };
    vec![case.check(actual, answers)]
}

/// A whole request.
pub(crate) fn body(case: &Case) -> Vec<Check> {
    let dialect = case.op().trim_start_matches("body-");
    let mut scene = json!({ "dialect": dialect });
    for (key, value) in case.input["options"]["request"].as_object().into_iter().flatten() {
        let own = format!("provider.{key}");
        let path = REQUEST.iter().find(|(name, _)| name == key).map_or(own.as_str(), |(_, path)| *path);
        put(&mut scene, path, value.clone());
    }
    around(case, &mut scene);
    let overlay = format!(
        "kind = \"overlay\"\nversion = 1\n[[program]]\nname = \"wire\"\nover = \"messages\"\n[[pass]]\nname = \"wire/run\"\ndo = \"run\"\n\
         program = \"{dialect}\"\n[[pass]]\nname = \"wire/forms\"\ndo = \"set\"\n\
         set = {{ \"$wire\" = {{ body = {{ form = \"{dialect}/payload\" }}, request = {{ form = \"{dialect}/request\" }} }} }}\n"
    );
    let lists = [("messages", post::items(&case.input["messages"]))];
    let actual = match engine::run_with(EXACT, &overlay, "wire", Scene::new(scene), &lists) {
        Ok(ran) => json!({ "url": ran.get("wire.request.url"), "body": ran.get("wire.body") }),
        Err(error) => error,
    };
    vec![case.check(actual, answers)]
}

/// The server's configuration; and a prompt that is one text and no list.
fn around(case: &Case, scene: &mut Json) {
    for (key, value) in case.input["options"]["config"].as_object().into_iter().flatten() {
        let path = if key == "promptPlaceholder" { "placeholder.text".to_owned() } else { format!("config.{key}") };
        put(scene, &path, value.clone());
    }
    if case.input["messages"].is_string() {
        put(scene, "provider.prompt", case.input["messages"].clone());
    }
}

/// Where the program threw, any error is as good.
fn answers(expected: &Json, actual: &Json) -> bool {
    if expected["throws"].is_string() { actual["error"].is_object() } else { same(expected, actual) }
}

fn prefixes(mut messages: Json) -> Json {
    for message in messages.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        if let Some(prefill) = message.remove("prefill") {
            message.insert("prefix".to_owned(), prefill);
        }
    }
    messages
}

fn put(scene: &mut Json, path: &str, value: Json) {
    match path.split_once('.') {
        Some((head, rest)) => put(&mut scene[head], rest, value),
        None => scene[path] = value,
    }
}
