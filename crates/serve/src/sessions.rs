//! `/v1/sessions`: turns of chats whose artifacts and state live in a store. The server keeps nothing of a session, so any of
//! several servers that share a database answers.
//!
//! A turn is one body, sent twice: without `reply` it gives the prompt and stores nothing; with the model's reply, the same is
//! built again, and what the turn changes is stored in one transaction. `base` ties the two together: what the turn began with.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tapster::artifact::WriteRefusal;
use tapster::diag::{Diagnostic, Severity, render};
use tapster::{Ruleset, Value};
use tapster_door::Door;
use tapster_door::request::{RulesReference, SceneRequest};
use tapster_session::store::{Home, LOCAL_OWNER, ListPage, Moment, SessionStore, SqlStore, StoreRefusal};
use tapster_session::{Model, ModelError, OperationRequest, Session, SessionError};
use tokio::sync::Semaphore;

use crate::Server;
use crate::body::{self, BodyRefusal};
use crate::insert_member;
use crate::json_response;
use crate::problem;

/// The most sessions of one listing.
const MOST_SESSIONS: u32 = 1_000;
/// The most records of a log in one answer: each may hold the values of a turn.
const MOST_RECORDS: u32 = 100;
/// The most turns that are played at the same time; others wait. They wait for the database themselves, so they are not among
/// the calls.
const MOST_TURNS: usize = 16;
/// The largest number of a turn (2^53): there is room behind it, and every program can read it.
const LAST_TURN: i64 = 1 << 53;

/// Where sessions are stored.
pub struct SessionShelf {
    store: SqlStore,
    turns: Arc<Semaphore>,
}

/// The routes of sessions.
pub(crate) fn routes(shelf: Arc<SessionShelf>, server: &Arc<Server>) -> Router<Arc<Server>> {
    Router::new()
        .route("/v1/sessions", get(list_sessions))
        .route("/v1/sessions/{session}", get(read_session).delete(remove_session))
        .route("/v1/sessions/{session}/log", get(read_log))
        .route("/v1/sessions/{session}/turn", post(play_turn))
        .layer(Extension(shelf))
        .layer(middleware::from_fn_with_state(Arc::clone(server), answer_in_time))
}

/// A database may not answer.
async fn answer_in_time(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let time = server.limits.time;
    tokio::time::timeout(time, next.run(request)).await.unwrap_or_else(|_| {
        let message = format!("the session took longer than {} s", time.as_secs_f64());
        let help = "a turn may be stored all the same; read the session before you send it again";
        SessionFailure(StatusCode::GATEWAY_TIMEOUT, json!({ "detail": message, "help": help })).into_response()
    })
}

/// Whose sessions are meant; a server for one user needs no owner.
#[derive(Debug, Deserialize)]
struct OwnerQuery {
    #[serde(default = "local_owner")]
    owner: String,
}

fn local_owner() -> String {
    LOCAL_OWNER.to_owned()
}

impl OwnerQuery {
    fn home(&self, session: String) -> Home {
        Home { owner: self.owner.clone(), session }
    }
}

/// A part of a listing.
#[derive(Debug, Deserialize)]
struct PageQuery {
    #[serde(flatten)]
    owner: OwnerQuery,
    #[serde(default)]
    after: i64,
}

/// A turn as it is sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnRequest {
    rules: RulesReference,
    #[serde(default)]
    scene: SceneRequest,
    /// The number of the turn. Default: one more than was stored.
    turn: Option<i64>,
    /// When it is, in milliseconds since 1970. Default: the clock.
    now: Option<i64>,
    /// The model's reply; without it, the prompt is returned and nothing is stored.
    reply: Option<String>,
    /// What the turn began with, as the answer with the prompt says; a reply needs it.
    base: Option<String>,
    /// What the model has answered to operations, by their names; `null`: nothing, and the turn goes on without.
    #[serde(default)]
    operations: BTreeMap<String, Option<String>>,
}

/// Why a session does not answer: a status, and members of the problem.
struct SessionFailure(StatusCode, Json);

type Answered = Result<Response, SessionFailure>;

impl SessionFailure {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self(status, json!({ "detail": detail.into() }))
    }

    fn unknown() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such session")
    }

    fn stale(has_base: bool) -> Self {
        let (status, detail) = match has_base {
            true => (StatusCode::CONFLICT, "the session or its rules have changed since the prompt was built"),
            false => (StatusCode::BAD_REQUEST, "a reply belongs to a prompt, which `base` names"),
        };
        Self(status, json!({ "detail": detail, "help": "ask for the prompt, and send its `turn`, `now` and `base` with the reply" }))
    }

    fn of_session(error: SessionError, rules: &Ruleset) -> Self {
        let status = match &error {
            SessionError::Store(refused) => return Self::from(refused.clone()),
            SessionError::StateConflict | SessionError::Refused { refusal: WriteRefusal::Conflict(_), .. } => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self(status, json!({ "diagnostics": diagnostics(error.diagnostic(rules), rules) }))
    }
}

