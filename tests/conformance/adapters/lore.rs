//! `sillytavern-world-info`: recorded lore scans, one or several in a chat.

use serde_json::{Value as Json, json};

use crate::adapters::text::words;
use crate::adapters::wire::parts;
use crate::adapters::{cards, chat_completion as chat};
use crate::case::{Case, Check, fits, without};
use crate::engine;
use crate::engine::{EXACT, Scene};

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
    crate::case::unordered(&mut out, "depth");
    for effects in out.get_mut("timed").and_then(Json::as_object_mut).into_iter().flatten().map(|(_, effects)| effects) {
        effects.as_object_mut().into_iter().flatten().for_each(|(_, effect)| *effect = without(effect, &["hash"]));
    }
    out
}

fn lines(list: &Json) -> Json {
    json!(crate::case::texts(list).join("\n"))
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
    let mut data = cards::card(EXACT, &chat::speaker(input))?;
    let own = data["books"].clone();
    let lines = chat::chat(input);
    parts::lay(&mut data, cards::chat(EXACT, &lines)?);
    let mut world_info = input["world_info"].clone();
    let speaker = chat::speaker(input);
    let named = speaker["data"]["name"].as_str().unwrap_or("");
    if let Some(books) = world_info["per_character"].get(named).cloned() {
        parts::set(&mut world_info, "character", books);
    }
    let mut books = cards::books(EXACT, &world_info)?;
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
    parts::lay(&mut data, cards::scripts(EXACT, &input["regex_scripts"])?);
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
    crate::case::unordered(&mut out, "depth");
    Ok((out, kept, ran.draws_left()))
}

/// `contract-notes`: the author's note and the persona.
pub(super) mod notes {
    use serde_json::{Value as Json, json};

    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, fits};
    use crate::engine;
    use crate::engine::{CONTRACT, Scene};

    /// A prompt of main prompt, persona and history, with a note.
    pub(crate) fn contract(case: &Case) -> Vec<Check> {
        let input = &case.input;
        let actual = match (engine::build(CONTRACT, scene(input)), engine::run(CONTRACT, "build", scene(input), &[])) {
            (Ok(built), Ok(ran)) => json!({
                "messages": built.messages(), "note_scheduled": ran.get("note.due"), "scan_texts": ran.column("scan_texts", "text"),
            }),
            (Err(error), _) | (_, Err(error)) => error,
        };
        vec![case.check(actual, fits)]
    }

    fn scene(input: &Json) -> Scene {
        let mut scene = Scene::new(json!({
            "type": input["generation_type"],
            "dialect": if input["dialect"] == json!("text") { "text" } else { "openai" },
            "turn_count": input["turn_count"],
            "history": parts::history(&input["history"]),
            "note": input["authors_note"],
            "note_overrides": input["authors_note_overrides"],
            "persona": input["persona"],
            "preset": {
                "main": input["main"],
                "entries": [{ "name": "main_prompt" }, { "name": "persona_description" }, { "name": "chat_history" }],
            },
        }));
        let entries = parts::injections(&input["injections"], &mut scene);
        parts::put(&mut scene.data, "injections", entries);
        scene
    }
}

/// `contract-injection`: the registry of injections, and where they end up.
pub(super) mod injection {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value as Json, json};

    use crate::adapters::wire::parts;
    use crate::adapters::wire::parts::injections;
    use crate::case::{Case, Check, fits, unordered, without};
    use crate::engine;
    use crate::engine::{CONTRACT, Ran, Scene};

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
        let helpers: serde_json::Map<String, Json> =
            first.iter().map(|e| (e["id"].as_str().unwrap_or("").to_owned(), predicates(e))).collect();
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
}
