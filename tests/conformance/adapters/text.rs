//! `sillytavern-text-completion` and the raw activation cases: whole prompts of text mode.

use serde_json::{Value as Json, json};
use tapster::text_utils::{JsonPointer, LanguageTag, PointerError, VerbatimMasker, Zone, escape_pointer_token};

use crate::adapters::wire::parts;
use crate::adapters::{cards, chat_completion as chat, lore};
use crate::case::{Case, Check, fits, same, texts};
use crate::engine;
use crate::engine::{EXACT, Scene};

const ROLES: &[&str] = &["system", "user", "assistant"];
/// How many draws follow the script of a case.
const SPARE: usize = 64;
/// What was recorded beside the prompt.
const UNTOLD: &[&str] = &["error_detail"];

/// One prompt; in a group one for each member who speaks.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let actual = generation(&case.input).unwrap_or_else(|error| error);
    let mut expected = crate::case::without(&case.expected, UNTOLD);
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
    let (ids, taken) = super::group::sillytavern::chosen(input, script(input))?;
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
    crate::case::unordered(&mut out, "depth");
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
    parts::lay(&mut data, cards::card(EXACT, &chat::speaker(input))?);
    parts::lay(&mut data, cards::chat(EXACT, &chat::chat(input))?);
    parts::put(&mut data, "books", cards::books(EXACT, &chat::world_info(input))?);
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
    parts::lay(&mut data, cards::scripts(EXACT, &input["regex_scripts"])?);
    parts::copy(input, &mut data, &chat::SCRIPTS);
    Ok(data)
}

// Language tags, JSON Pointers and verbatim zones: recorded inputs through `tapster::text_utils`.

/// `contract-language-tag`.
pub(super) fn language_tag(case: &Case) -> Vec<Check> {
    let text = case.input["tag"].as_str().unwrap_or("");
    let read = if case.input["lenient"] == true { LanguageTag::parse_lenient(text) } else { LanguageTag::parse(text) };
    let actual = read.map_or_else(|error| json!({ "error": error.code() }), |tag| json!(tag));
    vec![case.check(actual, |expected, actual| fits(expected, actual) && fits(actual, expected))]
}

/// `contract-json-pointer`.
pub(super) fn json_pointer(case: &Case) -> Vec<Check> {
    let actual = pointer(case).unwrap_or_else(|error| json!({ "error": error.code(), "offset": error.offset(), "depth": error.depth() }));
    vec![case.check(actual, fits)]
}

fn pointer(case: &Case) -> Result<Json, PointerError> {
    let text = |key: &str| case.input[key].as_str().unwrap_or("");
    Ok(match case.op() {
        "get" => json!({ "value": JsonPointer::parse(text("pointer"))?.get(&case.input["document"])? }),
        "parse" => json!({ "tokens": JsonPointer::parse(text("pointer"))?.tokens() }),
        "escape" => json!({ "escaped": escape_pointer_token(text("token")) }),
        "build" => json!({ "pointer": JsonPointer::of(texts(&case.input["tokens"])).to_string() }),
        "from_fragment" => json!({ "pointer": JsonPointer::from_fragment(text("fragment"))?.to_string() }),
        "to_fragment" => json!({ "fragment": JsonPointer::parse(text("pointer"))?.to_fragment() }),
        other => json!({ "unknown op": other }),
    })
}

/// `contract-verbatim-mask`.
pub(super) fn verbatim(case: &Case) -> Vec<Check> {
    let text = case.input["text"].as_str().unwrap_or("");
    let masker = masker(&case.input["options"]);
    let masked = masker.mask(text);
    let actual = if case.op() == "unmask" {
        let part = |part: &Json| match part["token"].as_u64() {
            Some(n) => masked.placeholder(usize::try_from(n).unwrap_or(usize::MAX)),
            None => part["text"].as_str().unwrap_or("").to_owned(),
        };
        let edited: String = case.input["edited"].as_array().into_iter().flatten().map(part).collect();
        let told = |problem: &tapster::text_utils::PlaceholderProblem| json!({ "code": problem.code(), "token": problem.token() });
        match masked.unmask(&edited) {
            Ok(text) => json!({ "text": text }),
            Err(problems) => json!({ "problems": problems.iter().map(told).collect::<Json>() }),
        }
    } else {
        let segment = |part: &tapster::text_utils::Segment<'_>| match part.zone {
            None => json!({ "text": part.text }),
            Some(zone) => json!({ "zone": zone, "raw": part.text }),
        };
        let unmasked = masked.unmask(masked.text()).unwrap_or_else(|problems| format!("{problems:?}"));
        json!({ "segments": masker.split(text).iter().map(segment).collect::<Json>(), "unmasked": unmasked })
    };
    vec![case.check(actual, fits)]
}

fn masker(options: &Json) -> VerbatimMasker {
    let zones = match &options["zones"] {
        Json::Null => Zone::ALL.to_vec(),
        list => texts(list).into_iter().filter_map(Zone::named).collect(),
    };
    match &options["escape_tags"] {
        Json::Null => VerbatimMasker::new(&zones, ["verbatim"]),
        list => VerbatimMasker::new(&zones, texts(list)),
    }
}

