//! `tapster turn`: turns of a chat over a store, with recorded replies.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};
use tapster_client::retry::RetryAttempt;
use tapster_client::{BoxFuture, Delta, PromptRunner, RunError, RunnerConfig};
use tapster_session::{FinishedTurn, Model, ModelError, OperationRequest, Session};

use crate::diag::{Code, Diagnostic, DiagnosticCode};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::wait;
use crate::inputs::InputArgs;
use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::files::LineReader;
use crate::inputs::store::{SessionArgs, parse_milliseconds};
use crate::inputs::turns::append_message;
use crate::layout::visible;
use crate::model::{Plan, Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;
use crate::store::{ListPage, Moment, SessionStore, StoreRefusal};
use crate::verbs::artifact::session_failure;

/// How many records of the log are read at once.
const LOG_PART: u32 = 1000;

/// Play turns of a chat: run the operations, build the prompt, take the recorded reply, and commit what has changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster turn examples/living-world --replies examples/living-world/turns.jsonl
  tapster turn my-scene --store postgres://db/tapster --session tavern --replies - < turns.jsonl
  tapster turn my-scene --replies turns.jsonl --model gpt-4o-mini

Each line of the replies is one turn, in JSON:
  {\"message\": \"I open the door.\", \"reply\": \"It creaks.\", \"operations\": {\"keeper\": \"{\\\"hour\\\": 9}\"}}
`message` is what the user writes, `reply` the model's answer, and `operations` what the model answers to operations;
an operation that asks again asks for `NAME:2`. With `--model`, operations without a recorded reply ask that model.
A turn that the session has played already is only taken into the chat, so an interrupted run goes on where it ended. With `--format json`, one line of JSON is printed for each turn that is played.

Exit code 1: an operation that a turn needs did not end as `done`; the turn is committed all the same.")]
pub(crate) struct TurnArgs {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// The recorded turns, one JSON object a line; `-` reads them from standard input as they arrive.
    #[arg(long, value_name = "FILE")]
    replies: PathBuf,
    #[command(flatten)]
    place: SessionArgs,
}

/// One recorded turn.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedTurn {
    message: String,
    reply: String,
    #[serde(default)]
    operations: IndexMap<String, String>,
}

/// A model that answers with what is recorded, or asks a real one, and remembers what it was asked.
struct ReplyModel<'r> {
    recorded: &'r RecordedTurn,
    live: Option<&'r OperationModel>,
    asked: Mutex<Vec<String>>,
}

impl Model for ReplyModel<'_> {
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.operation.clone());
        let recorded = self.recorded.operations.get(&request.operation).cloned();
        match (recorded, self.live) {
            (None, Some(live)) => live.ask(request),
            (recorded, _) => Box::pin(std::future::ready(recorded.ok_or_else(|| ModelError {
                code: "no_reply".to_owned(),
                message: format!("no reply to operation `{}` is recorded; with `--model NAME` the model is asked", request.operation),
            }))),
        }
    }
}

impl TurnArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        self.inputs.refuse_flags_of_one_build("each line of the replies holds the message of its turn")?;
        if let (Some(flag), false) = (self.endpoint.names_provider(), self.inputs.names_model()) {
            let message = format!("`{flag}` has no effect without `--model`: no operation asks a model");
            return Err(EarlyExit::could_not(Code::SceneField, message, "name the model with `--model NAME`"));
        }
        let (rules, mut scene) = self.inputs.open(show)?;
        let live = if self.inputs.names_model() { Some(OperationModel::open(&self.endpoint, &rules, &scene, show)?) } else { None };
        let kind = scene.get("type").to_text().to_string();
        if !matches!(kind.as_str(), "" | "normal") {
            let message = format!("a turn of type `{kind}` cannot be played from recorded replies");
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave out `type`"));
        }
        let (store, home) = (self.place.open(show)?, self.place.home());
        let played = wait(store.info(&home)).map_err(store_failure)?.map_or(0, |info| info.turns);
        let session = Session::new(&*store, rules.clone(), home);
        let rewritten = wait(rewritten_texts(&session)).map_err(store_failure)?;
        let mut turn = scene.get("turn_count").as_f64().unwrap_or_default() as i64;
        let mut lines = LineReader::open(&self.replies, show)?;
        let mut exit = RunExit::Done;
        while let Some(line) = lines.next(show)? {
            let recorded: RecordedTurn = serde_json::from_str(&line).map_err(|error| {
                let message = format!("{} is not a recorded turn: {error}", lines.place());
                EarlyExit::refused(Code::SyntaxJson, message, "`tapster turn --help` shows the form of a line")
            })?;
            turn += 1;
            let (user, reply) = if turn > played {
                let at = Moment { now: parse_milliseconds(&scene.get("now").to_text())?, turn };
                let done = play_turn(
                    &session,
                    &scene,
                    at,
                    &ReplyModel { recorded: &recorded, live: live.as_ref(), asked: Mutex::default() },
                    show,
                )?;
                exit = if done.run.get("status").is_some_and(|status| status == "failed") { RunExit::No } else { exit };
                (done.user_text, Some(done.reply))
            } else {
                rewritten.get(&turn).cloned().unwrap_or_default()
            };
            append_message(&mut scene, "user", user.as_ref().unwrap_or(&recorded.message));
            append_message(&mut scene, "assistant", reply.as_ref().unwrap_or(&recorded.reply));
            scene.set("turn_count", Value::Int(turn));
        }
        Ok(exit)
    }
}

