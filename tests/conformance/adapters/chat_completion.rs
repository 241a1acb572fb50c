//! `sillytavern-chat-completion`: whole builds of the recorded client, message for message.

use serde_json::{Value as Json, json};

use super::words::{extension_prompts, note, persona};
use super::{imports, parts, post};
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, Built, EXACT, Scene};

/// Slot as recorded = our name.
const SLOTS: &[(&str, &str)] = &[
    ("main", "main_prompt"),
    ("nsfw", "auxiliary_prompt"),
    ("jailbreak", "post_history_instructions"),
    ("worldInfoBefore", "world_info_before"),
    ("worldInfoAfter", "world_info_after"),
    ("charDescription", "character_description"),
    ("charPersonality", "character_personality"),
    ("personaDescription", "persona_description"),
    ("dialogueExamples", "chat_examples"),
    ("chatHistory", "chat_history"),
    ("enhanceDefinitions", "enhance_definitions"),
    ("newMainChat", "new_chat"),
];

/// Messages, and as a stricter level the slots and tokens. They are recorded before the server makes them acceptable
/// (`custom_prompt_post_processing`), which is the next step (`sent_messages`).
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let built = scene(&case.input).and_then(|data| engine::build(EXACT, Scene::new(data)));
    let built = match built {
        Ok(built) => built,
        Err(error) => return vec![Check::broken("", case, &error.to_string()), Check::broken("tokens", case, &error.to_string())],
    };
    vec![messages(case, &built), tokens(case, &built)]
}

fn messages(case: &Case, built: &Built) -> Check {
    let mut expected = json!({ "messages": case.expected["messages"] });
    let mut actual = json!({ "messages": built.sent("openai") });
    if let Some(sent) = case.expected.get("sent_messages") {
        parts::set(&mut expected, "sent_messages", sent.clone());
        parts::set(&mut actual, "sent_messages", sent_messages(case, built));
    }
    if let Some(converted) = case.expected.get("anthropic") {
        parts::set(&mut expected, "anthropic", converted.clone());
        let payload = built.emit("anthropic").unwrap_or_else(|error| error);
        parts::set(&mut actual, "anthropic", json!({ "messages": payload["messages"], "systemPrompt": payload["system"] }));
    }
    Check { level: String::new(), passed: same(&expected, &actual), expected, actual }
}

fn sent_messages(case: &Case, built: &Built) -> Json {
    let data = json!({ "post": { "mode": case.input["custom_prompt_post_processing"] }, "names": names(&case.input) });
    match engine::run(EXACT, "post", Scene::new(data), &[("messages", post::items(&built.sent("openai")))]) {
        Ok(ran) => post::messages(&ran.list("messages")),
        Err(error) => error,
    }
}

/// Slots and tokens of the messages that are not empty. Some recordings leave the tokens out.
fn tokens(case: &Case, built: &Built) -> Check {
    let prompts = case.expected["prompts"].as_array().into_iter().flatten().filter(|p| p["content"] != json!(""));
    let counted = prompts.clone().any(|p| p["tokens"].is_number());
    let want: Json =
        prompts.map(|p| json!({ "group": p["group"], "role": p["role"], "content": p["content"], "tokens": p["tokens"] })).collect();
    let prefill = case.input["preset"]["continue_prefill"] == json!(true);
    let blocks = built.blocks();
    // the recorder has no group once system messages are squashed
    let squashed = case.input["preset"]["squash_system_messages"] == json!(true);
    let calls = |b: &Json| b["meta"]["tool_calls"].is_array();
    let live = blocks.iter().filter(|b| b["enabled"] != json!(false) && (b["text"] != json!("") || calls(b)));
    // what a message says is what the dialect writes of it
    let sent = built.sent("openai");
    let sent = sent.as_array().map_or(&[][..], Vec::as_slice);
    let have: Json = live
        .enumerate()
        .map(|(n, b)| {
            let tokens = if counted { b["tokens"].clone() } else { Json::Null };
            let group = if squashed { Json::Null } else { slot(&b["slot"], prefill) };
            let message = sent.get(n).unwrap_or(&Json::Null);
            json!({ "group": group, "role": message["role"], "content": message["content"], "tokens": tokens })
        })
        .collect();
    let (expected, actual) = (json!({ "prompts": want }), json!({ "prompts": have }));
    Check { level: "tokens".to_owned(), passed: same(&expected, &actual), expected, actual }
}

/// The recorded name of a slot. A message that is continued by prefill was recorded among the control prompts.
fn slot(ours: &Json, prefill: bool) -> Json {
    match ours.as_str() {
        Some("continued") if !prefill => json!("continueNudge"),
        Some("continued" | "control") => json!("controlPrompts"),
        _ => SLOTS.iter().find(|(_, name)| ours == name).map_or_else(|| ours.clone(), |(theirs, _)| json!(theirs)),
    }
}

