//! `tapster turn`: turns of a chat over a store, with recorded replies.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::artifact::WriteRefusal;
use crate::diag::{Code, Diagnostic};
use crate::model::{Scene, Value};
use crate::session::{FinishedTurn, Model, ModelError, OperationRequest, Session};
use crate::store::{ListPage, Moment, SessionStore, StoreRefusal};

use crate::inputs::InputArgs;
use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::lines::LineReader;
use crate::inputs::said::said;
use crate::inputs::session::{SessionArgs, milliseconds};
use crate::layout::visible;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::artifact::stop;
use crate::verbs::operations::{OperationModel, failed_operations};
use crate::waiting::wait;

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
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        if let Some(flag) = self.inputs.given_for_one_build() {
            let message = format!("`{flag}` has no effect here");
            return Err(EarlyExit::could_not(Code::SceneField, message, "each line of the replies holds the message of its turn"));
        }
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
        let played = wait(store.info(&home)).map_err(stopped)?.map_or(0, |info| info.turns);
        let session = Session::new(&*store, rules.clone(), home);
        let rewritten = wait(rewritten(&session)).map_err(stopped)?;
        let mut turn = scene.get("turn_count").as_f64().unwrap_or_default() as i64;
        let mut lines = LineReader::open(&self.replies, show)?;
        let mut exit = RunExit::Done;
        while let Some(line) = lines.next(show)? {
            let recorded: RecordedTurn = serde_json::from_str(&line).map_err(|error| {
                let message = format!("{} is not a recorded turn: {error}", lines.place());
                EarlyExit::new(
                    RunExit::No,
                    Diagnostic::error(Code::SyntaxJson, message).help("`tapster turn --help` shows the form of a line"),
                )
            })?;
            turn += 1;
            let (user, reply) = if turn > played {
                let at = Moment { now: milliseconds(&scene.get("now").to_text())?, turn };
                let done =
                    play(&session, &scene, at, &ReplyModel { recorded: &recorded, live: live.as_ref(), asked: Mutex::default() }, show)?;
                exit = if done.run.get("status").is_some_and(|status| status == "failed") { RunExit::No } else { exit };
                (done.user_text, Some(done.reply))
            } else {
                rewritten.get(&turn).cloned().unwrap_or_default()
            };
            said(&mut scene, "user", user.as_ref().unwrap_or(&recorded.message));
            said(&mut scene, "assistant", reply.as_ref().unwrap_or(&recorded.reply));
            scene.set("turn_count", Value::Int(turn));
        }
        Ok(exit)
    }
}

fn stopped(refused: StoreRefusal) -> EarlyExit {
    EarlyExit::new(RunExit::CouldNot, *refused)
}

/// What operations have made of the texts of earlier turns: the user's message, and the reply.
async fn rewritten(session: &Session<'_>) -> Result<HashMap<i64, (Option<String>, Option<String>)>, StoreRefusal> {
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
fn play(
    session: &Session<'_>,
    scene: &Scene,
    at: Moment,
    replies: &ReplyModel<'_>,
    show: &mut OutputStreams<'_, '_>,
) -> Result<FinishedTurn, EarlyExit> {
    let (recorded, rules) = (replies.recorded, session.rules());
    let mut scene = scene.clone();
    scene.set("input", Value::text(recorded.message.as_str()));
    scene.set("turn.is_user_input", Value::Bool(true));
    scene.set("turn.activation_text", Value::text(recorded.message.as_str()));
    scene.set("turn_count", Value::Int(at.turn));
    let begun = wait(session.begin(&scene, at, replies)).map_err(|error| stop(error, rules))?;
    show.warnings(&begun.plan.warnings, rules.sources());
    let messages: Vec<Json> = begun.plan.messages().iter().map(Value::to_json).collect();
    let before = begun.plan.reported("run").to_json();
    let done = wait(session.finish(begun, &recorded.reply, replies)).map_err(|error| stop(error, rules))?;
    show.warnings(&done.warnings, rules.sources());
    replies.live.map(OperationModel::notes).into_iter().flatten().for_each(|note| show.note(note));
    let asked = std::mem::take(&mut *replies.asked.lock().unwrap_or_else(PoisonError::into_inner));
    warn(at, recorded, &asked, [&before, &done.run], show);
    let ui = wait(session.projections(at)).map_err(stopped)?;
    let written: Vec<Json> = done.written.iter().map(|(tag, version)| json!({ "tag": tag, "version": version })).collect();
    let refused: Vec<Json> = done.refused.iter().cloned().map(told).collect();
    let line = json!({
        "turn": at.turn, "messages": messages, "reply": done.reply, "user_text": done.user_text, "inline": done.inline,
        "written": written, "refused": refused, "pruned": done.pruned, "run": { "before": before, "after": done.run }, "ui": ui,
    });
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
fn warn(at: Moment, recorded: &RecordedTurn, asked: &[String], runs: [&Json; 2], show: &mut OutputStreams<'_, '_>) {
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

fn told((tag, writer, refusal): (String, String, WriteRefusal)) -> Json {
    let mut out = refusal.to_json();
    out.insert("tag".to_owned(), tag.into());
    out.insert("writer".to_owned(), writer.into());
    Json::Object(out)
}
