//! The two halves of a turn, and the one transaction at its end: what a session puts into the scene, what it takes out of the
//! result, and how pure programs get replies of a model. They cannot wait, so a program runs again with every reply that it has
//! asked for.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Value as Json, json};

use super::{Artifact, Batch, CommitOutcome, Moment, PrunedVersion, Session, SessionError, history, rejected};
use crate::artifact::{RunArtifact, WriteRefusal};
use crate::build::BuildError;
use crate::build::scene::{kept, patched, restore};
use crate::build::{build, run};
use crate::diag::Diagnostic;
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::store::{ArtifactWrite, SessionState};

/// The program that runs behind the main request, if the pack has it.
const AFTER: &str = "after_reply";

/// How often artifacts and state are read again because they were changed in between.
const READS: usize = 8;

/// A turn whose prompt is built and whose reply is missing. Nothing of it is stored yet.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The prompt.
    pub plan: Plan,
    at: Moment,
    scene: Scene,
    /// The artifacts as the turn sees them, with what its operations have written.
    view: Vec<Artifact>,
    /// The state of the session that the turn began with.
    state: Option<SessionState>,
    writes: Vec<ArtifactWrite>,
    refused: Vec<(ProgramWrite, WriteRefusal)>,
    /// The state as the programs began with it: what the session knows, and over it what the scene gave.
    seen: Json,
    /// The patches of the programs so far, in order.
    patches: Vec<Json>,
    base: String,
}

impl Turn {
    /// What the turn began with, as a short text: its number, the rules, and the versions of artifacts and state. A turn that
    /// is begun again has the same text if nothing has changed in between.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The state of the session after the programs so far.
    fn state_now(&self) -> Json {
        let stored = self.state.as_ref().map(|s| s.value.clone()).unwrap_or_default();
        self.patches.iter().fold(stored, patched)
    }

    /// The user's message, as operations have rewritten it; `None` if they have not.
    #[must_use]
    pub fn user_text(&self) -> Option<String> {
        text_of(&self.plan.reported("user_text"))
    }
}

/// A turn with its reply, which can be committed.
#[derive(Debug, Clone)]
pub struct AnsweredTurn {
    turn: Turn,
    done: FinishedTurn,
    log: Vec<Json>,
}

impl AnsweredTurn {
    /// The run log of the operations behind the request.
    #[must_use]
    pub fn run(&self) -> &Json {
        &self.done.run
    }
}

fn text_of(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.to_text().to_string())
}

fn list_of(value: &Value) -> Vec<Json> {
    value.as_list().into_iter().flatten().map(Value::to_json).collect()
}

/// A turn that is committed.
#[derive(Debug, Clone)]
pub struct FinishedTurn {
    /// The reply, as operations have rewritten it.
    pub reply: String,
    /// The user's message, as operations have rewritten it; `None` if they have not.
    pub user_text: Option<String>,
    /// Items for the display of the chat (`$plan.inline`), of both halves of the turn.
    pub inline: Vec<Json>,
    /// The new version of each artifact that was written, in the order of the writes.
    pub written: Vec<(String, i64)>,
    /// Writes that the rules refused: the artifact, the writer, and why. The log has them too.
    pub refused: Vec<(String, String, WriteRefusal)>,
    /// Versions that went to the archive.
    pub pruned: Vec<PrunedVersion>,
    /// The run log of the operations behind the request (`$plan.run`).
    pub run: Json,
    /// Warnings of the operations behind the request.
    pub warnings: Vec<Diagnostic>,
}

impl FinishedTurn {
    /// What came of the turn: `reply`, `user_text`, `inline`, `written` (`tag`, `version`), `refused` (`tag`, `writer`, `error`),
    /// `pruned`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let written: Vec<Json> = self.written.iter().map(|(tag, version)| json!({ "tag": tag, "version": version })).collect();
        let refused = self.refused.iter().map(|(tag, writer, refusal)| {
            let mut out = refusal.to_json();
            out.insert("tag".to_owned(), tag.as_str().into());
            out.insert("writer".to_owned(), writer.as_str().into());
            Json::Object(out)
        });
        json!({
            "reply": self.reply, "user_text": self.user_text, "inline": self.inline, "written": written,
            "refused": refused.collect::<Vec<_>>(), "pruned": self.pruned,
        })
    }
}

