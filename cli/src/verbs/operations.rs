//! What verbs that play turns share: the model that answers operations, and what is told of operations.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json, json};

use crate::diag::{Code, Diagnostic, DiagnosticCode};
use crate::inputs::endpoint::EndpointArgs;
use crate::layout::visible;
use crate::model::{Plan, Scene, Value};
use crate::output::OutputStreams;
use crate::pack::Ruleset;
use crate::run::retry::RetryAttempt;
use crate::run::{BoxFuture, Delta, PromptRunner, RunError, RunnerConfig};
use crate::session::{Model, ModelError, OperationRequest};
use crate::stop::EarlyExit;

/// Keys of the params of an operation that say how its reply is read, and are no options of the request.
const OF_THE_READER: [&str; 1] = ["output_mode"];

/// Answers operations by requests, with the model of each operation, or with that of the main request.
pub(super) struct OperationModel {
    rules: Ruleset,
    runner: PromptRunner,
    /// The configuration of the runner as it was given; an operation may name another model.
    context: Map<String, Json>,
    /// What the scene says of the provider.
    scene: Scene,
    /// One line for each request.
    asked: Mutex<Vec<String>>,
}

impl OperationModel {
    /// The model that the scene and the flags name.
    pub(super) fn open(
        endpoint: &EndpointArgs,
        rules: &Ruleset,
        scene: &Scene,
        show: &mut OutputStreams<'_, '_>,
    ) -> Result<Self, EarlyExit> {
        let (mut scene, mut context) = (scene.clone(), Map::new());
        if let Some(url) = &endpoint.url {
            scene.set("provider.url", Value::text(url.as_str()));
        }
        complete_context(&mut context, endpoint, rules, &scene)?;
        let dialect = crate::build::dialect_of(rules, &scene);
        let addressed = !scene.get("provider.url").is_null();
        let transport = endpoint.transport(rules, &dialect, addressed, Arc::new(|_: &RetryAttempt| {}), show)?;
        Ok(Self::new(rules.clone(), PromptRunner::new(transport), context, &scene))
    }

    pub(super) fn new(rules: Ruleset, runner: PromptRunner, context: Map<String, Json>, given: &Scene) -> Self {
        let mut scene = Scene::default();
        // where and how requests are sent; what else the scene says is about the chat
        for path in ["provider", "dialect", "capability", "context"] {
            scene.set(path, given.get(path));
        }
        Self { rules, runner, context, scene, asked: Mutex::default() }
    }

    /// What was asked since the last call.
    pub(super) fn notes(&self) -> Vec<Diagnostic> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        asked.into_iter().map(|line| Diagnostic::note(DiagnosticCode::named("operation.asked"), line)).collect()
    }

    async fn reply(&self, request: &OperationRequest) -> Result<String, RunError> {
        let params = request.params.as_object();
        let mut context = self.context.clone();
        let mut scene = self.scene.clone();
        if let Some(model) = params.and_then(|params| params.get("model")).and_then(Json::as_str) {
            context.insert("model".to_owned(), json!(model));
            scene.set("provider.model", Value::text(model));
        }
        let config = RunnerConfig::parse(&self.rules, &Json::Object(context))?;
        let own = |key: &String| key != "model" && !OF_THE_READER.contains(&key.as_str());
        let options = params.into_iter().flatten().filter(|(key, value)| own(key) && !value.is_null());
        let options = options.map(|(key, value)| (key.clone(), value.clone())).collect();
        let plan = Plan { scene: scene.data, ..Plan::default() };
        let messages = request.messages.as_array().map(Vec::as_slice).unwrap_or_default();
        let prepared = PromptRunner::prepare(&config, &plan, messages, &options, false)?;
        let model = prepared.outgoing.body.get("model").and_then(Json::as_str).unwrap_or(&config.model).to_owned();
        let reply = self.runner.send(&config, &prepared, &mut |_: &Delta| {}).await;
        let said = reply.as_ref().map_or_else(|_| "no reply".to_owned(), |reply| format!("{} characters", reply.text().chars().count()));
        let line = format!("operation `{}` asked `{}`: {said}", request.operation, visible(&model));
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        Ok(reply?.text())
    }
}

impl Model for OperationModel {
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> BoxFuture<'a, Result<String, ModelError>> {
        Box::pin(
            async move { self.reply(request).await.map_err(|error| ModelError { code: error_code(&error), message: error.to_string() }) },
        )
    }
}

/// Adds to a configuration of the runner what the scene and the flags say: dialect, model and provider.
pub(super) fn complete_context(
    context: &mut Map<String, Json>,
    endpoint: &EndpointArgs,
    rules: &Ruleset,
    scene: &Scene,
) -> Result<(), EarlyExit> {
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            context.insert(key.to_owned(), Json::String(value));
        }
    };
    let text = |path: &str| Some(scene.get(path).to_text().to_string());
    put("dialect", text("dialect"));
    put("model", text("provider.model"));
    put("provider", text("provider.source"));
    put("provider", endpoint.provider.clone());
    if !context.contains_key("provider") {
        let dialect = context.get("dialect").cloned().unwrap_or_else(|| Json::String(crate::build::dialect_of(rules, scene)));
        context.insert("provider".to_owned(), dialect);
    }
    if context.get("model").and_then(Json::as_str).is_none_or(|model| model.trim().is_empty()) {
        return Err(EarlyExit::could_not(Code::SceneField, "no model is named", "name it with `--model NAME`"));
    }
    Ok(())
}

/// The code of an error, without a status.
pub(super) fn error_code(error: &RunError) -> String {
    match error {
        RunError::Config(_) => "config".to_owned(),
        RunError::Preflight(_) => "preflight".to_owned(),
        RunError::Provider(error) => error.code.clone(),
        _ => "build".to_owned(),
    }
}

/// Warnings about operations that failed, and about a phase that failed, in the run log of one half of a turn.
pub(super) fn failed_operations(run: &Json, turn: i64) -> Vec<Diagnostic> {
    let failed = run["operations"].as_array().into_iter().flatten().filter(|operation| operation["status"] == "error");
    let told = failed.map(|operation| {
        let text = |key: &str| operation.get("error").and_then(|error| error.get(key)?.as_str()).unwrap_or_default();
        let name = operation["operation"].as_str().unwrap_or_default();
        let message = format!("turn {turn}: operation `{name}` failed: {} ({})", visible(text("message")), text("code"));
        Diagnostic::warning(Code::OperationFailed, message).help("`tapster artifact log` shows the run log of the turn")
    });
    let mut warnings: Vec<Diagnostic> = told.collect();
    if run["status"] == "failed" {
        let message = format!("turn {turn}: an operation that the turn needs did not end as `done`");
        warnings.push(Diagnostic::warning(Code::OperationFailed, message).help("`not_done` of the run log names it"));
    }
    warnings
}
