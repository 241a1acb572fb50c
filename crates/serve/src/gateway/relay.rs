//! Handing an answer of a provider on to the client: byte for byte, while its counts of tokens are read along.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use serde_json::{Map, Value as Json, json};
use tapster::machinery::reading::{JsonTree, ReplyAssembler, ReplyReading};
use tapster_client::sse::Splitter;
use tapster_client::{Body as IncomingBody, BoxFuture, OutgoingRequest, Transport, TransportError};
use tapster_door::explain::accounts::{CacheAccount, CacheFacts};

use super::answer::{AnswerFormat, MOST_TRANSLATED, StreamTranslator, read_error, read_whole};
use super::config::ClientDialect;
use super::rewrite::{LoadedModel, RequestTarget};
use super::{Gateway, GatewayModel, GatewayRefusal, OpenAccount, PreparedExchange, read_usage};

/// How long a stream is silent before the client gets a comment, so that nothing between closes the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many such pauses in a row end a stream.
const MOST_PAUSES: u32 = 20;
/// The most bytes of an answer.
const MOST_ANSWER: usize = 256 << 20;
/// The most bytes of an answer, or of one event, that are read for counts of tokens.
const MOST_READ: usize = 8 << 20;
/// Headers of a client that providers read.
const FORWARDED: &[&str] = &["anthropic-version", "anthropic-beta", "openai-organization", "openai-project"];
/// Headers of an answer that belong to one connection, or to a body that may be changed on its way.
const DROPPED: &[&str] = &["connection", "set-cookie", "content-length", "keep-alive", "transfer-encoding", "trailer", "upgrade", "date"];

/// Sends a request, and gives the answer as it arrives.
pub(super) async fn send(
    gateway: Arc<Gateway>,
    model: &GatewayModel,
    client: &HeaderMap,
    prepared: PreparedExchange,
    mut format: AnswerFormat,
) -> Result<Response, GatewayRefusal> {
    let PreparedExchange { id, session, target: RequestTarget { url, mut headers, auth }, body, warnings, account, .. } = prepared;
    let GatewayModel { upstream, transport, .. } = model;
    format.id = id.clone().unwrap_or_default();
    let translated = model.is_translated(Some(format.dialect));
    let stream = format.is_streamed;
    let key = auth.as_ref().map(|auth| auth.header.as_str()).filter(|_| upstream.key_env.is_none() && gateway.forwards_keys);
    for name in FORWARDED.iter().copied().filter(|_| !translated).chain(key) {
        if let Some(value) = client.get(name).and_then(|value| value.to_str().ok()) {
            headers.retain(|(known, _)| known != name);
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    let request = OutgoingRequest { url, headers, auth, body, stream };
    let mut answer = transport.send(&request).await.map_err(|error| {
        let status = if error.code == "timeout" { 504 } else { 502 };
        GatewayRefusal::new(status, transport.scrub(error.message))
    })?;
    if (300..400).contains(&answer.status) {
        // a client would send its key and its chat after it
        return Err(GatewayRefusal::new(502, "the provider answers with another address; name that one in the configuration"));
    }
    let is_events = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let reading = account.as_ref().and_then(|open| open.model.rules.readings().get(&upstream.dialect).cloned());
    if translated && !(200..300).contains(&answer.status) {
        let body = read_whole_body(&mut answer.body).await?;
        let message = reading.and_then(|reading| read_error(&reading, &body));
        let message = message.unwrap_or_else(|| format!("the provider answers with status {}", answer.status));
        return Err(GatewayRefusal::new(answer.status, transport.scrub(message)));
    }
    let mut account = account.filter(|_| (200..300).contains(&answer.status)).map(|open| {
        let OpenAccount { account, facts, model, session: (place, session) } = open;
        gateway.keep_session(place, session);
        let reading = reading.clone();
        (account, facts, model, UsageReader::new(reading, is_events))
    });
    let dialect = format.dialect;
    let translator = match reading.filter(|_| translated) {
        None => None,
        Some(reading) if is_events => Some(StreamTranslator::new(format, reading)),
        Some(reading) => {
            let body = read_whole_body(&mut answer.body).await?;
            let reply = read_whole(&reading, &body).map_err(|message| GatewayRefusal::new(502, transport.scrub(message)))?;
            let mut usage = None;
            if let Some((account, facts, model, _)) = account.take() {
                usage = read_usage(&model, &reply.usage);
                gateway.book(account, facts, &model, &reply.usage);
            }
            answer.body = Box::new(WholeBody(Some(format.whole(&reply, usage.unwrap_or_default()).to_string().into_bytes())));
            None
        }
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str()))
            && !DROPPED.contains(&name.as_str())
            && !name.as_str().starts_with("access-control-")
        {
            response.headers_mut().append(name, value);
        }
    }
    let mut add = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    };
    add("x-tapster-session", session);
    match id {
        Some(id) => add("x-tapster-explain", format!("/explain/{id}")),
        None => add("x-tapster-warning", "the rules build no request; it was sent as it came".to_owned()),
    }
    if let Some(count) = warnings.as_array().map(Vec::len).filter(|count| *count > 0) {
        add("x-tapster-warnings", count.to_string());
    }
    let relay = Relay {
        gateway: Arc::clone(&gateway),
        account,
        dialect,
        translator,
        body: answer.body,
        is_events,
        ends: Vec::new(),
        bytes: 0,
        pauses: 0,
    };
    *response.body_mut() = Body::from_stream(stream::unfold(Some(relay), |relay| async {
        let mut relay = relay?;
        match relay.next().await {
            Ok(Some(part)) => Some((Ok(part), Some(relay))),
            Ok(None) => None,
            // a stream says what happened; any other body breaks off
            Err(message) if relay.is_events => Some((Ok(relay.error_event(&message)), None)),
            Err(message) => Some((Err(std::io::Error::other(message)), None)),
        }
    }));
    Ok(response)
}

