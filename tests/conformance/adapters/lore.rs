//! `sillytavern-world-info`: recorded lore scans.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, imports, parts, words};
use crate::case::{Case, Check};
use crate::compare::fits;
use crate::engine::{self, EXACT, Scene};

/// What explains, or is ours to name differently: not compared.
const TOLD: &[&str] = &["before", "after", "outlets", "activated"];

/// One scan.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    if case.input["steps"].is_array() {
        return vec![Check::broken("", case, "no adapter for `steps` yet")];
    }
    let actual = scanned(&case.input).unwrap_or_else(|error| error);
    let check = case.check(actual, |expected, actual| {
        let want: serde_json::Map<String, Json> = expected
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| TOLD.contains(&key.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        fits(&Json::Object(want), actual)
    });
    vec![check]
}

fn scanned(input: &Json) -> Result<Json, Json> {
    let mut data = imports::card(EXACT, &chat::speaker(input))?;
    parts::lay(&mut data, imports::chat(EXACT, &input["chat"])?);
    parts::put(&mut data, "books", imports::books(EXACT, &chat::world_info(input))?);
    chat::settings(input, &mut data);
    words::persona(&input["persona"], &mut data);
    words::note(&input["authors_note"], &mut data);
    chat::group(input, &mut data)?;
    parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
    parts::put(&mut data, "injections", words::extension_prompts(&input["extension_prompts"]));
    parts::put(&mut data, "context.window", input.get("max_context").cloned().unwrap_or_else(|| json!(8192)));
    parts::put(&mut data, "context.reserve", json!(0));
    let draws = input["random"].as_array().map(|list| list.iter().filter_map(Json::as_f64).collect());
    let ran = engine::run(EXACT, "lore", Scene { draws, ..Scene::new(data) }, &[])?;
    let active = ran.list("entries").into_iter().filter(|e| e["active"] == json!(true));
    let activated: Json = active.map(|e| json!({ "world": e["book"], "uid": e["id"], "content": e["text"] })).collect();
    Ok(json!({ "before": ran.get("lore.before"), "after": ran.get("lore.after"), "outlets": ran.get("outlet"), "activated": activated }))
}
