//! Templates over the tasks that the pack `storyforge` brings: built as any prompt is.

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, Value, build};

use super::template_check;
use crate::case::Case;

/// The build of a case, as the cases have it; or the error.
pub(super) fn built(case: &Case) -> Result<Json, Json> {
    let input = &case.input;
    let mut template = input["template"].clone();
    template["revision"] = input["revision"].clone();
    let rules = Ruleset::open_with("storyforge", &[("template.json", &template.to_string())]).map_err(|r| template_check::error(&r))?;
    if input["mode"] == "compile" {
        return Ok(json!({ "ok": true }));
    }
    let mut data = json!({ "template": template["id"], "data": input["context"], "max_tokens": input["budget"]["maxTokens"] });
    if input["compile"]["checkKind"] != json!(false) {
        data["task"] = input["task"]["kind"].clone();
    }
    let scene = Scene { data: Value::from(&data), ..Scene::default() };
    let plan = build(&rules, &scene).map_err(|e| json!({ "error": { "category": "render", "said": [e.message] } }))?;
    let messages: Vec<Json> = plan.blocks.iter().map(|block| message(&block.fields)).collect();
    let tokens = plan.set.at("rendered.tokens").map(Value::to_json);
    let warnings = plan.warnings.iter().filter(|w| w.code == "template.data").count();
    Ok(json!({ "messages": messages, "tokensConsumed": tokens, "warnings": warnings }))
}

fn message(block: &Value) -> Json {
    let field = |key: &str| block.get(key).map(Value::to_json).unwrap_or_default();
    let mut message = json!({ "role": field("role"), "content": field("text") });
    if field("prefix") == json!(true) {
        message["prefix"] = json!(true);
    }
    message
}
