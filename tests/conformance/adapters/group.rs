//! `contract-group`: who speaks next.

use serde_json::{Value as Json, json};

use crate::adapters::wire::parts;
use crate::case::{Case, Check, fits, texts, unordered};
use crate::engine;
use crate::engine::{CONTRACT, Ran, Scene};

/// Seeds that are tried to see every alternative of a chance.
const SUPPORT: u64 = 400;

/// One case, by its operation.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let check = match case.op() {
        "decide" => decide(case),
        "words" => case.check(words(&input["text"]), fits),
        "repeat" => repeat(case),
        "handshake" => case.check(handshake(input), handshakes_alike),
        "fingerprint" => case.check(fingerprints(input), fits),
        "fingerprint_recorded" => case.check(recorded(input), fits),
        "build" => case.check(build(input), prompts_alike),
        other => Check::broken("", case, &format!("no adapter for op `{other}` yet")),
    };
    vec![check]
}

/// The scene of a configuration and a turn.
fn data(config: &Json, turn: &Json) -> Json {
    json!({
        "type": turn["generation_type"],
        "members": config["members"],
        "history": turn["chat"],
        "group": {
            "active": true, "strategy": config["activation_strategy"], "mode": config["generation_mode"],
            "allow_self_responses": config["allow_self_responses"], "disabled_members": config["disabled_members"],
        },
        "turn": {
            "is_user_input": turn["is_user_input"], "activation_text": turn["activation_text"], "last_speaker": turn["last_speaker_id"],
        },
    })
}

fn decided(input: &Json, seed: &str, draws: Option<Vec<f64>>) -> Result<Ran, Json> {
    let scene = Scene { seed: seed.to_owned(), draws, ..Scene::new(data(&input["config"], &input["turn"])) };
    engine::run(CONTRACT, "decide", scene, &[])
}

fn chosen(input: &Json, seed: &str) -> Result<Json, Json> {
    decided(input, seed, None).map(|ran| ran.column("chosen", "id"))
}

fn seeds(input: &Json) -> Vec<String> {
    input["rng"]["seeds"].as_array().into_iter().flatten().map(Json::to_string).collect()
}

fn decide(case: &Case) -> Check {
    let input = &case.input;
    let results: Result<Vec<Json>, Json> = match input["rng"]["draws"].as_array() {
        Some(draws) => {
            let draws = draws.iter().filter_map(Json::as_f64).collect();
            decided(input, "", Some(draws)).and_then(|ran| match ran.draws_left() {
                0 => Ok(vec![ran.column("chosen", "id")]),
                left => Err(json!({ "draws_left": left, "activated": ran.column("chosen", "id") })),
            })
        }
        None => seeds(input).iter().map(|seed| chosen(input, seed)).collect(),
    };
    let actual = match results {
        Ok(results) => json!({ "results": results }),
        Err(error) => error,
    };
    let scripted = input["rng"]["draws"].is_array();
    case.check(actual, |expected, actual| {
        let Some(results) = actual["results"].as_array() else { return fits(expected, actual) };
        if let Some(alternatives) = expected["one_of"].as_array() {
            return results.iter().all(|r| alternatives.contains(r)) && (scripted || all_occur(input, alternatives));
        }
        if expected.get("set").is_some() {
            let sorted = |list: &Json| {
                let mut held = json!({ "list": list });
                unordered(&mut held, "list");
                held
            };
            return results.iter().all(|r| sorted(r) == sorted(&expected["set"]));
        }
        expected.get("activated").is_some_and(|want| results.iter().all(|r| r == want))
    })
}

/// Over many seeds, every alternative occurs.
fn all_occur(input: &Json, alternatives: &[Json]) -> bool {
    let mut missing: Vec<&Json> = alternatives.iter().collect();
    for seed in 0..SUPPORT {
        if missing.is_empty() {
            break;
        }
        let Ok(result) = chosen(input, &seed.to_string()) else { return false };
        missing.retain(|alternative| **alternative != result);
    }
    missing.is_empty()
}

fn words(text: &Json) -> Json {
    let data = json!({ "group": { "strategy": "natural" }, "turn": { "activation_text": text } });
    match engine::run(CONTRACT, "natural", Scene::new(data), &[("members", json!([]))]) {
        Ok(ran) => json!({ "words": ran.get("turn.words") }),
        Err(error) => error,
    }
}

fn repeat(case: &Case) -> Check {
    let times = case.input["times"].as_u64().unwrap_or(1);
    let runs: Result<Vec<Vec<Json>>, Json> =
        seeds(&case.input).iter().map(|seed| (0..times).map(|_| chosen(&case.input, seed)).collect()).collect();
    let actual = match runs {
        Ok(runs) => {
            let equal = runs.iter().all(|results| results.windows(2).all(|two| two.first() == two.last()));
            let mut firsts: Vec<String> = runs.iter().filter_map(|r| r.first()).map(Json::to_string).collect();
            firsts.sort();
            firsts.dedup();
            json!({ "all_equal_per_seed": equal, "distinct": firsts.len() })
        }
        Err(error) => error,
    };
    case.check(actual, |expected, actual| {
        let enough = actual["distinct"].as_u64() >= expected["at_least_distinct"].as_u64();
        enough && (expected["all_equal_per_seed"].is_null() || expected["all_equal_per_seed"] == actual["all_equal_per_seed"])
    })
}