impl Session<'_> {
    /// Begins a turn: loads state and artifacts into the scene (`state`, `vars`, `art`), runs the operations in front of
    /// the main request, and builds the prompt. What the scene itself says of `state` and `vars` wins.
    ///
    /// # Errors
    /// The store cannot answer, or a program of the pack fails.
    pub async fn begin(&self, scene: &Scene, at: Moment, model: &dyn Model) -> Result<Turn, SessionError> {
        let mut scene = scene.clone();
        let (view, state) = self.known(at).await?;
        fill(&self.rules, &mut scene, &view, state.as_ref().map(|s| &s.value));
        let seen = kept(&scene);
        let program = |scene: &Scene| build(&self.rules, scene);
        let plan = replay(&mut scene, model, program, |plan| plan.reported("requests")).await?;
        let patches = vec![plan.patch.to_json()];
        let versions: Vec<_> = view.iter().map(|artifact| (&artifact.tag, artifact.version)).collect();
        let base = json!([at.turn, plan.fingerprint, state.as_ref().map(|state| state.revision), versions]).to_string();
        let base = blake3::hash(base.as_bytes()).to_hex().chars().take(16).collect();
        let mut turn = Turn { at, scene, view, state, writes: Vec::new(), refused: Vec::new(), seen, patches, base, plan };
        let wanted = wanted(&turn.plan.reported("writes"));
        self.collect(&mut turn, wanted);
        Ok(turn)
    }

    /// The artifacts and the state, as they were at one moment.
    async fn known(&self, at: Moment) -> Result<(Vec<Artifact>, Option<SessionState>), SessionError> {
        let mut state = self.store.state(&self.home).await?;
        for _ in 0..READS {
            let view = self.artifacts(at).await?;
            let again = self.store.state(&self.home).await?;
            if again.as_ref().map(|s| s.revision) == state.as_ref().map(|s| s.revision) {
                return Ok((view, again));
            }
            state = again;
        }
        Err(SessionError::StateConflict)
    }

    /// Finishes a turn with the model's reply: [`answer`](Self::answer) and [`commit`](Self::commit).
    ///
    /// # Errors
    /// Those of both.
    pub async fn finish(&self, turn: Turn, reply: &str, model: &dyn Model) -> Result<FinishedTurn, SessionError> {
        self.commit(self.answer(turn, reply, model).await?, None).await
    }

    /// Runs the operations behind the request with the model's reply. Nothing is stored yet.
    ///
    /// # Errors
    /// A program of the pack fails.
    pub async fn answer(&self, mut turn: Turn, reply: &str, model: &dyn Model) -> Result<AnsweredTurn, SessionError> {
        let mut done = FinishedTurn {
            reply: reply.to_owned(),
            user_text: turn.user_text(),
            inline: list_of(&turn.plan.reported("inline")),
            written: Vec::new(),
            refused: Vec::new(),
            pruned: Vec::new(),
            run: Json::Null,
            warnings: Vec::new(),
        };
        if self.rules.programs().find(AFTER).is_some() {
            self.after(&mut turn, &mut done, model).await?;
        }
        let log = self.log_of(&turn, &done, reply);
        Ok(AnsweredTurn { turn, done, log })
    }

    /// Commits the writes, the state and the log of a whole turn in one transaction. `turns_before` is how many turns must be
    /// completed before it; `None`: any number, so that a turn can be played again.
    ///
    /// # Errors
    /// The store cannot answer, or somebody else has completed a turn, or written an artifact or the state since the turn
    /// began. Then nothing of the turn is stored, but the log has a record of the conflict.
    pub async fn commit(&self, answered: AnsweredTurn, turns_before: Option<i64>) -> Result<FinishedTurn, SessionError> {
        let AnsweredTurn { turn, mut done, log } = answered;
        let changed = turn.patches.iter().any(|patch| patch.as_object().is_some_and(|patch| !patch.is_empty()));
        let batch = Batch {
            at: turn.at,
            turn: true,
            turns_before,
            writes: turn.writes.clone(),
            state: changed.then(|| turn.state_now()),
            state_based_on: turn.state.as_ref().map(|s| s.revision),
            log,
        };
        match self.store.commit(&self.home, batch).await? {
            CommitOutcome::Applied { versions, pruned, .. } => {
                done.written = turn.writes.into_iter().map(|w| w.tag).zip(versions).collect();
                done.pruned = pruned;
                done.refused = turn.refused.into_iter().map(|(w, why)| (w.tag, w.writer, why)).collect();
                Ok(done)
            }
            CommitOutcome::Conflict { tag: Some(tag), latest } => {
                let refusal = WriteRefusal::Conflict(latest);
                let write = turn.writes.iter().find(|w| w.tag == tag);
                let writer = write.and_then(|w| w.log.get("pipeline")?.as_str()).unwrap_or_default().to_owned();
                let record = rejected(&writer, &tag, write.and_then(|w| w.based_on), &refusal);
                self.store.commit(&self.home, Batch { at: turn.at, log: vec![record], ..Batch::default() }).await?;
                Err(SessionError::Refused { tag, writer, refusal })
            }
            CommitOutcome::Conflict { tag: None, latest } => {
                let record = json!({ "op": "write_rejected", "scope": "state", "error": "artifact_conflict", "latest": latest });
                self.store.commit(&self.home, Batch { at: turn.at, log: vec![record], ..Batch::default() }).await?;
                Err(SessionError::StateConflict)
            }
        }
    }

    async fn after(&self, turn: &mut Turn, done: &mut FinishedTurn, model: &dyn Model) -> Result<(), SessionError> {
        let blocks: Vec<Json> = turn.plan.blocks.iter().filter(|b| b.enabled()).map(|b| b.fields.to_json()).collect();
        let blocks = Json::Array(blocks);
        let mut scene = turn.scene.clone();
        scene.set("replies", Value::from(&json!({})));
        scene.set("reply.text", Value::text(done.reply.as_str()));
        scene.set("art", art(&turn.view));
        scene.set("run", turn.plan.set.get("run").cloned().unwrap_or_default());
        restore(&mut scene, &turn.patches.iter().fold(turn.seen.clone(), patched));
        let program = |scene: &Scene| run(&self.rules, AFTER, scene, &[("blocks", blocks.clone())]);
        let outcome = replay(&mut scene, model, program, |outcome| outcome.get("plan.requests")).await?;
        if let Some(text) = text_of(&outcome.get("reply.text")) {
            done.reply = text;
        }
        done.user_text = text_of(&outcome.get("plan.user_text")).or(done.user_text.take());
        done.inline.extend(list_of(&outcome.get("plan.inline")));
        done.run = outcome.get("plan.run").to_json();
        done.warnings = outcome.warnings();
        turn.patches.push(outcome.patch().to_json());
        let ended = outcome.get("run");
        turn.scene.set("run", ended);
        let wanted = wanted(&outcome.get("plan.writes"));
        self.collect(turn, wanted);
        Ok(())
    }

    /// Checks what a program wants to write, and adds it to the turn. Every write is based on the version that the turn
    /// has seen, or on the turn's own write before it.
    fn collect(&self, turn: &mut Turn, wanted: Vec<ProgramWrite>) {
        let declared = self.rules.artifacts();
        for want in wanted {
            let now = turn.view.iter().find(|a| a.tag == want.tag);
            let base = now.map(|a| a.version);
            let stale = want.based_on.is_some() && want.based_on != base;
            let verdict = declared.may_write(&want.writer, &want.tag, &want.value).map(history);
            match verdict {
                Ok(_) if stale => turn.refused.push((want, WriteRefusal::Conflict(base))),
                Ok(most) => {
                    let before = now.map(|a| &a.value);
                    let write = self.write_of(&want.writer, Some(&want.operation), &want.tag, base, want.value.clone(), before);
                    turn.writes.push(write);
                    written(&mut turn.view, &want.tag, want.value, most);
                }
                Err(refusal) => turn.refused.push((want, refusal)),
            }
        }
    }

    /// What the log says about a turn besides its writes: what was read, what the operations did, what was refused, and
    /// the traces of values that are not kept.
    fn log_of(&self, turn: &Turn, done: &FinishedTurn, reply: &str) -> Vec<Json> {
        let read: serde_json::Map<String, Json> =
            turn.scene.get("art").to_json().as_object().into_iter().flatten().map(|(tag, a)| (tag.clone(), a["version"].clone())).collect();
        let artifacts = turn.scene.get("run.artifacts").to_json();
        let traces: Vec<_> = artifacts.as_array().into_iter().flatten().map(|row| redacted(row).trace()).collect();
        let before = turn.plan.reported("run").to_json();
        let rewritten = json!({ "reply": (done.reply != reply).then_some(&done.reply), "user": done.user_text });
        let mut out = vec![json!({
            "op": "turn", "turn": turn.at.turn, "fingerprint": turn.plan.fingerprint, "read": read,
            "before": before, "after": done.run, "ephemeral": traces, "rewritten": rewritten,
        })];
        out.extend(turn.refused.iter().map(|(want, why)| rejected(&want.writer, &want.tag, want.based_on, why)));
        out
    }
}

