//! `sillytavern-world-info`: recorded lore scans, one or several in a chat.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, imports, parts, words};
use crate::case::{Case, Check};
use crate::compare::{fits, without};
use crate::engine::{self, EXACT, Scene};

/// The stage that uses up what a scan has put together; the build is looked at before it.
const USED_BY: &str = "injection";
/// What explains, and texts of the recorder's own: not compared.
const UNTOLD: &[&str] = &["max_context", "random_log", "warnings"];

/// One or several scans.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let actual = scans(&case.input).unwrap_or_else(|error| error);
    let mut expected = told(&case.expected);
    if let Some(steps) = expected.get_mut("steps").and_then(Json::as_array_mut) {
        steps.iter_mut().for_each(|step| *step = told(step));
    }
    let passed = fits(&expected, &actual);
    vec![Check { level: String::new(), passed, expected, actual }]
}

/// The recorded answer in the form that is compared: lists of texts joined, effects without their hashes.
pub(crate) fn told(expected: &Json) -> Json {
    let mut out = without(expected, UNTOLD);
    for key in ["an_top", "an_bottom"] {
        if let Some(list) = out.get(key) {
            let joined = lines(list);
            parts::set(&mut out, key, joined);
        }
    }
    if let Some(outlets) = out.get_mut("outlets").and_then(Json::as_object_mut) {
        outlets.iter_mut().for_each(|(_, list)| *list = lines(list));
    }
    for block in out.get_mut("depth").and_then(Json::as_array_mut).into_iter().flatten() {
        let joined = lines(&block["entries"]);
        parts::set(block, "entries", joined);
    }
    crate::compare::unordered(&mut out, "depth");
    for effects in out.get_mut("timed").and_then(Json::as_object_mut).into_iter().flatten().map(|(_, effects)| effects) {
        effects.as_object_mut().into_iter().flatten().for_each(|(_, effect)| *effect = without(effect, &["hash"]));
    }
    out
}

fn lines(list: &Json) -> Json {
    json!(crate::compare::texts(list).join("\n"))
}

