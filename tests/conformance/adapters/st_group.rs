//! `sillytavern-group-activation` and `sillytavern-group-cards`: recorded groups.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, parts};
use crate::case::{Case, Check};
use crate::compare::{fits, same};
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

/// The members who speak, in order, by their files.
pub(crate) fn chosen(input: &Json) -> Result<Vec<Json>, Json> {
    let ran = engine::run(EXACT, "schedule", Scene { draws: Some(vec![0.0; 64]), ..Scene::new(activation_scene(input)?) }, &[])?;
    Ok(ran.column("chosen", "id").as_array().cloned().unwrap_or_default())
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

/// The joined card.
pub(crate) fn cards(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let actual = card_scene(input).and_then(|data| {
        let ran = engine::run(EXACT, "merge_cards", Scene::new(data), &[])?;
        let mut joined = super::cards::merged(&ran.get("card"));
        if let Some(examples) = joined.as_object_mut().and_then(|c| c.remove("mes_example")) {
            parts::set(&mut joined, "mesExamples", examples);
        }
        Ok(json!({ "cards": joined }))
    });
    let actual = actual.unwrap_or_else(|error| error);
    vec![case.check(actual, |expected, actual| same(&json!({ "cards": expected["cards"] }), actual))]
}

fn card_scene(input: &Json) -> Result<Json, Json> {
    let mut data = json!({ "names": { "user": input["persona"]["name"].as_str().unwrap_or("User") } });
    let mut given = input.clone();
    if given["group"].is_null() {
        parts::set(&mut given, "group", json!({}));
    }
    chat::group(&given, &mut data)?;
    parts::copy(input, &mut data, &[("variables", "vars")]);
    parts::copy(&input["power_user"], &mut data, &[("collapse_newlines", "preset.collapse_newlines")]);
    parts::put(&mut data, "speaker", chat::file_of(&chat::speaker(input)));
    parts::copy(&input["chat_metadata"], &mut data, &[("scenario", "overrides.scenario"), ("mes_example", "overrides.mes_example")]);
    Ok(data)
}
