//! HTTP/1.1 with TLS: the transport that has keys and sockets, and getting a file without a key.
//!
//! The transport sends once. It follows no redirect, since a key would go along, and understands no compression, since a small
//! body could become a huge one. Dropping what it returns closes the connection. To get a file, redirects are followed, within
//! bounds.

use core::time::Duration;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Proxy, Response, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::keys::{Key, KeyScrubber};
use super::{Body, BoxFuture, IncomingAnswer, OutgoingRequest, Transport, TransportError};

/// How long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the beginning of an answer, after the request was sent.
    pub answer: Duration,
    /// For the next part of an answer.
    pub idle: Duration,
    /// For everything together.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(15), answer: seconds(300), idle: seconds(120), total: seconds(1800) }
    }
}

/// What the transport is given.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The key, which goes into the header that the dialect names.
    pub key: Option<Key>,
    /// The origins to which the key may go, such as `https://api.example.com`. If there are none, the first request
    /// decides: the key goes to no other origin than that of the first request.
    pub origins: Vec<String>,
    /// The address that the user has given. Requests to addresses that are not below it are refused.
    pub below: Option<String>,
    /// The address of a proxy: `http://…`, `https://…`, `socks5://…`. Proxies of the environment are not used.
    pub proxy: Option<String>,
    /// How long is waited.
    pub timeouts: Timeouts,
}

/// Sends requests over HTTP.
pub struct Http {
    client: Client,
    key: Option<Key>,
    /// What is taken out of texts.
    hidden: Option<Key>,
    origins: Vec<String>,
    /// The origin of the first request that carried the key.
    first: OnceLock<String>,
    below: Option<Url>,
    timeouts: Timeouts,
    /// Why no certificate can be checked.
    no_roots: Option<String>,
}

/// Headers that belong to the transport.
const OWN: &[&str] =
    &["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade", "expect", "trailer"];

impl Http {
    /// A transport with a pool of connections.
    ///
    /// # Errors
    /// The address of the proxy cannot be used.
    pub fn new(options: HttpOptions) -> Result<Self, TransportError> {
        let (tls, no_roots) = tls().map_err(|e| unsent("tls", format!("no TLS: {e}")))?;
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .http1_only()
            .referer(false)
            .no_proxy()
            .connect_timeout(options.timeouts.connect)
            .timeout(options.timeouts.total);
        if let Some(proxy) = &options.proxy {
            let known = ["http://", "https://", "socks5://", "socks5h://"].iter().any(|scheme| proxy.starts_with(scheme));
            let proxy = Proxy::all(proxy).ok().filter(|_| known);
            let wrong = || unsent("address", "the address of the proxy cannot be used; write http://HOST:PORT or socks5://HOST:PORT");
            builder = builder.proxy(proxy.ok_or_else(wrong)?);
        }
        let client = builder.build().map_err(|e| unsent("address", format!("no client for HTTP: {}", e.without_url())))?;
        let below = options.below.as_deref().map(parse_address).transpose()?;
        let origins = options.origins.iter().map(|origin| parse_address(origin).map(|url| origin_of(&url))).collect::<Result<_, _>>()?;
        let hidden = Key::hidden(options.key.as_ref(), options.proxy.as_deref());
        Ok(Self { client, key: options.key, hidden, origins, first: OnceLock::new(), below, timeouts: options.timeouts, no_roots })
    }