impl From<StoreRefusal> for SessionFailure {
    fn from(refused: StoreRefusal) -> Self {
        // a name that cannot be stored is the client's mistake, and no second try mends what is too large
        match refused.code.as_str() {
            "store.name" => Self::new(StatusCode::BAD_REQUEST, refused.message),
            "store.too_large" => Self::new(StatusCode::UNPROCESSABLE_ENTITY, refused.message),
            // the message says where the store is
            code => Self(StatusCode::SERVICE_UNAVAILABLE, json!({ "detail": "the store cannot answer", "code": code })),
        }
    }
}

impl From<BodyRefusal> for SessionFailure {
    fn from(refusal: BodyRefusal) -> Self {
        Self(refusal.status, json!({ "detail": refusal.message, "help": refusal.help }))
    }
}

impl IntoResponse for SessionFailure {
    fn into_response(self) -> Response {
        problem(self.0, "the session cannot answer", self.1)
    }
}

/// The session of a path.
type SessionPath = (Path<String>, Query<OwnerQuery>);

async fn list_sessions(Extension(shelf): Extension<Arc<SessionShelf>>, Query(page): Query<PageQuery>) -> Answered {
    let found = shelf.store.sessions(Some(&page.owner.owner), ListPage { after: page.after, limit: MOST_SESSIONS }).await?;
    Ok(json_response(StatusCode::OK, &json!({ "sessions": found })))
}

async fn read_session(Extension(shelf): Extension<Arc<SessionShelf>>, (Path(name), Query(owner)): SessionPath) -> Answered {
    let home = owner.home(name);
    let info = shelf.store.info(&home).await?.ok_or_else(SessionFailure::unknown)?;
    let artifacts = shelf.store.view(&home, info.at, &[], 0).await?;
    let artifacts: Vec<Json> =
        artifacts.iter().map(|found| json!({ "tag": found.tag, "version": found.version, "value": found.value })).collect();
    let state = shelf.store.state(&home).await?.map(|state| state.value);
    Ok(json_response(StatusCode::OK, &json!({ "turns": info.turns, "at": info.at, "artifacts": artifacts, "state": state })))
}

async fn remove_session(Extension(shelf): Extension<Arc<SessionShelf>>, (Path(name), Query(owner)): SessionPath) -> Answered {
    let removed = shelf.store.forget(&owner.home(name)).await?;
    if removed { Ok(json_response(StatusCode::OK, &json!({ "removed": true }))) } else { Err(SessionFailure::unknown()) }
}

async fn read_log(Extension(shelf): Extension<Arc<SessionShelf>>, Path(name): Path<String>, Query(page): Query<PageQuery>) -> Answered {
    let records = shelf.store.log(&page.owner.home(name), ListPage { after: page.after, limit: MOST_RECORDS }).await?;
    Ok(json_response(StatusCode::OK, &json!({ "records": records })))
}

impl SessionShelf {
    /// The sessions of a store.
    #[must_use]
    pub fn new(store: SqlStore) -> Self {
        Self { store, turns: Arc::new(Semaphore::new(MOST_TURNS)) }
    }

