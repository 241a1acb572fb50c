//! Records of requests and replies, and transports that make and replay them.
//!
//! A record is a file of JSON lines, one for each request that was sent, so a recorder stands below whatever repeats
//! requests. It holds no key: requests have none at this door, of the headers of answers only those that mean something
//! for reading them are kept, and every line is scrubbed of the key before it is written. A key that a provider echoes
//! letter by letter over several events of a stream is not recognised: each event is a text of its own there. Every line
//! names the version of the program that wrote it. A replay gives the answers of a record to the same requests, part by
//! part.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use serde_json::{Map, Value as Json, json};

use super::keys::{Key, KeyScrubber};
use super::{Body, BoxFuture, IncomingAnswer, OutgoingRequest, Transport, TransportError};
use crate::diag::short::head;
use crate::text::json_pointer::escape;

/// Headers of answers that are kept.
const KEPT: &[&str] = &["content-type", "content-encoding", "retry-after", "date", "location"];

/// The program that makes a record, and its version.
const PROGRAM: &str = concat!("tapster/", env!("CARGO_PKG_VERSION"));

/// The most bytes of one answer that are kept.
const LARGEST: usize = 64 << 20;

/// Where lines go.
pub type RecordSink = Arc<Mutex<dyn Write + Send>>;

/// Records what goes through it.
pub struct Recorder {
    inner: Arc<dyn Transport>,
    sink: RecordSink,
    key: Option<Key>,
}

impl Recorder {
    /// Records into `sink` what is sent through `inner`. `key` is taken out of every line.
    #[must_use]
    pub fn new(inner: Arc<dyn Transport>, sink: RecordSink, key: Option<Key>) -> Self {
        Self { inner, sink, key }
    }
}

impl Transport for Recorder {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        Box::pin(async move {
            let line = RecordLine { request: asked(request), sink: self.sink.clone(), key: self.key.clone(), written: false };
            match self.inner.send(request).await {
                Err(error) => {
                    let written = line.write(json!({ "error": failure(&error) }));
                    Err(with_both(error, written))
                }
                Ok(IncomingAnswer { status, headers, body }) => {
                    let kept = headers.iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
                    let kept = kept.map(|(name, value)| json!([name, without_query(name, value)])).collect();
                    let heard = RecordedBody { body, status, headers: kept, parts: Vec::new(), size: 0, line: Some(line) };
                    Ok(IncomingAnswer { status, headers, body: Box::new(heard) })
                }
            }
        })
    }

    fn may_repeat(&self, request: &OutgoingRequest) -> bool {
        self.inner.may_repeat(request)
    }

    fn scrub(&self, text: String) -> String {
        self.inner.scrub(text)
    }

    fn scrubber(&self) -> KeyScrubber {
        self.inner.scrubber()
    }
}

/// What is written for a request.
fn asked(request: &OutgoingRequest) -> Json {
    let headers: Map<String, Json> = request.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    json!({ "url": without_query("location", &request.url), "headers": headers, "stream": request.stream, "body": request.body })
}

/// An address without its query, in which some providers want a key.
fn without_query<'a>(header: &str, value: &'a str) -> &'a str {
    if header == "location" { value.split(['?', '#']).next().unwrap_or_default() } else { value }
}

fn failure(error: &TransportError) -> Json {
    json!({ "code": error.code, "message": error.message, "unsent": error.unsent })
}

/// The error of the provider, and behind it that of the record, if it could not be written.
fn with_both(error: TransportError, written: Result<(), TransportError>) -> TransportError {
    match written {
        Ok(()) => error,
        Err(record) => TransportError { message: format!("{}; also, {}", error.message, record.message), ..error },
    }
}

/// The line of one request. If it is dropped before it is written, the request was cancelled.
struct RecordLine {
    request: Json,
    sink: RecordSink,
    key: Option<Key>,
    written: bool,
}

impl Drop for RecordLine {
    fn drop(&mut self) {
        if !self.written {
            let message = "the request was cancelled before its answer began".to_owned();
            // whoever cancelled it no longer asks, so an error has no one to go to
            let _ = self.put(json!({ "error": failure(&TransportError { code: "cancelled", message, unsent: false }) }));
        }
    }
}

impl RecordLine {
    fn write(mut self, reply: Json) -> Result<(), TransportError> {
        self.put(reply)
    }