    async fn answer(&self, request: &OutgoingRequest) -> Result<IncomingAnswer, TransportError> {
        let url = parse_address(&request.url)?;
        self.allows(&url, request)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let headers = self.headers(request)?;
        let body = serde_json::to_vec(&request.body).map_err(|e| unsent("address", format!("the request cannot be written: {e}")))?;
        let sending = self.client.post(url).headers(headers).body(body).send();
        let answer = match tokio::time::timeout(self.timeouts.answer, sending).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(e)) => return Err(self.transport_error(e, &host, "before it answered")),
            Err(_) => return Err(timeout(format!("{host} did not answer within {} s", self.timeouts.answer.as_secs_f64()))),
        };
        let scrub = |text: &str| self.hidden.as_ref().map_or_else(|| text.to_owned(), |key| key.scrub(text));
        let headers =
            answer.headers().iter().map(|(name, value)| (name.as_str().to_owned(), scrub(&String::from_utf8_lossy(value.as_bytes()))));
        let headers = headers.collect();
        let status = answer.status().as_u16();
        let body = ArrivingBody {
            answer,
            scrubber: Some(KeyScrubber::new(self.hidden.clone())),
            idle: self.timeouts.idle,
            host,
            scrub: self.hidden.clone(),
        };
        Ok(IncomingAnswer { status, headers, body: Box::new(body) })
    }

    /// Whether a request may go to an address, and the key with it. The address may come from a pack or a scene, which
    /// must not decide where a key goes.
    fn allows(&self, url: &Url, request: &OutgoingRequest) -> Result<(), TransportError> {
        let origin = origin_of(url);
        if let Some(base) = self.below.as_ref().filter(|base| !is_below(url, base)) {
            let message = format!(
                "the request would go to {origin}{}, which is not below {}{}; nothing was sent. The dialect of this pack does not use the \
                 address that was given: name another dialect or pack",
                url.path(),
                origin_of(base),
                base.path(),
            );
            return Err(unsent("other_address", message));
        }
        if self.key.is_none() || request.auth.is_none() {
            return Ok(());
        }
        let allowed = match self.origins.as_slice() {
            [] => self.first.get_or_init(|| origin.clone()) == &origin,
            origins => origins.contains(&origin),
        };
        if allowed {
            return Ok(());
        }
        let meant = if self.origins.is_empty() { self.first.get().cloned().unwrap_or_default() } else { self.origins.join(" and ") };
        let message = format!(
            "the key is for {meant}, and the request would go to {origin}; nothing was sent. If that address is meant, name it with `--url`, \
             and its key with `--key-env NAME` or `--key-file FILE`"
        );
        Err(unsent("key_not_for_this_address", message))
    }

    fn headers(&self, request: &OutgoingRequest) -> Result<HeaderMap, TransportError> {
        let mut headers = HeaderMap::new();
        let accept = if request.stream { "text/event-stream, application/json" } else { "application/json" };
        for (name, value) in [("content-type", "application/json"), ("accept", accept), ("accept-encoding", "identity")] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.insert("user-agent", HeaderValue::from_static(concat!("tapster/", env!("CARGO_PKG_VERSION"))));
        for (name, value) in &request.headers {
            let wrong = || unsent("address", format!("the header `{}` cannot be sent", name.escape_debug()));
            let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            if OWN.contains(&name.as_str()) {
                return Err(unsent("address", format!("the header `{name}` is set by the transport; remove it from the dialect")));
            }
            headers.insert(name, HeaderValue::try_from(value.as_str()).map_err(|_| wrong())?);
        }
        if let (Some(key), Some(auth)) = (&self.key, &request.auth) {
            let wrong = || unsent("address", format!("no key can be sent in the header `{}`", auth.header.escape_debug()));
            let name = HeaderName::try_from(auth.header.as_str()).ok().filter(|name| !OWN.contains(&name.as_str()));
            headers.insert(name.ok_or_else(wrong)?, key.header(&auth.prefix).ok_or_else(wrong)?);
        }
        Ok(headers)
    }

    fn transport_error(&self, error: reqwest::Error, host: &str, when: &str) -> TransportError {
        let mut failure = transport_error(error, host, when);
        if failure.code == "tls"
            && let Some(why) = &self.no_roots
        {
            failure.message.push_str("; the system has no certificates to check it by: ");
            failure.message.push_str(why);
        }
        if let Some(key) = &self.hidden {
            failure.message = key.scrub(&failure.message);
        }
        failure
    }
}

impl Transport for Http {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        Box::pin(self.answer(request))
    }

    fn scrub(&self, text: String) -> String {
        match &self.hidden {
            Some(key) => key.scrub(&text),
            None => text,
        }
    }

    fn scrubber(&self) -> KeyScrubber {
        KeyScrubber::new(self.hidden.clone())
    }
}

/// A body that arrives.
struct ArrivingBody {
    answer: Response,
    /// `None` at the end.
    scrubber: Option<KeyScrubber>,
    idle: Duration,
    host: String,
    scrub: Option<Key>,
}

