//! `contract-directives`: schemas, replies and whole runs over the real runner, with a scripted transport.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tapster_client::directives::{DirectiveRegistry, DirectiveRequest, DirectiveRunner, Directives};
use tapster_client::{Problem, PromptRunner, RunError, RunnerConfig, Transport};

use super::tool_loop::{Script, plan, wait};
use crate::case::{Case, Check};
use crate::compare::same;
use crate::engine;

/// The pack of the contract.
const PACK: &str = "vibetavern";
/// Keys of `config` that are no configuration of a run, but words of the application.
const WORDS: [&str; 1] = ["repair_instruction"];

/// One case, twice: the second time must give the same.
pub(super) fn contract(case: &Case) -> Vec<Check> {
    let actual = ran(case).unwrap_or_else(|problems| json!({ "errors": problems }));
    let again = ran(case).unwrap_or_else(|problems| json!({ "errors": problems }));
    let actual = if actual == again { actual } else { json!({ "first": actual, "second": again }) };
    vec![case.check(actual, compare)]
}

/// Warnings and errors may say more than recorded; everything else is compared as a whole.
fn compare(expected: &Json, actual: &Json) -> bool {
    const LOOSE: [&str; 2] = ["warnings", "errors"];
    let part = |value: &Json, key: &str| value.get(key).cloned().unwrap_or_default();
    let keys = expected.as_object().into_iter().chain(actual.as_object()).flatten().map(|(key, _)| key.as_str());
    let mut keys = keys.filter(|key| !LOOSE.contains(key));
    keys.all(|key| same(&part(expected, key), &part(actual, key)))
        && LOOSE.iter().all(|key| crate::compare::fits(&part(expected, key), &part(actual, key)))
}

fn ran(case: &Case) -> Result<Json, Vec<Json>> {
    let input = &case.input;
    let registry = DirectiveRegistry::parse(&input["registry"]).map_err(|problems| told(&problems))?;
    let rules = engine::pack(PACK).map_err(|error| vec![error])?;
    let mut context = json!({ "provider": "openrouter", "model": "acme/one", "directives": {} });
    let mut values = Map::new();
    for (key, value) in input["config"].as_object().into_iter().flatten() {
        if WORDS.contains(&key.as_str()) {
            values.insert(key.clone(), value.clone());
        } else {
            context["directives"][key.as_str()] = value.clone();
        }
    }
    if !input["capabilities"].is_null() {
        context["capabilities"] = input["capabilities"].clone();
    }
    if !input["mode_instructions"].is_null() {
        values.insert("mode_texts".to_owned(), input["mode_instructions"].clone());
    }
    let allow = input["allow"].as_array().map(|names| names.iter().filter_map(Json::as_str).map(str::to_owned).collect());
    let config = RunnerConfig::parse(&rules, &context).map_err(refused)?;
    let plan = plan(&input["history"]);
    let request = DirectiveRequest { registry: Some(registry), allow, values };
    let directives = Directives::new(&config, &plan, &request).map_err(refused)?;
    Ok(match case.op() {
        "read" => match directives.read(input["text"].as_str().unwrap_or_default()) {
            Ok(reply) => json!(reply),
            Err(error) => json!({ "error": error.code(), "at": error.at() }),
        },
        "schema" => json!({ "response_format": directives.response_format("json_schema") }),
        "run" => run(input, &config, &plan, &directives)?,
        other => json!({ "unknown op": other }),
    })
}

fn run(input: &Json, config: &RunnerConfig, plan: &tapster::Plan, directives: &Directives) -> Result<Json, Vec<Json>> {
    let replies = input["replies"].as_array().into_iter().flatten().map(|reply| match reply.get("http_error") {
        Some(_) => reply.clone(),
        None => json!({ "message": { "role": "assistant", "content": reply["content"] }, "finish_reason": "stop" }),
    });
    let script = Arc::new(Script::new(&replies.collect()));
    let runner = DirectiveRunner::new(PromptRunner::new(Arc::clone(&script) as Arc<dyn Transport>));
    let options = input["options"].as_object().cloned().unwrap_or_default();
    let report = wait(runner.run(config, plan, directives, &options)).map_err(refused)?;
    if !script.left().is_empty() {
        return Ok(json!({ "replies left": script.left().len() }));
    }
    let requests = script.requests().into_iter().zip(&report.attempts).map(|(mut body, attempt)| {
        if let Some(body) = body.as_object_mut() {
            body.remove("model");
            body.insert("mode".to_owned(), json!(attempt.mode));
        }
        body
    });
    let mut out = json!(report);
    out["requests"] = requests.collect();
    if out["warnings"] == json!([]) && !report.ok {
        out["warnings"] = Json::Null;
    }
    Ok(out)
}

fn refused(error: RunError) -> Vec<Json> {
    match error {
        RunError::Config(problems) => told(&problems),
        other => vec![json!(other.to_string())],
    }
}

fn told(problems: &[Problem]) -> Vec<Json> {
    problems.iter().map(|p| json!({ "code": p.code, "at": p.at })).collect()
}