    fn put(&mut self, reply: Json) -> Result<(), TransportError> {
        self.written = true;
        let mut line = json!({ "program": PROGRAM, "request": self.request, "reply": reply }).to_string().into_bytes();
        if let Some(key) = &self.key {
            key.scrub_bytes(&mut line);
        }
        line.push(b'\n');
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.write_all(&line).and_then(|()| sink.flush()).map_err(|e| TransportError {
            code: "record",
            message: format!("the record cannot be written: {e}"),
            unsent: false,
        })
    }
}

/// A body that is recorded while it arrives. A body that is dropped before its end is recorded as far as it was read.
struct RecordedBody {
    body: Box<dyn Body>,
    status: u16,
    headers: Vec<Json>,
    parts: Vec<Json>,
    size: usize,
    line: Option<RecordLine>,
}

impl RecordedBody {
    fn ended(&mut self, how: &str, with: Json) -> Result<(), TransportError> {
        let Some(line) = self.line.take() else { return Ok(()) };
        let parts = std::mem::take(&mut self.parts);
        let mut reply = json!({ "status": self.status, "headers": self.headers, "parts": parts });
        if let (Some(fields), false) = (reply.as_object_mut(), with.is_null()) {
            fields.insert(how.to_owned(), with);
        }
        line.write(reply)
    }

    async fn part(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.body.next().await {
            Ok(Some(bytes)) => {
                self.size = self.size.saturating_add(bytes.len());
                if self.size > LARGEST {
                    self.ended("cut", json!(format!("more than {LARGEST} bytes")))?;
                } else if self.line.is_some() {
                    self.parts.push(written(&bytes));
                }
                Ok(Some(bytes))
            }
            Ok(None) => {
                self.ended("", Json::Null)?;
                Ok(None)
            }
            Err(error) => {
                let written = self.ended("error", failure(&error));
                Err(with_both(error, written))
            }
        }
    }
}

impl Body for RecordedBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        Box::pin(self.part())
    }

    fn complete(&mut self) {
        // the reader has its reply, and a record that cannot be written must not take it away
        let _ = self.ended("", Json::Null);
        self.body.complete();
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        // whoever dropped it no longer asks, so an error has no one to go to
        let _ = self.ended("cut", json!("not read any further"));
    }
}

/// A part of a body: text, or base64 of bytes that are none.
fn written(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}

/// A line of a record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the record: {message}")]
pub struct RecordError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Answers requests from a record.
pub struct Replay {
    exchanges: Mutex<Vec<RecordedExchange>>,
}

#[derive(Clone)]
struct RecordedExchange {
    request: Json,
    reply: RecordedAnswer,
    used: bool,
}

impl RecordedExchange {
    /// Whether it is left for a request. Headers and the address may differ from machine to machine; what is asked may
    /// not.
    fn answers(&self, asked: &Json) -> bool {
        !self.used && ["stream", "body"].iter().all(|key| self.request.get(key) == asked.get(key))
    }
}

#[derive(Clone)]
enum RecordedAnswer {
    Failed(TransportError),
    Answered { status: u16, headers: Vec<(String, String)>, parts: Vec<Vec<u8>>, end: Option<TransportError> },
}

impl Replay {
    /// Reads a record.
    ///
    /// # Errors
    /// The first line that is not as a [`Recorder`] writes it.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let mut exchanges = Vec::new();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |message: String| RecordError { line: n + 1, message };
            let document: Json = serde_json::from_str(line).map_err(|e| wrong(format!("it is not JSON: {e}")))?;
            let missing = |what: &str| wrong(format!("it has no `{what}`; a record is written by `--record`"));
            let request = document.get("request").filter(|r| r.get("body").is_some()).ok_or_else(|| missing("request"))?.clone();
            let reply = document.get("reply").ok_or_else(|| missing("reply"))?;
            let reply = recorded(reply).ok_or_else(|| wrong("its `reply` has neither a status nor an error".to_owned()))?;
            exchanges.push(RecordedExchange { request, reply, used: false });
        }
        Ok(Self { exchanges: Mutex::new(exchanges) })
    }

    fn answer(&self, request: &OutgoingRequest) -> Result<IncomingAnswer, TransportError> {
        let asked = asked(request);
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(exchange) = exchanges.iter_mut().find(|exchange| exchange.answers(&asked)) else {
            return Err(no_answer(&exchanges, &asked));
        };
        exchange.used = true;
        match exchange.reply.clone() {
            RecordedAnswer::Failed(error) => Err(error),
            RecordedAnswer::Answered { status, headers, parts, end } => {
                let parts = parts.into_iter();
                Ok(IncomingAnswer { status, headers, body: Box::new(ReplayedBody { parts, end }) })
            }
        }
    }
}

