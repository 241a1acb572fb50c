//! The fault matrix over a scripted transport: replies cut at every byte, sizes, types, errors. `docs/reliability.md` has
//! the table.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use core::time::Duration;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster_client::retry::{Pace, RetryAttempt, RetryPolicy, RetryTransport};
use tapster_client::{Body, BoxFuture, IncomingAnswer, OutgoingRequest, Transport, TransportError};

use crate::sending::scripted::{Answer, BASE, Came, Part, Scripted, answered, json_answer, send, stream_answer, typed};

/// A recorded streamed reply: comments, an event of several lines, letters of several bytes, thoughts.
pub(crate) const STREAM: &str = concat!(
    ": connected\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Hm.\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße, \"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"🦀!\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"total_tokens\":9}}\n\n",
    "data: [DONE]\n\n",
);

pub(crate) const TEXT: &str = "Grüße, 🦀!";

/// The same reply as a whole.
pub(crate) fn whole() -> Json {
    let message = json!({ "role": "assistant", "content": TEXT, "reasoning_content": "Hm." });
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }], "usage": { "total_tokens": 9 } })
}

/// From here on the stream has said that the model is finished.
pub(crate) fn finished_at() -> usize {
    STREAM.find("\"stop\"}]}\n\n").unwrap() + "\"stop\"}]}".len()
}

fn cut(kind: &str, bytes: &[u8], at: usize, breaks: bool) -> Answer {
    let mut parts = vec![Part::Bytes(bytes[..at].to_vec())];
    parts.extend(breaks.then_some(Part::Breaks("dropped")));
    Ok((200, typed(kind), parts))
}

#[test]
fn a_streamed_reply_that_breaks_at_every_byte() {
    for at in 0..=STREAM.len() {
        let came = answered("openai", true, cut("text/event-stream", STREAM.as_bytes(), at, true));
        assert!(TEXT.starts_with(&came.text()), "{at}: {:?}", came.deltas);
        // the event that says so is complete with the end of its line and an empty line
        if at >= finished_at() + 2 {
            assert_eq!(came.reply().message["content"], TEXT, "{at}");
        } else {
            assert_eq!(came.error().code, "dropped", "{at}");
        }
    }
}

#[test]
fn a_streamed_reply_that_ends_at_every_byte() {
    for at in 0..=STREAM.len() {
        let came = answered("openai", true, cut("text/event-stream", STREAM.as_bytes(), at, false));
        assert!(TEXT.starts_with(&came.text()), "{at}: {:?}", came.deltas);
        if at >= finished_at() {
            assert_eq!(came.reply().message["content"], TEXT, "{at}");
        } else {
            let error = came.error();
            assert!(["dropped", "empty_response"].contains(&error.code.as_str()), "{at}: {error:?}");
            assert!(!error.safe_to_repeat, "{at}");
        }
    }
}

/// Where the parts are cut changes nothing.
#[test]
fn a_streamed_reply_in_any_two_parts() {
    let all = answered("openai", true, stream_answer(STREAM)).reply();
    assert_eq!((all.message["content"].as_str(), all.reasoning.as_str(), &all.usage["total_tokens"]), (Some(TEXT), "Hm.", &json!(9)));
    for at in 0..=STREAM.len() {
        let (a, b) = STREAM.as_bytes().split_at(at);
        let answer = Ok((200, typed("text/event-stream"), vec![Part::Bytes(a.to_vec()), Part::Bytes(b.to_vec())]));
        assert_eq!(answered("openai", true, answer).reply(), all, "{at}");
    }
}

#[test]
fn a_whole_reply_cut_at_every_byte() {
    let body = whole().to_string();
    for at in 0..body.len() {
        let breaks = answered("openai", false, cut("application/json", body.as_bytes(), at, true)).error();
        assert_eq!(breaks.code, "dropped", "{at}");
        let ends = answered("openai", false, cut("application/json", body.as_bytes(), at, false)).error();
        assert_eq!(ends.code, if at == 0 { "empty_response" } else { "malformed_response" }, "{at}");
    }
}

/// A body that never ends, in parts of a megabyte.
struct Endless(Arc<AtomicUsize>, Vec<u8>);

impl Body for Endless {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        self.0.fetch_add(self.1.len(), Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(Some(self.1.clone()))))
    }
}

struct Flood(u16, &'static str, Arc<AtomicUsize>, Vec<u8>);

impl Transport for Flood {
    fn send<'a>(&'a self, _: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        let body = Box::new(Endless(self.2.clone(), self.3.clone()));
        Box::pin(std::future::ready(Ok(IncomingAnswer { status: self.0, headers: typed(self.1), body })))
    }
}

