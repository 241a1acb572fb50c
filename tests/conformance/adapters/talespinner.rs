//! `talespinner`: operations, stores and configurations of the real program.
//!
//! The scene is given what was recorded under the names of the pack; what the program reports comes back as it stands.

use serde_json::{Map, Value as Json, json};

use crate::case::{Case, Check, fits};
use crate::engine;
use crate::engine::{Ran, Scene};

/// The pack that follows the real program.
const PACK: &str = "talespinner-exact";

/// One recorded case, by what was recorded.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let actual = match input["kind"].as_str().unwrap_or_default() {
        "run" => run(input),
        "prompt_effects" => prompt_effects(input),
        "run_store" => run_store(input),
        "session_store" => session_store(input),
        "activation" => activation(input),
        "validate_block" => program("validate_block", json!({ "profile": { "block": input["block"] } }), |ran| ran.get("validated")),
        _ if input.get("rawParams").is_some() => {
            program("normalize_artifact", json!({ "single": input }), |ran| ran.get("single_artifact"))
        }
        other => json!(format!("the adapter does not know `{other}`")),
    };
    let expected = case.answers().next().map(free).unwrap_or_default();
    let actual = free(&actual);
    let passed = fits(&expected, &actual);
    vec![Check { level: String::new(), passed, expected, actual }]
}

/// What a program reports about a scene.
fn program(name: &str, scene: Json, report: impl Fn(&Ran) -> Json) -> Json {
    match engine::run(PACK, name, Scene::new(scene), &[]) {
        Ok(ran) => report(&ran),
        Err(error) => error,
    }
}

/// A whole run: both phases, the prompt, and the artifacts.
fn run(input: &Json) -> Json {
    let scene = json!({
        "type": if input["trigger"] == json!("regenerate") { "regenerate" } else { "normal" },
        "now": "2026-01-01T00:00:00.000Z",
        "names": { "char": "Ines", "user": "Pilot" },
        "reply": { "text": input["mainText"] },
        // no turn of a chat was stored when the cases were recorded
        "operations": { "concurrent": input["executionMode"] == json!("concurrent"), "stored_turn": false },
        "session": { "key": if input.get("sessionKey").is_some_and(Json::is_null) { "" } else { "s" } },
        "profile": {
            "operations": input["operations"], "persisted": input["persisted"], "activation_skipped": input["activationSkipped"],
            "stop_before_main": input["mainText"].is_null(),
        },
    });
    let ran = match engine::run(PACK, "profile_run", Scene::new(scene), &[("blocks", blocks(&input["messages"]))]) {
        Ok(ran) => ran,
        Err(error) => return error,
    };
    let mut report = ran.get("log");
    for (key, value) in [
        ("promptSentToMainLlm", ran.get("sent")),
        ("effectivePrompt", messages(&ran)),
        ("assistantText", ran.get("reply.text")),
        ("runArtifacts", table(ran.get("run.store"))),
        ("persistedArtifacts", table(ran.get("loaded"))),
    ] {
        super::put(&mut report, key, value);
    }
    report
}

fn prompt_effects(input: &Json) -> Json {
    let scene = Scene::new(json!({ "profile": { "effects": input["effects"] } }));
    match engine::run(PACK, "prompt_effects", scene, &[("blocks", blocks(&input["messages"]))]) {
        Ok(ran) => json!({ "messages": messages(&ran) }),
        Err(error) => error,
    }
}

fn run_store(input: &Json) -> Json {
    let writes = each(&input["writes"], &input["defaults"]);
    program(
        "run_store",
        json!({ "profile": { "writes": writes } }),
        |ran| json!({ "returned": ran.get("returned"), "snapshot": table(ran.get("run.store")) }),
    )
}

fn session_store(input: &Json) -> Json {
    let whose = json!({ "session": "s", "ownerId": "global" });
    let write = json!({
        "session": "s", "ownerId": "global", "format": "markdown", "semantics": "state", "writeMode": "replace",
        "history": { "enabled": true, "maxItems": 20 },
    });
    let profile = json!({ "writes": each(&input["writes"], &write), "loads": each(&input["loads"], &whose) });
    program("session_store", json!({ "profile": profile }), |ran| {
        let loaded = ran.get("all_loaded");
        let loaded: Json = loaded.as_array().into_iter().flatten().map(|one| table(one["artifacts"].clone())).collect();
        json!({ "returned": ran.get("returned"), "loaded": loaded })
    })
}

fn activation(input: &Json) -> Json {
    let events = each(&input["events"], &json!({ "source": "user_message", "tokens": 0, "supports": true }));
    let profile = json!({ "activation": input["activation"], "events": events });
    program("activation", json!({ "profile": profile }), |ran| json!({ "steps": ran.get("steps") }))
}

/// Each table of a list, over the defaults that the cases are recorded with.
fn each(list: &Json, defaults: &Json) -> Json {
    let over = |one: &Json| {
        let mut whole = defaults.as_object().cloned().unwrap_or_default();
        whole.extend(one.as_object().cloned().unwrap_or_default());
        Json::Object(whole)
    };
    list.as_array().into_iter().flatten().map(over).collect()
}

fn blocks(messages: &Json) -> Json {
    messages.as_array().into_iter().flatten().map(|m| json!({ "role": m["role"], "text": m["content"] })).collect()
}

fn messages(ran: &Ran) -> Json {
    ran.list("blocks").into_iter().map(|b| json!({ "role": b["role"], "content": b["text"] })).collect()
}

/// A table; nothing is an empty one.
fn table(value: Json) -> Json {
    if value.is_null() { Json::Object(Map::new()) } else { value }
}

/// Messages of errors that come from libraries are each program's own: beside a `code` they are left out, and of a
/// template that cannot be read only the beginning is kept.
fn free(value: &Json) -> Json {
    const TEMPLATE: &str = "Template does not compile";
    match value {
        Json::Object(map) => {
            let told = |(key, _): &(&String, &Json)| key.as_str() != "message" || !map.contains_key("code");
            map.iter().filter(told).map(|(key, value)| (key.clone(), free(value))).collect()
        }
        Json::Array(list) => list.iter().map(free).collect(),
        Json::String(text) if text.starts_with(TEMPLATE) => json!(TEMPLATE),
        other => other.clone(),
    }
}

/// `liquid`: one template over one context, as the real program renders it in all its passes.
pub(super) mod liquid {
    use serde_json::json;

    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::Scene;

    /// The pack that follows the real program.
    const PACK: &str = "talespinner-exact";

    /// The text that comes out, or that there was an error.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let input = &case.input;
        let liquid = json!({
            "of": input["template"], "with": input["context"], "strict": input["options"]["strictVariables"] == json!(true),
        });
        // the recorder's generator always gave 0
        let scene = Scene { draws: Some(vec![0.0; 1000]), ..Scene::new(json!({ "liquid": liquid })) };
        let actual = match engine::run(PACK, "liquid", scene, &[]) {
            Ok(ran) if ran.get("liquid.made.error").is_null() => json!({ "output": ran.get("liquid.made.value") }),
            Ok(ran) => json!({ "error": true, "message": ran.get("liquid.made.error.message") }),
            Err(error) => error,
        };
        // messages of mistakes are each program's own
        let expected = crate::case::without(&case.expected, &["message"]);
        let passed = same(&expected, &crate::case::without(&actual, &["message"]));
        vec![Check { level: String::new(), passed, expected, actual }]
    }
}
