//! `tapster turn`: turns of a chat over a store, with recorded replies.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use clap::Args;
use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::artifact::Refusal;
use crate::diag::{Code, Diagnostic};
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;
use crate::session::{Finished, Model, ModelError, Request, Session};
use crate::store::{Moment, SessionStore};

use crate::cli::inputs::Inputs;
use crate::cli::inputs::lines::Lines;
use crate::cli::inputs::session::{Place, milliseconds};
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};
use crate::cli::verbs::artifact::stop;
use crate::cli::waiting::wait;

/// Play turns of a chat: run the operations, build the prompt, take the recorded reply, and commit what has changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster turn examples/living-world --replies examples/living-world/turns.jsonl
  tapster turn my-scene --store postgres://db/tapster --session tavern --replies - < turns.jsonl

Each line of the replies is one turn, in JSON:
  {\"message\": \"I open the door.\", \"reply\": \"It creaks.\", \"operations\": {\"keeper\": \"{\\\"hour\\\": 9}\"}}
`message` is what the user writes, `reply` the model's answer, and `operations` what the model answers to operations.
A turn that the session has played already is only taken into the chat, so that a run that was interrupted goes on
where it ended. For each turn that is played, one line of JSON is printed.")]
pub(in crate::cli) struct Turn {
    #[command(flatten)]
    inputs: Inputs,
    /// The recorded turns, one JSON object a line; `-` reads them from standard input as they arrive.
    #[arg(long, value_name = "FILE")]
    replies: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// One recorded turn.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    message: String,
    reply: String,
    #[serde(default)]
    operations: IndexMap<String, String>,
}

impl Model for Recorded {
    fn ask<'a>(&'a self, request: &'a Request) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        let reply = self.operations.get(&request.operation).cloned().ok_or_else(|| ModelError {
            code: "no_reply".to_owned(),
            message: format!("no reply to operation `{}` is recorded", request.operation),
        });
        Box::pin(std::future::ready(reply))
    }
}

impl Turn {
    pub(in crate::cli) fn run(&self, show: &mut Show<'_, '_>) -> Result<Exit, Stop> {
        let (rules, mut scene) = self.inputs.open(show)?;
        let (store, home) = (self.place.open(show)?, self.place.home());
        let played = wait(store.info(&home)).map_err(|refused| Stop::new(Exit::CouldNot, *refused))?.map_or(0, |info| info.at.turn);
        let session = Session::new(&store, rules.clone(), home);
        let before = scene.get("turn_count").as_f64().unwrap_or_default() as i64;
        let mut lines = Lines::open(&self.replies, show)?;
        let mut turn = before;
        while let Some(line) = lines.next(show)? {
            let recorded: Recorded = serde_json::from_str(&line).map_err(|error| {
                let message = format!("{} is not a recorded turn: {error}", lines.place());
                Stop::new(Exit::No, Diagnostic::error(Code::SyntaxJson, message).help("`tapster turn --help` shows the form of a line"))
            })?;
            turn += 1;
            let mut reply = recorded.reply.clone();
            if turn > played {
                let at = Moment { now: milliseconds(&scene.get("now").to_text())?, turn };
                reply = play(&session, &scene, at, &recorded, show, &rules)?;
            }
            said(&mut scene, "user", &recorded.message);
            said(&mut scene, "assistant", &reply);
            scene.set("turn_count", Value::Int(turn));
        }
        Ok(Exit::Done)
    }
}

/// Plays one turn, prints what became of it, and returns the reply.
fn play(
    session: &Session<'_>,
    scene: &Scene,
    at: Moment,
    recorded: &Recorded,
    show: &mut Show<'_, '_>,
    rules: &Ruleset,
) -> Result<String, Stop> {
    let mut scene = scene.clone();
    scene.set("input", Value::text(recorded.message.as_str()));
    scene.set("turn.is_user_input", Value::Bool(true));
    scene.set("turn.activation_text", Value::text(recorded.message.as_str()));
    scene.set("turn_count", Value::Int(at.turn));
    let begun = wait(session.begin(&scene, at, recorded)).map_err(|error| stop(error, rules))?;
    show.warnings(&begun.plan.warnings, rules.sources());
    let messages: Vec<Json> = begun.plan.messages().iter().map(Value::to_json).collect();
    let before = begun.plan.reported("run").to_json();
    let done = wait(session.finish(begun, &recorded.reply, recorded)).map_err(|error| stop(error, rules))?;
    show.warnings(&done.warnings, rules.sources());
    let ui = wait(session.projections(at)).map_err(|refused| Stop::new(Exit::CouldNot, *refused))?;
    let Finished { reply, written, refused, pruned, run, .. } = done;
    let written: Vec<Json> = written.into_iter().map(|(tag, version)| json!({ "tag": tag, "version": version })).collect();
    let refused: Vec<Json> = refused.into_iter().map(told).collect();
    let line = json!({
        "turn": at.turn, "messages": messages, "reply": reply, "written": written, "refused": refused, "pruned": pruned,
        "run": { "before": before, "after": run }, "ui": ui,
    });
    show.result(&format!("{line}\n"));
    show.flush();
    Ok(reply)
}

fn told((tag, writer, refusal): (String, String, Refusal)) -> Json {
    let mut out = refusal.to_json();
    out.insert("tag".to_owned(), tag.into());
    out.insert("writer".to_owned(), writer.into());
    Json::Object(out)
}

/// Adds a message to the chat.
fn said(scene: &mut Scene, role: &str, text: &str) {
    let mut history = scene.get("history").as_list().map(<[Value]>::to_vec).unwrap_or_default();
    let message: Map = [("role", role), ("text", text)].into_iter().map(|(key, text)| (key.into(), Value::text(text))).collect();
    history.push(Value::map(message));
    scene.set("history", Value::list(history));
}
