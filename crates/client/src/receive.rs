//! From an answer to a reply: its status, its type, its size, and what the dialect's rows read in it.

use serde_json::Value as Json;

use super::error::ProviderError;
use super::retry::REFUSED;
use super::sse::{EventTooLong, Splitter, SseEvent};
use super::{Delta, IncomingAnswer, TransportError};
use crate::diag::short::head;
use crate::reading::{AssembledReply, JsonTree, ReplyAssembler, ReplyDelta, ReplyError, ReplyReading};

/// Largest reply, whole or streamed, in bytes.
const MAX_REPLY: usize = 16 << 20;
/// Largest event of a stream, in bytes.
const MAX_EVENT: usize = 4 << 20;
/// How much of the body of an error is read, in bytes.
const MAX_ERROR_BODY: usize = 64 << 10;
/// Most values of a whole reply, or of one event: a small text can hold very many, and each takes memory.
const MAX_VALUES: usize = 1 << 20;
/// The longest text of a provider that a message quotes, in characters.
const QUOTED: usize = 400;

/// Reads an answer. `asked_for_stream` says whether a whole reply is told to `deltas` too.
pub(super) async fn receive(
    mut incoming: IncomingAnswer,
    reading: &ReplyReading,
    asked_for_stream: bool,
    deltas: &mut (dyn FnMut(Delta) + Send),
) -> Result<AssembledReply, ProviderError> {
    let status = incoming.status;
    if let Some(encoding) =
        incoming.header("content-encoding").filter(|e| !e.trim().is_empty() && !e.trim().eq_ignore_ascii_case("identity"))
    {
        let message = format!("the answer is compressed ({}), although that was not asked for; it is not read", quoted(encoding));
        return Err(error("encoding", Some(status), message));
    }
    match status {
        200..=299 => {}
        300..=399 => return Err(redirect(&incoming)),
        _ => return Err(refusal(&mut incoming, reading).await),
    }
    match AnswerKind::of(&incoming) {
        AnswerKind::Stream => stream(&mut incoming, reading, Vec::new(), deltas).await,
        AnswerKind::Whole => whole(&mut incoming, reading, Vec::new(), asked_for_stream, deltas).await,
        AnswerKind::Other(kind) => {
            let message = format!("the answer is of type {}, which is neither JSON nor a stream of events", quoted(&kind));
            Err(error("malformed_response", Some(status), message))
        }
        // without a type, the first character tells
        AnswerKind::Unsaid => {
            let mut begun = Vec::new();
            while !begun.iter().any(|b: &u8| !b.is_ascii_whitespace()) && begun.len() < MAX_ERROR_BODY {
                match incoming.body.next().await.map_err(|e| failed(e, status))? {
                    Some(part) => begun.extend(part),
                    None => break,
                }
            }
            match begun.iter().find(|b| !b.is_ascii_whitespace()) {
                Some(b'{' | b'[') | None => whole(&mut incoming, reading, begun, asked_for_stream, deltas).await,
                Some(_) => stream(&mut incoming, reading, begun, deltas).await,
            }
        }
    }
}

/// What an answer is, by its type.
enum AnswerKind {
    Whole,
    Stream,
    Unsaid,
    Other(String),
}

impl AnswerKind {
    fn of(incoming: &IncomingAnswer) -> Self {
        let Some(kind) = incoming.header("content-type") else { return Self::Unsaid };
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "" => Self::Unsaid,
            "text/event-stream" => Self::Stream,
            kind if kind.ends_with("/json") || kind.ends_with("+json") => Self::Whole,
            _ => Self::Other(kind),
        }
    }
}

