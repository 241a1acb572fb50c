//! Why a turn or a write of a session failed.

use crate::artifact::WriteRefusal;
use crate::build::BuildError;
use crate::diag::{Code, Diagnostic};
use crate::pack::Ruleset;
use crate::store::StoreRefusal;

/// Why a turn or a write of a session failed. Nothing of it was committed, except for records in the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The store cannot answer.
    #[error("{}", .0.message)]
    Store(StoreRefusal),
    /// A program of the pack failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A write was refused.
    #[error("`{}` may not write artifact `{}` now: {}", short(.writer), short(.tag), reason(.refusal))]
    Refused {
        /// The artifact.
        tag: String,
        /// Who wanted to write it.
        writer: String,
        /// Why not.
        refusal: WriteRefusal,
    },
    /// Somebody else has changed the state of the session since the turn began.
    #[error("the state of the session was changed by somebody else since the turn began")]
    StateConflict,
    /// The operations of a pack ask the model again and again.
    #[error("the operations ask the model more than {0} times in one half of a turn")]
    TooManyRequests(usize),
}

impl From<StoreRefusal> for SessionError {
    fn from(refused: StoreRefusal) -> Self {
        Self::Store(refused)
    }
}

/// The beginning of a name, which may have any length.
fn short(name: &str) -> String {
    let mut out: String = name.chars().take(60).collect();
    if out.len() < name.len() {
        out.push('…');
    }
    out
}

/// A refusal in words.
fn reason(refusal: &WriteRefusal) -> String {
    match refusal {
        WriteRefusal::UndeclaredTag => "no row of the pack declares it".to_owned(),
        WriteRefusal::ForeignTag => "it belongs to another writer".to_owned(),
        WriteRefusal::NoPermission => "the writer has no grant for artifacts of this kind".to_owned(),
        WriteRefusal::NoRun => "no run is going on".to_owned(),
        WriteRefusal::ContentType => "the value is not a text, and the artifact is".to_owned(),
        WriteRefusal::Conflict(Some(latest)) => {
            format!("it was written by somebody else since it was read, and is now at version {latest}")
        }
        WriteRefusal::Conflict(None) => "it was computed from a version that does not exist".to_owned(),
    }
}

impl SessionError {
    /// The error as a diagnostic.
    #[must_use]
    pub fn diagnostic(self, rules: &Ruleset) -> Diagnostic {
        let message = self.to_string();
        match self {
            Self::Store(refused) => *refused,
            Self::Build(error) => error.diagnostic(rules),
            Self::Refused { refusal: WriteRefusal::Conflict(_), .. } | Self::StateConflict => {
                Diagnostic::new(Code::ArtifactConflict, message)
                    .help("read it again, compute the new version from what is there now, and write that")
            }
            Self::Refused { refusal, .. } => Diagnostic::new(Code::ArtifactRefused, message).help(remedy(&refusal)),
            Self::TooManyRequests(_) => Diagnostic::new(Code::BoundExceeded, message)
                .help("run fewer operations that ask a model, or ask for several things at once"),
        }
    }
}

fn remedy(refusal: &WriteRefusal) -> &'static str {
    match refusal {
        WriteRefusal::UndeclaredTag => "declare it in the pack: a row `[[artifact]]` with this tag",
        WriteRefusal::ForeignTag => "write as its writer, or change `writer` of its row",
        WriteRefusal::NoPermission => "add `artifact_write` to `grants` of the writer",
        WriteRefusal::NoRun => "begin a run first",
        WriteRefusal::ContentType | WriteRefusal::Conflict(_) => "write a text, or declare `content_type = \"json\"`",
    }
}
