//! `sillytavern-text-completion` and the raw activation cases: whole prompts of text mode.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, imports, lore, parts, words};
use crate::case::{Case, Check};
use crate::compare::{fits, same};
use crate::engine::{self, EXACT, Scene};

const ROLES: &[&str] = &["system", "user", "assistant"];
/// How many draws follow the script of a case.
const SPARE: usize = 64;
/// What was recorded beside the prompt.
const UNTOLD: &[&str] = &["error_detail"];

/// One prompt; in a group one for each member who speaks.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let actual = generation(&case.input).unwrap_or_else(|error| error);
    let mut expected = crate::compare::without(&case.expected, UNTOLD);
    let calls = expected.as_object_mut().and_then(|expected| expected.remove("random_calls"));
    told(&mut expected, &actual);
    let passed = match expected.get("error") {
        // the program's own words for what the rules call by a code
        Some(_) => actual["error"]["kind"] == json!("template"),
        None => recorded_alike(&expected, &actual),
    };
    // also by what that program expands once more when the prompt is finished
    let draws = calls.filter(|_| case.input["random"].is_array()).map(|calls| {
        let (expected, actual) = (json!({ "random_calls": calls }), json!({ "random_calls": actual["random_calls"] }));
        Check { level: "draws".to_owned(), passed: same(&expected, &actual), expected, actual }
    });
    vec![Check { level: String::new(), passed, expected, actual }].into_iter().chain(draws).collect()
}

/// Only what was recorded is compared, and that wholly.
fn recorded_alike(expected: &Json, actual: &Json) -> bool {
    expected.as_object().into_iter().flatten().all(|(key, want)| match (key.as_str(), want, &actual[key]) {
        ("turns", Json::Array(want), Json::Array(have)) => {
            want.len() == have.len() && want.iter().zip(have).all(|(want, have)| recorded_alike(want, have))
        }
        // recorded scans may name only what became active
        ("world_info", want, have) => fits(want, have),
        (_, want, have) => same(want, have),
    })
}

/// Lists of lore texts are recorded apart and told as one text; what was not recorded is not compared.
fn told(expected: &mut Json, actual: &Json) {
    if let Some(world_info) = expected.get_mut("world_info") {
        *world_info = lore::told(world_info);
    }
    let turns = expected.get_mut("turns").and_then(Json::as_array_mut);
    let both = turns.into_iter().flatten().zip(actual["turns"].as_array().into_iter().flatten());
    both.for_each(|(turn, actual)| told(turn, actual));
}

/// Which instruct preset a model selects.
pub(crate) fn raw(case: &Case) -> Vec<Check> {
    let input = &case.input;
    if !input["model_id"].is_string() {
        return vec![Check::broken("", case, "no adapter for this kind yet")];
    }
    let data = json!({
        "formats": shipped(), "provider": { "model": input["model_id"] }, "story": { "name": input["current_context"] },
        "instruct": { "enabled": input["instruct_enabled"], "bind": input["bind_to_context"] },
    });
    let actual = match engine::run(EXACT, "activate", Scene::new(data), &[]) {
        Ok(ran) => {
            let chosen = ran.get("instruct.chosen");
            let named = if chosen.is_string() { &chosen } else { &input["current_instruct"] };
            json!({ "found": chosen.is_string(), "instruct_preset": named, "context_preset": input["current_context"] })
        }
        Err(error) => error,
    };
    vec![case.check(actual, same)]
}

/// The presets of a fresh install: their names and patterns.
fn shipped() -> Json {
    let root = std::env::var("TAPSTER_CONFORMANCE").unwrap_or_else(|_| concat!(env!("CHECKOUT"), "/../shared/conformance").to_owned());
    let folder = std::path::Path::new(&root).join("../real/sillytavern/instruct");
    let mut files: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|f| f.path()).collect();
    files.sort();
    let presets = files.iter().filter_map(|f| serde_json::from_slice::<Json>(&std::fs::read(f).ok()?).ok());
    presets.map(|p| json!({ "name": p["name"], "activation": p["activation_regex"] })).collect()
}

