//! A transport that answers by script, and what tests need around it. Nothing waits, nothing is sent.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

use serde_json::{Map, Value as Json, json};
use tapster::Ruleset;
use tapster_client::{
    Body, BoxFuture, Delta, IncomingAnswer, OutgoingRequest, PreparedRequest, PromptRunner, ProviderError, Reply, RunError, RunnerConfig,
    Transport, TransportError,
};

/// One answer: a status, headers, and a body in parts; or none.
pub(crate) type Answer = Result<(u16, Vec<(String, String)>, Vec<Part>), TransportError>;

/// A part of a body.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    /// The connection breaks.
    Breaks(&'static str),
}

/// Gives one answer after the other, and keeps what was sent.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) answers: Mutex<VecDeque<Answer>>,
    pub(crate) sent: Mutex<Vec<OutgoingRequest>>,
}

impl Scripted {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), sent: Mutex::default() })
    }

    pub(crate) fn count(&self) -> usize {
        self.sent.lock().unwrap().len()
    }
}

struct Parts(VecDeque<Part>);

impl Body for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        let next = match self.0.pop_front() {
            None => Ok(None),
            Some(Part::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Part::Breaks(code)) => Err(TransportError { code, message: "the connection broke".to_owned(), unsent: false }),
        };
        Box::pin(std::future::ready(next))
    }
}

impl Transport for Scripted {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        self.sent.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front().expect("no more requests than answers");
        let incoming = answer.map(|(status, headers, parts)| IncomingAnswer { status, headers, body: Box::new(Parts(parts.into())) });
        Box::pin(std::future::ready(incoming))
    }
}

/// Runs a future that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a scripted run does not wait"),
    }
}

pub(crate) static BASE: LazyLock<Ruleset> = LazyLock::new(|| Ruleset::open("base", &[]).unwrap());

pub(crate) fn config(rules: &Ruleset) -> RunnerConfig {
    RunnerConfig { rules: rules.clone(), provider: "p".to_owned(), model: "m".to_owned(), values: Map::new() }
}

/// A request in a dialect, as it might have been prepared.
pub(crate) fn request(dialect: &str, url: &str, stream: bool) -> PreparedRequest {
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi" }], "stream": stream });
    let outgoing = OutgoingRequest { url: url.to_owned(), headers: Vec::new(), auth: None, body, stream };
    PreparedRequest { outgoing, dialect: dialect.to_owned(), internal: Map::new(), changes: Vec::new(), warnings: Vec::new() }
}

pub(crate) fn typed(kind: &str) -> Vec<(String, String)> {
    vec![("content-type".to_owned(), kind.to_owned())]
}

/// A whole reply.
pub(crate) fn json_answer(status: u16, body: &Json) -> Answer {
    Ok((status, typed("application/json"), vec![Part::Bytes(body.to_string().into_bytes())]))
}

/// A streamed reply.
pub(crate) fn stream_answer(body: &str) -> Answer {
    Ok((200, typed("text/event-stream; charset=utf-8"), vec![Part::Bytes(body.as_bytes().to_vec())]))
}

/// What came of one request, with the pieces that were told.
pub(crate) struct Came {
    pub(crate) result: Result<Reply, RunError>,
    pub(crate) deltas: Vec<Delta>,
}

impl Came {
    #[track_caller]
    pub(crate) fn reply(self) -> Reply {
        self.result.unwrap()
    }

    #[track_caller]
    pub(crate) fn error(self) -> ProviderError {
        match self.result {
            Err(RunError::Provider(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn text(&self) -> String {
        self.deltas.iter().map(|d| if let Delta::Text(text) = d { text.as_str() } else { "" }).collect()
    }

    pub(crate) fn reasoning(&self) -> String {
        self.deltas.iter().map(|d| if let Delta::Reasoning(text) = d { text.as_str() } else { "" }).collect()
    }
}

/// Sends one request through a transport that never waits.
pub(crate) fn send(rules: &Ruleset, transport: Arc<dyn Transport>, dialect: &str, stream: bool) -> Came {
    let (config, request) = (config(rules), request(dialect, "https://provider.example/v1", stream));
    let mut deltas = Vec::new();
    let result = now(PromptRunner::new(transport).send(&config, &request, &mut |delta: &Delta| deltas.push(delta.clone())));
    Came { result, deltas }
}

/// The same for a single answer in base's dialects.
pub(crate) fn answered(dialect: &str, stream: bool, answer: Answer) -> Came {
    send(&BASE, Scripted::new([answer]), dialect, stream)
}
