//! A session: a chat whose artifacts and state live in a store, played turn by turn.
//!
//! A turn has two halves. [`Session::begin`] loads what the session knows, runs the operations in front of the main
//! request, and builds the prompt. [`Session::finish`] takes the model's reply, runs the operations behind it, and
//! commits everything that the turn changes in one transaction. In between the application sends the prompt; a turn
//! that is not finished has changed nothing.
//!
//! Programs of packs are pure, so they cannot wait for a model. An operation that needs one leaves a request in
//! `$plan.requests`; the session asks the [`Model`] and runs the same program again with the reply, until no request is
//! left. Source: the contract of artifacts, conflicts and logging; the halves of a turn follow its implementation (B9).

mod turn;

use serde_json::{Value as Json, json};

use crate::artifact::{DeclaredArtifact, Projection, RunArtifact, RunArtifacts, WriteRefusal, diff};
use crate::build::BuildError;
use crate::diag::short::head;
use crate::diag::{Code, Diagnostic, limits};
use crate::pack::Ruleset;
use crate::store::{
    ArchivedVersion, Artifact, ArtifactVersion, ArtifactWrite, Batch, CommitOutcome, Home, ListPage, LogRecord, Moment, PrunedVersion,
    SessionStore, StoreRefusal, VersionWindow,
};

pub use turn::{AnsweredTurn, FinishedTurn, Turn};
pub use turn::{Model, ModelError, NoModel, OperationRequest};

/// The most values of history that a view holds of an artifact whose row asks for no number: one that is kept without
/// a bound, or within turns or a time.
pub const USUAL_HISTORY: u32 = 100;
/// The most values of history that a view holds of any artifact, whatever its row asks for.
pub const MAX_HISTORY: u32 = 10_000;

/// One session of a store, under the rules of a pack.
#[derive(Clone)]
pub struct Session<'s> {
    store: &'s dyn SessionStore,
    rules: Ruleset,
    home: Home,
}

