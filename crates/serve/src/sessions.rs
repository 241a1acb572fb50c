//! `/v1/sessions`: turns of chats whose artifacts and state live in a store. The server keeps nothing of a session, so any of
//! several servers that share a database answers.
//!
//! A turn is one body, sent twice: without `reply` it gives the prompt and stores nothing; with the model's reply, the same is
//! built again, since builds give the same each time, and what the turn changes is stored in one transaction.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tapster::artifact::WriteRefusal;
use tapster::diag::{Diagnostic, render};
use tapster::{BuildError, Ruleset, Value};
use tapster_door::Door;
use tapster_door::request::{RulesReference, SceneRequest};
use tapster_session::store::{Home, ListPage, Moment, SessionStore, SqlStore, StoreRefusal};
use tapster_session::{Model, ModelError, OperationRequest, Session, SessionError};

use crate::Server;
use crate::json_response;
use crate::problem;

/// The most rows of one listing.
const MOST_ROWS: u32 = 1_000;

/// Where sessions are stored.
pub struct SessionShelf(pub SqlStore);

/// The routes of sessions.
pub(crate) fn routes(shelf: Arc<SessionShelf>) -> Router<Arc<Server>> {
    Router::new()
        .route("/v1/sessions", get(list_sessions))
        .route("/v1/sessions/{session}", get(read_session).delete(remove_session))
        .route("/v1/sessions/{session}/log", get(read_log))
        .route("/v1/sessions/{session}/turn", post(play_turn))
        .layer(Extension(shelf))
}

/// Whose sessions are meant; a server for one user needs no owner.
#[derive(Debug, Default, Deserialize)]
struct OwnerQuery {
    #[serde(default)]
    owner: String,
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

impl PageQuery {
    fn rows(&self) -> ListPage {
        ListPage { after: self.after, limit: MOST_ROWS }
    }
}

/// A turn as it is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnRequest {
    rules: RulesReference,
    #[serde(default)]
    scene: SceneRequest,
    /// The number of the turn. Default: one more than was stored.
    turn: Option<i64>,
    /// When it is, in milliseconds since 1970. Default: the clock.
    now: Option<i64>,
    /// The model's reply; without it, the prompt is returned and nothing is stored.
    reply: Option<String>,
    /// What the model has answered to operations, by their names.
    #[serde(default)]
    operations: BTreeMap<String, String>,
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

    fn of_build(error: &BuildError, rules: &Ruleset) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, json!({ "diagnostics": diagnostics(error.diagnostic(rules), rules) }))
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
        // a name that cannot be stored is the client's mistake
        let status = if refused.code == "store.name" { StatusCode::BAD_REQUEST } else { StatusCode::SERVICE_UNAVAILABLE };
        Self::new(status, refused.message)
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
    let found = shelf.0.sessions(Some(&page.owner.owner), page.rows()).await?;
    Ok(json_response(StatusCode::OK, &json!({ "sessions": found })))
}

async fn read_session(Extension(shelf): Extension<Arc<SessionShelf>>, (Path(name), Query(owner)): SessionPath) -> Answered {
    let found = shelf.0.dump(&owner.home(name)).await?.ok_or_else(SessionFailure::unknown)?;
    Ok(json_response(StatusCode::OK, &serde_json::to_value(found).unwrap_or_default()))
}

async fn remove_session(Extension(shelf): Extension<Arc<SessionShelf>>, (Path(name), Query(owner)): SessionPath) -> Answered {
    let removed = shelf.0.forget(&owner.home(name)).await?;
    if removed { Ok(json_response(StatusCode::OK, &json!({ "removed": true }))) } else { Err(SessionFailure::unknown()) }
}

async fn read_log(Extension(shelf): Extension<Arc<SessionShelf>>, Path(name): Path<String>, Query(page): Query<PageQuery>) -> Answered {
    let records = shelf.0.log(&page.owner.home(name), page.rows()).await?;
    Ok(json_response(StatusCode::OK, &json!({ "records": records })))
}

