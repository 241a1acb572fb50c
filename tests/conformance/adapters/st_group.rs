//! `sillytavern-group-activation` and `sillytavern-group-cards`: recorded groups.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, imports, parts, words};
use crate::case::{Case, Check};
use crate::compare::fits;
use crate::engine::{self, EXACT, Scene};

/// Who speaks.
pub(crate) fn activation(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let data = match activation_scene(input) {
        Ok(data) => data,
        Err(error) => return vec![Check::broken("", case, &error.to_string())],
    };
    let draws: Vec<f64> = input["random"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
    let given = draws.len();
    let scene = Scene { draws: Some(draws), ..Scene::new(data) };
    let actual = match engine::run(EXACT, "schedule", scene, &[]) {
        Ok(ran) => json!({
            "activated": ran.column("chosen", "id"), "names": ran.column("chosen", "name"), "random_calls": given.saturating_sub(ran.draws_left()),
        }),
        Err(error) => error,
    };
    let check = case.check(actual, |expected, actual| match expected.get("error") {
        // the program's own words for what the rules call by a code
        Some(_) => actual["error"]["kind"] == json!("group_member_missing"),
        None => fits(&without_log(expected, input), actual),
    });
    vec![check]
}

/// The draws are compared by their number; without a script there is nothing to count.
fn without_log(expected: &Json, input: &Json) -> Json {
    let keys: &[&str] = if input["random"].is_array() { &["random_log"] } else { &["random_log", "random_calls"] };
    crate::compare::without(expected, keys)
}

/// The members who speak, in order, by their files, and how many of the draws that took.
pub(crate) fn chosen(input: &Json, draws: Vec<f64>) -> Result<(Vec<Json>, usize), Json> {
    let draws: Vec<f64> = draws.into_iter().chain([0.0; 64]).collect();
    let given = draws.len();
    let ran = engine::run(EXACT, "schedule", Scene { draws: Some(draws), ..Scene::new(activation_scene(input)?) }, &[])?;
    let ids = ran.column("chosen", "id").as_array().cloned().unwrap_or_default();
    Ok((ids, given.saturating_sub(ran.draws_left())))
}

fn activation_scene(input: &Json) -> Result<Json, Json> {
    let mut data = json!({ "type": input.get("type").cloned().unwrap_or_else(|| json!("normal")) });
    chat::group(input, &mut data)?;
    parts::copy(input, &mut data, &[("user_input", "input"), ("by_auto_mode", "turn.automatic")]);
    if let Some(forced) = input.get("speaker").filter(|s| !s.is_null()) {
        let card = chat::cards(input).into_iter().find(|c| c["data"]["name"] == *forced);
        parts::put(&mut data, "turn.forced_speaker", card.map_or_else(|| forced.clone(), |c| chat::file_of(&c)));
    }
    parts::put(&mut data, "history", history(input));
    Ok(data)
}

/// The chat of a group: who wrote each message is told by the file of the card, or filled in from the name.
fn history(input: &Json) -> Json {
    let cards = chat::cards(input);
    let me = input["persona"]["name"].as_str().unwrap_or("User");
    let message = |m: &Json| {
        let user = m["is_user"] == json!(true);
        let named = cards.iter().find(|c| c["data"]["name"] == m["name"]).map(chat::file_of);
        let filled = if user || m["no_avatar"] == json!(true) || m["is_system"] == json!(true) { None } else { named };
        let own = Some(&m["original_avatar"]).filter(|a| !a.is_null()).cloned();
        json!({
            "role": if user { "user" } else { "assistant" }, "name": if user && m["name"].is_null() { json!(me) } else { m["name"].clone() }, "member_id": own.or(filled), "text": m["mes"],
            "is_system": m["is_system"] == json!(true), "narrator": m["extra"]["type"] == json!("narrator"),
        })
    };
    input["chat"].as_array().into_iter().flatten().map(message).collect()
}

/// The macros that name the members.
const GROUP_MACRO: &str = "{{group}}|{{groupNotMuted}}|{{notChar}}|{{charIfNotGroup}}";

/// The joined card, the fields of the answer's prompt, the depth prompts and what the macros about groups say.
pub(crate) fn cards(case: &Case) -> Vec<Check> {
    let actual = joined(&case.input).unwrap_or_else(|error| error);
    vec![case.check(actual, fits)]
}

fn joined(input: &Json) -> Result<Json, Json> {
    let data = card_scene(input)?;
    let ran = engine::run(EXACT, "merge_cards", Scene::new(data.clone()), &[])?;
    let mut merged = super::cards::merged(&ran.get("card"));
    if let Some(examples) = merged.as_object_mut().and_then(|c| c.remove("mes_example")) {
        parts::set(&mut merged, "mesExamples", examples);
    }
    // what is not joined is the speaker's own
    let mut whole = imports::card(EXACT, &chat::speaker(input))?;
    parts::lay(&mut whole, data);
    let data = whole;
    let built = engine::run_before(EXACT, "injection", Scene::new(data.clone()))?;
    let of = |path: &str| Some(built.get(path)).filter(|v| !v.is_null()).unwrap_or_else(|| json!(""));
    let greetings = built.get("card.greetings");
    let greetings = greetings.as_array().map_or(&[][..], Vec::as_slice);
    let fields = json!({
        "system": of("card.system_prompt"), "mesExamples": of("card.mes_example"), "description": of("card.description"),
        "personality": of("card.personality"), "persona": expanded(&data, "persona.text")?, "scenario": of("card.scenario"),
        "charDepthPrompt": of("card.depth_prompt.text"), "jailbreak": of("card.post_history_instructions"), "version": of("card.version"), "creatorNotes": of("card.creator_notes"),
        "firstMessage": greetings.first().cloned().unwrap_or_else(|| json!("")), "alternateGreetings": greetings.get(1..).unwrap_or_default(),
    });
    let injections = built.list("injections");
    // those of members whose cards are joined; a depth prompt without text is registered and sent nowhere
    let of_member = |i: &&Json| i["id"].as_str().is_some_and(|id| id.starts_with("DEPTH_PROMPT_")) && i["text"] != json!("");
    let depth_prompts = injections.iter().filter(of_member);
    let depth_prompts: Json = depth_prompts.map(|i| json!({ "text": i["text"], "depth": i["depth"], "role": i["role"] })).collect();
    let group_macro = engine::expand(EXACT, Scene::new(data), &[GROUP_MACRO], &json!({}))?["texts"][0].clone();
    Ok(json!({ "cards": merged, "fields": fields, "depth_prompts": depth_prompts, "group_macro": group_macro }))
}

/// A text of the scene, its macros expanded.
fn expanded(data: &Json, path: &str) -> Result<Json, Json> {
    let text = path.split('.').fold(data, |value, key| &value[key]).as_str().unwrap_or("").to_owned();
    Ok(engine::expand(EXACT, Scene::new(data.clone()), &[&text], &json!({}))?["texts"][0].clone())
}

fn card_scene(input: &Json) -> Result<Json, Json> {
    let char = chat::speaker(input)["data"]["name"].clone();
    let mut data = json!({ "names": { "user": input["persona"]["name"].as_str().unwrap_or("User"), "char": char } });
    words::persona(&input["persona"], &mut data);
    let mut given = input.clone();
    if given["group"].is_null() {
        parts::set(&mut given, "group", json!({}));
    }
    chat::group(&given, &mut data)?;
    parts::copy(input, &mut data, &[("variables", "vars")]);
    parts::copy(&input["power_user"], &mut data, &[("collapse_newlines", "preset.collapse_newlines")]);
    parts::put(&mut data, "speaker", chat::file_of(&chat::speaker(input)));
    parts::copy(
        &input["chat_metadata"],
        &mut data,
        &[("scenario", "overrides.scenario"), ("mes_example", "overrides.mes_example"), ("system_prompt", "overrides.system_prompt")],
    );
    Ok(data)
}
