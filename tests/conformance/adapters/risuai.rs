//! Recordings of RisuAI: their inputs are laid over a baseline and go through the pack's `foreign` maps.

/// The pack that follows the real program.
pub(crate) const PACK: &str = "risuai-exact";

/// `risuai-prompt`: whole sends up to the request. Empty lists of a recorded message are the same as none.
pub(super) mod prompt {
    use serde_json::{Map, Value as Json, json};

    use super::PACK;
    use super::scene::scene;
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::Built;

    /// A message list, or the error, and what a case records besides.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let built = scene(case, "prompt").and_then(|scene| engine::build(PACK, scene));
        let expected = normal(&case.expected);
        let actual = match built {
            Ok(built) => sent(&built, &expected, &case.input["bodyPick"]),
            Err(error) => refused(&error, &expected),
        };
        vec![Check { level: String::new(), passed: same(&expected, &actual), expected, actual }]
    }

    /// What a recording names, of a prompt that was built.
    fn sent(built: &Built, expected: &Json, pick: &Json) -> Json {
        let mut out = json!({});
        for key in expected.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
            let value = match key {
                "ok" => json!(true),
                "formatted" => {
                    normal(&json!(built.blocks().iter().filter(|b| b["enabled"] != json!(false)).map(message).collect::<Vec<_>>()))
                }
                "tokens" => built.set("plan.tokens"),
                "lastMemory" => built.set("plan.last_memory"),
                "messagesAfter" => built.set("plan.history"),
                "scriptstate" => variables(&built.patch()),
                "body" => request(built, "payload", pick),
                "url" => request(built, "url", &Json::Null),
                _ => Json::Null,
            };
            parts::set(&mut out, key, value);
        }
        out
    }

    /// Of a send that fails: that it does, and what is told.
    fn refused(error: &Json, expected: &Json) -> Json {
        let error = &error["error"];
        let mut out = json!({ "ok": false });
        if !expected["alert"].is_null() {
            parts::set(&mut out, "alert", json!({ "type": "error", "msg": error["message"] }));
        }
        // what the application throws by mistake is an error of its own words here
        for key in ["throws", "lastMemory"] {
            if error["kind"].is_string() && !expected[key].is_null() {
                parts::set(&mut out, key, expected[key].clone());
            }
        }
        if expected["ok"].is_null() {
            parts::set(&mut out, "ok", Json::Null);
        }
        parts::set(&mut out, "error", if expected["ok"] == json!(true) { error.clone() } else { Json::Null });
        out
    }

    /// A block as the application lists it.
    fn message(block: &Json) -> Json {
        let flag = |name: &str| if block[name] == json!(true) { json!(true) } else { Json::Null };
        // an item with a role that the application does not know is sent without one
        let role = if block["role"] == json!("") { Json::Null } else { block["role"].clone() };
        json!({
            "role": role, "content": block["text"], "memo": block["memo"], "name": block["name"],
            "removable": flag("removable"), "cachePoint": flag("cache"), "thoughts": block["thoughts"],
            "attr": if block["name_added"] == json!(true) { json!(["nameAdded"]) } else { Json::Null },
        })
    }

    /// The payload of the dialect that the pack chooses, or where it goes.
    fn request(built: &Built, what: &str, pick: &Json) -> Json {
        let dialect = built.set("plan.dialect");
        match built.request(dialect.as_str().unwrap_or("openai")) {
            Ok(sent) if what == "url" => sent["request"]["url"].clone(),
            Ok(sent) => {
                let picked = |key: &Json| key.as_str().map(|key| (key.to_owned(), sent["payload"][key].clone()));
                pick.as_array().into_iter().flatten().filter_map(picked).filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into()
            }
            Err(error) => error,
        }
    }

    /// The chat's variables under the names that the application stores them by.
    fn variables(patch: &Json) -> Json {
        let local = patch["vars"]["local"].as_object().into_iter().flatten();
        local.map(|(name, value)| (format!("${name}"), value.clone())).collect::<Map<_, _>>().into()
    }

    /// A recording without empty lists in messages.
    fn normal(json: &Json) -> Json {
        match json {
            Json::Object(map) => {
                let full = |(key, value): &(&String, &Json)| !(matches!(key.as_str(), "attr" | "thoughts") && **value == json!([]));
                map.iter().filter(full).map(|(key, value)| (key.clone(), normal(value))).collect::<Map<_, _>>().into()
            }
            Json::Array(list) => list.iter().map(normal).collect(),
            other => other.clone(),
        }
    }
}

/// The scene of a recording: its input over the baseline, as documents of RisuAI, through the pack's formats.
pub(super) mod scene {
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;

