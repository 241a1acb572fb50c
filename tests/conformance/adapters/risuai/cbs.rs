//! `risuai-cbs`: one text expanded with the macros of the pack, and the variables of the chat after it.

use serde_json::{Value as Json, json};

use super::{PACK, scene};
use crate::adapters::parts;
use crate::case::{Case, Check};
use crate::compare::same;
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