async fn stream(
    incoming: &mut IncomingAnswer,
    reading: &ReplyReading,
    begun: Vec<u8>,
    deltas: &mut (dyn FnMut(Delta) + Send),
) -> Result<AssembledReply, ProviderError> {
    let status = incoming.status;
    let mut splitter = Splitter::new(MAX_EVENT);
    let mut following = StreamReader { assembler: ReplyAssembler::new(reading), status, shared: false, events: 0, over: false };
    let mut events = Vec::new();
    let mut read = 0_usize;
    let mut part = Some(begun);
    loop {
        let bytes = match part.take() {
            Some(bytes) => bytes,
            None => match incoming.body.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                // nothing of the message can be missing any more
                Err(_) if following.assembler.is_complete() => return Ok(following.assembler.finish()),
                Err(e) => return Err(failed(e, status)),
            },
        };
        read = read.saturating_add(bytes.len());
        if read > MAX_REPLY {
            return Err(too_large("reply", MAX_REPLY, status));
        }
        splitter.push(&bytes, &mut events).map_err(|EventTooLong| too_large("event of a stream", MAX_EVENT, status))?;
        for event in events.drain(..) {
            following.event(&event, deltas)?;
            if following.over {
                incoming.body.complete();
                return following.finish();
            }
        }
    }
    splitter.end(&mut events);
    for event in events.drain(..) {
        if following.event(&event, deltas).is_err() && !following.assembler.is_complete() {
            return Err(cut_off(status));
        }
    }
    following.finish()
}

/// A stream that is being read.
struct StreamReader<'r> {
    assembler: ReplyAssembler<'r>,
    status: u16,
    /// Whether a part of the reply was handed out.
    shared: bool,
    events: usize,
    over: bool,
}

impl<'r> StreamReader<'r> {
    fn event(&mut self, event: &SseEvent, deltas: &mut (dyn FnMut(Delta) + Send)) -> Result<(), ProviderError> {
        if self.assembler.is_end(&event.data) {
            self.over = true;
            return Ok(());
        }
        self.events += 1;
        if event.data.trim().is_empty() {
            return Ok(());
        }
        if values(event.data.as_bytes()) > MAX_VALUES {
            return Err(too_many(self.status));
        }
        let document = JsonTree::parse(event.data.as_bytes()).map_err(|e| {
            let message = format!("event {} of the stream is not JSON ({e}): {}", self.events, quoted(&event.data));
            error("malformed_response", Some(self.status), message)
        })?;
        let shared = &mut self.shared;
        self.assembler.event(&event.name, &document, &mut |heard| {
            *shared = true;
            deltas(match heard {
                ReplyDelta::Text(text) => Delta::Text(text.to_owned()),
                ReplyDelta::Reasoning(text) => Delta::Reasoning(text.to_owned()),
            });
        });
        if let Some(refused) = self.assembler.refused() {
            let mut error = reported(&refused, self.status);
            error.safe_to_repeat &= !self.shared;
            return Err(error);
        }
        self.over |= self.assembler.is_over();
        Ok(())
    }

    fn finish(self) -> Result<AssembledReply, ProviderError> {
        match (self.assembler.has_anything(), self.over || self.assembler.is_complete()) {
            (true, true) => Ok(self.assembler.finish()),
            (true, false) => Err(cut_off(self.status)),
            (false, _) => Err(empty(self.status)),
        }
    }
}

async fn whole(
    incoming: &mut IncomingAnswer,
    reading: &ReplyReading,
    mut bytes: Vec<u8>,
    tell: bool,
    deltas: &mut (dyn FnMut(Delta) + Send),
) -> Result<AssembledReply, ProviderError> {
    let status = incoming.status;
    loop {
        if bytes.len() > MAX_REPLY {
            return Err(too_large("reply", MAX_REPLY, status));
        }
        match incoming.body.next().await.map_err(|e| failed(e, status))? {
            Some(part) => bytes.extend(part),
            None => break,
        }
    }
    if bytes.trim_ascii().is_empty() {
        return Err(empty(status));
    }
    if values(&bytes) > MAX_VALUES {
        return Err(too_many(status));
    }
    let document = JsonTree::parse(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).map_err(|e| {
        let message = format!("the reply is not JSON ({e}): {}", quoted(&String::from_utf8_lossy(&bytes)));
        error("malformed_response", Some(status), message)
    })?;
    let mut assembler = ReplyAssembler::new(reading);
    assembler.whole(&document);
    if let Some(refused) = assembler.refused() {
        return Err(reported(&refused, status));
    }
    if !assembler.has_anything() {
        return Err(empty(status));
    }
    let reply = assembler.finish();
    if tell {
        if !reply.reasoning.is_empty() {
            deltas(Delta::Reasoning(reply.reasoning.clone()));
        }
        if let Some(text) = reply.message.get("content").and_then(Json::as_str).filter(|text| !text.is_empty()) {
            deltas(Delta::Text(text.to_owned()));
        }
    }
    Ok(reply)
}

