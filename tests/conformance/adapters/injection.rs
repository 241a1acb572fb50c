//! `contract-injection`: the registry of injections, and where they end up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use super::parts::{self, injections};
use crate::case::{Case, Check};
use crate::compare::{fits, unordered, without};
use crate::engine::{self, CONTRACT, Ran, Scene};

/// One case, by its operation.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let actual = match case.op() {
        "registry" => registry(input),
        "filter_calls" => filter_calls(input),
        "in_chat" => in_chat(input, &input["generation_type"], &registered(&input["entries"])),
        "in_chat_builds" => builds(input),
        "scan" => scan(input),
        "place" => place(input),
        "anchors" => anchors(input),
        other => return vec![Check::broken("", case, &format!("no adapter for op `{other}` yet"))],
    };
    vec![case.check(actual, alike)]
}

fn alike(expected: &Json, actual: &Json) -> bool {
    let mut expected = without(expected, &["chat_region_only"]);
    let mut actual = actual.clone();
    for side in [&mut expected, &mut actual] {
        unordered(side, "ephemeral_ids");
        unordered(side, "still_registered");
    }
    fits(&expected, &actual)
}

/// The calls of the application as the scene hands them over: what is registered in the end is the rules'.
fn handed(calls: &Json, scene: &mut Scene) -> Json {
    let call = |call: &Json| match call.get("register") {
        Some(entry) => entry.clone(),
        None => json!({ "id": call["remove"], "remove": true }),
    };
    injections(&calls.as_array().into_iter().flatten().map(call).collect(), scene)
}