    use serde_json::{Map, Value as Json, json};

    use super::PACK;
    use crate::adapters::wire::parts;
    use crate::case::Case;
    use crate::engine;
    use crate::engine::Scene;

    /// How often the last recorded draw is repeated.
    const REPEATS: usize = 2_000;

    /// What takes part in a send, as RisuAI has it: `db`, `character`, `chat`, and `group` with its `members`.
    pub(crate) fn documents(case: &Case, family: &str) -> Json {
        let mut out = case.input.clone();
        let group = case.input["group"].is_object();
        for part in ["db", "character", "chat"] {
            let base = laid(&baseline()["all"][part], &baseline()[family][part]);
            if part == "character" && group {
                let members = case.input["members"].as_array().into_iter().flatten();
                let members: Json = members.map(|member| completed(laid(&base, member))).collect();
                let speaks = case.input["chatProcessIndex"].as_u64().unwrap_or(0);
                let speaker = members.get(usize::try_from(speaks).unwrap_or(0)).cloned().unwrap_or(Json::Null);
                parts::set(&mut out, "members", members);
                parts::set(&mut out, part, speaker);
            } else {
                parts::set(&mut out, part, completed(laid(&base, &case.input[part])));
            }
        }
        if group {
            parts::set(&mut out, "group", completed(case.input["group"].clone()));
        }
        if let Some(modules) = out["db"]["modules"].as_array().cloned() {
            parts::set(&mut out["db"], "modules", modules.into_iter().map(completed).collect());
        }
        out
    }

    /// The scene of a recording: `family` is the part of the baseline that it is laid over.
    pub(crate) fn scene(case: &Case, family: &str) -> Result<Scene, Json> {
        let given = documents(case, family);
        let mut data = json!({});
        for (format, part) in [("risu_preset", "db"), ("risu_character", "character"), ("risu_chat", "chat")] {
            parts::lay(&mut data, engine::import(PACK, format, &given[part])?);
        }
        parts::lay(&mut data, engine::import(PACK, "risu_session", &given)?);
        parts::put(&mut data, "now", case.pins["now"].clone());
        if case.input["continue"] == json!(true) {
            parts::put(&mut data, "type", json!("continue"));
        }
        parts::put(&mut data, "context.tokenizer", tokenizer(&case.pins["tokenizer"]));
        Ok(Scene { draws: draws(&case.pins["random"]), ..Scene::new(data) })
    }

    /// How tokens were counted.
    fn tokenizer(pin: &Json) -> Json {
        if pin.as_str().is_some_and(|text| text.starts_with("words")) { json!("words") } else { json!("o200k") }
    }

    /// The numbers that were drawn; the last one repeats.
    fn draws(pin: &Json) -> Option<Vec<f64>> {
        let mut given: Vec<f64> = pin.as_array()?.iter().filter_map(Json::as_f64).collect();
        let last = *given.last()?;
        given.resize(given.len() + REPEATS, last);
        Some(given)
    }

    /// A table over another one; a field that is given replaces the one below as a whole.
    fn laid(below: &Json, above: &Json) -> Json {
        let fields = |json: &Json| json.as_object().cloned().unwrap_or_default();
        let mut out: Map<String, Json> = fields(below);
        out.extend(fields(above));
        Json::Object(out)
    }

    /// Lore entries with the fields that every entry has, messages with the ids that they were given.
    fn completed(mut owner: Json) -> Json {
        let defaults = &baseline()["loreEntryDefaults"];
        for list in ["globalLore", "localLore", "lorebook"] {
            if let Some(entries) = owner[list].as_array().map(|entries| entries.iter().map(|entry| laid(defaults, entry)).collect()) {
                parts::set(&mut owner, list, entries);
            }
        }
        for (n, message) in owner.get_mut("message").and_then(Json::as_array_mut).into_iter().flatten().enumerate() {
            if message["chatId"].is_null() {
                parts::set(message, "chatId", json!(format!("m{n}")));
            }
        }
        owner
    }

    /// What all recordings have in common.
    fn baseline() -> &'static Json {
        static BASELINE: OnceLock<Json> = OnceLock::new();
        BASELINE.get_or_init(|| {
            let shared = Path::new(env!("CHECKOUT")).join("../shared/conformance");
            let folder: PathBuf = std::env::var("TAPSTER_CONFORMANCE").map_or(shared, Into::into);
            let read = |file: PathBuf| std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            read(folder.join("risuai/baseline.json")).or_else(|| read(folder.join("baseline.json"))).unwrap_or_default()
        })
    }
}