impl SessionShelf {
    /// Begins a turn, and finishes it if there is a reply.
    async fn play(&self, door: &Door, home: Home, request: TurnRequest) -> Result<Json, SessionFailure> {
        let refused = |diagnostics: Vec<Json>| SessionFailure(StatusCode::UNPROCESSABLE_ENTITY, json!({ "diagnostics": diagnostics }));
        let (rules, mut scene, mut notes) = door.open_scene(&request.rules, &request.scene).map_err(refused)?;
        let stored = self.0.info(&home).await?.map_or(0, |info| info.turns);
        let turn = request.turn.unwrap_or(stored + 1);
        if turn <= stored {
            let message = format!("turn {turn} is stored already; the session is at turn {stored}");
            return Err(SessionFailure::new(StatusCode::CONFLICT, message));
        }
        let at = Moment { now: request.now.unwrap_or_else(milliseconds), turn };
        scene.set("turn_count", Value::Int(turn));
        let replies = OperationReplies { replies: request.operations, missing: Mutex::default() };
        let session = Session::new(&self.0, rules.clone(), home);
        let failed = |error: SessionError| SessionFailure::of_session(error, &rules);
        let begun = session.begin(&scene, at, &replies).await.map_err(failed)?;
        let before = begun.plan.reported("run").to_json();
        let mut warnings = begun.plan.warnings.clone();
        let mut out = json!({ "turn": turn });
        let found = if let Some(reply) = &request.reply {
            let mut done = session.finish(begun, reply, &replies).await.map_err(failed)?;
            warnings.append(&mut done.warnings);
            let mut found = done.to_json();
            let more = json!({ "run": { "before": before, "after": done.run }, "ui": session.projections(at).await? });
            if let (Some(found), Json::Object(more)) = (found.as_object_mut(), more) {
                found.extend(more);
            }
            found
        } else {
            let dialect = tapster::machinery::build::dialect_of(&rules, &scene);
            let emitted = tapster::emit(&rules, &begun.plan, &dialect).map_err(|error| SessionFailure::of_build(&error, &rules))?;
            warnings.extend(emitted.warnings);
            json!({
                "dialect": dialect, "payload": emitted.payload, "request": emitted.request, "user_text": begun.user_text(),
                "run": { "before": before },
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
    let refused = SessionFailure::new;
    let played = async {
        let body = to_bytes(request.into_body(), server.limits.body).await;
        let body = body.map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE, "the turn cannot be read, or is too long".to_owned()))?;
        let turn: TurnRequest =
            serde_json::from_slice(&body).map_err(|error| refused(StatusCode::BAD_REQUEST, format!("the turn is wrong: {error}")))?;
        let Ok(permit) = Arc::clone(&server.turns).acquire_owned().await else {
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "the server is closed".to_owned()));
        };
        let (runtime, door) = (tokio::runtime::Handle::current(), Arc::clone(&server.door));
        // builds take time, and wait for the store in between
        let played = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            runtime.block_on(shelf.play(&door, owner.home(name), turn))
        });
        played.await.map_err(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, "the turn ended early".to_owned()))?
    };
    let late = |_| refused(StatusCode::GATEWAY_TIMEOUT, format!("the turn took longer than {} s", server.limits.time.as_secs_f64()));
    let played = tokio::time::timeout(server.limits.time, played).await.map_err(late)??;
    Ok(json_response(StatusCode::OK, &played))
}

/// The replies to operations that a turn brings along.
struct OperationReplies {
    replies: BTreeMap<String, String>,
    /// The operations that had none.
    missing: Mutex<Vec<Json>>,
}

impl Model for OperationReplies {
    fn ask<'a>(&'a self, request: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        let reply = self.replies.get(&request.operation).cloned().ok_or_else(|| {
            let asked = json!({ "operation": request.operation, "messages": request.messages, "params": request.params });
            self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
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
