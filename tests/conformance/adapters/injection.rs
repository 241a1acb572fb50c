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
        "in_chat" => in_chat(input, &input["generation_type"], &input["entries"]),
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

/// What the application has registered after its calls; a later registration of an id is left to the rules.
fn registered(calls: &Json) -> Json {
    let mut entries: Vec<Json> = Vec::new();
    for call in calls.as_array().into_iter().flatten() {
        match call.get("register") {
            Some(entry) => entries.push(entry.clone()),
            None => entries.retain(|e| e["id"] != call["remove"]),
        }
    }
    Json::Array(entries)
}

fn registry(input: &Json) -> Json {
    let iterate = || {
        let mut scene = Scene::new(json!({}));
        let entries = injections(&registered(&input["calls"]), &mut scene);
        parts::put(&mut scene.data, "injections", entries);
        engine::run(CONTRACT, "registry", scene, &[]).map(|ran| ran.list("injections"))
    };
    let (first, second) = match (iterate(), iterate()) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let entries: Json = first.iter().map(entry).collect();
    let ephemeral: Json = first.iter().filter(|e| e["ephemeral"] == json!(true)).map(|e| e["id"].clone()).collect();
    let helpers: serde_json::Map<String, Json> = first.iter().map(|e| (e["id"].as_str().unwrap_or("").to_owned(), predicates(e))).collect();
    json!({ "entries": entries, "ephemeral_ids": ephemeral, "helpers": helpers, "second_iteration_equal": first == second })
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

fn filter_calls(input: &Json) -> Json {
    let calls = Arc::new(AtomicUsize::new(0));
    let entries = registered(&input["calls"]);
    let mut counted = entries.clone();
    let mut in_each = true;
    let before = calls.load(Ordering::Relaxed);
    for _ in 0..input["builds"].as_u64().unwrap_or(0) {
        let mut scene = Scene::new(json!({ "type": "normal", "dialect": "openai" }));
        for entry in counted.as_array_mut().into_iter().flatten() {
            let (calls, returns) = (calls.clone(), entry["filter"]["returns"].clone());
            let filter = parts::host(
                &mut scene,
                Box::new(move || {
                    calls.fetch_add(1, Ordering::Relaxed);
                    Ok(if returns.is_null() { json!(true) } else { returns.clone() })
                }),
            );
            parts::set(entry, "filter", filter);
        }
        parts::put(&mut scene.data, "injections", counted.clone());
        let seen = calls.load(Ordering::Relaxed);
        if let Err(error) = engine::run(CONTRACT, "conformance_inject", scene, &[("blocks", json!([]))]) {
            return error;
        }
        in_each &= calls.load(Ordering::Relaxed) > seen;
    }
    json!({ "calls_after_register": before, "called_in_each_build": in_each, "registered_after": ids(&entries) })
}

fn ids(entries: &Json) -> Json {
    entries.as_array().into_iter().flatten().map(|e| e["id"].clone()).collect()
}

/// Runs registry and injection over a chat that stands in the prompt already.
fn injected(input: &Json, generation_type: &Json, entries: &Json) -> Result<Ran, Json> {
    let mut scene = Scene::new(json!({ "type": generation_type, "dialect": dialect(input), "history": parts::history(&input["history"]) }));
    scene.strict = input["strict"] == json!(true);
    let entries = injections(entries, &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    engine::run(CONTRACT, "conformance_inject", scene, &[("blocks", parts::history_blocks(&input["history"]))])
}

/// `chat` means any chat dialect.
fn dialect(input: &Json) -> &str {
    if input["dialect"] == json!("text") { "text" } else { "openai" }
}

fn is_relative(block: &Json) -> bool {
    block["position"] == json!("before") || block["position"] == json!("after")
}

fn in_chat(input: &Json, generation_type: &Json, entries: &Json) -> Json {
    match injected(input, generation_type, entries) {
        Ok(ran) => {
            let blocks = ran.list("blocks");
            let chat = parts::messages(blocks.iter().filter(|b| !is_relative(b)));
            json!({ "chat": chat, "warnings": ran.warnings().len(), "still_registered": ids(entries) })
        }
        Err(error) => error,
    }
}

fn builds(input: &Json) -> Json {
    let mut entries = input["entries"].clone();
    let mut done = Vec::new();
    for build in input["builds"].as_array().into_iter().flatten() {
        done.push(in_chat(input, &build["generation_type"], &entries));
        if let (Some(list), Some(gone)) = (entries.as_array_mut(), build["then_remove"].as_array()) {
            list.retain(|e| !gone.contains(&e["id"]));
        }
    }
    let list = entries.as_array().into_iter().flatten();
    let ephemeral: Json = list.filter(|e| e["ephemeral"] == json!(true)).map(|e| e["id"].clone()).collect();
    json!({ "builds": done, "still_registered": ids(&entries), "ephemeral_ids": ephemeral })
}

fn scan(input: &Json) -> Json {
    let mut scene = Scene::new(json!({ "type": input["generation_type"], "dialect": dialect(input) }));
    let entries = injections(&input["entries"], &mut scene);
    parts::put(&mut scene.data, "injections", entries);
    match engine::run(CONTRACT, "conformance_scan", scene, &[]) {
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
    match injected(input, &input["generation_type"], &input["entries"]) {
        Ok(ran) => json!({
            "anchorBefore": ran.get("anchor.before"), "anchorAfter": ran.get("anchor.after"),
            "standalone_blocks": ran.list("blocks").iter().filter(|b| is_relative(b)).count(),
        }),
        Err(error) => error,
    }
}