#[track_caller]
fn flooded(status: u16, kind: &'static str, part: &str, code: &str, at_most: usize) {
    let read = Arc::new(AtomicUsize::new(0));
    let times = (1 << 20) / part.len();
    let error = send(&BASE, Arc::new(Flood(status, kind, read.clone(), part.repeat(times).into_bytes())), "openai", true).error();
    assert_eq!(error.code, code, "{error:?}");
    assert!(read.load(Ordering::Relaxed) <= at_most, "{kind} {part:?}: {} bytes were read", read.load(Ordering::Relaxed));
}

#[test]
fn replies_without_end_are_refused_at_a_limit() {
    let megabytes = |n: usize| n << 20;
    flooded(200, "application/json", "x", "too_large", megabytes(17));
    flooded(200, "application/json", " ", "too_large", megabytes(17));
    flooded(200, "text/event-stream", "x", "too_large", megabytes(5));
    flooded(200, "text/event-stream", "data: x\n", "too_large", megabytes(17));
    flooded(200, "text/event-stream", ": still there\n\n", "too_large", megabytes(17));
    flooded(200, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", "too_large", megabytes(17));
    flooded(500, "text/html", "x", "provider_error", megabytes(1));
}

#[test]
fn few_bytes_with_very_many_values_are_refused() {
    let many = format!("{{\"choices\":[{}]}}", "0,".repeat(2_000_000));
    let answer = Ok((200, typed("application/json"), vec![Part::Bytes(many.into_bytes())]));
    assert_eq!(answered("openai", false, answer).error().code, "too_large");
    let many = format!("data: [{}0]\n\n", "0,".repeat(1_100_000));
    assert_eq!(answered("openai", true, stream_answer(&many)).error().code, "too_large");
    // and very deep ones, without a deep stack
    let deep = "[".repeat(500_000);
    let answer = Ok((200, typed("application/json"), vec![Part::Bytes(deep.into_bytes())]));
    assert_eq!(answered("openai", false, answer).error().code, "malformed_response");
}

#[test]
fn types_that_are_no_reply() {
    for kind in ["text/html", "text/plain", "application/octet-stream", "image/png"] {
        let answer = Ok((200, typed(kind), vec![Part::Bytes(b"<html>Sign in</html>".to_vec())]));
        let error = answered("openai", false, answer).error();
        assert_eq!(error.code, "malformed_response");
        assert!(error.message.contains(kind), "{}", error.message);
    }
    // without a type, the first character decides; asked for a stream, a whole reply is taken too
    for (kind, body) in [("", whole().to_string()), ("", STREAM.to_owned()), ("application/json", whole().to_string())] {
        let headers = if kind.is_empty() { Vec::new() } else { typed(kind) };
        let came = answered("openai", true, Ok((200, headers, vec![Part::Bytes(b"\n".to_vec()), Part::Bytes(body.into_bytes())])));
        assert_eq!((came.text().as_str(), came.reasoning().as_str()), (TEXT, "Hm."));
        assert_eq!(came.reply().message["content"], TEXT);
    }
}

#[test]
fn replies_that_are_half_json_or_another_json() {
    for body in
        ["{", "{}", "[]", "null", "42", "\"text\"", "{\"choices\":[]}", "{\"choices\":[{}]}", "{\"choices\":{}}", "nonsense", "{} {}"]
    {
        let answer = Ok((200, typed("application/json"), vec![Part::Bytes(body.as_bytes().to_vec())]));
        let error = answered("openai", false, answer).error();
        assert!(["malformed_response", "empty_response"].contains(&error.code.as_str()), "{body}: {error:?}");
    }
    let error = answered("openai", true, stream_answer("data: {\"choices\":[{\"delta\"\n\ndata: [DONE]\n\n")).error();
    assert_eq!(error.code, "malformed_response");
    assert!(error.message.contains("event 1"), "{}", error.message);
    // a stream without anything, and one that only says that it is over
    for body in ["", "\n\n\n", ": nothing\n\n", "data: [DONE]\n\n"] {
        assert_eq!(answered("openai", true, stream_answer(body)).error().code, "empty_response", "{body:?}");
    }
}

#[test]
fn why_the_model_stopped_is_no_reply_by_itself() {
    let whole = json!({ "choices": [{ "message": null, "finish_reason": "stop" }] });
    assert_eq!(answered("openai", false, json_answer(200, &whole)).error().code, "empty_response");
    let stream = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    assert_eq!(answered("openai", true, stream_answer(stream)).error().code, "empty_response");
    // an empty message is one
    let empty = json!({ "choices": [{ "message": { "role": "assistant", "content": "" }, "finish_reason": "stop" }] });
    assert_eq!(answered("openai", false, json_answer(200, &empty)).reply().message["content"], "");
}

#[test]
fn errors_inside_a_reply_of_success() {
    let body = json!({ "error": { "message": "Slow down", "code": 429 } });
    let error = answered("openrouter", false, json_answer(200, &body)).error();
    assert_eq!((error.code.as_str(), error.status, error.safe_to_repeat), ("provider_error", Some(429), true));
    assert!(error.message.contains("Slow down"), "{}", error.message);
    let event = |text: &str| format!("data: {text}\n\n");
    let begun = event("{\"choices\":[{\"delta\":{\"content\":\"We\"}}]}");
    let trouble = event("{\"error\":{\"message\":\"Overloaded\",\"code\":502}}");
    let came = answered("openrouter", true, stream_answer(&format!("{begun}{trouble}")));
    assert_eq!(came.text(), "We");
    let error = came.error();
    assert_eq!((error.status, error.safe_to_repeat), (Some(502), false), "a part was handed out");
    // words that stand for a status
    let body = event("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Busy\"}}");
    let error = answered("anthropic", true, stream_answer(&body)).error();
    assert_eq!((error.status, error.safe_to_repeat), (Some(529), true));
    let body = json!({ "error": { "code": 503, "message": "Later", "status": "UNAVAILABLE" } });
    assert_eq!(answered("google", false, json_answer(200, &body)).error().status, Some(503));
    // an error that is only a text, and one without a message
    assert_eq!(answered("openai", false, json_answer(200, &json!({ "error": "no" }))).error().status, Some(200));
    assert!(answered("openai", false, json_answer(200, &json!({ "error": { "x": 1 } }))).error().message.contains("\"x\""));
}

#[test]
fn statuses_tell_what_the_provider_says() {
    for (status, body, said) in [
        (400, json!({ "error": { "message": "No such model" } }).to_string(), "No such model"),
        (422, json!({ "detail": "Unprocessable" }).to_string(), "Unprocessable"),
        (401, json!({ "message": "invalid api token" }).to_string(), "invalid api token"),
        (404, "<h1>Not\u{1b}[31m found</h1>".to_owned(), "<h1>Not [31m found</h1>"),
        (418, String::new(), "418"),
    ] {
        let error = answered("openai", false, Ok((status, Vec::new(), vec![Part::Bytes(body.into_bytes())]))).error();
        assert_eq!((error.code.as_str(), error.status, error.safe_to_repeat), ("provider_error", Some(status), false));
        assert!(error.message.contains(said), "{}", error.message);
    }
    let error = answered("openai", false, Ok((500, Vec::new(), vec![Part::Breaks("dropped")]))).error();
    assert_eq!((error.code.as_str(), error.status), ("provider_error", Some(500)));
    let long = "x".repeat(100_000);
    assert!(answered("openai", false, Ok((400, Vec::new(), vec![Part::Bytes(long.into_bytes())]))).error().message.len() < 1000);
}

#[test]
fn compressed_answers_and_redirects_are_not_read() {
    for encoding in ["gzip", "br", "zstd", "deflate, gzip"] {
        let headers = vec![("content-encoding".to_owned(), encoding.to_owned())];
        let error = answered("openai", true, Ok((200, headers, vec![Part::Breaks("dropped")]))).error();
        assert_eq!(error.code, "encoding");
        assert!(error.message.contains(encoding), "{}", error.message);
    }
    for (to, host) in [("https://elsewhere.example:1/x?y=1", "elsewhere.example:1"), ("//u:p@other.example/", ""), ("/v2/chat", "")] {
        let headers = vec![("location".to_owned(), to.to_owned())];
        let transport = Scripted::new([Ok((307, headers, Vec::new()))]);
        let error = send(&BASE, transport.clone(), "openai", true).error();
        assert_eq!((error.code.as_str(), error.status, error.safe_to_repeat), ("redirect", Some(307), false));
        assert!(error.message.contains(host), "{}", error.message);
        assert!(!error.message.contains("u:p"), "{}", error.message);
        assert_eq!(transport.count(), 1);
    }
}

// What is sent again, when, and what never is.

/// Time that only passes when it is asked to, and chance that is always one half.
#[derive(Default)]
pub(crate) struct Still(Mutex<Vec<Duration>>);

impl Pace for Still {
    fn sleep(&self, pause: Duration) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(pause);
        Box::pin(std::future::ready(()))
    }

    fn chance(&self) -> f64 {
        0.5
    }

    fn now(&self) -> u64 {
        // Sun, 06 Nov 1994 08:49:37 GMT
        784_111_777
    }
}

