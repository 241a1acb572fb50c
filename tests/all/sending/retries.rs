//! What is sent again, when, and what never is.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use core::time::Duration;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tapster_client::retry::{Pace, RetryAttempt, RetryPolicy, RetryTransport};
use tapster_client::{BoxFuture, TransportError};

use super::faults::{STREAM, whole};
use super::scripted::{Answer, BASE, Came, Part, Scripted, json_answer, send, stream_answer, typed};

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
        retrying.telling(Arc::new(move |attempt: &RetryAttempt| told.lock().unwrap().push((attempt.number, attempt.failed.clone()))));
    send(&BASE, Arc::new(retrying), "openai", true).reply();
    assert_eq!(*heard.lock().unwrap(), [(1, "503".to_owned()), (2, "connection".to_owned())]);
}