/// An upper bound of the number of values in a JSON text.
fn values(bytes: &[u8]) -> usize {
    memchr::memchr3_iter(b',', b'[', b'{', bytes).count()
}

/// The error of a status that does not mean success.
async fn refusal(incoming: &mut IncomingAnswer, reading: &ReplyReading) -> ProviderError {
    let status = incoming.status;
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ERROR_BODY {
        // what the provider says is worth showing, but the status is what counts
        let Ok(Some(part)) = incoming.body.next().await else { break };
        bytes.extend(part);
    }
    bytes.truncate(MAX_ERROR_BODY);
    let said = JsonTree::parse(&bytes).ok().and_then(|document| {
        let mut assembler = ReplyAssembler::new(reading);
        assembler.whole(&document);
        let message = || document.get("message").or_else(|| document.get("detail")).and_then(JsonTree::as_str).map(str::to_owned);
        assembler.refused().map(|refused| refused.message).or_else(message)
    });
    let said = said.unwrap_or_else(|| String::from_utf8_lossy(&bytes).trim().to_owned());
    let said = if said.is_empty() { String::new() } else { format!(": {}", quoted(&said)) };
    let mut error = error("provider_error", Some(status), format!("the provider answered with status {status}{said}"));
    error.safe_to_repeat = REFUSED.contains(&status);
    error.retry_after = super::retry::retry_after(incoming.header("retry-after"), incoming.header("date"));
    error
}

fn redirect(incoming: &IncomingAnswer) -> ProviderError {
    let to = incoming.header("location").unwrap_or_default();
    let host = to.split_once("://").map_or(to, |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    // a host may have a user and a password in front of it
    let host = host.rsplit('@').next().unwrap_or_default();
    let to = if host.is_empty() { "elsewhere".to_owned() } else { format!("to {}", quoted(host)) };
    let message = format!("the provider redirects {to}, which is not followed, so that no key goes there; set the address that is meant");
    error("redirect", Some(incoming.status), message)
}

/// An error inside a reply whose status says that all is well.
fn reported(refused: &ReplyError, status: u16) -> ProviderError {
    let status = refused.status.unwrap_or(status);
    let mut error = error("provider_error", Some(status), format!("the provider reports an error: {}", quoted(&refused.message)));
    error.safe_to_repeat = REFUSED.contains(&status);
    error
}

fn error(code: &str, status: Option<u16>, message: String) -> ProviderError {
    ProviderError { code: code.to_owned(), status, message, safe_to_repeat: false, retry_after: None }
}

fn empty(status: u16) -> ProviderError {
    error("empty_response", Some(status), "the reply holds no message".to_owned())
}

fn cut_off(status: u16) -> ProviderError {
    error("dropped", Some(status), "the stream ended before the model had finished".to_owned())
}

fn too_large(what: &str, most: usize, status: u16) -> ProviderError {
    error("too_large", Some(status), format!("the {what} is larger than {most} bytes"))
}

fn too_many(status: u16) -> ProviderError {
    error("too_large", Some(status), "the reply holds too many values".to_owned())
}

/// What became of the way to the provider.
pub(super) fn failed(failed: TransportError, status: impl Into<Option<u16>>) -> ProviderError {
    let mut error = error(failed.code, status.into(), failed.message);
    error.safe_to_repeat = failed.unsent;
    error
}

/// A provider's text in a message: one line of bounded length.
fn quoted(text: &str) -> String {
    format!("`{}`", head(text, QUOTED).replace(char::is_control, " "))
}
