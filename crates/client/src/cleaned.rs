//! What becomes of an answer before it is shown and stored, and in which language a model is asked to answer: both as
//! the pack says.
//!
//! Only the text of an answer is changed. Calls of tools, their results and directives pass untouched, because they
//! are data and not prose.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use super::{Reply, RunError, RunnerConfig};
use crate::build::{run, run_values};
use crate::model::plan::PlanBlock;
use crate::model::{Plan, Scene, Value};

/// The program that cleans up an answer.
const REPLY: &str = "reply";
/// The program that says in which language to answer.
const LANGUAGE: &str = "language_policy";
/// Parts of the configuration that the programs read.
const READ: [&str; 2] = ["output_tags", "language_policy"];

/// The answer as it is shown and stored: the pack's program `reply` over its text and reasoning, with the tag rules of
/// the configuration. A reply that calls tools comes back as it is.
///
/// # Errors
/// [`RunError::Build`] if the program fails.
pub fn reply(config: &RunnerConfig, plan: &Plan, reply: &Reply) -> Result<Reply, RunError> {
    let calls = |key: &str| reply.message.get(key).is_some_and(|calls| !calls.is_null() && calls != &json!([]));
    if calls("tool_calls") || calls("function_call") {
        return Ok(reply.clone());
    }
    let Some(text) = reply.message.get("content").and_then(Json::as_str) else { return Ok(reply.clone()) };
    let given = json!({
        "text": text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "stops": plan.reported("stops").to_json(),
    });
    let ran = run(&config.rules, REPLY, &scene(config, plan, Some(given)), &[])?;
    let word = |path: &str| ran.get(path).to_text().to_string();
    let mut cleaned = reply.clone();
    if let Some(message) = cleaned.message.as_object_mut() {
        message.insert("content".to_owned(), word("reply.text").into());
    }
    cleaned.reasoning = word("reply.reasoning");
    Ok(cleaned)
}

/// The plan with a message about the language of the answer, if the policy of the configuration is switched on. A plan
/// whose build has already put it there stays as it is.
///
/// # Errors
/// [`RunError::Build`] if the program fails.
pub fn in_language(config: &RunnerConfig, plan: &Plan) -> Result<Plan, RunError> {
    let blocks: Vec<Value> = plan.blocks.iter().map(|block| block.fields.clone()).collect();
    let known: HashSet<String> = plan.blocks.iter().map(|block| block.text("id")).collect();
    let ran = run_values(&config.rules, &[LANGUAGE], &scene(config, plan, None), &[("blocks", blocks)])?;
    let mut plan = plan.clone();
    for (at, fields) in ran.list("blocks").into_iter().enumerate() {
        let id = fields.get("id").map(Value::to_text).unwrap_or_default();
        if !known.contains(&*id) {
            plan.blocks.insert(at.min(plan.blocks.len()), PlanBlock { fields, tokens: 0, history: Vec::new() });
        }
    }
    Ok(plan)
}

/// The scene of the plan with what the configuration says laid over it.
fn scene(config: &RunnerConfig, plan: &Plan, reply: Option<Json>) -> Scene {
    // the chat of the plan may be very long, so nothing of it is copied
    let mut scene = Scene { data: plan.scene.clone(), ..plan.given.clone() };
    for key in READ {
        let mut own = scene.get(key).as_map().cloned().unwrap_or_default();
        let given = config.values.get(key).and_then(Json::as_object).into_iter().flatten();
        own.extend(given.map(|(name, value)| (name.as_str().into(), Value::from(value))));
        scene.set(key, Value::map(own));
    }
    if let Some(reply) = reply {
        scene.set("reply", Value::from(&reply));
    }
    scene
}
