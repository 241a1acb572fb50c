//! Who may call: whoever has the token; without one, programs and pages of this machine.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use sha2::{Digest, Sha256};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, ExposeHeaders};

/// Who may call.
#[derive(Debug, Clone, Default)]
pub struct AccessRules {
    /// The digest of the token that is demanded, so that a comparison says nothing about it.
    token: Option<[u8; 32]>,
    /// Pages of other machines that may call: `https://example.org`.
    origins: Vec<String>,
}

impl AccessRules {
    /// Demands a token if there is one. Without, requests must be sent to this machine by its own name, which a page that was
    /// led here by another name (DNS rebinding) does not do. Pages must come from this machine or be among `origins`.
    #[must_use]
    pub fn new(token: Option<&str>, origins: Vec<String>) -> Self {
        Self { token: token.map(digest), origins }
    }

    /// Why a request is refused.
    pub(crate) fn refuse(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if text(header::ORIGIN).is_some_and(|origin| !self.allows_origin(origin)) {
            return Some((StatusCode::FORBIDDEN, "pages of this origin may not call; start the server with `--origin`"));
        }
        let Some(token) = &self.token else {
            let is_local = text(header::HOST).is_some_and(|host| is_local_name(host_name(host)));
            return (!is_local)
                .then_some((StatusCode::FORBIDDEN, "the `Host` of the request is not this machine; write `localhost` or `127.0.0.1`"));
        };
        // Anthropic's clients send their key in a header of its own
        let own = text(header::HeaderName::from_static("x-api-key"));
        let given = text(header::AUTHORIZATION).and_then(|text| text.strip_prefix("Bearer ")).or(own);
        match given.map(digest) {
            Some(given) if given == *token => None,
            Some(_) => Some((StatusCode::FORBIDDEN, "the token is wrong")),
            None => Some((StatusCode::UNAUTHORIZED, "a token is needed: send `Authorization: Bearer TOKEN`")),
        }
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let host = origin.parse::<Uri>().ok().and_then(|origin| origin.host().map(str::to_owned)).unwrap_or_default();
        is_local_name(host.trim_matches(['[', ']'])) || self.origins.iter().any(|known| known == origin)
    }

    /// What browsers are told: pages of the same origins, also from a public page to this machine.
    pub(crate) fn cors(&self) -> CorsLayer {
        let rules = self.clone();
        let allow = move |origin: &HeaderValue, _: &_| origin.to_str().is_ok_and(|origin| rules.allows_origin(origin));
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(allow))
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(ExposeHeaders::any())
            .allow_private_network(true)
    }
}

/// The name of a host without its port.
fn host_name(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, _)) => name,
        None => host.split(':').next().unwrap_or(host),
    }
}

fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