/// A body of an answer to its end.
async fn read_whole_body(body: &mut Box<dyn IncomingBody>) -> Result<Vec<u8>, GatewayRefusal> {
    let mut all = Vec::new();
    loop {
        let part = tokio::time::timeout(KEEP_ALIVE * MOST_PAUSES, body.next()).await;
        let part = part.map_err(|_| GatewayRefusal::new(504, "the provider has been silent for too long"))?;
        match part.map_err(|error| GatewayRefusal::new(502, error.message))? {
            Some(part) => all.extend(part),
            None => return Ok(all),
        }
        if all.len() > MOST_TRANSLATED {
            return Err(GatewayRefusal::new(502, format!("the answer is longer than {} MiB", MOST_TRANSLATED >> 20)));
        }
    }
}

/// A body that is there.
struct WholeBody(Option<Vec<u8>>);

impl IncomingBody for WholeBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        Box::pin(std::future::ready(Ok(self.0.take())))
    }
}

/// An answer on its way. When it ends, or the client leaves, the request is booked.
struct Relay {
    gateway: Arc<Gateway>,
    account: Option<(CacheAccount, CacheFacts, Arc<LoadedModel>, UsageReader)>,
    dialect: ClientDialect,
    translator: Option<StreamTranslator>,
    body: Box<dyn IncomingBody>,
    is_events: bool,
    /// The last bytes that were handed on: an event has ended, and a comment may follow, behind an empty line.
    ends: Vec<u8>,
    bytes: usize,
    /// Pauses since the last part.
    pauses: u32,
}