/// `risuai-import`: files and documents as the program reads them: containers through the readers, what they hold
/// through the pack's conversions.
pub(super) mod import {
    use std::path::{Path, PathBuf};

    use serde_json::{Value as Json, json};

    use super::PACK;
    use crate::case::{Case, Check, same};
    use crate::engine;

    /// What stands for a value that is made anew each time, and for a field that is not there.
    const RANDOM: &str = "(random)";
    const ABSENT: &str = "(absent)";

    /// A file, card, lorebook, preset, module or text, and the parts of what is made of it that the case names.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let read = document(&case.input).and_then(|document| made(&document, &case.expected));
        let actual = read.unwrap_or_else(|error| error);
        vec![case.check(actual, |want, have| fits(want, have, true))]
    }

    /// The document of a case: the one in its file, or the one it gives.
    fn document(input: &Json) -> Result<Json, Json> {
        if let Some(name) = input["file"].as_str() {
            let bytes = std::fs::read(folder().join(name)).map_err(|e| json!({ "error": format!("{name}: {e}") }))?;
            let contents = tapster_exchange::import::read(name, &bytes).map_err(|e| json!({ "error": format!("{e:?}") }))?;
            return Ok(contents.main().map(|d| d.json()).unwrap_or_default());
        }
        if !input["entries"].is_null() {
            return Ok(input.clone());
        }
        let given = input.as_object().and_then(|fields| fields.values().next());
        Ok(given.cloned().unwrap_or_default())
    }

    /// What the program makes of a document, by the words that the case uses for it.
    fn made(document: &Json, expected: &Json) -> Result<Json, Json> {
        let wanted = |key: &str| expected.get(key).is_some();
        let by = |row: &str| engine::convert(PACK, row, document);
        if wanted("module") {
            return Ok(json!({ "module": by("risu_module")? }));
        }
        if wanted("preset") {
            // a preset of the program itself is what it is
            let foreign = document["prompts"].is_array();
            return Ok(json!({ "preset": if foreign { by("risu_read_preset")? } else { document.clone() } }));
        }
        if wanted("promptTemplate") {
            return by("risu_read_preset");
        }
        if wanted("lorebook") {
            return Ok(json!({ "lorebook": by("risu_read_lore")?["data"] }));
        }
        if wanted("messages") {
            return by("risu_messages");
        }
        by("risu_character")
    }

    /// The fields of `want` are those of `have`; below the first `loose` levels, there are no others either.
    fn fits(want: &Json, have: &Json, loose: bool) -> bool {
        match (want, have) {
            (Json::String(word), _) if word == RANDOM => true,
            (Json::String(word), _) if word == ABSENT => have.is_null(),
            (Json::Object(fields), Json::Object(_)) if loose => fields
                .iter()
                .all(|(key, value)| fits(value, have.get(key).unwrap_or(&Json::Null), matches!(key.as_str(), "preset" | "module"))),
            (Json::Object(fields), Json::Object(others)) if fields.values().any(|v| v == RANDOM || v == ABSENT) => {
                others.keys().all(|key| fields.contains_key(key)) && fits(want, have, true)
            }
            _ => same(want, have),
        }
    }

    /// The folder of the recordings.
    fn folder() -> PathBuf {
        let shared = Path::new(env!("CHECKOUT")).join("../shared/conformance");
        let folder: PathBuf = std::env::var("TAPSTER_CONFORMANCE").map_or(shared, Into::into);
        let below = folder.join("risuai");
        if below.is_dir() { below } else { folder }
    }
}

/// `risuai-lorebook`: what the lore loader makes of the entries: which are active, in which order, and what the chat
/// remembers.
pub(super) mod lore {
    use serde_json::{Value as Json, json};