fn store_failure(refused: StoreRefusal) -> EarlyExit {
    EarlyExit::new(RunExit::CouldNot, *refused)
}

/// What operations have made of the texts of earlier turns: the user's message, and the reply.
async fn rewritten_texts(session: &Session<'_>) -> Result<HashMap<i64, (Option<String>, Option<String>)>, StoreRefusal> {
    let mut out = HashMap::new();
    let mut after = 0;
    loop {
        let part = session.log(ListPage { after, limit: LOG_PART }).await?;
        let Some(last) = part.last() else { return Ok(out) };
        after = last.seq;
        for record in part.iter().map(|logged| &logged.record).filter(|record| record["op"] == "turn") {
            let text = |key: &str| record.get("rewritten")?.get(key)?.as_str().map(str::to_owned);
            out.insert(record["turn"].as_i64().unwrap_or_default(), (text("user"), text("reply")));
        }
    }
}

/// Plays one turn, and prints what became of it.
fn play_turn(session: &Session<'_>, scene: &Scene, at: Moment, replies: &ReplyModel<'_>, show: &mut Console<'_>) -> Result<FinishedTurn> {
    let (recorded, rules) = (replies.recorded, session.rules());
    let mut scene = scene.clone();
    scene.set("input", Value::text(recorded.message.as_str()));
    scene.set("turn.is_user_input", Value::Bool(true));
    scene.set("turn.activation_text", Value::text(recorded.message.as_str()));
    scene.set("turn_count", Value::Int(at.turn));
    let begun = wait(session.begin(&scene, at, replies)).map_err(|error| session_failure(error, rules))?;
    show.warnings(&begun.plan.warnings, rules.sources());
    let messages: Vec<Json> = begun.plan.messages().iter().map(Value::to_json).collect();
    let before = begun.plan.reported("run").to_json();
    let done = wait(session.finish(begun, &recorded.reply, replies)).map_err(|error| session_failure(error, rules))?;
    show.warnings(&done.warnings, rules.sources());
    replies.live.map(OperationModel::notes).into_iter().flatten().for_each(|note| show.note(note));
    let asked = std::mem::take(&mut *replies.asked.lock().unwrap_or_else(PoisonError::into_inner));
    warn_of_operations(at, recorded, &asked, [&before, &done.run], show);
    let ui = wait(session.projections(at)).map_err(store_failure)?;
    let mut line = json!({ "turn": at.turn, "messages": messages });
    let rest = json!({ "run": { "before": before, "after": done.run }, "ui": ui });
    if let (Some(line), Json::Object(done), Json::Object(rest)) = (line.as_object_mut(), done.to_json(), rest) {
        line.extend(done);
        line.extend(rest);
    }
    if show.is_json() {
        show.result(&format!("{line}\n"));
    } else {
        show.result(&describe_turn(&line));
    }
    show.flush();
    Ok(done)
}

/// A turn for a reader: the reply, what was written, and what became of the operations.
fn describe_turn(turn: &Json) -> String {
    let list = |at: &str| turn.pointer(at).and_then(Json::as_array).cloned().unwrap_or_default();
    let text = |value: &Json, key: &str| value[key].as_str().map(visible).unwrap_or_default();
    let operation = |row: &Json| match row["reason"].as_str() {
        Some(reason) => format!("{} {} ({})", text(row, "operation"), text(row, "status"), visible(reason)),
        None => format!("{} {}", text(row, "operation"), text(row, "status")),
    };
    let operations = |at: &str| list(at).iter().map(operation).collect::<Vec<_>>().join(", ");
    let written = list("/written").iter().map(|row| format!("{} (version {})", text(row, "tag"), row["version"])).collect::<Vec<_>>();
    let refused = list("/refused").iter().map(|row| format!("{} ({})", text(row, "tag"), text(row, "error"))).collect::<Vec<_>>();
    let mut out = format!("turn {}\n", turn["turn"]);
    for (name, value) in [
        ("before", operations("/run/before/operations")),
        ("message", text(turn, "user_text")),
        ("reply", text(turn, "reply")),
        ("after", operations("/run/after/operations")),
        ("wrote", written.join(", ")),
        ("refused", refused.join(", ")),
    ] {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name:<8} {}", value.replace('\n', "\n           "));
        }
    }
    out
}

/// Warns about operations that failed, phases that failed, and recorded replies that nobody asked for.
fn warn_of_operations(at: Moment, recorded: &RecordedTurn, asked: &[String], runs: [&Json; 2], show: &mut Console<'_>) {
    let mut warnings = Vec::new();
    for run in runs {
        warnings.extend(failed_operations(run, at.turn));
    }
    for name in recorded.operations.keys().filter(|name| !asked.contains(name)) {
        let near = crate::diag::suggest::help(name, asked.iter().map(String::as_str));
        let message = format!("turn {}: no operation asked for the recorded reply `{name}`", at.turn);
        warnings.push(
            Diagnostic::warning(Code::OperationFailed, message).help(near.unwrap_or_else(|| "remove it, or correct its name".into())),
        );
    }
    warnings.into_iter().for_each(|warning| show.note(warning));
}

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
    pub(super) fn open(endpoint: &EndpointArgs, rules: &Ruleset, scene: &Scene, show: &mut Console<'_>) -> Result<Self> {
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
pub(super) fn complete_context(context: &mut Map<String, Json>, endpoint: &EndpointArgs, rules: &Ruleset, scene: &Scene) -> Result<()> {
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