/// Sends with retries: what came, how often it was sent, and the pauses in milliseconds.
fn tried(answers: Vec<Answer>) -> (Came, usize, Vec<u128>) {
    let (transport, pace) = (Scripted::new(answers), Arc::new(Still::default()));
    let retrying = RetryTransport::new(transport.clone(), RetryPolicy::default(), pace.clone());
    let came = send(&BASE, Arc::new(retrying), "openai", true);
    let pauses = pace.0.lock().unwrap().iter().map(Duration::as_millis).collect();
    (came, transport.count(), pauses)
}

fn status(status: u16, headers: &[(&str, &str)]) -> Answer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok((status, headers, vec![Part::Bytes(b"{}".to_vec())]))
}

fn fails(code: &'static str, unsent: bool) -> Answer {
    Err(TransportError { code, message: "no".to_owned(), unsent })
}

fn good() -> Answer {
    stream_answer(STREAM)
}

#[test]
fn statuses_that_mean_later() {
    for later in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
        let (came, sent, pauses) = tried(vec![status(later, &[]), status(later, &[]), good()]);
        assert_eq!((came.reply().finish_reason.as_deref(), sent), (Some("stop"), 2 + 1), "{later}");
        // twice as long each time, and three quarters of it by chance
        assert_eq!(pauses, [375, 750], "{later}");
    }
}