    use super::{PACK, scene};
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, same, without};
    use crate::engine;

    /// What a recording explains and does not assert about the prompt: which key was found in which text.
    const UNTOLD: &[&str] = &["matchLog"];

    /// One run of the loader.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let actual = loaded(case).unwrap_or_else(|error| error);
        let expected = without(&case.expected, UNTOLD);
        let passed = same(&expected, &actual);
        vec![Check { level: String::new(), passed, expected, actual }]
    }

    fn loaded(case: &Case) -> Result<Json, Json> {
        let scene = scene::scene(case, "lorebook")?;
        let before = scene.data["vars"]["local"].clone();
        let ran = engine::run(PACK, "lore", scene, &[])?;
        let actives: Json = ran.list("entries").iter().filter(|entry| entry["enabled"] != json!(false)).map(active).collect();
        let mut out = json!({ "actives": actives });
        let mut state = serde_json::Map::new();
        for (name, value) in before.as_object().into_iter().flatten().chain(ran.get("vars.local").as_object().into_iter().flatten()) {
            state.insert(format!("${name}"), value.clone());
        }
        if !state.is_empty() {
            parts::set(&mut out, "scriptstate", Json::Object(state));
        }
        Ok(out)
    }

    /// An entry in the form of the recordings.
    fn active(entry: &Json) -> Json {
        let text = entry["text"].as_str().unwrap_or("");
        let inject = (entry["injects"] == json!(true)).then(|| {
            let lore = entry["inject_into"].is_string();
            let word = |key: &str, other: &str| entry[key].as_str().unwrap_or(other).to_owned();
            json!({
                "operation": word("inject_how", "append"),
                "location": if lore { word("inject_into", "") } else { word("inject_at", "") },
                "param": word("inject_what", ""),
                "lore": lore,
            })
        });
        let position = entry["position"].as_str().filter(|position| *position != "lorebook").unwrap_or("");
        json!({
            "depth": entry["depth"],
            "pos": position,
            "prompt": text,
            "role": entry["role"],
            "order": entry["order"],
            "tokens": entry["tokens"],
            "priority": entry["priority"],
            "source": entry["name"],
            "inject": inject,
        })
    }
}

/// `risuai-cbs`: one text expanded with the macros of the pack, and the variables of the chat after it.
pub(super) mod cbs {
    use serde_json::{Value as Json, json};

    use super::{PACK, scene};
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, same};
    use crate::engine;

    /// One text.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let actual = expanded(case).unwrap_or_else(|error| error);
        vec![case.check(actual, same)]
    }

    fn expanded(case: &Case) -> Result<Json, Json> {
        let mut scene = scene::scene(case, "cbs")?;
        let args = &case.input["args"];
        // what the caller says about the text
        let mode = match (&args["rmVar"], &args["runVar"]) {
            (Json::Bool(true), _) => "remove",
            (_, Json::Bool(true)) => "run",
            _ => "keep",
        };
        parts::put(&mut scene.data, "macro_mode", json!(mode));
        let names = json!({
            "message": {
                "index": args["chatID"].as_i64().filter(|index| *index >= 0),
                "role": args["role"],
                "first": args["cbsConditions"]["firstmsg"] == json!(true),
                "as": args["cbsConditions"]["chatRole"],
            },
            "show": { "display": args["visualize"] == json!(true), "fixed_names": args["consistantChar"] == json!(true) },
        });
        let before = variables(&scene.data["vars"]["local"]);
        let done = engine::expand(PACK, scene, &[case.input["template"].as_str().unwrap_or_default()], &names)?;
        let mut out = json!({ "output": done["texts"][0] });
        let mut after = before.clone();
        parts::lay(&mut after, variables(&done["patch"]["vars"]["local"]));
        if after != before {
            parts::set(&mut out, "scriptstate", after);
        }
        Ok(out)
    }

    /// Variables as they are recorded: `$name`.
    fn variables(store: &Json) -> Json {
        store
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (format!("${name}"), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// `risuai-regex`: one text through the scripts of a mode, and what else they have done.
pub(super) mod regex {
    use serde_json::{Value as Json, json};

    use super::{PACK, scene};
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, same};
    use crate::engine;

    /// One text.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let actual = rewritten(case).unwrap_or_else(|error| error);
        vec![case.check(actual, same)]
    }

    fn rewritten(case: &Case) -> Result<Json, Json> {
        let input = &case.input;
        let mut scene = scene::scene(case, "regex")?;
        parts::put(&mut scene.data, "edit.mode", input["mode"].clone());
        let number = input["chatID"].as_i64().filter(|number| *number >= 0);
        let text = json!([{ "id": "text", "text": input["data"], "number": number, "spoken_as": input["cbsConditions"]["chatRole"] }]);
        let ran = engine::run(PACK, "edit", scene, &[("edited", text)])?;
        let emotion = ran.get("edit.emotion");
        let mut out = json!({ "data": ran.column("edited", "text")[0], "emoChanged": emotion.is_object() });
        if emotion.is_object() {
            parts::set(&mut out, "emotions", json!([[emotion["name"], emotion["file"]]]));
        }
        let stored = ran.get("edit.stored");
        if let Some(stored) = stored.as_object().filter(|stored| !stored.is_empty()) {
            let mut messages = scene::documents(case, "regex")["chat"]["message"].clone();
            for (number, text) in stored {
                if let Some(message) = number.parse::<usize>().ok().and_then(|n| messages.get_mut(n)) {
                    parts::set(message, "data", text.clone());
                }
            }
            parts::set(&mut out, "messages", messages);
        }
        Ok(out)
    }
}