/// Persona, note and extension prompts of recorded inputs: what they say by numbers, in words.
pub(super) mod words {
    use serde_json::{Value as Json, json};

    use crate::adapters::wire::parts;

    const ROLES: &[&str] = &["system", "user", "assistant"];

    /// The persona, its numbers as words.
    pub(crate) fn persona(persona: &Json, data: &mut Json) {
        parts::copy(persona, data, &[("description", "persona.text"), ("depth", "persona.depth")]);
        let positions = &["in_prompt", "after_char", "top_an", "bottom_an", "at_depth", "", "", "", "", "none"];
        parts::put(data, "persona.position", persona.get("position").map_or_else(|| json!("in_prompt"), |p| parts::code(p, positions)));
        if let Some(role) = persona.get("role") {
            parts::put(data, "persona.role", parts::code(role, ROLES));
        }
    }

    /// The author's note, its numbers as words.
    pub(crate) fn note(note: &Json, data: &mut Json) {
        let names = [("prompt", "note.text"), ("interval", "note.frequency"), ("depth", "note.depth"), ("allow_wi_scan", "note.scan")];
        parts::copy(note, data, &names);
        if let Some(position) = note.get("position") {
            parts::put(data, "note.position", parts::code(position, &["after", "chat", "before"]));
        }
        if let Some(role) = note.get("role") {
            parts::put(data, "note.role", parts::code(role, ROLES));
        }
        let own = &note["chara"];
        if own.is_object() {
            parts::copy(own, data, &[("prompt", "card.note.text")]);
            parts::put(data, "card.note.enabled", json!(own["useChara"] != json!(false)));
            let mode = own.get("position").map_or_else(|| json!("replace"), |p| parts::code(p, &["replace", "before", "after"]));
            parts::put(data, "card.note.mode", mode);
        }
    }

    /// What extensions have registered, its numbers as words.
    pub(crate) fn extension_prompts(list: &Json) -> Json {
        let prompt = |p: &Json| {
            let mut out = json!({ "id": p["key"], "text": p["value"], "depth": p.get("depth").unwrap_or(&json!(0)), "scan": p["scan"] == json!(true) });
            let position = p.get("position").and_then(Json::as_i64).unwrap_or(0);
            let words = [(-1, "none"), (0, "after"), (1, "chat"), (2, "before")];
            if let Some((_, word)) = words.iter().find(|(n, _)| *n == position) {
                parts::set(&mut out, "position", json!(word));
            }
            parts::set(&mut out, "role", parts::code(p.get("role").unwrap_or(&json!(0)), ROLES));
            if p["filter"].is_boolean() {
                parts::set(&mut out, "filter", p["filter"].clone());
            }
            out
        };
        list.as_array().into_iter().flatten().map(prompt).collect()
    }
}

/// `sillytavern-raw` with a placement: one text through the regex scripts, outside a prompt.
pub(super) mod rewrite {
    use serde_json::{Value as Json, json};

    use crate::adapters::wire::parts;
    use crate::adapters::{cards, chat_completion};
    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::{EXACT, Scene};

    /// Runs the pack's program `rewrite` over the text.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let expected = json!({ "output": case.expected["output"], "variables": case.expected["variables"] });
        let actual = output(&case.input).unwrap_or_else(|error| error);
        vec![Check { level: String::new(), passed: same(&expected, &actual), expected, actual }]
    }

    fn output(input: &Json) -> Result<Json, Json> {
        let mut data = cards::card(EXACT, &chat_completion::speaker(input))?;
        parts::lay(&mut data, cards::scripts(EXACT, &input["regex_scripts"])?);
        parts::put(&mut data, "card.scripts_allowed", input["allowed_character_regex"].clone());
        parts::put(&mut data, "names", chat_completion::names(input));
        let options = &input["options"];
        let stages: Json = [("isPrompt", "prompt"), ("isMarkdown", "display")]
            .iter()
            .filter(|(option, _)| options[*option] == json!(true))
            .map(|(_, stage)| json!(stage))
            .collect();
        let text = json!({
            "text": input["text"], "placement": cards::placement(&input["placement"]), "stages": stages,
            "edited": options["isEdit"] == json!(true), "age": options["depth"], "speaker": options["characterOverride"],
        });
        let ran = engine::run(EXACT, "rewrite", Scene::new(data), &[("texts", json!([text]))])?;
        let variables = ran.get("vars.local");
        Ok(json!({ "output": ran.column("texts", "text")[0], "variables": if variables.is_null() { json!({}) } else { variables } }))
    }
}

/// `sillytavern-macro`: single texts expanded by the recorded client, with what they wrote and drew.
pub(super) mod macros {
    use serde_json::{Value as Json, json};

    use crate::adapters::text::words;
    use crate::adapters::wire::parts;
    use crate::adapters::{cards, chat_completion as chat};
    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::{EXACT, Scene};