fn handshake(input: &Json) -> Json {
    let seed = input["seed"].to_string();
    let mut data = data(&input["config"], &input["turn"]);
    parts::put(&mut data, "seed", input["seed"].clone());
    let mut given = input["app_decision"].clone();
    if given["from_mode_a"] == json!(true) {
        given = match engine::run(CONTRACT, "decide", Scene { seed: seed.clone(), ..Scene::new(data.clone()) }, &[]) {
            Ok(ran) => ran.get("turn.computed"),
            Err(error) => return error,
        };
    }
    parts::put(&mut data, "turn.decision", given);
    parts::put(&mut data, "turn.compute", input["compute"].clone());
    let scene = Scene { seed, strict: input["strict"] == json!(true), ..Scene::new(data) };
    match engine::run(CONTRACT, "decide", scene, &[]) {
        Ok(ran) => {
            let decision = ran.get("turn.computed");
            json!({
                "used": ran.column("chosen", "id"), "source": ran.get("turn.source"), "warnings": ran.warnings(),
                "decision_has_reasons": decision["reasons"].as_array().is_some_and(|r| !r.is_empty()), "decision": decision,
            })
        }
        Err(error) => error,
    }
}

/// Whether two configurations or decisions have one fingerprint; both must have one.
fn fingerprints(input: &Json) -> Json {
    match (fingerprint(input, "a"), fingerprint(input, "b")) {
        (Ok(a), Ok(b)) => json!({ "equal": a == b }),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

fn fingerprint(input: &Json, which: &str) -> Result<Json, Json> {
    let what = input["what"].as_str().unwrap_or("");
    let mut data = if what == "config" { data(&input[which], &json!({})) } else { json!({}) };
    if what == "decision" {
        parts::put(&mut data, "turn.decision", input[which].clone());
        parts::put(&mut data, "turn.compute", json!(false));
    }
    match engine::run(CONTRACT, "decide", Scene::new(data), &[])?.get(&format!("turn.fingerprint.{what}")) {
        Json::Null => Err(json!("no fingerprint")),
        found => Ok(found),
    }
}

/// Which fingerprints a traced decision notes.
fn recorded(input: &Json) -> Json {
    let scene = Scene { seed: input["seed"].to_string(), trace: true, ..Scene::new(data(&input["config"], &input["turn"])) };
    match engine::run(CONTRACT, "decide", scene, &[]) {
        Ok(ran) => json!({ "recorded": ran.get("stat.group").as_object().map(|m| m.keys().cloned().collect::<Vec<_>>()) }),
        Err(error) => error,
    }
}

fn handshakes_alike(expected: &Json, actual: &Json) -> bool {
    let warnings = texts(&actual["warnings"]);
    let mut counted = actual.clone();
    parts::set(&mut counted, "warnings", json!(warnings.len()));
    let prefix = expected["warning_prefix"].as_str().unwrap_or("");
    let reasons = actual["decision"]["reasons"].to_string();
    warnings.iter().all(|w| w.starts_with(prefix))
        && texts(&expected["reasons_contain"]).iter().all(|r| reasons.contains(r))
        && fits(&crate::case::without(expected, &["warning_prefix", "reasons_contain"]), &counted)
}

fn build(input: &Json) -> Json {
    let mut data = data(&input["config"], &input["turn"]);
    let cards = &input["cards"];
    for member in data["members"].as_array_mut().into_iter().flatten() {
        let id = member["id"].as_str().unwrap_or("").to_owned();
        parts::set(member, "card", cards[id.as_str()].clone());
    }
    // whoever names no decision says who speaks
    if input["app_decision"].is_null() {
        parts::put(&mut data, "speaker", input["speaker"].clone());
    }
    parts::put(&mut data, "group.nudge", input["preset"]["group_nudge_prompt"].clone());
    parts::put(&mut data, "turn.decision", input["app_decision"].clone());
    match engine::build(CONTRACT, Scene::new(data)) {
        Ok(built) => built.messages(),
        Err(error) => error,
    }
}

fn prompts_alike(expected: &Json, actual: &Json) -> bool {
    let Some(messages) = actual.as_array() else { return fits(expected, actual) };
    let prompt = messages.iter().filter_map(|m| m["content"].as_str()).collect::<Vec<_>>().join("\n");
    texts(&expected["prompt_contains"]).iter().all(|t| prompt.contains(t))
        && !texts(&expected["prompt_lacks"]).iter().any(|t| prompt.contains(t))
}

/// `sillytavern-group-activation` and `sillytavern-group-cards`: recorded groups.
pub(super) mod sillytavern {
    use serde_json::{Value as Json, json};

    use crate::adapters::text::words;
    use crate::adapters::wire::parts;
    use crate::adapters::{cards, chat_completion as chat};
    use crate::case::{Case, Check, fits};
    use crate::engine;
    use crate::engine::{EXACT, Scene};

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
        crate::case::without(expected, keys)
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
        let mut merged = crate::adapters::cards::merged(&ran.get("card"));
        if let Some(examples) = merged.as_object_mut().and_then(|c| c.remove("mes_example")) {
            parts::set(&mut merged, "mesExamples", examples);
        }
        // what is not joined is the speaker's own
        let mut whole = cards::card(EXACT, &chat::speaker(input))?;
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
}
