//! Who may write what: the checks before a write reaches a store, in the order that tells a stranger least.
//!
//! Source: the contract of artifacts, write rules and write policy; the order is decision A3.3.

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::{ContentType, Declarations, DeclaredArtifact};

/// The kind of artifacts that the grant `state_write` covers.
const STATE: &str = "state";

/// Why a write was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteRefusal {
    /// No persisted artifact of this tag is declared.
    UndeclaredTag,
    /// The tag belongs to another writer.
    ForeignTag,
    /// The writer has no grant for artifacts of this kind.
    NoPermission,
    /// There is no run to which the value could belong.
    NoRun,
    /// The value is not of the declared type.
    ContentType,
    /// Somebody else has written it since. This is its latest version.
    Conflict(Option<i64>),
}

impl WriteRefusal {
    /// What kind of refusal it is: `policy_error`, `invalid_value` or `artifact_conflict`.
    #[must_use]
    pub fn error(&self) -> &'static str {
        match self {
            Self::UndeclaredTag | Self::ForeignTag | Self::NoPermission | Self::NoRun => "policy_error",
            Self::ContentType => "invalid_value",
            Self::Conflict(_) => "artifact_conflict",
        }
    }

    /// The reason in one word, if the kind of refusal does not say it.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            Self::UndeclaredTag => "undeclared_tag",
            Self::ForeignTag => "foreign_tag",
            Self::NoPermission => "no_permission",
            Self::NoRun => "no_run",
            Self::ContentType => "content_type",
            Self::Conflict(_) => return None,
        })
    }

    /// The refusal as a record of the log and in answers for programs.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Map<String, Json> {
        let mut out = serde_json::Map::new();
        out.insert("error".into(), self.error().into());
        if let Some(code) = self.code() {
            out.insert("code".into(), code.into());
        }
        if let Self::Conflict(latest) = self {
            out.insert("latest".into(), (*latest).into());
        }
        out
    }
}

impl Declarations {
    /// Checks a write to a persisted artifact: that the tag is declared, that it belongs to the writer, that the writer
    /// has the grant, and that the value is of the declared type. The base version is the store's concern.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn may_write(&self, writer: &str, tag: &str, value: &Json) -> Result<&DeclaredArtifact, WriteRefusal> {
        let artifact = self.persisted(tag).ok_or(WriteRefusal::UndeclaredTag)?;
        if artifact.writer.as_deref() != Some(writer) {
            return Err(WriteRefusal::ForeignTag);
        }
        if !self.has_grant(writer, &artifact.kind) {
            return Err(WriteRefusal::NoPermission);
        }
        if artifact.content_type != ContentType::Json && !value.is_string() {
            return Err(WriteRefusal::ContentType);
        }
        Ok(artifact)
    }

    /// Whether a writer may write artifacts of a kind. An operation without a row of `writer` may; one that is neither
    /// a writer nor an operation may not.
    #[must_use]
    pub fn has_grant(&self, writer: &str, kind: &str) -> bool {
        self.writers.get(writer).is_some_and(|w| w.artifact_write || (w.state_write && kind == STATE))
    }
}

/// One value of a run. Neither its id nor its tag need be unique.
#[derive(Debug, Clone, PartialEq)]
pub struct RunArtifact {
    /// Its id.
    pub id: String,
    /// Its tag, if it has one.
    pub tag: Option<String>,
    /// What sort of thing it is.
    pub kind: String,
    /// The value.
    pub value: Json,
}

/// What is left of a value after its run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ValueTrace {
    /// Its id.
    pub id: String,
    /// Its tag, if it had one.
    pub tag: Option<String>,
    /// What sort of thing it was.
    pub kind: String,
    /// Its length in characters; of a value that is not a text, the length of its compact JSON.
    pub chars: usize,
    /// The SHA-256 of the same text in UTF-8, in hex.
    pub sha256: String,
}

/// The artifacts of a run that is going on, or of none: they live until its end, and leave only a trace that does not tell
/// their text (decisions A3.12 and A3.17).
#[derive(Debug, Clone, Default)]
pub struct RunArtifacts {
    running: bool,
    list: Vec<RunArtifact>,
}

impl RunArtifacts {
    /// Begins a run without artifacts.
    pub fn start(&mut self) {
        *self = Self { running: true, list: Vec::new() };
    }

    /// Adds a value.
    ///
    /// # Errors
    /// `NoRun` if no run is going on, `NoPermission` if the writer has no grant for this kind.
    pub fn write(&mut self, declared: &Declarations, writer: &str, artifact: RunArtifact) -> Result<(), WriteRefusal> {
        if !self.running {
            return Err(WriteRefusal::NoRun);
        }
        if !declared.has_grant(writer, &artifact.kind) {
            return Err(WriteRefusal::NoPermission);
        }
        self.list.push(artifact);
        Ok(())
    }

    /// The values so far.
    #[must_use]
    pub fn list(&self) -> &[RunArtifact] {
        &self.list
    }

    /// Ends the run. Its values are gone; their traces are returned.
    pub fn end(&mut self) -> Vec<ValueTrace> {
        let run = std::mem::take(self);
        run.list.into_iter().map(RunArtifact::trace).collect()
    }
}

impl RunArtifact {
    /// What may be kept of it.
    #[must_use]
    pub fn trace(self) -> ValueTrace {
        let text = match self.value {
            Json::String(text) => text,
            other => other.to_string(),
        };
        let hash = Sha256::digest(text.as_bytes());
        let sha256 = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        ValueTrace { id: self.id, tag: self.tag, kind: self.kind, chars: text.chars().count(), sha256 }
    }
}
