//! Why a run gave no reply.

use crate::build::BuildError;

/// One thing that is wrong with a configuration or a request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// What is wrong: `required`, `invalid_type`, `tools_with_response_format` …
    pub code: String,
    /// Where: a JSON Pointer into what was given, or for a preflight error the key of the request.
    pub at: String,
    /// What to do about it, in a sentence; empty if the code says it all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.at.is_empty() {
            write!(f, " at `{}`", self.at)?;
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

/// What a provider answered in place of a reply, or why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// `provider_error` (a status), `empty_response`, `malformed_response`, `too_large`, `timeout`, `connection`,
    /// `redirect`, `tls` …
    pub code: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// What happened, in a sentence without secrets.
    pub message: String,
    /// Whether nothing can have been carried out, so that sending the same request again is safe.
    pub safe_to_repeat: bool,
    /// How long the provider asks to wait before the next attempt, in milliseconds.
    pub retry_after: Option<u64>,
}

/// Why a run gave no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The configuration or the options are wrong; nothing was built or sent.
    #[error("the configuration is wrong: {}", summarize(.0))]
    Config(Vec<Problem>),
    /// The request must not be sent.
    #[error("the request must not be sent: {}", summarize(.0))]
    Preflight(Vec<Problem>),
    /// A program of the pack failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The provider gave no reply.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl RunError {
    /// The kind in a word: the code of the first problem, or that of the provider's error.
    #[must_use]
    pub fn code(&self) -> String {
        let first = |problems: &[Problem], otherwise: &str| problems.first().map_or_else(|| otherwise.to_owned(), |p| p.code.clone());
        match self {
            Self::Config(problems) => first(problems, "config"),
            Self::Preflight(problems) => first(problems, "preflight"),
            Self::Build(error) => format!("{:?}", error.kind()).to_lowercase(),
            Self::Provider(error) => error.code.clone(),
        }
    }
}

/// The first of several problems in words, and how many more there are.
fn summarize(problems: &[Problem]) -> String {
    let Some(first) = problems.first() else { return "no reason is given".to_owned() };
    let more = match problems.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{first}{more}")
}