impl Transport for Replay {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }

    fn may_repeat(&self, request: &OutgoingRequest) -> bool {
        let asked = asked(request);
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|exchange| exchange.answers(&asked))
    }
}

struct ReplayedBody {
    parts: std::vec::IntoIter<Vec<u8>>,
    end: Option<TransportError>,
}

impl Body for ReplayedBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        let next = match (self.parts.next(), self.end.clone()) {
            (Some(part), _) => Ok(Some(part)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        };
        Box::pin(std::future::ready(next))
    }
}

fn recorded(reply: &Json) -> Option<RecordedAnswer> {
    let failed = |error: &Json| TransportError {
        code: code(error.get("code").and_then(Json::as_str).unwrap_or_default()),
        message: error.get("message").and_then(Json::as_str).unwrap_or_default().to_owned(),
        unsent: error.get("unsent").and_then(Json::as_bool).unwrap_or(false),
    };
    let error = reply.get("error").map(failed);
    let Some(status) = reply.get("status").and_then(Json::as_u64).and_then(|n| u16::try_from(n).ok()) else {
        return error.map(RecordedAnswer::Failed);
    };
    let list = |key: &str| reply.get(key).and_then(Json::as_array).into_iter().flatten();
    let header = |pair: &Json| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    let part = |part: &Json| match part.get("base64").and_then(Json::as_str) {
        Some(text) => base64::engine::general_purpose::STANDARD.decode(text).ok(),
        None => part.as_str().map(|text| text.as_bytes().to_vec()),
    };
    let cut = reply.get("cut").map(|_| TransportError { code: "dropped", message: "the record ends here".to_owned(), unsent: false });
    let parts = list("parts").map(part).collect::<Option<_>>()?;
    Some(RecordedAnswer::Answered { status, headers: list("headers").filter_map(header).collect(), parts, end: error.or(cut) })
}

/// The codes of transports, which are few.
fn code(text: &str) -> &'static str {
    const CODES: &[&str] =
        &["connection", "tls", "timeout", "dropped", "malformed_response", "encoding", "too_large", "redirect", "cancelled"];
    CODES.iter().find(|code| **code == text).copied().unwrap_or("connection")
}

/// That no answer fits, and what differs from the next one that is left.
fn no_answer(exchanges: &[RecordedExchange], asked: &Json) -> TransportError {
    let error = |message: String| TransportError { code: "not_recorded", message, unsent: true };
    let Some(next) = exchanges.iter().find(|exchange| !exchange.used) else {
        return error(format!("the record holds {} replies, and all are used", exchanges.len()));
    };
    let part = |of: &Json| json!({ "stream": of.get("stream"), "body": of.get("body") });
    let (place, now, before) = difference(&part(asked), &part(&next.request), 0).unwrap_or_default();
    error(format!("no recorded request is equal to this one; it differs from the next one at `{place}`: {now} instead of {before}"))
}

/// The first place at which two documents differ, as a JSON Pointer, and what stands there.
fn difference(now: &Json, before: &Json, depth: usize) -> Option<(String, String, String)> {
    if now == before {
        return None;
    }
    let deeper = |key: &str, a: Option<&Json>, b: Option<&Json>| {
        let (place, a, b) = difference(a.unwrap_or(&Json::Null), b.unwrap_or(&Json::Null), depth + 1)?;
        Some((format!("/{}{place}", escape(key)), a, b))
    };
    let inner = match (now, before) {
        _ if depth > 100 => None,
        (Json::Object(a), Json::Object(b)) => a.keys().chain(b.keys()).find_map(|key| deeper(key, a.get(key), b.get(key))),
        (Json::Array(a), Json::Array(b)) => (0..a.len().max(b.len())).find_map(|n| deeper(&n.to_string(), a.get(n), b.get(n))),
        _ => None,
    };
    inner.or_else(|| Some((String::new(), short(now), short(before))))
}

fn short(value: &Json) -> String {
    head(&value.to_string(), 80)
}
