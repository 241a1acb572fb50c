//! Kind `dialect`, operations `google`, `body-google` and `budget-google`: contents, request bodies, amounts of thought.

use serde_json::{Value as Json, json};

use super::wire::{fits, items};
use crate::case::{Case, Check};
use crate::engine::{self, EXACT, Ran, Scene};

/// What is recorded under `input.op`.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let (input, options) = (&case.input, &case.input["options"]);
    let messages = items(&input["messages"]);
    let run = |program: &str, names: &Json| {
        engine::run(EXACT, program, Scene::new(scene(input, options, names)), &[("messages", messages.clone())])
    };
    let ran = match case.op() {
        "google" => run("google_contents", &options["names"]).map(|ran| contents(&ran)),
        "body-google" => engine::emit_request(EXACT, scene(input, &options["request"], &options["request"]), messages, "google")
            .map(|sent| json!({ "url": sent["request"]["url"], "body": sent["payload"] })),
        _ => run("google_budget", options).map(|ran| json!({ "budget": ran.get("effort.sent") })),
    };
    vec![case.check(ran.unwrap_or_else(|error| error), fits)]
}

fn contents(ran: &Ran) -> Json {
    let message = |m: &Json| json!({ "role": m["role"], "parts": m["parts"] });
    json!({
        "contents": ran.list("messages").iter().map(message).collect::<Json>(),
        "system_instruction": { "parts": ran.list("system").iter().map(|m| json!({ "text": m["text"] })).collect::<Json>() },
    })
}

/// The options of a converter or of a request, under the names of the rules.
fn scene(input: &Json, options: &Json, names: &Json) -> Json {
    let config = &input["options"]["config"];
    let named = |a: &str, b: &str| names.get(a).or_else(|| names.get(b)).cloned();
    let option = |a: &str, b: &str| options.get(a).or_else(|| options.get(b)).cloned();
    let mut provider = json!({ "key": "KEY" });
    let mut context = json!({});
    let renamed = [
        ("model", option("model", "")),
        ("system_prompt", option("useSysPrompt", "use_sysprompt")),
        ("reasoning_effort", option("reasoningEffort", "reasoning_effort")),
        ("image_aspect_ratio", option("request_image_aspect_ratio", "")),
        ("image_resolution", option("request_image_resolution", "")),
        ("web_search", option("enable_web_search", "")),
        ("thought_signatures", config.get("gemini.thoughtSignatures").cloned()),
    ];
    let same =
        ["temperature", "top_p", "top_k", "stream", "include_reasoning", "tools", "tool_choice", "json_schema", "stop", "request_images"];
    for (name, value) in renamed.into_iter().chain(same.map(|name| (name, option(name, "")))) {
        if let Some(value) = value {
            provider[name] = value;
        }
    }
    if let Some(most) = option("maxTokens", "max_tokens") {
        context["reserve"] = most;
    }
    let mut data = json!({
        "dialect": "google",
        "context": context,
        "names": { "char": named("charName", "char_name"), "user": named("userName", "user_name"), "group": named("groupNames", "group_names") },
        "provider": provider,
        "post": { "mode": options.get("custom_prompt_post_processing").cloned().unwrap_or_else(|| json!("")) },
    });
    if let Some(text) = config.get("promptPlaceholder") {
        data["placeholder"] = json!({ "text": text });
    }
    data
}
