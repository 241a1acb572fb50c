//! `sillytavern-raw` with a placement: one text through the regex scripts, outside a prompt.

use serde_json::{Value as Json, json};

use super::{chat_completion, imports, parts};
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine::{self, EXACT, Scene};

/// Runs the pack's program `rewrite` over the text.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let expected = json!({ "output": case.expected["output"], "variables": case.expected["variables"] });
    let actual = output(&case.input).unwrap_or_else(|error| error);
    vec![Check { level: String::new(), passed: same(&expected, &actual), expected, actual }]
}

fn output(input: &Json) -> Result<Json, Json> {
    let mut data = imports::card(EXACT, &chat_completion::speaker(input))?;
    parts::lay(&mut data, imports::scripts(EXACT, &input["regex_scripts"])?);
    parts::put(&mut data, "card.scripts_allowed", input["allowed_character_regex"].clone());
    parts::put(&mut data, "names", chat_completion::names(input));
    let options = &input["options"];
    let stages: Json = [("isPrompt", "prompt"), ("isMarkdown", "display")]
        .iter()
        .filter(|(option, _)| options[*option] == json!(true))
        .map(|(_, stage)| json!(stage))
        .collect();
    let text = json!({
        "text": input["text"], "placement": imports::placement(&input["placement"]), "stages": stages,
        "edited": options["isEdit"] == json!(true), "age": options["depth"], "speaker": options["characterOverride"],
    });
    let ran = engine::run(EXACT, "rewrite", Scene::new(data), &[("texts", json!([text]))])?;
    let variables = ran.get("vars.local");
    Ok(json!({ "output": ran.column("texts", "text")[0], "variables": if variables.is_null() { json!({}) } else { variables } }))
}