/// The registry after calls.
fn iterate(calls: &Json) -> Result<Ran, Json> {
    let mut scene = Scene::new(json!({}));
    let entries = handed(calls, &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    engine::run(CONTRACT, "registry", scene, &[])
}

fn registry(input: &Json) -> Json {
    let (ran, again) = match (iterate(&input["calls"]), iterate(&input["calls"])) {
        (Ok(ran), Ok(again)) => (ran, again),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let first = ran.list("injections");
    let entries: Json = first.iter().map(entry).collect();
    let helpers: serde_json::Map<String, Json> = first.iter().map(|e| (e["id"].as_str().unwrap_or("").to_owned(), predicates(e))).collect();
    json!({
        "entries": entries, "ephemeral_ids": ran.get("plan.ephemeral_ids"), "helpers": helpers,
        "second_iteration_equal": first == again.list("injections"),
    })
}

fn entry(item: &Json) -> Json {
    json!({
        "id": item["id"], "content": item["text"], "position": item["position"], "role": item["role"], "depth": item["depth"],
        "scan": item["scan"], "ephemeral": item["ephemeral"], "has_filter": item["filter"].is_object(),
    })
}

fn predicates(item: &Json) -> Json {
    json!({ "in_chat": item["position"] == json!("chat"), "scan": item["scan"], "ephemeral": item["ephemeral"] })
}

/// Registers filters that count how often they are asked, then builds.
fn filter_calls(input: &Json) -> Json {
    let calls = Arc::new(AtomicUsize::new(0));
    if let Err(error) = engine::run(CONTRACT, "registry", counting(input, &calls), &[]) {
        return error;
    }
    let after_register = calls.load(Ordering::Relaxed);
    let (mut in_each, mut registered) = (true, Json::Null);
    for _ in 0..input["builds"].as_u64().unwrap_or(0) {
        let before = calls.load(Ordering::Relaxed);
        match engine::build(CONTRACT, counting(input, &calls)) {
            Ok(built) => registered = built.get("plan.registered"),
            Err(error) => return error,
        }
        in_each &= calls.load(Ordering::Relaxed) > before;
    }
    json!({ "calls_after_register": after_register, "called_in_each_build": in_each, "registered_after": registered })
}

fn counting(input: &Json, calls: &Arc<AtomicUsize>) -> Scene {
    let mut scene = Scene::new(json!({ "type": "normal", "dialect": "openai" }));
    let mut entries = handed(&input["calls"], &mut scene);
    for entry in entries.as_array_mut().into_iter().flatten() {
        parts::set(entry, "filter", Json::Null);
    }
    for (entry, call) in entries.as_array_mut().into_iter().flatten().zip(input["calls"].as_array().into_iter().flatten()) {
        let filter = &call["register"]["filter"];
        if filter["counts_calls"] == json!(true) {
            let (calls, returns) = (calls.clone(), filter.get("returns").cloned().unwrap_or(json!(true)));
            let asked = move || {
                calls.fetch_add(1, Ordering::Relaxed);
                Ok(returns.clone())
            };
            parts::set(entry, "filter", parts::host(&mut scene, Box::new(asked)));
        }
    }
    parts::put(&mut scene.data, "injections", entries);
    scene
}

/// A build of a chat and nothing else, with what the application has registered by its calls; it is looked at before
/// the prompt's end is put together and formatted.
fn injected(input: &Json, generation_type: &Json, calls: &Json) -> Result<Ran, Json> {
    let mut scene = Scene::new(json!({
        "type": generation_type, "dialect": dialect(input), "history": parts::history(&input["history"]),
        "preset": { "entries": [{ "name": "chat_history" }] },
    }));
    scene.strict = input["strict"] == json!(true);
    let entries = handed(calls, &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    engine::run_before(CONTRACT, "plan_assembly", scene)
}

/// `chat` means any chat dialect.
fn dialect(input: &Json) -> &str {
    if input["dialect"] == json!("text") { "text" } else { "openai" }
}

fn is_relative(block: &Json) -> bool {
    block["position"] == json!("before") || block["position"] == json!("after")
}

fn in_chat(input: &Json, generation_type: &Json, calls: &Json) -> Json {
    match injected(input, generation_type, calls) {
        Ok(ran) => {
            let blocks = ran.list("blocks");
            let chat = parts::messages(blocks.iter().filter(|b| is_chat(b)));
            json!({ "chat": chat, "warnings": ran.warnings().len(), "still_registered": ran.get("plan.registered") })
        }
        Err(error) => error,
    }
}

/// Not the story string, not beside the main prompt, and not what only holds a slot's place.
fn is_chat(block: &Json) -> bool {
    !is_relative(block) && block["slot"] != json!("story_string") && block["anchor"] != json!(true) && block["enabled"] != json!(false)
}

fn builds(input: &Json) -> Json {
    let mut calls = registered(&input["entries"]).as_array().cloned().unwrap_or_default();
    let mut done = Vec::new();
    for build in input["builds"].as_array().into_iter().flatten() {
        done.push(in_chat(input, &build["generation_type"], &json!(calls)));
        calls.extend(build["then_remove"].as_array().into_iter().flatten().map(|id| json!({ "remove": id })));
    }
    match iterate(&json!(calls)) {
        Ok(ran) => json!({
            "builds": done, "still_registered": ran.get("plan.registered"), "ephemeral_ids": ran.get("plan.ephemeral_ids"),
        }),
        Err(error) => error,
    }
}

fn scan(input: &Json) -> Json {
    let mut scene = Scene::new(json!({ "type": input["generation_type"], "dialect": dialect(input) }));
    let entries = injections(&input["entries"], &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    match engine::run(CONTRACT, "build", scene, &[]) {
        Ok(ran) => json!({ "scan_texts": ran.column("scan_texts", "text") }),
        Err(error) => error,
    }
}

fn place(input: &Json) -> Json {
    let slots = input["slots"].as_array().into_iter().flatten();
    let slots: Json = slots.map(|s| json!({ "name": s["slot"], "role": s["role"], "text": s["content"] })).collect();
    let mut scene = Scene::new(json!({
        "type": input["generation_type"], "dialect": dialect(input), "history": parts::history(&input["history"]),
        "preset": { "entries": slots, "main": slot_text(input, "main_prompt") },
    }));
    let entries = injections(&input["entries"], &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    match engine::build(CONTRACT, scene) {
        Ok(built) => json!({ "messages": built.messages() }),
        Err(error) => error,
    }
}

/// The text that a case gives to a slot that presets fill.
fn slot_text(input: &Json, slot: &str) -> Json {
    let mut slots = input["slots"].as_array().into_iter().flatten();
    slots.find(|s| s["slot"] == json!(slot)).map_or(Json::Null, |s| s["content"].clone())
}

fn anchors(input: &Json) -> Json {
    match injected(input, &input["generation_type"], &registered(&input["entries"])) {
        Ok(ran) => json!({
            "anchorBefore": ran.get("anchor.before"), "anchorAfter": ran.get("anchor.after"),
            "standalone_blocks": ran.list("blocks").iter().filter(|b| is_relative(b)).count(),
        }),
        Err(error) => error,
    }
}

/// The calls that register entries.
fn registered(entries: &Json) -> Json {
    entries.as_array().into_iter().flatten().map(|e| json!({ "register": e })).collect()
}
