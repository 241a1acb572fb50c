//! `sillytavern-chat-completion`: whole builds of the recorded client, message for message.

use serde_json::{Value as Json, json};

use crate::adapters::text::words::{extension_prompts, note, persona};
use crate::adapters::wire::{claude, parts};
use crate::adapters::{cards, template};
use crate::case::{Case, Check, fits, same, without};
use crate::engine;
use crate::engine::{Built, EXACT, Scene};

/// How many draws follow the script of a case: more than were recorded must show, and not come from a seed.
const SPARE: usize = 64;

/// Regex scripts of cards and presets run only where the user has allowed them.
pub(crate) const SCRIPTS: [(&str, &str); 2] =
    [("allowed_character_regex", "card.scripts_allowed"), ("allowed_preset_regex", "preset.scripts_allowed")];

/// Messages, and as a stricter level the slots and tokens. They are recorded before the server makes them acceptable
/// (`custom_prompt_post_processing`), which is the next step (`sent_messages`).
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let data = scene(&case.input);
    let built = data.clone().and_then(|data| engine::build(EXACT, drawn(&case.input, data)));
    let (data, built) = match data.and_then(|data| Ok((data, built?))) {
        Ok(built) => built,
        Err(error) => return vec![Check::broken("", case, &error.to_string()), Check::broken("tokens", case, &error.to_string())],
    };
    vec![Some(messages(case, &built)), Some(template::check(case, data, &built)), lore(case, &built), draws(case, &built)]
        .into_iter()
        .flatten()
        .collect()
}

/// A scene with the draws of a case; after the script the recorder goes on with zeros.
pub(crate) fn drawn(input: &Json, data: Json) -> Scene {
    let draws = input["random"].as_array().map(|script| script.iter().filter_map(Json::as_f64).chain([0.0; SPARE]).collect());
    Scene { draws, ..Scene::new(data) }
}

/// How often chance was asked, where that was recorded: also by what that program expands once more when the prompt is
/// finished.
fn draws(case: &Case, built: &Built) -> Option<Check> {
    let given = case.input["random"].as_array()?.len() + SPARE;
    let expected = json!({ "random_calls": case.expected.get("random_calls")? });
    let actual = json!({ "random_calls": given.saturating_sub(built.draws_left()) });
    Some(Check { level: "draws".to_owned(), passed: expected == actual, expected, actual })
}

/// What the lore scan answered, where that was recorded.
fn lore(case: &Case, built: &Built) -> Option<Check> {
    let mut expected = super::lore::told(case.expected.get("world_info")?);
    if case.input["preset"]["wi_format"].as_str().is_some_and(|format| format != "{0}") {
        // recorded before the format is put round it, which shows in the messages
        expected = without(&expected, &["before", "after"]);
    }
    let mut actual = super::text::world_info(built);
    parts::set(&mut actual, "budget", built.set("conformance.budget"));
    parts::set(&mut actual, "overflowed", json!(built.set("round.overflow") == json!(true)));
    Some(Check { level: "lore".to_owned(), passed: fits(&expected, &actual), expected, actual })
}

fn messages(case: &Case, built: &Built) -> Check {
    let (mut expected, mut actual) = (json!({}), json!({}));
    if let Some(messages) = case.expected.get("messages") {
        parts::set(&mut expected, "messages", messages.clone());
        parts::set(&mut actual, "messages", unprocessed(built));
    }
    if let Some(sent) = case.expected.get("sent_messages") {
        parts::set(&mut expected, "sent_messages", sent.clone());
        parts::set(&mut actual, "sent_messages", built.sent("openai"));
    }
    for (key, tools) in [("anthropic", false), ("anthropic_with_tools", true)] {
        if let Some(converted) = case.expected.get(key) {
            parts::set(&mut expected, key, converted.clone());
            let payload = built.emit_in("claude", &[("provider.tools", claude::tools(tools))]);
            let (messages, system) = claude::apart(&payload.unwrap_or_else(|error| error));
            parts::set(&mut actual, key, json!({ "messages": messages, "system": system }));
        }
    }
    Check { level: String::new(), passed: same(&expected, &actual), expected, actual }
}

/// The messages before post-processing, which recorded `messages` and `prompts` are.
pub(crate) fn unprocessed(built: &Built) -> Json {
    let payload = built.emit_in("openai", &[("post.mode", json!(""))]);
    payload.map_or_else(|error| error, |payload| payload["messages"].clone())
}