fn generation(input: &Json) -> Result<Json, Json> {
    if !input["group"].is_object() {
        let speaker = chat::speaker(input);
        return turn(input, &speaker, &script(input));
    }
    let mut now = input.clone();
    let mut turns: Vec<Json> = Vec::new();
    let mut draws = script(input);
    let (speakers, taken) = speakers(input)?;
    draws.drain(..taken.min(draws.len()));
    let mut calls = taken;
    for speaker in speakers {
        let name = speaker["data"]["name"].clone();
        parts::set(&mut now, "speaker", name.clone());
        let mut made = turn(&now, &speaker, &draws)?;
        let taken = made.as_object_mut().and_then(|made| made.remove("random_calls")).and_then(|n| usize::try_from(n.as_u64()?).ok());
        let taken = taken.unwrap_or(0);
        draws.drain(..taken.min(draws.len()));
        calls += taken;
        turns.push(made);
        let reply = input.get("reply").cloned().unwrap_or_else(|| json!("Fixed reply."));
        let typed = now["user_input"].take();
        if let Some(chat) = now["chat"].as_array_mut() {
            if typed.is_string() {
                chat.push(json!({ "is_user": true, "mes": typed }));
            }
            chat.push(json!({ "name": name, "mes": reply }));
        }
    }
    let mut out = turns.first().cloned().unwrap_or_default();
    parts::set(&mut out, "turns", Json::Array(turns));
    parts::set(&mut out, "random_calls", json!(calls));
    Ok(out)
}