#[test]
fn attempts_end() {
    let (came, sent, pauses) = tried(vec![status(503, &[]), status(503, &[]), status(503, &[]), status(503, &[("retry-after", "9")])]);
    let error = came.error();
    assert_eq!((error.status, error.retry_after, sent, pauses.len()), (Some(503), Some(9000), 4, 3));
}

#[test]
fn statuses_that_will_be_the_same() {
    for same in [400, 401, 402, 403, 404, 405, 413, 415, 422, 501, 505, 307] {
        let (came, sent, pauses) = tried(vec![status(same, &[])]);
        assert_eq!((came.error().status, sent, pauses.len()), (Some(same), 1, 0));
    }
}

#[test]
fn the_provider_says_when() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
    let at = ("retry-after", "Sun, 06 Nov 1994 08:49:42 GMT");
    for (headers, pause) in [
        (vec![("retry-after", "7")], 7250),
        (vec![("retry-after", "0")], 250),
        (vec![("retry-after", "1.5")], 1750),
        // by the provider's clock, or else by this machine's
        (vec![at, date], 12_250),
        (vec![at], 5250),
        (vec![("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date], 250),
        // what cannot be read is not obeyed
        (vec![("retry-after", "soon")], 375),
        (vec![("retry-after", "-1")], 375),
        (vec![("retry-after", "NaN")], 375),
        (vec![("retry-after", "1e99")], 375),
    ] {
        let (came, sent, pauses) = tried(vec![status(429, &headers), good()]);
        assert_eq!((came.result.is_ok(), sent, pauses), (true, 2, vec![pause]), "{headers:?}");
    }
    // longer than anyone waits: the refusal stands, and says how long
    let (came, sent, _) = tried(vec![status(429, &[("retry-after", "3600")])]);
    assert_eq!((came.error().retry_after, sent), (Some(3_600_000), 1));
}

#[test]
fn only_what_was_not_sent_is_sent_again() {
    let (came, sent, _) = tried(vec![fails("connection", true), fails("timeout", true), good()]);
    assert_eq!((came.result.is_ok(), sent), (true, 3));
    for (code, unsent) in [("dropped", false), ("timeout", false), ("malformed_response", false), ("tls", true), ("address", true)] {
        let (came, sent, pauses) = tried(vec![fails(code, unsent)]);
        assert_eq!((came.error().code.as_str(), sent, pauses.len()), (code, 1, 0));
    }
}

/// As soon as an answer of success begins, nothing is sent again, whatever becomes of it.
#[test]
fn an_answer_that_has_begun_is_never_asked_for_again() {
    for at in (0..STREAM.len()).step_by(7) {
        let parts = vec![Part::Bytes(STREAM.as_bytes()[..at].to_vec()), Part::Breaks("dropped")];
        let (_, sent, pauses) = tried(vec![Ok((200, typed("text/event-stream"), parts))]);
        assert_eq!((sent, pauses.len()), (1, 0), "{at}");
    }
    for answer in [json_answer(200, &json!({ "error": { "code": 429 } })), json_answer(200, &json!({})), json_answer(200, &whole())] {
        assert_eq!(tried(vec![answer]).1, 1);
    }
}

#[test]
fn attempts_are_told() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    let retrying = RetryTransport::new(
        Scripted::new([status(503, &[]), fails("connection", true), good()]),
        RetryPolicy::default(),
        Arc::new(Still::default()),
    );
    let retrying =
        retrying.with_observer(Arc::new(move |attempt: &RetryAttempt| told.lock().unwrap().push((attempt.number, attempt.failed.clone()))));
    send(&BASE, Arc::new(retrying), "openai", true).reply();
    assert_eq!(*heard.lock().unwrap(), [(1, "503".to_owned()), (2, "connection".to_owned())]);
}
