//! The one door to the outside: a request goes out, a status and a body in parts come in.
//!
//! Retries, bounds, streams and the reading of replies are above this door, so that they hold for every transport and
//! can be tested with a scripted one.

use serde_json::Value as Json;

use super::BoxFuture;
use super::keys::KeyScrubber;
use crate::pack::Ruleset;

/// A request as it goes out. It holds no key: a transport adds it, and nothing else ever sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingRequest {
    /// Where it is sent; empty if the dialect names no address, and the transport knows it.
    pub url: String,
    /// Headers without secrets, by lower-case name.
    pub headers: Vec<(String, String)>,
    /// Where a key goes, if the transport has one.
    pub auth: Option<AuthHeader>,
    /// The body.
    pub body: Json,
    /// Whether the answer is to come as a stream of events.
    pub stream: bool,
}

/// The header in which a provider expects a key, which is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthHeader {
    /// Name of the header, in lower case.
    pub header: String,
    /// What stands in front of the key: `Bearer `, with its space.
    pub prefix: String,
}

impl AuthHeader {
    /// What the row of table `key` says of a dialect.
    #[must_use]
    pub fn of(rules: &Ruleset, dialect: &str) -> Option<Self> {
        let place = rules.readings().key(dialect)?;
        Some(Self { header: place.header.to_string(), prefix: place.prefix.to_string() })
    }
}

/// An answer whose body is still arriving.
pub struct IncomingAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Headers, by lower-case name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Box<dyn Body>,
}

impl IncomingAnswer {
    /// The value of a header, by lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// A body that arrives in parts.
pub trait Body: Send {
    /// The next part; `None` at the end. A body that ends before it is complete gives an error.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>>;

    /// Says that the reply is complete, so that whatever would follow is not read.
    fn complete(&mut self) {}
}

/// Why a request did not get through, or an answer did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// `connect`, `tls`, `timeout`, `dropped`, `redirect`, `encoding`, `too_large` …
    pub code: &'static str,
    /// What happened, in a sentence without secrets.
    pub message: String,
    /// Whether the request cannot have reached the provider.
    pub unsent: bool,
}

/// Whoever carries requests to a provider: HTTP, a record, or an application's own client.
pub trait Transport: Send + Sync {
    /// Sends a request once. It follows no redirect and repeats nothing.
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>>;

    /// Whether sending the request again may bring another answer; a record knows that it has no more.
    fn may_repeat(&self, request: &OutgoingRequest) -> bool {
        let _ = request;
        true
    }

    /// Takes out of a text what only the transport knows: a key that a provider has echoed. A transport over another
    /// one asks that one.
    fn scrub(&self, text: String) -> String {
        text
    }

    /// The same for a text that arrives in parts, between which a key may be cut. A transport over another one asks that
    /// one.
    fn scrubber(&self) -> KeyScrubber {
        KeyScrubber::new(None)
    }
}
