//! HTTP over the door: `POST /v1/<call>` for each call, with its arguments as the body.
//!
//! The state is the [`Door`]: what it keeps can be sent again, so that several servers can stand behind a load balancer.
//! Builds run on threads of their own, so that a long one does not hold up the others.

mod access;
mod body;
pub mod gateway;
mod mcp;
mod openapi;
mod page;
mod sessions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use serde_json::{Map, Value as Json, json};
use tapster_door::Door;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

pub use access::AccessRules;
pub use gateway::Gateway;
pub use mcp::serve_tools;
pub use openapi::document as openapi;
pub use page::{PageFile, page};
pub use sessions::SessionShelf;

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct ServeLimits {
    /// The most bytes of a body. Default: 64 MiB.
    pub body: usize,
    /// How long a request may take, from its first byte to its answer. Default: 30 s.
    pub time: Duration,
    /// How long the headers of a request may take. Default: 10 s.
    pub header_time: Duration,
    /// How long a peer may take nothing of an answer. Default: 60 s.
    pub write_time: Duration,
    /// The most calls that run at the same time; others wait for their turn. Default: the number of processors.
    pub calls: usize,
    /// The most connections; others wait until one is closed. Default: 1,024.
    pub connections: usize,
}

impl Default for ServeLimits {
    fn default() -> Self {
        let calls = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            body: tapster_door::MAX_REQUEST,
            time: Duration::from_secs(30),
            header_time: Duration::from_secs(10),
            write_time: Duration::from_secs(60),
            calls,
            connections: 1_024,
        }
    }
}

/// What is told of each request: nothing of its texts or keys.
#[derive(Debug, Clone)]
pub struct RequestLog {
    /// `POST` …
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// How long it took.
    pub time: Duration,
}

/// Where logs go.
pub type LogWriter = Arc<dyn Fn(RequestLog) + Send + Sync>;

struct Server {
    door: Arc<Door>,
    limits: ServeLimits,
    access: AccessRules,
    turns: Arc<Semaphore>,
    large_bodies: Semaphore,
    log: LogWriter,
}

/// What a server offers.
pub struct ServedParts {
    pub door: Arc<Door>,
    pub gateway: Option<Arc<Gateway>>,
    pub sessions: Option<Arc<SessionShelf>>,
}

/// The routes of a server.
pub fn router(parts: ServedParts, limits: ServeLimits, access: AccessRules, log: LogWriter) -> Router {
    let ServedParts { door, gateway, sessions } = parts;
    let described = (gateway.is_some(), sessions.is_some());
    let cors = access.cors();
    let turns = Arc::new(Semaphore::new(limits.calls.max(1)));
    let server = Arc::new(Server { door, limits, access, turns, large_bodies: Semaphore::new(body::LARGE_BODIES), log });
    let calls = Router::new()
        .route("/v1/{call}", post(answer_call))
        .route("/openapi.json", get(async move || json_response(StatusCode::OK, &openapi(described.0, described.1))))
        .merge(gateway.map(gateway::routes).unwrap_or_default())
        .merge(sessions.map(|shelf| sessions::routes(shelf, &server)).unwrap_or_default())
        .layer(middleware::from_fn_with_state(Arc::clone(&server), check_access));
    // a load balancer has no token
    let probes = Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(answer_ready));
    calls
        .merge(probes)
        .fallback(async || {
            problem(StatusCode::NOT_FOUND, "there is nothing at this path", json!({ "help": "/openapi.json lists the paths" }))
        })
        .method_not_allowed_fallback(async || {
            problem(StatusCode::METHOD_NOT_ALLOWED, "this path has another method", json!({ "help": "calls are sent with POST" }))
        })
        .layer(cors)
        .layer(middleware::from_fn_with_state(Arc::clone(&server), log_request))
        .with_state(server)
}

/// Answers connections until `stop` is done; then those that are open may finish, within the time of a request.
///
/// # Errors
/// The listener fails for good.
pub async fn serve(listener: TcpListener, router: Router, limits: ServeLimits, stop: impl Future<Output = ()>) -> std::io::Result<()> {
    let (open, connections) = (GracefulShutdown::new(), Arc::new(Semaphore::new(limits.connections.max(1))));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_time);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accept = async {
            let permit = Arc::clone(&connections).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accept => accepted,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // the peer is gone, or the process has no file left: others are still answered
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // a peer that takes nothing would be waited for
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.write_time));
        let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router.clone()));
        let connection = open.watch(connection);
        tokio::spawn(async move {
            let _permit = permit;
            // a connection that breaks off is no error of the server
            let _ = connection.await;
        });
    }
    let _ = tokio::time::timeout(limits.time, open.shutdown()).await;
    Ok(())
}