/// The names of a scene; in a group, those of its members.
pub(crate) fn names(input: &Json) -> Json {
    let user = input["persona"]["name"].as_str().unwrap_or("User");
    let cards = cards(input);
    let is_member = |c: &&Json| match input["group"]["members"].as_array() {
        Some(ids) => ids.contains(&file_of(c)) || ids.contains(&c["data"]["name"]),
        None => input["group"].is_object(),
    };
    let members = cards.iter().filter(is_member).map(|c| c["data"]["name"].clone()).collect::<Json>();
    json!({ "user": user, "char": speaker(input)["data"]["name"], "group": members })
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
    let mut preset: Json = serde_json::from_str(include_str!("fresh_install.json")).unwrap_or_default();
    let given = input["preset"].as_object().into_iter().flatten().chain(input["oai_settings"].as_object().into_iter().flatten());
    given.for_each(|(key, value)| parts::set(&mut preset, key, value.clone()));
    parts::set(&mut preset, "chat_completion_source", input.get("chat_completion_source").cloned().unwrap_or_else(|| json!("custom")));
    let mut data = cards::preset(EXACT, &preset)?;
    parts::lay(&mut data, cards::card(EXACT, &speaker(input))?);
    parts::lay(&mut data, cards::chat(EXACT, &chat(input))?);
    parts::put(&mut data, "books", cards::books(EXACT, &world_info(input))?);
    parts::put(&mut data, "names", names(input));
    parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
    parts::put(&mut data, "dialect", json!("openai"));
    parts::put(&mut data, "chat.id", input.get("chat_id").cloned().unwrap_or_else(|| json!("oracle-chat")));
    parts::put(&mut data, "now", input.get("now").cloned().unwrap_or_else(|| json!("2024-03-05T14:07:09Z")));
    parts::put(&mut data, "chat.metadata", input.get("chat_metadata").cloned().unwrap_or_else(|| json!({})));
    settings(input, &mut data);
    parts::put(&mut data, "post.mode", input.get("custom_prompt_post_processing").cloned().unwrap_or_else(|| json!("")));
    // what macros quote of the settings of text completion
    for key in ["context", "instruct", "sysprompt"] {
        if let Some(given) = input["power_user"].get(key) {
            parts::put(&mut data, &format!("stored.{key}"), given.clone());
        }
    }
    variables(input, &mut data);
    persona(&input["persona"], &mut data);
    note(&input["authors_note"], &mut data);
    group(input, &mut data)?;
    parts::put(&mut data, "state.timed", super::lore::state(input));
    parts::put(&mut data, "lore.handed", super::lore::handed(&input["forced_activations"])?);
    parts::put(&mut data, "injections", extension_prompts(&input["extension_prompts"]));
    parts::lay(&mut data, cards::scripts(EXACT, &input["regex_scripts"])?);
    parts::copy(input, &mut data, &SCRIPTS);
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
    // filters of lore name files without their ending
    let file = file_of(&speaker(input));
    let stem = file.as_str().and_then(|f| f.rsplit_once('.')).map_or_else(|| file.clone(), |(stem, _)| json!(stem));
    parts::put(data, "speaker.file", stem);
    parts::put(data, "context.tokenizer", tokenizer(&input["tokenizer"]));
    let names = [
        ("max_context", "context.window"),
        ("max_response", "context.reserve"),
        ("user_input", "input"),
        ("chat_completion_source", "provider.source"),
        ("model", "provider.model"),
    ];
    parts::copy(input, data, &names);
    let names = [("prompt", "quiet_prompt"), ("skip_wian", "quiet_bare"), ("to_loud", "quiet_loud"), ("name", "quiet_name")];
    parts::copy(&input["quiet"], data, &names);
    let metadata =
        [("scenario", "overrides.scenario"), ("mes_example", "overrides.mes_example"), ("system_prompt", "overrides.system_prompt")];
    parts::copy(&input["chat_metadata"], data, &metadata);
    let user = &input["power_user"];
    let names = [
        ("pin_examples", "preset.pin_examples"),
        ("strip_examples", "preset.strip_examples"),
        ("prefer_character_prompt", "preset.prefer_card_main"),
        ("prefer_character_jailbreak", "preset.prefer_card_post_history"),
        ("collapse_newlines", "preset.collapse_newlines"),
        ("user_prompt_bias", "preset.bias_text"),
    ];
    parts::copy(user, data, &names);
    let mut reasoning = json!({});
    for given in [&user["reasoning"], &input["reasoning"]].into_iter().filter(|given| given.is_object()) {
        parts::lay(&mut reasoning, given.clone());
    }
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

/// Variables of the chat and of all chats.
pub(crate) fn variables(input: &Json, data: &mut Json) {
    for scope in ["local", "global"] {
        if input["variables"][scope].is_object() {
            parts::put(data, &format!("vars.{scope}"), input["variables"][scope].clone());
        }
    }
}

fn tokenizer(given: &Json) -> Json {
    match given["mode"].as_str() {
        Some("words") => json!("words"),
        Some(mode @ ("chars" | "bytes")) => json!(format!("{mode}/{}", given["per"])),
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
            parts::set(&mut member, "card", cards::card(EXACT, card)?["card"].clone());
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
    parts::put(data, "speaker.id", file_of(&speaker(input)));
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