fn scans(input: &Json) -> Result<Json, Json> {
    let mut draws: Vec<f64> = input["random"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
    // more draws than were recorded must show, and not come from a seed
    draws.extend([0.5; 32]);
    let given = draws.len();
    let Some(steps) = input["steps"].as_array() else {
        let (mut out, _, left) = scanned(input, &state(input), draws)?;
        parts::set(&mut out, "random_calls", json!(given - left));
        return Ok(out);
    };
    let (mut now, mut timed, mut out) = (input.clone(), state(input), Vec::new());
    for step in steps {
        if let Some(chat) = step.get("chat") {
            parts::set(&mut now, "chat", chat.clone());
        }
        let mut chat = now["chat"].as_array().cloned().unwrap_or_default();
        chat.extend(step["chat_append"].as_array().into_iter().flatten().cloned());
        parts::set(&mut now, "chat", Json::Array(chat));
        parts::set(&mut now, "type", step.get("type").cloned().unwrap_or_else(|| json!("normal")));
        let (scan, rows, left) = scanned(&now, &timed, draws.clone())?;
        draws.drain(..draws.len() - left);
        parts::set(&mut now, "forced_activations", Json::Null);
        timed = rows;
        out.push(scan);
    }
    Ok(json!({ "steps": out, "random_calls": given - draws.len() }))
}

/// Timed effects before the scan; a hash that is given is that of another entry.
pub(crate) fn state(input: &Json) -> Json {
    let timed = &input["world_info"]["timed"];
    let mut rows = Vec::new();
    for effect in ["sticky", "cooldown"] {
        for (id, row) in timed[effect].as_object().into_iter().flatten() {
            let protected = row["protected"] == json!(true);
            let mark = row.get("hash").map(ToString::to_string);
            rows.push(
                json!({ "id": id, "effect": effect, "start": row["start"], "end": row["end"], "protected": protected, "mark": mark }),
            );
        }
    }
    Json::Array(rows)
}

fn scene(input: &Json, timed: &Json) -> Result<Json, Json> {
    let mut data = imports::card(EXACT, &chat::speaker(input))?;
    let own = data["books"].clone();
    let lines = chat::chat(input);
    parts::lay(&mut data, imports::chat(EXACT, &lines)?);
    let mut world_info = input["world_info"].clone();
    let speaker = chat::speaker(input);
    let named = speaker["data"]["name"].as_str().unwrap_or("");
    if let Some(books) = world_info["per_character"].get(named).cloned() {
        parts::set(&mut world_info, "character", books);
    }
    let mut books = imports::books(EXACT, &world_info)?;
    if world_info["character"].is_null() && speaker["embedded_book"].as_str().unwrap_or("import") == "import" {
        books.as_array_mut().into_iter().for_each(|b| b.extend(own.as_array().into_iter().flatten().cloned()));
    }
    parts::put(&mut data, "books", books);
    chat::settings(input, &mut data);
    words::persona(&input["persona"], &mut data);
    words::note(&input["authors_note"], &mut data);
    chat::group(input, &mut data)?;
    let file = chat::file_of(&speaker);
    let stem = file.as_str().unwrap_or("").rsplit_once('.').map_or("", |(stem, _)| stem).to_owned();
    let tags = input["tag_map"][file.as_str().unwrap_or("")].as_array().cloned().unwrap_or_default();
    parts::put(&mut data, "speaker", json!({ "id": file, "file": stem, "tags": tags }));
    parts::put(&mut data, "names", chat::names(input));
    parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
    parts::put(
        &mut data,
        "dialect",
        json!(if input["main_api"].is_string() && input["main_api"] != json!("openai") { "text" } else { "openai" }),
    );
    parts::put(&mut data, "injections", words::extension_prompts(&input["extension_prompts"]));
    parts::put(&mut data, "context.window", input.get("max_context").cloned().unwrap_or_else(|| json!(8192)));
    parts::put(&mut data, "context.reserve", json!(0));
    parts::put(&mut data, "state.timed", timed.clone());
    parts::put(&mut data, "chat.metadata", input.get("chat_metadata").cloned().unwrap_or_else(|| json!({})));
    chat::variables(input, &mut data);
    parts::lay(&mut data, imports::scripts(EXACT, &input["regex_scripts"])?);
    parts::put(&mut data, "lore.handed", handed(&input["forced_activations"])?);
    Ok(data)
}

/// Entries that an extension hands over, through the pack's map of books.
pub(crate) fn handed(list: &Json) -> Result<Json, Json> {
    let mut out = Vec::new();
    for entry in list.as_array().into_iter().flatten() {
        let book = json!({ "name": entry["world"], "entries": { "0": entry } });
        let mut part = engine::import(EXACT, "st_lorebook", &book)?;
        for copy in part["books"][0]["entries"].as_array_mut().into_iter().flatten() {
            parts::set(copy, "ref", json!(format!("{}.{}", entry["world"].as_str().unwrap_or(""), entry["uid"])));
            out.push(copy.clone());
        }
    }
    Ok(Json::Array(out))
}

fn scanned(input: &Json, timed: &Json, draws: Vec<f64>) -> Result<(Json, Json, usize), Json> {
    let ran = engine::run_before(EXACT, USED_BY, Scene { draws: Some(draws), trace: true, ..Scene::new(scene(input, timed)?) })?;
    let number = |n: &Json| n.as_str().and_then(|t| t.parse::<i64>().ok()).map_or_else(|| n.clone(), |n| json!(n));
    let named = |e: &Json| json!({ "world": e["book"], "uid": number(&e["id"]), "content": e["text"] });
    let activated: Json = ran.get("lore.active").as_array().into_iter().flatten().map(named).collect();
    let blocks = ran.list("injections").into_iter().filter(|i| i["id"].as_str().is_some_and(|id| id.starts_with("customDepthWI")));
    let role = |b: &Json| ["system", "user", "assistant"].iter().position(|r| b["role"] == json!(r));
    let depth: Json = blocks.map(|b| json!({ "depth": b["depth"], "role": role(&b), "entries": b["text"] })).collect();
    let examples = ran.get("lore.examples");
    let examples: Json = examples
        .as_array()
        .into_iter()
        .flatten()
        .map(|e| json!({ "position": i32::from(e["position"] == json!("em_bottom")), "content": e["text"] }))
        .collect();
    let note = ran.list("injections").into_iter().find(|i| i["id"] == json!("2_floating_prompt"));
    let kept = ran.patch()["timed"].clone();
    let rows: Vec<&Json> = kept.as_array().into_iter().flatten().collect();
    let effects = |effect: &str| -> Json {
        let of = rows.iter().filter(|r| r["effect"] == json!(effect));
        let row = |r: &Json| json!({ "start": r["start"], "end": r["end"], "protected": r["protected"] == json!(true) });
        Json::Object(of.map(|r| (r["id"].as_str().unwrap_or("").to_owned(), row(r))).collect())
    };
    let text = |path: &str| ran.get(path).as_str().map_or_else(|| json!(""), |t| json!(t));
    let outlets = Some(ran.get("outlet")).filter(Json::is_object).unwrap_or_else(|| json!({}));
    let scanned = ran.get("conformance.scanned");
    let named = ran.get("lore.names") != json!(false);
    let line = |m: &Json| {
        let text = m["text"].as_str().unwrap_or("");
        json!(if named { format!("{}: {text}", m["name"].as_str().unwrap_or("")) } else { text.to_owned() })
    };
    let scanned: Json = scanned.as_array().into_iter().flatten().rev().map(line).collect();
    let failed = ran.reasons("probability");
    let mut out = json!({
        "scanned": scanned, "failed_probability": failed,
        "before": text("lore.before"), "after": text("lore.after"), "an_top": text("lore.note_top"), "an_bottom": text("lore.note_bottom"),
        "outlets": outlets, "activated": activated, "depth": depth, "examples": examples,
        "sorted": ran.get("conformance.sorted"), "overflowed": ran.get("round.overflow") == json!(true), "loops": ran.get("round.done"),
        "budget": ran.get("conformance.budget"), "authors_note": note.map_or_else(|| json!(""), |n| n["text"].clone()),
        "timed": { "sticky": effects("sticky"), "cooldown": effects("cooldown") },
    });
    crate::compare::unordered(&mut out, "depth");
    Ok((out, kept, ran.draws_left()))
}
