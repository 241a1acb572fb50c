//! Artifacts of one run: they live until its end, and leave only a trace that does not tell their text.
//!
//! Source: the contract of artifacts, retention, ephemeral; decisions A3.12 and A3.17.

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::{Declarations, WriteRefusal};

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

/// The artifacts of a run that is going on, or of none.
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