impl Relay {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            let part = match tokio::time::timeout(KEEP_ALIVE, self.body.next()).await {
                Ok(Ok(Some(part))) => part,
                Ok(Ok(None)) => return self.close(),
                Ok(Err(error)) => return Err(error.message),
                Err(_) if self.pauses == MOST_PAUSES => return Err("the provider has been silent for too long".to_owned()),
                Err(_) => {
                    self.pauses += 1;
                    if self.is_events && self.is_between() {
                        return Ok(Some(b": keep-alive\n\n".to_vec()));
                    }
                    continue;
                }
            };
            self.pauses = 0;
            self.bytes += part.len();
            if self.bytes > MOST_ANSWER {
                return Err(format!("the answer is longer than {} MiB", MOST_ANSWER >> 20));
            }
            if let Some((.., usage)) = &mut self.account {
                usage.push(&part);
            }
            if let Some(translator) = &mut self.translator {
                let translated = translator.push(&part)?;
                if translated.is_empty() {
                    continue;
                }
                return Ok(Some(translated));
            }
            self.ends.extend_from_slice(&part);
            let old = self.ends.len().saturating_sub(4);
            self.ends.drain(..old);
            return Ok(Some(part));
        }
    }

    /// What a client gets behind the last part.
    fn close(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(mut translator) = self.translator.take() else { return Ok(None) };
        let model = self.account.as_ref().map(|(_, _, model, _)| Arc::clone(model));
        let count = |usage: &Json| model.as_ref().and_then(|model| read_usage(model, usage)).unwrap_or_default();
        translator.finish(&count).map(Some)
    }

    /// Whether no event is unfinished.
    fn is_between(&self) -> bool {
        self.ends.is_empty() || self.ends.ends_with(b"\n\n") || self.ends.ends_with(b"\r\n\r\n")
    }

    /// What a client of the dialect reads as an error in a stream.
    fn error_event(&self, message: &str) -> Vec<u8> {
        let error = error_body(502, message, &Json::Null);
        let name = if self.dialect == ClientDialect::Anthropic { "event: error\n" } else { "" };
        let end = if self.is_between() { "" } else { "\n\n" };
        format!("{end}{name}data: {error}\n\n").into_bytes()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some((account, facts, model, usage)) = self.account.take() {
            self.gateway.book(account, facts, &model, &usage.finish());
        }
    }
}

/// An error as clients of both dialects read it.
pub(super) fn error_body(status: u16, message: &str, diagnostics: &Json) -> Json {
    let kind = if status < 500 { "invalid_request_error" } else { "api_error" };
    let mut body = json!({ "type": "error", "error": { "type": kind, "message": message, "code": "tapster" } });
    if let (Some(body), Json::Array(_)) = (body.as_object_mut(), diagnostics) {
        body.insert("diagnostics".to_owned(), diagnostics.clone());
    }
    body
}

/// Reads the counts of tokens out of an answer, where the rows of the dialect say that they stand.
struct UsageReader {
    /// `None` for a dialect without such rows.
    reading: Option<Arc<ReplyReading>>,
    content: AnswerContent,
    usage: Map<String, Json>,
}

/// What has arrived of an answer, and is not read yet.
enum AnswerContent {
    /// A body of JSON so far.
    Whole(Vec<u8>),
    /// An event so far.
    Events(Box<Splitter>),
}

impl UsageReader {
    fn new(reading: Option<Arc<ReplyReading>>, is_events: bool) -> Self {
        let content = if is_events { AnswerContent::Events(Box::new(Splitter::new(MOST_READ))) } else { AnswerContent::Whole(Vec::new()) };
        Self { reading, content, usage: Map::new() }
    }

    fn push(&mut self, part: &[u8]) {
        let mut events = Vec::new();
        match &mut self.content {
            AnswerContent::Whole(bytes) if bytes.len() + part.len() <= MOST_READ => bytes.extend_from_slice(part),
            AnswerContent::Whole(_) => {}
            // events that are too long have no counts
            AnswerContent::Events(splitter) => _ = splitter.push(part, &mut events),
        }
        events.iter().for_each(|event| self.read(Some(&event.name), event.data.as_bytes()));
    }

    fn finish(mut self) -> Json {
        let mut events = Vec::new();
        match &mut self.content {
            AnswerContent::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.read(None, &bytes);
            }
            AnswerContent::Events(splitter) => splitter.end(&mut events),
        }
        events.iter().for_each(|event| self.read(Some(&event.name), event.data.as_bytes()));
        Json::Object(self.usage)
    }

    /// Adds the counts of an event with a name, or of a whole answer; later counts replace earlier ones of the same name.
    fn read(&mut self, event: Option<&str>, text: &[u8]) {
        let Some((reading, document)) = self.reading.as_ref().zip(JsonTree::parse(text).ok()) else { return };
        let mut reply = ReplyAssembler::new(reading);
        match event {
            Some(name) => reply.event(name, &document, &mut |_| {}),
            None => reply.whole(&document),
        }
        if let Json::Object(found) = reply.finish().usage {
            self.usage.extend(found);
        }
    }
}
