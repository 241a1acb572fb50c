//! The routes of a gateway.

use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::answer::AnswerFormat;
use super::config::ClientDialect;
use super::relay::{self, error_body};
use super::{Gateway, GatewayModel, GatewayRefusal, PreparedExchange, pages};
use crate::Server;
use crate::body;
use crate::json_response;
use crate::problem;

/// The header in which a client names its session.
const SESSION_HEADER: &str = "x-tapster-session";
/// The longest name of a session, in bytes.
const MOST_NAME: usize = 200;

/// The routes of a gateway.
pub(crate) fn routes(gateway: Arc<Gateway>) -> Router<Arc<Server>> {
    let chat = |dialect: ClientDialect| {
        post(async move |State(server): State<Arc<Server>>, Extension(gateway): Extension<Arc<Gateway>>, request: Request| {
            answer_chat(server, gateway, dialect, request).await
        })
    };
    Router::new()
        .route(ClientDialect::Openai.path(), chat(ClientDialect::Openai))
        .route(ClientDialect::Anthropic.path(), chat(ClientDialect::Anthropic))
        .route("/v1/transform", post(answer_transform))
        .route("/v1/models", get(async |Extension(gateway): Extension<Arc<Gateway>>| json_response(StatusCode::OK, &gateway.list_models())))
        .route("/v1/cache", get(answer_cache))
        .route("/explain/{id}", get(answer_explain))
        .layer(Extension(gateway))
}

async fn answer_cache(Extension(gateway): Extension<Arc<Gateway>>, headers: HeaderMap, Query(query): Query<CacheQuery>) -> Response {
    page_or_json(&headers, &gateway.sum_accounts(query.session.as_deref()), pages::cache)
}

async fn answer_explain(Extension(gateway): Extension<Arc<Gateway>>, headers: HeaderMap, Path(id): Path<String>) -> Response {
    match gateway.explain_exchange(&id) {
        Some(found) => page_or_json(&headers, &found, pages::explanation),
        None => problem(
            StatusCode::NOT_FOUND,
            "no request of this name is kept",
            json!({ "help": "the header `x-tapster-explain` of an answer names its request; only the newest are kept" }),
        ),
    }
}

/// Which accounts are asked for.
#[derive(Deserialize)]
struct CacheQuery {
    session: Option<String>,
}

/// A page for browsers, JSON for programs.
fn page_or_json(headers: &HeaderMap, found: &Json, page: fn(&Json) -> String) -> Response {
    let wants_page = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("text/html"));
    if wants_page { Html(page(found)).into_response() } else { json_response(StatusCode::OK, found) }
}

impl IntoResponse for GatewayRefusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        json_response(status, &error_body(self.status, &self.message, &self.diagnostics))
    }
}

async fn answer_chat(
    server: Arc<Server>,
    gateway: Arc<Gateway>,
    dialect: ClientDialect,
    request: Request,
) -> Result<Response, GatewayRefusal> {
    let headers = request.headers().clone();
    let body = body::read_body(&server, request).await?.parse()?;
    let model = gateway.find_model(&body)?;
    let format = AnswerFormat::of(dialect, &body);
    let (prepared, stale) = prepare(&server, &gateway, &model, body, Some(dialect), &headers).await?;
    let mut response = relay::send(gateway, &model, &headers, prepared, format).await?;
    // the first line says what is wrong; a header has no room for more
    let stale = stale.map(|stale| stale.lines().next().unwrap_or_default().chars().take(MOST_NAME).collect::<String>());
    if let Some(stale) = stale.and_then(|stale| HeaderValue::try_from(stale).ok()) {
        response.headers_mut().insert("x-tapster-stale", stale);
    }
    Ok(response)
}

async fn answer_transform(
    State(server): State<Arc<Server>>,
    Extension(gateway): Extension<Arc<Gateway>>,
    request: Request,
) -> Result<Response, GatewayRefusal> {
    let headers = request.headers().clone();
    let body = body::read_body(&server, request).await?.parse()?;
    let model = gateway.find_model(&body)?;
    let (prepared, stale) = prepare(&server, &gateway, &model, body, None, &headers).await?;
    let PreparedExchange { id, session, target, body, warnings, differs, .. } = prepared;
    let explain = id.map(|id| format!("/explain/{id}"));
    let found = json!({
        "url": target.url, "body": body, "session": session, "explain": explain, "differs": differs, "warnings": warnings, "stale": stale,
    });
    Ok(json_response(StatusCode::OK, &found))
}

/// Builds the request that is sent, on a thread of its own and in the time of a call.
async fn prepare(
    server: &Arc<Server>,
    gateway: &Arc<Gateway>,
    model: &Arc<GatewayModel>,
    body: Map<String, Json>,
    client: Option<ClientDialect>,
    headers: &HeaderMap,
) -> Result<(PreparedExchange, Option<String>), GatewayRefusal> {
    let session = headers.get(SESSION_HEADER).map(|name| name.to_str().unwrap_or_default().to_owned());
    if session.as_ref().is_some_and(|name| name.is_empty() || name.len() > MOST_NAME) {
        return Err(GatewayRefusal::new(400, format!("`{SESSION_HEADER}` names a session in 1 to {MOST_NAME} printable characters")));
    }
    let prepared = async {
        let (loaded, stale) = model.load(model.is_translated(client)).await?;
        let Ok(turn) = Arc::clone(&server.turns).acquire_owned().await else {
            return Err(GatewayRefusal::new(503, "the server is closed"));
        };
        let (gateway, model) = (Arc::clone(gateway), Arc::clone(model));
        let built = tokio::task::spawn_blocking(move || {
            // the turn lasts as long as the build, whether or not somebody waits for it
            let _turn = turn;
            gateway.prepare(&model, &loaded, &body, client, session)
        })
        .await;
        Ok((built.map_err(|_| GatewayRefusal::new(500, "the build ended early"))??, stale))
    };
    let late = |_| GatewayRefusal::new(504, format!("the rules took longer than {} s", server.limits.time.as_secs_f64()));
    tokio::time::timeout(server.limits.time, prepared).await.map_err(late)?
}
