//! From a plan to a request: options are merged, checked and made fit for the model, messages are written as the
//! dialect writes them.
//!
//! The pack's program `request` decides about options, and `outbound` about messages. What keeps tools and formats of
//! the answer apart is checked here once more, so that no pack can lose it.

use serde_json::{Map, Value as Json, json};

use super::config::{config as config_error, listed, problems, table};
use super::{AuthHeader, OutgoingRequest, Problem, RunError, RunnerConfig};
use crate::build::{dialects, emit, run};
use crate::diag::Diagnostic;
use crate::model::plan::PlanBlock;
use crate::model::{Plan, Scene, Value};

/// What a policy of the pack did to an option.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OptionChange {
    /// The option.
    pub key: String,
    /// `forced` or `removed`.
    pub action: String,
    /// Why.
    pub reason: String,
}

/// A request that may be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedRequest {
    /// The request.
    pub outgoing: OutgoingRequest,
    /// The dialect that wrote it and reads the reply.
    pub dialect: String,
    /// Options as later decisions see them.
    pub internal: Map<String, Json>,
    /// What was done to the options.
    pub changes: Vec<OptionChange>,
    /// Warnings of the dialect and of the pack's program `lint`.
    pub warnings: Vec<Diagnostic>,
}

/// Keys of a request that the runner sets itself, whatever the pack says.
const OWN: [&str; 4] = ["model", "messages", "stream", "stream_options"];
/// Options that belong to one protocol, and so must not be defaults of all requests.
const OF_A_PROTOCOL: [&str; 3] = ["tools", "tool_choice", "response_format"];
/// Fields of an added message that are fields of a block; all others are kept in `wire_fields`.
const FIELDS: [&str; 5] = ["role", "content", "name", "tool_calls", "tool_call_id"];

/// Makes the request of a plan: its messages, then `added` in the shape of chat completions.
///
/// # Errors
/// [`RunError::Config`] and [`RunError::Preflight`] before anything is built, [`RunError::Build`] if a program fails.
pub(super) fn prepare(
    config: &RunnerConfig,
    plan: &Plan,
    added: &[Json],
    options: &Map<String, Json>,
    stream: bool,
) -> Result<PreparedRequest, RunError> {
    let mut scene = Scene { data: plan.scene.clone(), ..plan.given.clone() };
    let runner = json!({
        "config": config.values, "plan_options": plan_options(plan), "call_options": options, "stream": stream,
        "dialect": plan_dialect(plan), "dialects": dialects(&config.rules),
    });
    scene.set("runner", Value::from(&runner));
    // what the scene says of other flags stays
    for (flag, value) in config.values.get("capabilities").and_then(Json::as_object).into_iter().flatten() {
        scene.set(&format!("capability.{flag}"), Value::from(value));
    }
    scene.set("provider.source", Value::text(config.provider.as_str()));
    scene.set("provider.model", Value::text(config.model.as_str()));
    let done = run(&config.rules, "request", &scene, &[])?;
    problems(&done)?;
    let violations = listed(&done, "violations", "key");
    if !violations.is_empty() {
        return Err(RunError::Preflight(violations));
    }
    let dialect = done.get("dialect").to_text().to_string();
    let outbound = table(&done, "options.outbound");
    let laid = table(&done, "options.body");
    check_protocols(config, &outbound, &laid)?;
    let mut plan = Plan { scene: scene.data.clone(), ..plan.clone() };
    plan.blocks.extend(added.iter().map(block_of_message));
    let meant = done.get("options.scene").to_json();
    let mut data = Scene { data: plan.scene, ..Scene::default() };
    for option in meant.as_array().into_iter().flatten() {
        if let Some(path) = option["path"].as_str() {
            data.set(path, Value::from(&option["value"]));
        }
    }
    plan.scene = data.data;
    let emitted = emit(&config.rules, &plan, &dialect)?;
    let mut body = emitted.payload;
    if let Some(body) = body.as_object_mut() {
        body.extend(laid);
        if stream && let Some(own) = done.get("options.stream").as_map() {
            body.extend(own.iter().map(|(key, value)| (key.to_string(), value.to_json())));
        }
    }
    outbound_transforms(config, &scene, &mut body)?;
    let text = |key: &str| emitted.request.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let headers = emitted.request.get("headers").and_then(Json::as_object).into_iter().flatten();
    let headers = headers.filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?.to_owned()))).collect();
    let outgoing = OutgoingRequest { url: text("url"), headers, auth: AuthHeader::of(&config.rules, &dialect), body, stream };
    let changes = done.get("options.changes").to_json();
    let changes = if changes.is_null() { Ok(Vec::new()) } else { serde_json::from_value(changes) };
    let changes = changes.map_err(|error| {
        config_error("invalid_type", "/options/changes", format!("the pack's program `request` reports changes in another shape: {error}"))
    })?;
    Ok(PreparedRequest { outgoing, dialect, internal: table(&done, "options.internal"), changes, warnings: emitted.warnings })
}

/// Options are part of a plan: those of its scene, and above them those that the build has reported.
fn plan_options(plan: &Plan) -> Json {
    let given = plan.scene.at("llm_options").map(Value::to_json);
    let made = plan.set.at("plan.llm_options").map(Value::to_json);
    match (given, made) {
        (Some(Json::Object(mut given)), Some(Json::Object(made))) => {
            given.extend(made);
            Json::Object(given)
        }
        (given, made) => made.or(given).unwrap_or_default(),
    }
}

