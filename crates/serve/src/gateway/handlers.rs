//! The routes of a gateway.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::config::ClientDialect;
use super::relay::{self, error_body};
use super::{Gateway, GatewayRefusal, PreparedExchange, pages};
use crate::Server;
use crate::json_response;
use crate::problem;

/// The header in which a client names its session.
const SESSION_HEADER: &str = "x-tapster-session";
/// The longest name of a session, in bytes.
const MOST_NAME: usize = 200;

/// The routes of a gateway.
pub(crate) fn routes(gateway: Arc<Gateway>) -> Router<Arc<Server>> {
    let chat = |dialect: ClientDialect| {
        let gateway = Arc::clone(&gateway);
        post(async move |State(server): State<Arc<Server>>, request: Request| {
            answer_chat(server, gateway, dialect, request).await.unwrap_or_else(IntoResponse::into_response)
        })
    };
    let own = |gateway: &Arc<Gateway>| Arc::clone(gateway);
    let (transform, explain, cache, models) = (own(&gateway), own(&gateway), own(&gateway), own(&gateway));
    Router::new()
        .route("/v1/chat/completions", chat(ClientDialect::Openai))
        .route("/v1/messages", chat(ClientDialect::Anthropic))
        .route(
            "/v1/transform",
            post(async move |State(server): State<Arc<Server>>, request: Request| {
                answer_transform(server, transform, request).await.unwrap_or_else(IntoResponse::into_response)
            }),
        )
        .route("/v1/models", get(async move || json_response(StatusCode::OK, &models.list_models())))
        .route(
            "/v1/cache",
            get(async move |headers: HeaderMap, Query(query): Query<CacheQuery>| {
                let found = cache.sum_accounts(query.session.as_deref());
                page_or_json(&headers, &found, pages::cache)
            }),
        )
        .route(
            "/explain/{id}",
            get(async move |headers: HeaderMap, Path(id): Path<String>| match explain.explain_exchange(&id) {
                Some(found) => page_or_json(&headers, &found, pages::explanation),
                None => problem(
                    StatusCode::NOT_FOUND,
                    "no request of this name is kept",
                    json!({ "help": "the header `x-tapster-explain` of an answer names its request; only the newest are kept" }),
                ),
            }),
        )
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
    let body = read_body(&server, request).await?;
    let (at, model, _) = gateway.find_model(&body, Some(dialect))?;
    let name = model.upstream.clone();
    let (prepared, stale) = prepare(&server, &gateway, at, body, &headers).await?;
    let upstream = gateway.config.upstream.get(&name).ok_or_else(|| GatewayRefusal::new(500, "the provider is not configured"))?.clone();
    let mut response = relay::send(gateway, &upstream, &name, &headers, prepared).await?;
    if let Some(stale) = stale
        .and_then(|stale| HeaderValue::try_from(stale.lines().next().unwrap_or_default().chars().take(MOST_NAME).collect::<String>()).ok())
    {
        response.headers_mut().insert("x-tapster-stale", stale);
    }
    Ok(response)
}

async fn answer_transform(server: Arc<Server>, gateway: Arc<Gateway>, request: Request) -> Result<Response, GatewayRefusal> {
    let headers = request.headers().clone();
    let body = read_body(&server, request).await?;
    let (at, ..) = gateway.find_model(&body, None)?;
    let (prepared, stale) = prepare(&server, &gateway, at, body, &headers).await?;
    let PreparedExchange { id, session, url, body, warnings, differs, .. } = prepared;
    let explain = format!("/explain/{id}");
    let found = json!({
        "url": url, "body": body, "session": session, "explain": explain, "differs": differs, "warnings": warnings, "stale": stale,
    });
    Ok(json_response(StatusCode::OK, &found))
}

/// Builds the request that is sent, on a thread of its own and in the time of a call.
async fn prepare(
    server: &Arc<Server>,
    gateway: &Arc<Gateway>,
    at: usize,
    body: Map<String, Json>,
    headers: &HeaderMap,
) -> Result<(PreparedExchange, Option<String>), GatewayRefusal> {
    let session = headers.get(SESSION_HEADER).map(|name| name.to_str().unwrap_or_default().to_owned());
    if session.as_ref().is_some_and(|name| name.is_empty() || name.len() > MOST_NAME) {
        return Err(GatewayRefusal::new(400, format!("`{SESSION_HEADER}` names a session in 1 to {MOST_NAME} printable characters")));
    }
    let prepared = async {
        let (model, stale) = gateway.load_model(at).await?;
        let Ok(turn) = Arc::clone(&server.turns).acquire_owned().await else {
            return Err(GatewayRefusal::new(503, "the server is closed"));
        };
        let gateway = Arc::clone(gateway);
        let built = tokio::task::spawn_blocking(move || {
            // the turn lasts as long as the build, whether or not somebody waits for it
            let _turn = turn;
            gateway.prepare(at, &model, &body, session)
        })
        .await;
        Ok((built.map_err(|_| GatewayRefusal::new(500, "the build ended early"))??, stale))
    };
    let late = |_| GatewayRefusal::new(504, format!("the rules took longer than {} s", server.limits.time.as_secs_f64()));
    tokio::time::timeout(server.limits.time, prepared).await.map_err(late)?
}

async fn read_body(server: &Server, request: Request) -> Result<Map<String, Json>, GatewayRefusal> {
    let limit = server.limits.body;
    let read = tokio::time::timeout(server.limits.time, to_bytes(request.into_body(), limit)).await;
    let read = read.map_err(|_| GatewayRefusal::new(408, "the request took too long to arrive"))?;
    let body = read.map_err(|_| GatewayRefusal::new(413, format!("the request cannot be read, or is longer than {limit} bytes")))?;
    match serde_json::from_slice(&body) {
        Ok(Json::Object(body)) => Ok(body),
        Ok(_) => Err(GatewayRefusal::new(400, "the request is not a JSON object")),
        Err(error) => Err(GatewayRefusal::new(400, format!("the request is not valid JSON: {error}"))),
    }
}
