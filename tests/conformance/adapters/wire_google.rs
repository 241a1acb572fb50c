//! Kind `dialect`, operations `google`, `body-google` and `budget-google`: contents, request bodies, amounts of thought.

use serde_json::{Value as Json, json};

use super::post::items;
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, EXACT, Ran, Scene};

/// The whole dialect, and the shapes that it gives.
const REQUEST: &str = "kind = \"overlay\"\nversion = 1\n[[program]]\nname = \"conformance_google\"\nover = \"messages\"\n\
    [[pass]]\nname = \"conformance_google/google\"\ndo = \"run\"\nprogram = \"google\"\n\
    [[pass]]\nname = \"conformance_google/shapes\"\ndo = \"set\"\n\
    set = { \"$google.sent\" = { of = [\"\"], take = 1, get = { form = \"google/payload\" } }, \
    \"$google.request\" = { of = [\"\"], take = 1, get = { form = \"google/request\" } } }\n";

/// What is recorded under `input.op`.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let list = [("messages", items(&input["messages"]))];
    let (options, request) = (&input["options"], &input["options"]["request"]);
    let ran = match case.op() {
        "google" => engine::run(EXACT, "google_contents", scene(input, options, &options["names"]), &list).map(|ran| contents(&ran)),
        "body-google" => engine::run_with(EXACT, REQUEST, "conformance_google", scene(input, request, request), &list)
            .map(|ran| json!({ "url": ran.get("google.request")["url"], "body": ran.get("google.sent") })),
        _ => engine::run(EXACT, "google_budget", scene(input, options, options), &list)
            .map(|ran| json!({ "budget": ran.get("google.budget") })),
    };
    vec![case.check(ran.unwrap_or_else(|error| error), same)]
}

fn contents(ran: &Ran) -> Json {
    let message = |m: &Json| json!({ "role": m["role"], "parts": m["parts"] });
    json!({
        "contents": ran.list("messages").iter().map(message).collect::<Json>(),
        "system_instruction": { "parts": ran.list("system").iter().map(|m| json!({ "text": m["text"] })).collect::<Json>() },
    })
}

/// The options of a converter or of a request, under the names of the rules.
fn scene(input: &Json, options: &Json, names: &Json) -> Scene {
    let config = &input["options"]["config"];
    let named = |a: &str, b: &str| names.get(a).or_else(|| names.get(b)).cloned();
    let option = |a: &str, b: &str| options.get(a).or_else(|| options.get(b)).cloned();
    let mut provider = json!({ "key": "KEY" });
    let renamed = [
        ("model", option("model", "")),
        ("system_prompt", option("useSysPrompt", "use_sysprompt")),
        ("max_tokens", option("maxTokens", "max_tokens")),
        ("reasoning_effort", option("reasoningEffort", "reasoning_effort")),
        ("image_aspect_ratio", option("request_image_aspect_ratio", "")),
        ("image_resolution", option("request_image_resolution", "")),
        ("web_search", option("enable_web_search", "")),
        ("thought_signatures", config.get("gemini.thoughtSignatures").cloned()),
    ];
    let same = ["temperature", "top_p", "top_k", "stream", "include_reasoning", "tools", "tool_choice", "json_schema", "stop", "request_images"];
    for (name, value) in renamed.into_iter().chain(same.map(|name| (name, option(name, "")))) {
        if let Some(value) = value {
            provider[name] = value;
        }
    }
    let mut data = json!({
        "names": { "char": named("charName", "char_name"), "user": named("userName", "user_name"), "group": named("groupNames", "group_names") },
        "provider": provider,
        "post": { "mode": options.get("custom_prompt_post_processing").cloned().unwrap_or_else(|| json!("")) },
    });
    if let Some(text) = config.get("promptPlaceholder") {
        data["placeholder"] = json!({ "text": text });
    }
    Scene::new(data)
}