/// The draws of a case.
fn script(input: &Json) -> Vec<f64> {
    input["random"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect()
}

/// Who writes, as the group's schedule says, and how many draws it took.
fn speakers(input: &Json) -> Result<(Vec<Json>, usize), Json> {
    let cards = chat::cards(input);
    let (ids, taken) = super::st_group::chosen(input, script(input))?;
    let found = ids.iter().filter_map(|id| cards.iter().find(|c| chat::file_of(c) == *id).cloned()).collect();
    Ok((found, taken))
}

fn turn(input: &Json, speaker: &Json, draws: &[f64]) -> Result<Json, Json> {
    let mut scene = Scene::new(scene(input)?);
    scene.draws = Some(draws.iter().copied().chain([0.0; SPARE]).collect());
    let built = engine::build(EXACT, scene)?;
    let payload = built.emit("text")?;
    let blocks = built.blocks();
    let of = |slot: &str| blocks.iter().filter(|b| b["slot"] == json!(slot)).map(|b| b["text"].as_str().unwrap_or("")).collect::<String>();
    let mut out = json!({
        "random_calls": (draws.len() + SPARE).saturating_sub(built.draws_left()), "prompt": payload["prompt"], "stopping_strings": payload.get("stop").cloned().unwrap_or_else(|| json!([])), "speaker": speaker["data"]["name"],
        "story_string": text(&built.set("text.story")), "examples": of("chat_examples"), "chat_messages": messages(&blocks),
        "anchors": { "before": text(&built.set("anchor.before")), "after": text(&built.set("anchor.after")) },
        "extension_prompts": registered(&built.set("text.injections")),
    });
    let active = built.set("lore.active");
    if active.as_array().is_some_and(|a| !a.is_empty()) {
        parts::set(&mut out, "world_info", world_info(&built));
    }
    Ok(out)
}

fn text(value: &Json) -> Json {
    if value.is_string() { value.clone() } else { json!("") }
}

/// The lines of the chat; the open turn was recorded with the last of them.
fn messages(blocks: &[Json]) -> Json {
    let lines = blocks.iter().filter(|b| b["slot"] == json!("chat_history") || b["slot"] == json!("alignment"));
    let injected = |b: &Json| b["injected"] == json!(true) || b["slot"] == json!("alignment");
    let mut lines: Vec<Json> = lines.map(|b| json!({ "message": text(&b["text"]), "injected": injected(b) })).collect();
    if let (Some(last), Some(reply)) = (lines.last_mut(), blocks.iter().find(|b| b["slot"] == json!("reply"))) {
        let joined = format!("{}{}", last["message"].as_str().unwrap_or(""), reply["text"].as_str().unwrap_or(""));
        parts::set(last, "message", json!(joined));
    }
    Json::Array(lines)
}

/// What is injected, by key, its words as numbers.
fn registered(list: &Json) -> Json {
    let mut out = json!({});
    for row in list.as_array().into_iter().flatten() {
        let number = |word: &Json| ROLES.iter().position(|r| *word == json!(r)).unwrap_or(0);
        let mut key = row["id"].as_str().unwrap_or("").to_owned();
        if key.starts_with("customDepthWI_") {
            key = ROLES.iter().enumerate().fold(key, |key, (n, role)| key.replace(role, &n.to_string()));
        }
        let position =
            [("none", -1), ("after", 0), ("chat", 1), ("before", 2)].iter().find(|(w, _)| row["position"] == json!(w)).map(|(_, n)| *n);
        let value = json!({
            "value": row["text"], "position": position, "depth": row["depth"], "scan": row["scan"] == json!(true), "role": number(&row["role"]),
        });
        parts::set(&mut out, &key, value);
    }
    out
}

pub(crate) fn world_info(built: &engine::Built) -> Json {
    let number = |n: &Json| n.as_str().and_then(|t| t.parse::<i64>().ok()).map_or_else(|| n.clone(), |n| json!(n));
    let named = |e: &Json| json!({ "world": e["book"], "uid": number(&e["id"]), "content": e["text"] });
    let activated: Json = built.set("lore.active").as_array().into_iter().flatten().map(named).collect();
    let examples = built.set("lore.examples");
    let example = |e: &Json| json!({ "position": i32::from(e["position"] == json!("em_bottom")), "content": e["text"] });
    let in_chat = built.set("lore.in_chat");
    let role = |b: &Json| ROLES.iter().position(|r| b["role"] == json!(r));
    let depth: Json =
        in_chat.as_array().into_iter().flatten().map(|b| json!({ "depth": b["depth"], "role": role(b), "entries": b["text"] })).collect();
    let mut out = json!({
        "before": text(&built.set("lore.before")), "after": text(&built.set("lore.after")), "activated": activated, "depth": depth,
        "examples": examples.as_array().into_iter().flatten().map(example).collect::<Json>(),
        "an_top": text(&built.set("lore.note_top")), "an_bottom": text(&built.set("lore.note_bottom")), "outlets": Some(built.outlets()).filter(Json::is_object).unwrap_or_else(|| json!({})),
    });
    crate::compare::unordered(&mut out, "depth");
    out
}

/// The system prompt of a fresh install, for cases that name none.
fn fresh_sysprompt() -> Json {
    let content = "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}.";
    json!({ "name": "Neutral - Chat", "content": content, "post_history": "" })
}

fn scene(input: &Json) -> Result<Json, Json> {
    let mut data = json!({
        "dialect": "text", "instruct": { "enabled": false }, "story": { "system_enabled": false },
        "stored": { "instruct": { "enabled": false }, "sysprompt": { "enabled": false } },
    });
    parts::lay(&mut data, imports::card(EXACT, &chat::speaker(input))?);
    parts::lay(&mut data, imports::chat(EXACT, &chat::chat(input))?);
    parts::put(&mut data, "books", imports::books(EXACT, &chat::world_info(input))?);
    parts::put(&mut data, "names", chat::names(input));
    chat::settings(input, &mut data);
    for (key, format) in
        [("context", "st_context"), ("instruct", "st_instruct"), ("sysprompt", "st_sysprompt"), ("reasoning", "st_reasoning")]
    {
        if input[key].is_object() {
            parts::lay(&mut data, engine::import(EXACT, format, &input[key])?);
        }
    }
    if input.get("sysprompt").is_none() {
        parts::lay(&mut data, engine::import(EXACT, "st_sysprompt", &fresh_sysprompt())?);
    }
    parts::copy(
        &input["reasoning"],
        &mut data,
        &[("add_to_prompts", "reasoning.add_to_prompts"), ("max_additions", "reasoning.max_additions")],
    );
    parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
    parts::put(&mut data, "chat.id", input.get("chat_id").cloned().unwrap_or_else(|| json!("oracle-chat")));
    parts::put(&mut data, "now", input.get("now").cloned().unwrap_or_else(|| json!("2024-03-05T14:07:09Z")));
    for (key, path, default) in [("max_context", "context.window", 8192), ("max_response", "context.reserve", 350)] {
        parts::put(&mut data, path, input.get(key).cloned().unwrap_or_else(|| json!(default)));
    }
    let names = [
        ("token_padding", "preset.token_padding"),
        ("custom_stopping_strings", "story.custom_stops"),
        ("custom_stopping_strings_macro", "story.custom_stops_macro"),
    ];
    parts::copy(&input["power_user"], &mut data, &names);
    parts::put(&mut data, "chat.metadata", input.get("chat_metadata").cloned().unwrap_or_else(|| json!({})));
    chat::variables(input, &mut data);
    parts::put(&mut data, "state.timed", lore::state(input));
    parts::put(&mut data, "lore.handed", lore::handed(&input["forced_activations"])?);
    if input["engine"] == json!("legacy") || input["power_user"]["experimental_macro_engine"] == json!(false) {
        parts::put(&mut data, "macro_flavour", json!("passes"));
    }
    words::persona(&input["persona"], &mut data);
    words::note(&input["authors_note"], &mut data);
    chat::group(input, &mut data)?;
    parts::put(&mut data, "injections", words::extension_prompts(&input["extension_prompts"]));
    parts::lay(&mut data, imports::scripts(EXACT, &input["regex_scripts"])?);
    parts::copy(input, &mut data, &chat::SCRIPTS);
    Ok(data)
}
