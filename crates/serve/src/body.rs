//! Bodies of requests: read within the limits, before anything is made of them.

use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use tapster::diag::{limits, memory};
use tokio::sync::SemaphorePermit;

use crate::Server;

/// A body from which on it is large, in bytes.
const LARGE: usize = 1 << 20;
/// How many large bodies are held at the same time; others wait.
pub(crate) const LARGE_BODIES: usize = 8;

/// A body that was read. As long as it is there, it counts among the large ones, if it is one.
pub(crate) struct RequestBody<'s> {
    bytes: Bytes,
    _room: Option<SemaphorePermit<'s>>,
}

/// Why a body is refused, and what to do about it.
#[derive(Debug)]
pub(crate) struct BodyRefusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

impl BodyRefusal {
    fn new(status: StatusCode, message: impl Into<String>, help: &'static str) -> Self {
        Self { status, message: message.into(), help }
    }
}

/// Reads the body of a request.
pub(crate) async fn read_body(server: &Server, request: Request) -> Result<RequestBody<'_>, BodyRefusal> {
    let most = server.limits.body;
    let too_long = || BodyRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {most} bytes"), SEND_PARTS);
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return Err(too_long());
    }
    let time: Duration = server.limits.time;
    let read = async {
        let room = match length {
            Some(length) if length <= LARGE => None,
            _ => server.large_bodies.acquire().await.ok(),
        };
        (room, to_bytes(request.into_body(), most).await)
    };
    let late =
        |_| BodyRefusal::new(StatusCode::REQUEST_TIMEOUT, format!("the body took longer than {} s", time.as_secs_f64()), "send it faster");
    let (_room, bytes) = tokio::time::timeout(time, read).await.map_err(late)?;
    let bytes = bytes.map_err(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        if source.contains("length limit") {
            return too_long();
        }
        BodyRefusal::new(StatusCode::BAD_REQUEST, "the body ends early", "send it whole")
    })?;
    if memory::exceeds(&bytes, limits::SCENE_MEMORY) {
        let message = format!("the values of the body take more than {} MiB of memory", limits::SCENE_MEMORY >> 20);
        return Err(BodyRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, message, SEND_PARTS));
    }
    Ok(RequestBody { bytes, _room })
}

const SEND_PARTS: &str = "send large files once, with /v1/put, as a `text`";

impl RequestBody<'_> {
    /// The JSON that it is; an empty body is an empty object.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, BodyRefusal> {
        let text: &[u8] = if self.bytes.is_empty() { b"{}" } else { &self.bytes };
        serde_json::from_slice(text).map_err(|error| {
            let message = match error.classify() {
                serde_json::error::Category::Data => format!("the body is wrong: {error}"),
                _ => format!("the body is not valid JSON: {error}"),
            };
            BodyRefusal::new(StatusCode::BAD_REQUEST, message, "send one JSON object; /openapi.json describes it")
        })
    }
}