    /// Where the oracle keeps the texts of outlets.
    const OUTLET: &str = "customWIOutlet_";

    /// One text or several over one state.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let actual = expanded(&case.input).unwrap_or_else(|error| error);
        vec![case.check(actual, same)]
    }

    fn expanded(input: &Json) -> Result<Json, Json> {
        let mut texts: Vec<&str> = input["texts"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let single = texts.is_empty();
        if single {
            texts.push(input["text"].as_str().unwrap_or_default());
        }
        let options = &input["options"];
        let mut names = options["dynamic_macros"].as_object().cloned().unwrap_or_default();
        if let Some(original) = options.get("original").filter(|o| o.is_string()) {
            names.insert("original".to_owned(), original.clone());
        }
        // when the script of draws ends, the recorder goes on with zeros
        let mut draws: Vec<f64> = input["random"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
        draws.resize(draws.len() + 1000, 0.0);
        let data = scene(input)?;
        let done = engine::expand(EXACT, Scene { draws: Some(draws), ..Scene::new(data.clone()) }, &texts, &Json::Object(names))?;
        let mut variables = json!({ "local": {}, "global": {} });
        parts::lay(&mut variables, data["vars"].clone());
        for store in ["local", "global"] {
            for (name, value) in done["patch"]["vars"][store].as_object().into_iter().flatten() {
                match (variables[store].as_object_mut(), value) {
                    (Some(of), Json::Null) => drop(of.remove(name)),
                    (Some(of), value) => drop(of.insert(name.clone(), value.clone())),
                    (None, _) => {}
                }
            }
        }
        let mut out = json!({ "variables": variables, "random_calls": done["draws"] });
        match single {
            true => parts::set(&mut out, "output", done["texts"][0].clone()),
            false => parts::set(&mut out, "outputs", done["texts"].clone()),
        }
        Ok(out)
    }

    /// What a fresh install has of the settings that macros quote.
    fn stored() -> Json {
        json!({
            "instruct": { "enabled": false },
            "context": { "example_separator": "***", "chat_start": "***" },
            "sysprompt": { "enabled": true, "content": "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}." },
            "extensions": { "regex": true },
        })
    }

    fn scene(input: &Json) -> Result<Json, Json> {
        let mut data = json!({ "type": "normal" });
        parts::lay(&mut data, cards::card(EXACT, &chat::speaker(input))?);
        parts::lay(&mut data, cards::chat(EXACT, &chat::chat(input))?);
        parts::put(&mut data, "names", chat::names(input));
        parts::put(&mut data, "now", input.get("now").cloned().unwrap_or_else(|| json!("2024-03-05T14:07:09Z")));
        parts::put(&mut data, "chat.id", input.get("chat_id").cloned().unwrap_or_else(|| json!("oracle-chat")));
        parts::put(&mut data, "chat.metadata", input.get("chat_metadata").cloned().unwrap_or_else(|| json!({})));
        let text = input["main_api"] == json!("textgenerationwebui");
        parts::put(&mut data, "dialect", json!(if text { "text" } else { "openai" }));
        parts::put(&mut data, "context.window", json!(if text { 8192 } else { 4095 }));
        parts::put(&mut data, "context.reserve", json!(if text { 350 } else { 300 }));
        parts::put(&mut data, "provider.model", input.get("model").cloned().unwrap_or_else(|| json!("oracle-model")));
        chat::settings(input, &mut data);
        words::persona(&input["persona"], &mut data);
        words::note(&input["authors_note"], &mut data);
        chat::group(input, &mut data)?;
        options(&input["options"], &mut data);
        if input["engine"] == json!("legacy") {
            parts::put(&mut data, "macro_flavour", json!("passes"));
        }
        let mut settings = stored();
        for key in ["instruct", "context", "sysprompt"] {
            if let Some(given) = input["power_user"].get(key) {
                parts::lay(&mut settings, json!({ key: given }));
            }
        }
        if let Some(instruct) = input.get("instruct").filter(|i| i.is_object()) {
            parts::lay(&mut settings, json!({ "instruct": instruct }));
            parts::put(&mut settings, "instruct.enabled", json!(true));
        }
        parts::put(&mut data, "stored", settings);
        parts::put(&mut data, "vars", input.get("variables").cloned().unwrap_or_else(|| json!({})));
        for prompt in input["extension_prompts"].as_array().into_iter().flatten() {
            if let Some(name) = prompt["key"].as_str().and_then(|key| key.strip_prefix(OUTLET)) {
                parts::put(&mut data, &format!("outlet.{name}"), prompt["value"].clone());
            }
        }
        Ok(data)
    }

    /// What the call itself says in place of the chat.
    fn options(options: &Json, data: &mut Json) {
        parts::copy(options, data, &[("name1", "names.user"), ("name2", "names.char"), ("group", "names.group_override")]);
        if options["replace_character_card"] == json!(false) {
            parts::put(data, "card_macros", json!(false));
        }
    }
}