/// A value of the run, of which only a trace may be stored.
fn redacted(row: &Json) -> RunArtifact {
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    RunArtifact { id: text("id"), tag: row["tag"].as_str().map(str::to_owned), kind: text("kind"), value: row["value"].clone() }
}

/// Artifacts as rules see them: `art.TAG.value`, `.history`, `.version`.
fn art(artifacts: &[Artifact]) -> Value {
    let one = |a: &Artifact| (a.tag.clone(), json!({ "value": a.value, "history": a.history, "version": a.version }));
    Value::from(&Json::Object(artifacts.iter().map(one).collect()))
}

/// Fills the scene with what the session knows. Variables of macros are kept with the state, and read from `vars`. Of
/// artifacts nothing is said to a pack that reads none.
fn fill(rules: &Ruleset, scene: &mut Scene, artifacts: &[Artifact], state: Option<&Json>) {
    if !artifacts.is_empty() || rules.programs().rules.names.knows_path("art") {
        scene.set("art", art(artifacts));
    }
    let Some(Json::Object(mut state)) = state.cloned() else { return };
    if let Some(vars) = state.remove("vars") {
        let given = scene.get("vars");
        let vars = Value::from(&vars);
        scene.set("vars", if given.is_null() { vars } else { given.over(vars) });
    }
    let given = scene.get("state");
    let state = Value::from(&Json::Object(state));
    scene.set("state", if given.is_null() { state } else { given.over(state) });
}