impl ArrivingBody {
    async fn part(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        loop {
            let Some(scrubber) = &mut self.scrubber else { return Ok(None) };
            match tokio::time::timeout(self.idle, self.answer.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    let bytes = scrubber.push(bytes.to_vec());
                    if !bytes.is_empty() {
                        return Ok(Some(bytes));
                    }
                }
                Ok(Ok(None)) => {
                    let rest = scrubber.end();
                    self.scrubber = None;
                    return Ok(Some(rest).filter(|rest| !rest.is_empty()));
                }
                Ok(Err(e)) => {
                    let mut failure = transport_error(e, &self.host, "in the middle of its answer");
                    if let Some(key) = &self.scrub {
                        failure.message = key.scrub(&failure.message);
                    }
                    return Err(failure);
                }
                Err(_) => return Err(timeout(format!("{} sent nothing for {} s", self.host, self.idle.as_secs_f64()))),
            }
        }
    }
}

impl Body for ArrivingBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        Box::pin(self.part())
    }
}

/// TLS by `ring`, with the certificates of the system. If there are none, nothing is trusted, and the second value says
/// why.
pub(super) fn tls() -> Result<(ClientConfig, Option<String>), rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    Ok(match Verifier::new(provider) {
        Ok(verifier) => {
            let checked = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
            (checked.with_no_client_auth(), None)
        }
        Err(e) => (builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(), Some(e.to_string())),
    })
}