fn fresh_install(key: &str) -> Json {
    let defaults: Json = serde_json::from_str(include_str!("fresh_install.json")).unwrap_or_default();
    defaults[key].clone()
}

pub(crate) fn names(input: &Json) -> Json {
    let user = input["persona"]["name"].as_str().unwrap_or("User");
    let members = cards(input).iter().map(|c| c["data"]["name"].clone()).collect::<Json>();
    json!({ "user": user, "char": speaker(input)["data"]["name"], "group": if input["group"].is_null() { json!([]) } else { members } })
}

/// All cards of a case.
pub(crate) fn cards(input: &Json) -> Vec<Json> {
    let many = input["characters"].as_array().cloned();
    many.unwrap_or_else(|| {
        vec![Some(&input["character"]).filter(|c| !c.is_null()).cloned().unwrap_or_else(|| json!({ "data": { "name": "Char" } }))]
    })
}

/// The card of who writes.
pub(crate) fn speaker(input: &Json) -> Json {
    let cards = cards(input);
    let named = cards.iter().find(|c| c["data"]["name"] == input["speaker"]);
    named.or(cards.first()).cloned().unwrap_or_default()
}

/// The file name by which groups know a card.
pub(crate) fn file_of(card: &Json) -> Json {
    match card["avatar"].as_str() {
        Some(avatar) => json!(avatar),
        None => json!(format!("{}.png", card["data"]["name"].as_str().unwrap_or("Char"))),
    }
}

/// The scene of a recorded input.
pub(crate) fn scene(input: &Json) -> Result<Json, Json> {
    let mut preset = fresh_install("preset");
    let given = input["preset"].as_object().into_iter().flatten().chain(input["oai_settings"].as_object().into_iter().flatten());
    given.for_each(|(key, value)| parts::set(&mut preset, key, value.clone()));
    parts::set(&mut preset, "chat_completion_source", input.get("chat_completion_source").cloned().unwrap_or_else(|| json!("custom")));
    let mut data = imports::preset(EXACT, &preset)?;
    parts::lay(&mut data, imports::card(EXACT, &speaker(input))?);
    parts::lay(&mut data, imports::chat(EXACT, &chat(input))?);
    parts::put(&mut data, "books", imports::books(EXACT, &world_info(input))?);
    parts::put(&mut data, "names", names(input));
    parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
    parts::put(&mut data, "dialect", json!("openai"));
    parts::put(&mut data, "chat.id", json!("oracle-chat"));
    parts::put(&mut data, "now", json!("2024-03-05T14:07:09Z"));
    settings(input, &mut data);
    persona(&input["persona"], &mut data);
    note(&input["authors_note"], &mut data);
    group(input, &mut data)?;
    parts::put(&mut data, "injections", extension_prompts(&input["extension_prompts"]));
    parts::lay(&mut data, imports::scripts(EXACT, &input["regex_scripts"])?);
    Ok(data)
}

/// Messages as the client holds them; the text in the send box is its `input`.
pub(crate) fn chat(input: &Json) -> Json {
    let char = speaker(input)["data"]["name"].clone();
    let user = names(input)["user"].clone();
    let named = |m: &Json| {
        let mut m = m.clone();
        if m["name"].is_null() {
            let name = if m["is_user"] == json!(true) { user.clone() } else { char.clone() };
            parts::set(&mut m, "name", name);
        }
        m
    };
    input["chat"].as_array().into_iter().flatten().map(named).collect()
}

/// Lorebooks of a case; a card's own book belongs to its character.
pub(crate) fn world_info(input: &Json) -> Json {
    let mut world_info = input["world_info"].clone();
    if !world_info.is_object() {
        world_info = json!({});
    }
    let own = &speaker(input)["data"]["character_book"];
    if world_info["character"].is_null() && !own.is_null() {
        parts::set(&mut world_info, "character", own.clone());
    }
    world_info
}

