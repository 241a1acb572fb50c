//! `/v1/sessions`: turns of chats whose artifacts and state live in a store. The server keeps nothing of a session, so any of
//! several servers that share a database answers.
//!
//! A turn is one body, sent twice: without `reply` it gives the prompt and stores nothing; with the model's reply, the same is
//! built again, since builds give the same each time, and what the turn changes is stored in one transaction.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tapster::diag::{Diagnostic, render};
use tapster::{Ruleset, Value};
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
    let own = || Arc::clone(&shelf);
    let (list, read, remove, log, turn) = (own(), own(), own(), own(), own());
    Router::new()
        .route("/v1/sessions", get(async move |Query(page): Query<PageQuery>| answer(list.list_sessions(&page).await)))
        .route(
            "/v1/sessions/{session}",
            get(async move |Path(session): Path<String>, Query(owner): Query<OwnerQuery>| {
                answer(read.read_session(&owner.home(session)).await)
            })
            .delete(async move |Path(session): Path<String>, Query(owner): Query<OwnerQuery>| {
                answer(remove.remove_session(&owner.home(session)).await)
            }),
        )
        .route(
            "/v1/sessions/{session}/log",
            get(async move |Path(session): Path<String>, Query(page): Query<PageQuery>| {
                answer(log.read_log(&page.owner.home(session), page.rows()).await)
            }),
        )
        .route(
            "/v1/sessions/{session}/turn",
            post(
                async move |State(server): State<Arc<Server>>,
                            Path(session): Path<String>,
                            Query(owner): Query<OwnerQuery>,
                            request: Request| { answer(play_turn(server, turn, owner.home(session), request).await) },
            ),
        )
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

/// A status with what is returned.
type Answered = Result<Json, (StatusCode, Json)>;

fn answer(answered: Answered) -> Response {
    match answered {
        Ok(found) => json_response(StatusCode::OK, &found),
        Err((status, found)) => problem(status, "the session cannot answer", found),
    }
}

impl SessionShelf {
    async fn list_sessions(&self, page: &PageQuery) -> Answered {
        let owner = Some(page.owner.owner.as_str());
        let found = self.0.sessions(owner, page.rows()).await.map_err(store_failure)?;
        Ok(json!({ "sessions": found }))
    }

    async fn read_session(&self, home: &Home) -> Answered {
        let found = self.0.dump(home).await.map_err(store_failure)?;
        found.map(|dump| serde_json::to_value(dump).unwrap_or_default()).ok_or_else(unknown_session)
    }

    async fn remove_session(&self, home: &Home) -> Answered {
        let removed = self.0.forget(home).await.map_err(store_failure)?;
        if removed { Ok(json!({ "removed": true })) } else { Err(unknown_session()) }
    }

    async fn read_log(&self, home: &Home, page: ListPage) -> Answered {
        let records = self.0.log(home, page).await.map_err(store_failure)?;
        Ok(json!({ "records": records }))
    }

    /// Begins a turn, and finishes it if there is a reply.
    async fn play(&self, door: &Door, home: Home, request: TurnRequest) -> Answered {
        let refused = |diagnostics: Vec<Json>| (StatusCode::UNPROCESSABLE_ENTITY, json!({ "diagnostics": diagnostics }));
        let (rules, mut scene, mut notes) = door.open_scene(&request.rules, &request.scene).map_err(refused)?;
        let stored = self.0.info(&home).await.map_err(store_failure)?.map_or(0, |info| info.turns);
        let turn = request.turn.unwrap_or(stored + 1);
        if turn <= stored {
            let message = format!("turn {turn} is stored already; the session is at turn {stored}");
            return Err((StatusCode::CONFLICT, json!({ "detail": message, "turns": stored })));
        }
        let at = Moment { now: request.now.unwrap_or_else(milliseconds), turn };
        scene.set("turn_count", Value::Int(turn));
        let replies = OperationReplies { replies: request.operations, missing: Mutex::default() };
        let session = Session::new(&self.0, rules.clone(), home);
        let failed = |error: SessionError| {
            let status = match &error {
                SessionError::StateConflict => StatusCode::CONFLICT,
                SessionError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            };
            (status, json!({ "diagnostics": diagnostics(error.diagnostic(&rules), &rules) }))
        };
        let begun = session.begin(&scene, at, &replies).await.map_err(failed)?;
        notes.extend(begun.plan.warnings.iter().flat_map(|warning| diagnostics(warning.clone(), &rules)));
        let asked = std::mem::take(&mut *replies.missing.lock().unwrap_or_else(PoisonError::into_inner));
        let mut out =
            json!({ "turn": turn, "user_text": begun.user_text(), "operations": asked, "run": begun.plan.reported("run").to_json() });
        let found = if let Some(reply) = &request.reply {
            let done = session.finish(begun, reply, &replies).await.map_err(failed)?;
            let written: Vec<Json> = done.written.iter().map(|(tag, version)| json!({ "tag": tag, "version": version })).collect();
            let ui = session.projections(at).await.map_err(store_failure)?;
            notes.extend(done.warnings.iter().flat_map(|warning| diagnostics(warning.clone(), &rules)));
            json!({ "reply": done.reply, "inline": done.inline, "written": written, "pruned": done.pruned, "after": done.run, "ui": ui })
        } else {
            let dialect = tapster::machinery::build::dialect_of(&rules, &scene);
            let refused = |error: tapster::BuildError| {
                (StatusCode::UNPROCESSABLE_ENTITY, json!({ "diagnostics": diagnostics(error.diagnostic(&rules), &rules) }))
            };
            let emitted = tapster::emit(&rules, &begun.plan, &dialect).map_err(refused)?;
            json!({ "dialect": dialect, "payload": emitted.payload, "request": emitted.request })
        };
        if let (Some(out), Json::Object(found)) = (out.as_object_mut(), found) {
            out.extend(found);
            out.insert("diagnostics".to_owned(), Json::Array(notes));
        }
        Ok(out)
    }
}

async fn play_turn(server: Arc<Server>, shelf: Arc<SessionShelf>, home: Home, request: Request) -> Answered {
    let refused = |status: StatusCode, message: String| (status, json!({ "detail": message }));
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
            runtime.block_on(shelf.play(&door, home, turn))
        });
        played.await.map_err(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, "the turn ended early".to_owned()))?
    };
    let late = |_| refused(StatusCode::GATEWAY_TIMEOUT, format!("the turn took longer than {} s", server.limits.time.as_secs_f64()));
    tokio::time::timeout(server.limits.time, played).await.map_err(late)?
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

fn unknown_session() -> (StatusCode, Json) {
    (StatusCode::NOT_FOUND, json!({ "detail": "there is no such session" }))
}

fn store_failure(refused: StoreRefusal) -> (StatusCode, Json) {
    // a name that cannot be stored is the client's mistake
    let status = if refused.code == "store.name" { StatusCode::BAD_REQUEST } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, json!({ "detail": refused.message }))
}