impl<'s> Session<'s> {
    /// The session `home` of a store. It need not exist yet: the first write creates it.
    #[must_use]
    pub fn new(store: &'s dyn SessionStore, rules: Ruleset, home: Home) -> Self {
        Self { store, rules, home }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Ruleset {
        &self.rules
    }

    /// The artifacts that the pack declares and that have a value, sorted by tag, each with its history.
    ///
    /// # Errors
    /// A `store.*` code if the store cannot answer.
    pub async fn artifacts(&self, at: Moment) -> Result<Vec<Artifact>, StoreRefusal> {
        let declared = self.rules.artifacts();
        let most = declared.artifacts.iter().map(history).max().unwrap_or_default();
        let mut all = self.store.view(&self.home, at, &declared.windows(), most).await?;
        all.retain(|artifact| declared.persisted(&artifact.tag).is_some());
        Ok(all)
    }

    /// One artifact, and a record in the log that `reader` has read it; `None` if it was never written.
    ///
    /// # Errors
    /// As [`artifacts`](Self::artifacts).
    pub async fn read(&self, reader: &str, tag: &str, at: Moment) -> Result<Option<Artifact>, StoreRefusal> {
        let declared = self.rules.artifacts().persisted(tag);
        let keep = declared.map_or(VersionWindow::LATEST, |artifact| artifact.keep);
        let found = self.store.artifact(&self.home, at, tag, keep, declared.map_or(0, history)).await?;
        let kind = declared.map(|a| a.kind.as_ref());
        let version = found.as_ref().map(|a| a.version);
        let record = json!({ "op": "read", "tag": tag, "kind": kind, "scope": "session", "pipeline": reader, "version": version });
        self.store.commit(&self.home, Batch { at, log: vec![record], ..Batch::default() }).await?;
        Ok(found)
    }

    /// Writes a new version, which was computed from the version `based_on`, and returns its number.
    ///
    /// # Errors
    /// [`SessionError::Refused`] if the rules or the base version refuse it: then nothing is changed, and the log has a
    /// record of it. [`SessionError::Store`] if the store cannot answer.
    pub async fn write(&self, writer: &str, tag: &str, based_on: Option<i64>, value: Json, at: Moment) -> Result<i64, SessionError> {
        let refusal = match self.rules.artifacts().may_write(writer, tag, &value) {
            Err(refusal) => refusal,
            Ok(_) => {
                let before = self.store.artifact(&self.home, at, tag, VersionWindow::LATEST, 0).await?;
                let write = self.write_of(writer, None, tag, based_on, value, before.as_ref().map(|a| &a.value));
                match self.store.commit(&self.home, Batch { at, writes: vec![write], ..Batch::default() }).await? {
                    CommitOutcome::Applied { versions, .. } => return Ok(versions.first().copied().unwrap_or_default()),
                    CommitOutcome::Conflict { latest, .. } => WriteRefusal::Conflict(latest),
                }
            }
        };
        let record = rejected(writer, tag, based_on, &refusal);
        self.store.commit(&self.home, Batch { at, log: vec![record], ..Batch::default() }).await?;
        Err(SessionError::Refused { tag: tag.to_owned(), writer: writer.to_owned(), refusal })
    }

    /// Adds a value to a run, and a record without the value to the log.
    ///
    /// # Errors
    /// As [`write`](Self::write), but for the base version, which such a value does not have.
    pub async fn write_run(&self, run: &mut RunArtifacts, writer: &str, artifact: RunArtifact, at: Moment) -> Result<(), SessionError> {
        let tag = artifact.tag.clone().unwrap_or_default();
        let record =
            json!({ "op": "write", "id": artifact.id, "tag": artifact.tag, "kind": artifact.kind, "scope": "run", "pipeline": writer });
        let written = run.write(self.rules.artifacts(), writer, artifact);
        let record = written.as_ref().map_or_else(|refusal| rejected(writer, &tag, None, refusal), |()| record);
        self.store.commit(&self.home, Batch { at, log: vec![record], ..Batch::default() }).await?;
        written.map_err(|refusal| SessionError::Refused { tag, writer: writer.to_owned(), refusal })
    }

    /// A write with its record for the log.
    fn write_of(
        &self,
        writer: &str,
        operation: Option<&str>,
        tag: &str,
        base: Option<i64>,
        value: Json,
        before: Option<&Json>,
    ) -> ArtifactWrite {
        let declared = self.rules.artifacts().persisted(tag);
        let changes = diff(declared.map_or_else(Default::default, |a| a.content_type), before, &value);
        let kind = declared.map(|a| a.kind.as_ref());
        let mut log = json!({ "op": "write", "tag": tag, "kind": kind, "scope": "session", "pipeline": writer, "basedOnVersion": base, "diff": changes });
        if let (Some(operation), Some(log)) = (operation, log.as_object_mut()) {
            log.insert("operation".to_owned(), operation.into());
        }
        let keep = declared.map_or(VersionWindow::LATEST, |a| a.keep);
        ArtifactWrite { tag: tag.to_owned(), based_on: base, value, keep, log }
    }

    /// Archives the versions that are outside of what the pack keeps of each artifact.
    ///
    /// # Errors
    /// As [`artifacts`](Self::artifacts).
    pub async fn prune(&self, at: Moment) -> Result<Vec<PrunedVersion>, StoreRefusal> {
        self.store.prune(&self.home, at, &self.rules.artifacts().windows()).await
    }

    /// What the pack shows of the artifacts: panels, feeds, overlays, items of the chat.
    ///
    /// # Errors
    /// As [`artifacts`](Self::artifacts).
    pub async fn projections(&self, at: Moment) -> Result<Vec<Projection>, StoreRefusal> {
        Ok(self.rules.artifacts().project(&self.artifacts(at).await?))
    }

    /// The stored versions of an artifact, as [`SessionStore::versions`].
    ///
    /// # Errors
    /// As [`artifacts`](Self::artifacts).
    pub async fn versions(&self, tag: &str, page: ListPage) -> Result<Vec<ArtifactVersion>, StoreRefusal> {
        self.store.versions(&self.home, tag, page).await
    }

    /// Archived versions, as [`SessionStore::archive`].
    ///
    /// # Errors
    /// As [`artifacts`](Self::artifacts).
    pub async fn archive(&self, tag: Option<&str>, page: ListPage) -> Result<Vec<ArchivedVersion>, StoreRefusal> {
        self.store.archive(&self.home, tag, page).await
    }

    /// The log, as [`SessionStore::log`].
    ///
    /// # Errors
    /// As [`artifacts`](Self::artifacts).
    pub async fn log(&self, page: ListPage) -> Result<Vec<LogRecord>, StoreRefusal> {
        self.store.log(&self.home, page).await
    }
}

/// How many values of history the row of an artifact asks for.
fn history(artifact: &DeclaredArtifact) -> u32 {
    artifact.keep.versions.map_or(USUAL_HISTORY.max(artifact.asks), |n| n.saturating_sub(1)).min(MAX_HISTORY)
}

/// The record of a refused write.
fn rejected(writer: &str, tag: &str, based_on: Option<i64>, refusal: &WriteRefusal) -> Json {
    let mut record = json!({ "op": "write_rejected", "tag": tag, "pipeline": writer, "basedOnVersion": based_on });
    if let Some(record) = record.as_object_mut() {
        record.extend(refusal.to_json());
    }
    record
}

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
    #[error("`{}` may not write artifact `{}` now: {}", head(.writer, limits::QUOTED), head(.tag, limits::QUOTED), reason(.refusal))]
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