/// Numbers and switches that stand beside the files.
pub(crate) fn settings(input: &Json, data: &mut Json) {
    parts::put(data, "context.tokenizer", tokenizer(&input["tokenizer"]));
    let names = [
        ("max_context", "context.window"),
        ("max_response", "context.reserve"),
        ("user_input", "input"),
        ("chat_completion_source", "provider.source"),
    ];
    parts::copy(input, data, &names);
    parts::copy(&input["quiet"], data, &[("prompt", "quiet_prompt"), ("skip_wian", "quiet_bare")]);
    let metadata =
        [("scenario", "overrides.scenario"), ("mes_example", "overrides.mes_example"), ("system_prompt", "overrides.system_prompt")];
    parts::copy(&input["chat_metadata"], data, &metadata);
    let mut user = fresh_install("power_user");
    parts::lay(&mut user, Some(&input["power_user"]).filter(|p| p.is_object()).cloned().unwrap_or_else(|| json!({})));
    let names = [
        ("pin_examples", "preset.pin_examples"),
        ("strip_examples", "preset.strip_examples"),
        ("prefer_character_prompt", "preset.prefer_card_main"),
        ("prefer_character_jailbreak", "preset.prefer_card_post_history"),
        ("collapse_newlines", "preset.collapse_newlines"),
        ("user_prompt_bias", "preset.bias_text"),
    ];
    parts::copy(&user, data, &names);
    let mut reasoning = user["reasoning"].clone();
    parts::lay(&mut reasoning, Some(&input["reasoning"]).filter(|r| r.is_object()).cloned().unwrap_or_else(|| json!({})));
    parts::put(data, "reasoning", reasoning);
    let names = [
        ("world_info_depth", "lore.depth"),
        ("world_info_budget", "lore.percent"),
        ("world_info_budget_cap", "lore.cap"),
        ("world_info_min_activations", "lore.min_active"),
        ("world_info_min_activations_depth_max", "lore.max_depth"),
        ("world_info_include_names", "lore.names"),
        ("world_info_recursive", "lore.recursion"),
        ("world_info_case_sensitive", "lore.case"),
        ("world_info_match_whole_words", "lore.whole_words"),
        ("world_info_use_group_scoring", "lore.group_scoring"),
        ("world_info_max_recursion_steps", "lore.max_rounds"),
    ];
    parts::copy(&input["world_info"]["settings"], data, &names);
    if let Some(strategy) = input["world_info"]["settings"].get("world_info_character_strategy") {
        parts::put(data, "lore.strategy", parts::code(strategy, &["evenly", "character_first", "global_first"]));
    }
}

fn tokenizer(given: &Json) -> Json {
    match given["mode"].as_str() {
        Some("words") => json!("words"),
        Some("chars") => json!(format!("chars/{}", given["per"])),
        _ => json!("cl100k"),
    }
}

/// Cards hold some numbers as texts.
fn number(value: &Json) -> Json {
    let parsed = value.as_str().and_then(|t| t.trim().parse::<f64>().ok());
    parsed.map_or_else(|| value.clone(), |n| json!(n))
}

/// The group, its members with their cards.
pub(crate) fn group(input: &Json, data: &mut Json) -> Result<(), Json> {
    let group = &input["group"];
    if !group.is_object() {
        return Ok(());
    }
    let cards = cards(input);
    let ids = group["members"].as_array().cloned().unwrap_or_else(|| cards.iter().map(file_of).collect());
    let mut members = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        // members are named by their file, or by the name that it is made of
        let card = cards.iter().find(|c| file_of(c) == *id || c["data"]["name"] == *id);
        let id = &card.map_or_else(|| id.clone(), file_of);
        let mut member = json!({ "id": id, "position": n, "has_card": card.is_some() });
        if let Some(card) = card {
            parts::set(&mut member, "name", card["data"]["name"].clone());
            parts::set(&mut member, "card", imports::card(EXACT, card)?["card"].clone());
            parts::set(&mut member, "talkativeness", number(&card["data"]["extensions"]["talkativeness"]));
        }
        members.push(member);
    }
    parts::put(data, "members", Json::Array(members));
    let all: Json = cards.iter().map(|c| json!({ "id": file_of(c), "name": c["data"]["name"] })).collect();
    parts::put(data, "characters", all);
    let named = |id: &Json| cards.iter().find(|c| c["data"]["name"] == *id).map_or_else(|| id.clone(), file_of);
    let muted: Json = group["disabled_members"].as_array().into_iter().flatten().map(named).collect();
    parts::put(data, "group.disabled_members", muted);
    parts::put(data, "speaker", json!({ "id": file_of(&speaker(input)), "file": file_of(&speaker(input)) }));
    parts::put(data, "group.active", json!(true));
    parts::put(data, "group.strategy", parts::code(&group["activation_strategy"], &["natural", "list", "manual", "pooled"]));
    parts::put(data, "group.mode", parts::code(&group["generation_mode"], &["swap", "append", "append_disabled"]));
    let names = [
        ("allow_self_responses", "group.allow_self_responses"),
        ("generation_mode_join_prefix", "group.join_prefix"),
        ("generation_mode_join_suffix", "group.join_suffix"),
    ];
    parts::copy(group, data, &names);
    Ok(())
}
