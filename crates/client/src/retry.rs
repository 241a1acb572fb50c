//! Sending again what the provider has not carried out.
//!
//! [`RetryTransport`] stands between a runner and a transport. It repeats a request that was not sent, or that the provider
//! refused with a status which says that the same request may succeed later. As soon as an answer of success begins,
//! nothing is repeated: a part of it may have been shown. Time and chance come from outside ([`Pace`]), so that no test
//! waits.

use core::time::Duration;
use std::sync::Arc;

use super::keys::KeyScrubber;
use super::{BoxFuture, IncomingAnswer, OutgoingRequest, Transport, TransportError};

/// How often and how fast a request is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often it is sent at most, the first time included.
    pub attempts: u32,
    /// The pause after the first attempt; each further one is twice as long. The pause is a random part of it, at least
    /// half.
    pub first: Duration,
    /// The longest pause between attempts.
    pub most: Duration,
    /// The longest pause that a provider may ask for (`Retry-After`). If it asks for more, its answer stands.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { attempts: 4, first: Duration::from_millis(500), most: seconds(20), longest_asked: seconds(60) }
    }
}

/// Time and chance.
pub trait Pace: Send + Sync {
    /// Waits.
    fn sleep(&self, pause: Duration) -> BoxFuture<'_, ()>;
    /// A number from 0 to 1, without 1.
    fn chance(&self) -> f64;
    /// Seconds since 1970, to understand dates of providers that do not say what time it is for them.
    fn now(&self) -> u64;
}

/// Why a request is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryAttempt {
    /// The number of the attempt that failed, from 1.
    pub number: u32,
    /// How it failed: a status, or the code of a [`TransportError`].
    pub failed: String,
    /// How long the pause is before the next one.
    pub pause: Duration,
}

/// Whoever is told of attempts that are repeated.
pub type RetryObserver = Arc<dyn Fn(&RetryAttempt) + Send + Sync>;

/// Statuses after which a request is repeated: it was not carried out.
pub(super) const REFUSED: &[u16] = &[408, 409, 425, 429, 500, 502, 503, 504, 529];

/// Failures that are the same the next time.
const LASTING: &[&str] = &["tls", "address", "key_not_for_this_address", "other_address", "not_recorded"];

/// A transport that repeats requests.
pub struct RetryTransport {
    inner: Arc<dyn Transport>,
    policy: RetryPolicy,
    pace: Arc<dyn Pace>,
    observer: Option<RetryObserver>,
}

impl RetryTransport {
    /// Repeats what fails in `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Transport>, policy: RetryPolicy, pace: Arc<dyn Pace>) -> Self {
        Self { inner, policy, pace, observer: None }
    }

    /// Calls `observer` for every attempt that is repeated.
    #[must_use]
    pub fn with_observer(self, observer: RetryObserver) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The pause before the next attempt; `None` if what came stands.
    fn pause(&self, number: u32, came: &Result<IncomingAnswer, TransportError>) -> Option<Duration> {
        if number >= self.policy.attempts {
            return None;
        }
        let asked = match came {
            // a certificate or an address is not better the next time, and a record has no more answers
            Err(error) => return (error.unsent && !LASTING.contains(&error.code)).then(|| self.backoff(number)),
            Ok(incoming) if REFUSED.contains(&incoming.status) => {
                let now = incoming.header("date").map(str::to_owned);
                after(incoming.header("retry-after"), || now.as_deref().and_then(seconds).unwrap_or_else(|| self.pace.now()))
            }
            Ok(_) => return None,
        };
        let Some(asked) = asked.map(Duration::from_millis) else { return Some(self.backoff(number)) };
        // not all who were told the same moment come back at the same moment
        (asked <= self.policy.longest_asked).then(|| asked + self.policy.first.mul_f64(self.pace.chance().clamp(0.0, 1.0)))
    }

    fn backoff(&self, number: u32) -> Duration {
        let full = self.policy.first.saturating_mul(1 << number.saturating_sub(1).min(16)).min(self.policy.most);
        full.mul_f64(0.5 + self.pace.chance().clamp(0.0, 1.0) / 2.0)
    }
}

impl Transport for RetryTransport {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        Box::pin(async move {
            let mut number = 0;
            loop {
                number += 1;
                let came = self.inner.send(request).await;
                let pause = self.pause(number, &came).filter(|_| self.inner.may_repeat(request));
                let Some(pause) = pause else { return came };
                if let Some(observer) = &self.observer {
                    let failed = match &came {
                        Ok(incoming) => incoming.status.to_string(),
                        Err(error) => error.code.to_owned(),
                    };
                    observer(&RetryAttempt { number, failed, pause });
                }
                // the answer is dropped before the pause, which closes its connection
                drop(came);
                self.pace.sleep(pause).await;
            }
        })
    }

    fn scrub(&self, text: String) -> String {
        self.inner.scrub(text)
    }

    fn scrubber(&self) -> KeyScrubber {
        self.inner.scrubber()
    }
}

/// How long a provider asks to wait, in milliseconds: a number of seconds, or a date that is compared with the
/// provider's own clock.
pub(super) fn retry_after(header: Option<&str>, date: Option<&str>) -> Option<u64> {
    let now = date.and_then(seconds);
    if now.is_none() && header.is_some_and(|h| h.trim().parse::<f64>().is_err()) {
        return None;
    }
    after(header, || now.unwrap_or_default())
}

fn after(header: Option<&str>, now: impl FnOnce() -> u64) -> Option<u64> {
    let text = header?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        let valid = seconds.is_finite() && (0.0..=31_536_000.0).contains(&seconds);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        return valid.then_some((seconds * 1000.0).ceil() as u64);
    }
    Some(seconds(text)?.saturating_sub(now()).saturating_mul(1000))
}

/// A date of HTTP in seconds since 1970.
fn seconds(date: &str) -> Option<u64> {
    let at = jiff::fmt::rfc2822::parse(date).ok()?;
    u64::try_from(at.timestamp().as_second()).ok()
}
