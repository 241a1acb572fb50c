//! Getting a file over HTTP: no key goes along, so redirects are followed, within bounds.

use core::time::Duration;
use std::path::PathBuf;

use reqwest::header::LOCATION;
use reqwest::{Client, Url, redirect};

use super::TransportError;
use super::http::{self, Timeouts};

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
        Err(_) => Err(http::timeout(format!("the file did not arrive within {} s", timeouts.total.as_secs_f64()))),
    }
}

async fn follow(address: &str, limit: usize, timeouts: Timeouts) -> Result<Option<Vec<u8>>, TransportError> {
    let (tls, _) = http::tls().map_err(|e| http::unsent("tls", format!("no TLS: {e}")))?;
    let builder = Client::builder().tls_backend_preconfigured(tls).redirect(redirect::Policy::none()).retry(reqwest::retry::never());
    let builder = builder.http1_only().referer(false).no_proxy().connect_timeout(timeouts.connect).timeout(timeouts.total);
    let client = builder.build().map_err(|e| http::unsent("address", format!("no client for HTTP: {}", e.without_url())))?;
    let mut url = http::address(address)?;
    for _ in 0..=MAX_REDIRECTS {
        let host = url.host_str().unwrap_or_default().to_owned();
        let request = client.get(url.clone()).header("accept-encoding", "identity");
        let request = request.header("user-agent", concat!("tapster/", env!("CARGO_PKG_VERSION")));
        let mut answer = match tokio::time::timeout(timeouts.answer, request.send()).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(e)) => return Err(http::told(e, &host, "before it answered")),
            Err(_) => return Err(http::timeout(format!("{host} did not answer within {} s", timeouts.answer.as_secs_f64()))),
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
                Ok(Err(e)) => return Err(http::told(e, &host, "in the middle of the file")),
                Err(_) => return Err(http::timeout(format!("{host} sent nothing for {} s", timeouts.idle.as_secs_f64()))),
            }
        }
    }
    Err(failed("redirect", format!("more than {MAX_REDIRECTS} redirects")))
}

/// Where a redirect leads. What was asked for safely is not got unsafely.
fn redirected(from: &Url, to: Option<&str>) -> Result<Url, TransportError> {
    let wrong = |why: &str| failed("redirect", format!("{} redirects {why}", from.host_str().unwrap_or_default()));
    let to = to.and_then(|to| from.join(to).ok()).ok_or_else(|| wrong("to an address that cannot be read"))?;
    let to = http::address(to.as_str())?;
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(wrong("from https to http"));
    }
    Ok(to)
}

fn failed(code: &'static str, message: String) -> TransportError {
    TransportError { code, message, unsent: false }
}
