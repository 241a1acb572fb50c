//! Kind `dialect`, the operations of Claude, and the contract's Anthropic dialect.

use serde_json::{Value as Json, json};

use super::{dialect, parts, wire};
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, CONTRACT, EXACT, Scene};

/// What the recorder calls one way and the rules another.
const PATHS: &[(&str, &str)] = &[
    ("/provider/useSysPrompt", "provider.system_prompt"),
    ("/provider/use_sysprompt", "provider.system_prompt"),
    ("/provider/enable_web_search", "provider.web_search"),
    ("/provider/stop", "plan.stops"),
    ("/provider/maxTokens", "context.reserve"),
    ("/provider/reasoningEffort", "provider.reasoning_effort"),
    ("/provider/isAdaptiveModel", "capability.adaptive"),
    ("/preset/prefill", "plan.assistant_prefill"),
    ("/config/promptPlaceholder", "placeholder.text"),
];

/// The options of a case as a scene.
fn scene(case: &Case) -> Json {
    let mut scene = json!({ "dialect": "claude", "provider": { "source": "claude" } });
    parts::lay(&mut scene, wire::scene(case));
    for (from, to) in PATHS {
        if let Some(value) = scene.pointer(from).cloned() {
            parts::put(&mut scene, to, value);
        }
    }
    if scene["provider"]["tools"].is_null() {
        let offered = scene["provider"]["useTools"] == json!(true);
        parts::put(&mut scene, "provider.tools", tools(offered));
    }
    scene
}

/// Tools of a request: what was recorded without them says only whether there are any.
pub(crate) fn tools(offered: bool) -> Json {
    if offered { json!([{ "type": "function", "function": { "name": "any", "parameters": { "type": "object" } } }]) } else { json!([]) }
}

/// The converter alone: the request round it asks for no thinking.
pub(crate) fn converted(case: &Case) -> Vec<Check> {
    let mut scene = scene(case);
    parts::put(&mut scene, "provider.reasoning_effort", json!("auto"));
    let actual = match engine::emit_request(EXACT, scene, wire::items(&case.input["messages"]), "claude") {
        Ok(sent) => {
            let (messages, system) = apart(&sent["payload"]);
            json!({ "messages": messages, "systemPrompt": system })
        }
        Err(error) => error,
    };
    vec![case.check(actual, wire::fits)]
}

/// The messages of a payload, and its system prompt, which the recorder has even where none is sent.
pub(crate) fn apart(payload: &Json) -> (Json, Json) {
    let system = Some(&payload["system"]).filter(|s| !s.is_null()).cloned().unwrap_or_else(|| json!([]));
    (payload["messages"].clone(), system)
}

/// A whole request.
pub(crate) fn request(case: &Case) -> Vec<Check> {
    let actual = match engine::emit_request(EXACT, scene(case), wire::items(&case.input["messages"]), "claude") {
        Ok(sent) => {
            let request = &sent["request"];
            json!({ "url": request["url"], "anthropic-beta": request["headers"]["anthropic-beta"], "body": sent["payload"] })
        }
        Err(error) => error,
    };
    vec![case.check(actual, wire::fits)]
}

/// How much a model thinks: a number of tokens, or a word.
pub(crate) fn budget(case: &Case) -> Vec<Check> {
    let actual = match engine::run(EXACT, "claude_budget", Scene::new(scene(case)), &[]) {
        Ok(ran) => {
            let (effort, tokens) = (ran.get("thinking.effort"), ran.get("thinking.budget"));
            json!({ "budget": if effort.is_null() { tokens } else { effort } })
        }
        Err(error) => error,
    };
    vec![case.check(actual, wire::fits)]
}

/// Converted messages with cache marks.
pub(crate) fn cached(case: &Case) -> Vec<Check> {
    let messages = case.input["messages"].as_array().into_iter().flatten();
    let messages = messages.map(|m| json!({ "role": m["role"], "parts": m["content"] })).collect();
    let actual = match engine::run(EXACT, "anthropic_cache", Scene::new(scene(case)), &[("messages", messages)]) {
        Ok(ran) => {
            let back = |m: &Json| json!({ "role": m["role"], "content": m["parts"] });
            json!({ "messages": ran.list("messages").iter().map(back).collect::<Json>() })
        }
        Err(error) => error,
    };
    vec![case.check(actual, wire::fits)]
}

/// A mark on what the assistant has begun to say.
pub(crate) fn flagged(case: &Case) -> Vec<Check> {
    let property = case.input["options"]["property"].as_str().unwrap_or("prefix");
    let actual = match engine::run(
        EXACT,
        "assistant_prefix",
        Scene::new(wire::scene(case)),
        &[("messages", wire::items(&case.input["messages"]))],
    ) {
        Ok(ran) => {
            json!({ "messages": wire::messages(&ran.list("messages")).as_array().into_iter().flatten().map(|m| named(m, property)).collect::<Json>() })
        }
        Err(error) => error,
    };
    vec![case.check(actual, wire::fits)]
}

fn named(message: &Json, property: &str) -> Json {
    let fields = message.as_object().into_iter().flatten();
    fields
        .map(|(key, value)| (if key == "prefill" { property.to_owned() } else { key.clone() }, value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The contract's dialect.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let actual = match engine::emit_messages(CONTRACT, "", dialect::messages(&case.input["messages"]), "anthropic") {
        Ok(payload) => json!({ "system": payload["system"], "messages": payload["messages"] }),
        Err(error) => error,
    };
    vec![case.check(actual, |expected, actual| {
        let (mut want, mut have) = (expected.clone(), actual.clone());
        for side in [&mut want, &mut have] {
            dialect::blocks(side);
            turns(side);
        }
        same(&want, &have)
    })]
}

/// Neighbours of one role may be one message, and a result without content is an empty one.
fn turns(payload: &mut Json) {
    let mut turns: Vec<Json> = Vec::new();
    for message in payload["messages"].as_array().into_iter().flatten() {
        let mut content = message["content"].as_array().cloned().unwrap_or_default();
        for block in &mut content {
            if block["type"] == json!("tool_result") {
                let inner = Some(dialect::listed(&block["content"])).filter(|_| block["content"] != json!("")).unwrap_or_else(|| json!([]));
                parts::set(block, "content", inner);
            }
        }
        match turns.last_mut().filter(|last| last["role"] == message["role"]) {
            Some(last) => {
                let mut both = last["content"].as_array().cloned().unwrap_or_default();
                both.extend(content);
                parts::set(last, "content", Json::Array(both));
            }
            None => turns.push(json!({ "role": message["role"], "content": content })),
        }
    }
    parts::set(payload, "messages", Json::Array(turns));
}