/// The dialect that a plan was made for, if it says so.
fn plan_dialect(plan: &Plan) -> Json {
    let said = plan.set.at("plan.dialect").or_else(|| plan.scene.at("dialect"));
    said.map(Value::to_json).unwrap_or_default()
}

/// What keeps the protocols apart: `options` are those that are sent, and `laid` those of them that are laid over the
/// body. Source: the contract of the runner, section 8.
fn check_protocols(config: &RunnerConfig, options: &Map<String, Json>, laid: &Map<String, Json>) -> Result<(), RunError> {
    let some = |v: &Json| !v.is_null() && v.as_array().is_none_or(|list| !list.is_empty());
    let given = |key: &str| options.get(key).is_some_and(some) || laid.get(key).is_some_and(some);
    if given("tools") && given("response_format") {
        let message = "a request has either tools or a format of the answer; leave one of them out".to_owned();
        return Err(RunError::Preflight(vec![Problem {
            code: "tools_with_response_format".to_owned(),
            at: "response_format".to_owned(),
            message,
        }]));
    }
    if let Some(key) = OWN.iter().find(|key| options.contains_key(**key) || laid.contains_key(**key)) {
        return Err(config_error("reserved_key", &format!("/llm_options/{key}"), format!("the runner sets `{key}` itself")));
    }
    let defaults = config.values.get("llm_options_defaults").and_then(Json::as_object);
    match defaults.and_then(|defaults| OWN.iter().chain(&OF_A_PROTOCOL).find(|key| defaults.contains_key(**key))) {
        Some(key) => {
            let at = format!("/runner_config/llm_options_defaults/{key}");
            Err(config_error("reserved_key", &at, format!("`{key}` must not be a default of all requests: remove it")))
        }
        None => Ok(()),
    }
}

/// A message in the shape of chat completions as a block of a plan.
fn block_of_message(message: &Json) -> PlanBlock {
    let at = |key: &str| message.get(key).cloned().unwrap_or_default();
    let rest = message.as_object().into_iter().flatten().filter(|(key, _)| !FIELDS.contains(&key.as_str()));
    let rest: Map<String, Json> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut meta = Map::new();
    for key in ["tool_calls", "tool_call_id"] {
        if !at(key).is_null() {
            meta.insert(key.to_owned(), at(key));
        }
    }
    // dialects know signatures and reasoning by their own names
    meta.extend(rest.clone());
    let mut fields = Map::new();
    if !rest.is_empty() {
        // not in `meta`: that of a plan's own messages may come from anywhere
        fields.insert("wire_fields".to_owned(), Json::Object(rest));
    }
    fields.insert("role".to_owned(), at("role"));
    fields.insert(if at("content").is_array() { "parts" } else { "text" }.to_owned(), at("content"));
    for key in ["name", "tool_call_id", "tool_calls"] {
        if !at(key).is_null() {
            fields.insert(key.to_owned(), at(key));
        }
    }
    fields.insert("meta".to_owned(), Json::Object(meta));
    // what a loop has added is sent as it is: macros in it are not expanded, and nothing trims it
    fields.insert("expanded".to_owned(), Json::Bool(true));
    fields.insert("removable".to_owned(), Json::Bool(false));
    PlanBlock { fields: Value::from(&Json::Object(fields)), tokens: 0, history: Vec::new() }
}

/// Does the transforms of messages that the configuration asks for, on the messages of a body.
fn outbound_transforms(config_of_run: &RunnerConfig, scene: &Scene, body: &mut Json) -> Result<(), RunError> {
    let wanted = config_of_run.values.get("message_transforms").and_then(Json::as_array);
    if wanted.is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let Some(messages) = body.get_mut("messages").filter(|messages| messages.is_array()) else {
        let message = "the dialect's requests have no list `messages`, so transforms of messages cannot be done".to_owned();
        return Err(config_error("transform_unsupported", "/runner_config/message_transforms", message));
    };
    *messages = Json::Array(transform_messages(config_of_run, scene, "outbound", messages.as_array().map_or(&[], Vec::as_slice))?);
    Ok(())
}

/// The message of a reply after the transforms that the configuration asks for.
pub(super) fn inbound_transforms(config: &RunnerConfig, message: Json) -> Result<Json, RunError> {
    let wanted = config.values.get("response_transforms").and_then(Json::as_array);
    if wanted.is_none_or(Vec::is_empty) || !message.is_object() {
        return Ok(message);
    }
    let scene = super::config::scene(json!({ "runner": { "config": config.values } }));
    let done = transform_messages(config, &scene, "inbound", std::slice::from_ref(&message))?;
    Ok(done.into_iter().next().unwrap_or(message))
}

fn transform_messages(config: &RunnerConfig, scene: &Scene, program: &str, messages: &[Json]) -> Result<Vec<Json>, RunError> {
    let list: Vec<Json> = messages.iter().map(|message| json!({ "message": message })).collect();
    let done = run(&config.rules, program, scene, &[("wire", Json::Array(list))])?;
    Ok(done.list("wire").iter().map(|item| item.get("message").map(Value::to_json).unwrap_or_default()).collect())
}