async fn answer_ready(State(server): State<Arc<Server>>) -> Response {
    let door = Arc::clone(&server.door);
    let packs = tokio::task::spawn_blocking(move || door.call(&json!({ "call": "packs" }))).await.unwrap_or_default();
    match is_ok(&packs) {
        true => "ok\n".into_response(),
        false => problem(StatusCode::SERVICE_UNAVAILABLE, "the packs cannot be listed", packs),
    }
}

async fn answer_call(State(server): State<Arc<Server>>, Path(call): Path<String>, request: Request) -> Response {
    let limits = server.limits;
    let answered = tokio::time::timeout(limits.time, async {
        let body = body::read_body(&server, request).await.map_err(refuse_body)?;
        let mut request: Map<String, Json> = body.parse().map_err(refuse_body)?;
        let calls = openapi::call_names();
        if !calls.contains(&call) {
            let help = format!("the calls are {}", calls.join(", "));
            return Err(problem(StatusCode::NOT_FOUND, &format!("there is no call `{call}`"), json!({ "help": help })));
        }
        request.insert("call".to_owned(), call.into());
        let Ok(turn) = Arc::clone(&server.turns).acquire_owned().await else {
            return Err(problem(StatusCode::SERVICE_UNAVAILABLE, "the server is closed", Json::Null));
        };
        let door = Arc::clone(&server.door);
        let waiting = WaitingCaller::default();
        let ended = Arc::clone(&waiting.0);
        let called = tokio::task::spawn_blocking(move || {
            // the turn lasts as long as the call, whether or not somebody waits for it
            let _turn = turn;
            door.call_with_events(Json::Object(request), &mut |_| !ended.load(Ordering::Relaxed))
        });
        called.await.map_err(|_| problem(StatusCode::INTERNAL_SERVER_ERROR, "the call ended early", Json::Null))
    });
    match answered.await {
        Ok(Ok(answer)) if is_ok(&answer) => json_response(StatusCode::OK, &answer),
        Ok(Ok(answer)) => problem(StatusCode::UNPROCESSABLE_ENTITY, "the call has no result", answer),
        Ok(Err(refused)) => refused,
        Err(_) => {
            let message = format!("the answer took longer than {} s", limits.time.as_secs_f64());
            problem(
                StatusCode::GATEWAY_TIMEOUT,
                &message,
                json!({ "help": "ask for less, or start the server with a longer `--deadline`" }),
            )
        }
    }
}

/// Whether an answer of the door has a result.
fn is_ok(answer: &Json) -> bool {
    answer.get("ok").and_then(Json::as_bool) == Some(true)
}

/// Somebody who waits for a call; when they do not any more, the call is told so.
#[derive(Default)]
struct WaitingCaller(Arc<AtomicBool>);

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn refuse_body(refusal: body::BodyRefusal) -> Response {
    problem(refusal.status, &refusal.message, json!({ "help": refusal.help }))
}

async fn check_access(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    match server.access.refuse(request.headers()) {
        Some((status, message)) => problem(status, message, Json::Null),
        None => next.run(request).await,
    }
}

async fn log_request(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let (method, path, started) = (request.method().to_string(), request.uri().path().to_owned(), Instant::now());
    let response = next.run(request).await;
    (server.log)(RequestLog { method, path, status: response.status().as_u16(), time: started.elapsed() });
    response
}

/// Adds a member to a table.
fn insert_member(table: &mut Json, name: &str, value: impl Into<Json>) {
    if let Some(table) = table.as_object_mut() {
        table.insert(name.to_owned(), value.into());
    }
}

/// A response with JSON on one line.
fn json_response(status: StatusCode, json: &Json) -> Response {
    let mut response = Response::new(Body::from(Bytes::from(format!("{json}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error as RFC 9457 has it; the members of `more` stand in front.
fn problem(status: StatusCode, message: &str, more: Json) -> Response {
    let mut all = if let Json::Object(more) = more { more } else { serde_json::Map::new() };
    all.insert("title".to_owned(), message.into());
    all.insert("status".to_owned(), status.as_u16().into());
    let first = all
        .get("diagnostics")
        .and_then(|all| all.as_array()?.iter().rfind(|d| d.get("severity").is_some_and(|of| of == "error"))?.get("message").cloned());
    all.extend(first.map(|first| ("detail".to_owned(), first)));
    let mut response = json_response(status, &Json::Object(all));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}