    /// Begins a turn, and finishes it if there is a reply.
    async fn play(&self, door: &Door, home: Home, request: TurnRequest) -> Result<Json, SessionFailure> {
        let refused = |diagnostics: Vec<Json>| SessionFailure(StatusCode::UNPROCESSABLE_ENTITY, json!({ "diagnostics": diagnostics }));
        let (rules, mut scene, mut notes) = door.open_scene(&request.rules, &request.scene).map_err(refused)?;
        let stored = self.store.info(&home).await?.map_or(0, |info| info.turns);
        let turn = request.turn.unwrap_or(stored.saturating_add(1));
        if !(1..=LAST_TURN).contains(&turn) {
            return Err(SessionFailure::new(StatusCode::BAD_REQUEST, "`turn` is a number from 1 to 2^53"));
        }
        if turn <= stored {
            let message = format!("turn {turn} is stored already; the session is at turn {stored}");
            return Err(SessionFailure::new(StatusCode::CONFLICT, message));
        }
        let at = Moment { now: request.now.unwrap_or_else(milliseconds), turn };
        scene.set("turn_count", Value::Int(turn));
        let replies = OperationReplies { replies: request.operations, missing: Mutex::default() };
        let session = Session::new(&self.store, rules.clone(), home);
        let failed = |error: SessionError| SessionFailure::of_session(error, &rules);
        let begun = session.begin(&scene, at, &replies).await.map_err(failed)?;
        let before = begun.plan.reported("run").to_json();
        let mut warnings = begun.plan.warnings.clone();
        let mut out = json!({ "turn": turn, "now": at.now, "base": begun.base() });
        let found = if let Some(reply) = &request.reply {
            if request.base.as_deref() != Some(begun.base()) {
                return Err(SessionFailure::stale(request.base.is_some()));
            }
            let answered = session.answer(begun, reply, &replies).await.map_err(failed)?;
            if replies.is_complete() {
                let mut done = session.commit(answered, Some(stored)).await.map_err(failed)?;
                warnings.append(&mut done.warnings);
                let mut found = done.to_json();
                let more = json!({ "stored": true, "run": { "before": before, "after": done.run } });
                found.as_object_mut().into_iter().for_each(|found| found.extend(more.as_object().cloned().unwrap_or_default()));
                match session.projections(at).await {
                    Ok(ui) => insert_member(&mut found, "ui", serde_json::to_value(ui).unwrap_or_default()),
                    // the turn is stored, so its answer is no error
                    Err(error) => {
                        warnings.push(Diagnostic { severity: Severity::Warning, ..SessionError::Store(error).diagnostic(&rules) })
                    }
                }
                found
            } else {
                json!({ "stored": false, "run": { "before": before, "after": answered.run() } })
            }
        } else {
            let dialect = tapster::machinery::build::dialect_of(&rules, &scene);
            let emitted = tapster::emit(&rules, &begun.plan, &dialect).map_err(|error| failed(error.into()))?;
            warnings.extend(emitted.warnings);
            json!({
                "stored": false, "dialect": dialect, "payload": emitted.payload, "request": emitted.request,
                "user_text": begun.user_text(), "run": { "before": before },
            })
        };
        notes.extend(warnings.into_iter().flat_map(|warning| diagnostics(warning, &rules)));
        if let (Some(out), Json::Object(found)) = (out.as_object_mut(), found) {
            out.extend(found);
            out.insert("operations".to_owned(), replies.missing.into_inner().unwrap_or_else(PoisonError::into_inner).into());
            out.insert("diagnostics".to_owned(), Json::Array(notes));
        }
        Ok(out)
    }
}

async fn play_turn(
    State(server): State<Arc<Server>>,
    Extension(shelf): Extension<Arc<SessionShelf>>,
    (Path(name), Query(owner)): SessionPath,
    request: Request,
) -> Answered {
    let turn: TurnRequest = body::read_body(&server, request).await?.parse()?;
    let closed = || SessionFailure::new(StatusCode::SERVICE_UNAVAILABLE, "the server is closed");
    let permit = Arc::clone(&shelf.turns).acquire_owned().await.map_err(|_| closed())?;
    let (runtime, door) = (tokio::runtime::Handle::current(), Arc::clone(&server.door));
    // builds take time, and wait for the store in between
    let played = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        runtime.block_on(shelf.play(&door, owner.home(name), turn))
    });
    let played = played.await.map_err(|_| SessionFailure::new(StatusCode::INTERNAL_SERVER_ERROR, "the turn ended early"))??;
    Ok(json_response(StatusCode::OK, &played))
}

/// The replies to operations that a turn brings along.
struct OperationReplies {
    replies: BTreeMap<String, Option<String>>,
    /// The operations that had none.
    missing: Mutex<Vec<Json>>,
}

impl OperationReplies {
    /// Whether every operation so far had one, or goes on without.
    fn is_complete(&self) -> bool {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl Model for OperationReplies {
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        let given = self.replies.get(&request.operation);
        let reply = given.cloned().flatten().ok_or_else(|| {
            if given.is_none() {
                let asked = json!({ "operation": request.operation, "messages": request.messages, "params": request.params });
                self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
            }
            let message = format!("the turn has no reply to operation `{}`", request.operation);
            ModelError { code: "no_reply".to_owned(), message }
        });
        Box::pin(std::future::ready(reply))
    }
}

fn milliseconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A diagnostic as JSON, in a list.
fn diagnostics(diagnostic: Diagnostic, rules: &Ruleset) -> Vec<Json> {
    render::json(&diagnostic.into(), rules.sources()).as_array().cloned().unwrap_or_default()
}