fn parse_address(text: &str) -> Result<Url, TransportError> {
    let wrong = |why: &str| unsent("address", format!("the address of the provider {why}; set a base URL such as https://host/v1"));
    if text.is_empty() {
        return Err(wrong("is not known"));
    }
    let url = Url::parse(text).map_err(|_| wrong("cannot be read"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("does not begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("holds a user or a password, which would be shown in messages"));
    }
    Ok(url)
}

/// The origin of an address: scheme, host and port.
fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Whether an address is another one or lies below it.
fn is_below(url: &Url, base: &Url) -> bool {
    let rest = url.path().strip_prefix(base.path().trim_end_matches('/'));
    url.origin() == base.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

pub(super) fn unsent(code: &'static str, message: impl Into<String>) -> TransportError {
    TransportError { code, message: message.into(), unsent: true }
}

pub(super) fn timeout(message: String) -> TransportError {
    TransportError { code: "timeout", message, unsent: false }
}

/// Whether an error is one of TLS, also inside of errors of input and output, which hide what they hold.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    for _ in 0..8 {
        let Some(error) = at else { return false };
        if error.is::<rustls::Error>() {
            return true;
        }
        at = error.downcast_ref::<std::io::Error>().and_then(|e| e.get_ref()).map(|inner| inner as &(dyn Error + 'static));
    }
    false
}

/// What happened, without addresses, which may hold secrets.
pub(super) fn transport_error(error: reqwest::Error, host: &str, when: &str) -> TransportError {
    let error = error.without_url();
    let connecting = error.is_connect();
    let mut causes: Vec<String> = Vec::new();
    let mut tls = false;
    let mut at: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(cause) = at.filter(|_| causes.len() < 12) {
        tls |= is_tls(cause);
        causes.push(cause.to_string());
        at = cause.source();
    }
    let last = causes.last().map(String::as_str).unwrap_or_default();
    let (code, message) = if tls {
        ("tls", format!("the connection to {host} is not safe, so nothing was sent: {last}"))
    } else if error.is_timeout() && connecting {
        ("timeout", format!("no connection to {host} in time"))
    } else if error.is_timeout() {
        ("timeout", format!("{host} took too long"))
    } else if connecting {
        ("connection", format!("no connection to {host}: {last}"))
    } else if causes.iter().any(|cause| cause.contains("invalid HTTP") || cause.contains("invalid chunk") || cause.contains("header")) {
        ("malformed_response", format!("what {host} answered is not HTTP: {last}"))
    } else {
        ("dropped", format!("{host} closed the connection {when}: {last}"))
    };
    TransportError { code, message, unsent: connecting }
}

/// Most redirects of one file.
const MAX_REDIRECTS: usize = 5;

/// How long a file may take.
#[must_use]
pub fn timeouts() -> Timeouts {
    let seconds = Duration::from_secs;
    Timeouts { connect: seconds(15), answer: seconds(60), idle: seconds(30), total: seconds(600) }
}

/// The file of a `file:` address.
#[must_use]
pub fn file_of(address: &str) -> Option<PathBuf> {
    Url::parse(address).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// The bytes at an address, at most `limit` of them; `None` if there is nothing.
///
/// # Errors
/// The address cannot be used, nobody answers in time, or the file is too large.
pub async fn fetch(address: &str, limit: usize, timeouts: Timeouts) -> Result<Option<Vec<u8>>, TransportError> {
    match tokio::time::timeout(timeouts.total, follow(address, limit, timeouts)).await {
        Ok(result) => result,
        Err(_) => Err(timeout(format!("the file did not arrive within {} s", timeouts.total.as_secs_f64()))),
    }
}

async fn follow(address: &str, limit: usize, timeouts: Timeouts) -> Result<Option<Vec<u8>>, TransportError> {
    let (tls, _) = tls().map_err(|e| unsent("tls", format!("no TLS: {e}")))?;
    let builder = Client::builder().tls_backend_preconfigured(tls).redirect(redirect::Policy::none()).retry(reqwest::retry::never());
    let builder = builder.http1_only().referer(false).no_proxy().connect_timeout(timeouts.connect).timeout(timeouts.total);
    let client = builder.build().map_err(|e| unsent("address", format!("no client for HTTP: {}", e.without_url())))?;
    let mut url = parse_address(address)?;
    for _ in 0..=MAX_REDIRECTS {
        let host = url.host_str().unwrap_or_default().to_owned();
        let request = client.get(url.clone()).header("accept-encoding", "identity");
        let request = request.header("user-agent", concat!("tapster/", env!("CARGO_PKG_VERSION")));
        let mut answer = match tokio::time::timeout(timeouts.answer, request.send()).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(e)) => return Err(transport_error(e, &host, "before it answered")),
            Err(_) => return Err(timeout(format!("{host} did not answer within {} s", timeouts.answer.as_secs_f64()))),
        };
        let status = answer.status();
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            url = redirected(&url, answer.headers().get(LOCATION).and_then(|to| to.to_str().ok()))?;
            continue;
        }
        if matches!(status.as_u16(), 404 | 410) {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(failed("status", format!("{host} answered with status {}", status.as_u16())));
        }
        if answer.headers().get("content-encoding").is_some_and(|coding| coding != "identity") {
            return Err(failed("encoding", format!("{host} sent a compressed file, which was not asked for")));
        }
        let too_large = || failed("too_large", format!("what {host} sends is larger than {limit} bytes"));
        if answer.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        loop {
            match tokio::time::timeout(timeouts.idle, answer.chunk()).await {
                Ok(Ok(Some(part))) if bytes.len() + part.len() > limit => {
                    drop(part);
                    return Err(too_large());
                }
                Ok(Ok(Some(part))) => bytes.extend_from_slice(&part),
                Ok(Ok(None)) => return Ok(Some(bytes)),
                Ok(Err(e)) => return Err(transport_error(e, &host, "in the middle of the file")),
                Err(_) => return Err(timeout(format!("{host} sent nothing for {} s", timeouts.idle.as_secs_f64()))),
            }
        }
    }
    Err(failed("redirect", format!("more than {MAX_REDIRECTS} redirects")))
}

/// Where a redirect leads. What was asked for safely is not got unsafely.
fn redirected(from: &Url, to: Option<&str>) -> Result<Url, TransportError> {
    let wrong = |why: &str| failed("redirect", format!("{} redirects {why}", from.host_str().unwrap_or_default()));
    let to = to.and_then(|to| from.join(to).ok()).ok_or_else(|| wrong("to an address that cannot be read"))?;
    let to = parse_address(to.as_str())?;
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(wrong("from https to http"));
    }
    Ok(to)
}

fn failed(code: &'static str, message: String) -> TransportError {
    TransportError { code, message, unsent: false }
}
