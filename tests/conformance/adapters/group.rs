//! `contract-group`: who speaks next.

use serde_json::{Value as Json, json};

use super::parts;
use crate::case::{Case, Check};
use crate::compare::{fits, texts, unordered};
use crate::engine::{self, CONTRACT, Ran, Scene};

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
        && fits(&crate::compare::without(expected, &["warning_prefix", "reasons_contain"]), &counted)
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