/// A write that a program of the pack wants.
#[derive(Debug, Clone, PartialEq)]
struct ProgramWrite {
    pub(super) tag: String,
    pub(super) value: Json,
    /// The version that the program says it started from, if it says one.
    pub(super) based_on: Option<i64>,
    pub(super) writer: String,
    pub(super) operation: String,
}

/// The writes that a program has left in `$plan.writes`.
fn wanted(writes: &Value) -> Vec<ProgramWrite> {
    let text = |row: &Json, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let one = |row: &Json| {
        let operation = text(row, "operation");
        let writer = row["writer"].as_str().map_or_else(|| operation.clone(), str::to_owned);
        ProgramWrite { tag: text(row, "tag"), value: row["value"].clone(), based_on: row["based_on"].as_i64(), writer, operation }
    };
    writes.to_json().as_array().into_iter().flatten().map(one).collect()
}

/// The view after a write, as the next programs of the turn see it, with at most `most` values of history.
pub(super) fn written(view: &mut Vec<Artifact>, tag: &str, value: Json, most: u32) {
    let Some(artifact) = view.iter_mut().find(|a| a.tag == tag) else {
        view.push(Artifact { tag: tag.to_owned(), version: 1, value, history: Vec::new() });
        return;
    };
    artifact.version += 1;
    artifact.history.push(std::mem::replace(&mut artifact.value, value));
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    artifact.history.drain(..artifact.history.len().saturating_sub(most));
}

/// The most requests of the operations of one half of a turn.
const MAX_REQUESTS: usize = 64;

/// What an operation asks of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationRequest {
    /// The operation.
    pub operation: String,
    /// The messages: a list of `{role, content}`.
    pub messages: Json,
    /// What the row of the operation says besides: model, output mode and the like.
    pub params: Json,
}

/// Why a model gave no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it is: `timeout`, `rate_limit`, `provider_error` …
    pub code: String,
    /// What happened.
    pub message: String,
}

/// Whoever answers the requests of operations: a provider, or recorded replies.
pub trait Model: Send + Sync {
    /// The reply to a request.
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>>;
}

/// A model for packs whose operations ask none; a request that comes all the same fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModel;

impl Model for NoModel {
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        let message = format!("operation `{}` asks a model, and none is connected", request.operation);
        Box::pin(std::future::ready(Err(ModelError { code: "no_model".to_owned(), message })))
    }
}

/// Runs `program` until it asks for nothing more. `requests` reads what a result asks for. The replies stay in the scene.
async fn replay<T>(
    scene: &mut Scene,
    model: &dyn Model,
    program: impl Fn(&Scene) -> Result<T, BuildError>,
    requests: impl Fn(&T) -> Value,
) -> Result<T, SessionError> {
    let mut asked = 0;
    loop {
        let result = program(scene)?;
        let open = open(&requests(&result), scene);
        if open.is_empty() {
            return Ok(result);
        }
        drop(result);
        for request in open {
            asked += 1;
            if asked > MAX_REQUESTS {
                return Err(SessionError::TooManyRequests(MAX_REQUESTS));
            }
            let reply = match model.ask(&request).await {
                Ok(text) => json!({ "text": text }),
                Err(error) => json!({ "error": { "code": error.code, "message": error.message } }),
            };
            let mut replies = scene.get("replies").to_json();
            if !replies.is_object() {
                replies = json!({});
            }
            if let Some(replies) = replies.as_object_mut() {
                replies.insert(request.operation, reply);
            }
            scene.set("replies", Value::from(&replies));
        }
    }
}

/// The requests without a reply. One that is asked again although its reply is there is not asked twice.
fn open(requests: &Value, scene: &Scene) -> Vec<OperationRequest> {
    let known = scene.get("replies");
    let text = |row: &Json, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let mut out: Vec<OperationRequest> = Vec::new();
    for row in requests.to_json().as_array().into_iter().flatten() {
        let operation = text(row, "operation");
        if known.get(&operation).is_none() && !out.iter().any(|r| r.operation == operation) {
            out.push(OperationRequest { operation, messages: row["messages"].clone(), params: row["params"].clone() });
        }
    }
    out
}
