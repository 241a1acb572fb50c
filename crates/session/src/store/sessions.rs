//! What outlives a turn of a chat: the versions of its artifacts, the state of its rules, and the log of its steps.
//!
//! A store keeps values and the order of their versions. It does not know who may write a value or what it means: that
//! is checked before a write reaches it. All that one turn changes is one [`Batch`], which is applied completely or not
//! at all, and which names the version that each write was computed from. So of two writers who started from the same
//! version, one is refused.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value as Json;

use super::StoreRefusal;
use crate::artifact::{Artifact, VersionWindow};

/// What a store will answer. It does not depend on a runtime: whoever polls it decides.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreRefusal>> + Send + 'a>>;

/// The largest value of an artifact and the largest state of a session, in bytes of compact JSON (16 MiB).
pub const MAX_VALUE: usize = 16 << 20;

/// Whose artifacts, and of which session: a chat, or a branch of it. Both may be any text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Home {
    /// Who owns the session.
    pub owner: String,
    /// The session.
    pub session: String,
}

/// When something happens. The clock is the application's, never the machine's, and may go backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub now: i64,
    /// The number of the turn: one more for each message of the user.
    pub turn: i64,
}

/// A new version of an artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactWrite {
    /// The artifact.
    pub tag: String,
    /// The version that it was computed from; `None` if there was none.
    pub based_on: Option<i64>,
    /// The value.
    pub value: Json,
    /// How many versions are kept from now on; older ones go to the archive in the same transaction.
    pub keep: VersionWindow,
    /// What the log says about it: an object, to which the store adds `version`. Anything else becomes its field `record`.
    pub log: Json,
}

/// Whose sessions they are where nobody is named: those of a program for one user.
pub const LOCAL_OWNER: &str = "local";

/// Everything that one turn changes.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// When. A batch that only has records for the log does not change when the session was last written.
    pub at: Moment,
    /// Whether this batch ends the turn `at.turn`, so that [`SessionInfo::turns`] counts it.
    pub turn: bool,
    /// How many turns must be completed before; `None`: any number. If it is another one, nothing is applied, as by a conflict
    /// about the state.
    pub turns_before: Option<i64>,
    /// New versions, in this order. Several may be of one artifact, each based on the one before.
    pub writes: Vec<ArtifactWrite>,
    /// The state of the rules as a whole, if it changes.
    pub state: Option<Json>,
    /// The revision of the state that the new one was computed from; `None` if there was none. It is compared only if
    /// there is a new state.
    pub state_based_on: Option<i64>,
    /// Other records for the log, in front of those of the writes.
    pub log: Vec<Json>,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum CommitOutcome {
    /// It was applied.
    Applied {
        /// The version of each write, in their order.
        versions: Vec<i64>,
        /// The revision of the state, if it was changed.
        state: Option<i64>,
        /// What went to the archive.
        pruned: Vec<PrunedVersion>,
    },
    /// Nothing was applied, because somebody else has written this artifact since.
    Conflict {
        /// The artifact; `None` for the state.
        tag: Option<String>,
        /// Its latest version, or the revision of the state.
        latest: Option<i64>,
    },
}

/// Versions that were moved to the archive.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PrunedVersion {
    /// The artifact.
    pub tag: String,
    /// The versions, ascending.
    pub versions: Vec<i64>,
    /// Why: the first bound of the window that they did not meet.
    pub reason: PruneReason,
}

/// The bound of a [`VersionWindow`] that a version did not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PruneReason {
    /// There are enough newer versions.
    Versions,
    /// It is from an earlier turn.
    Turns,
    /// It is too old.
    Ttl,
}

impl PruneReason {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Versions => "versions",
            Self::Turns => "turns",
            Self::Ttl => "ttl",
        }
    }
}

/// One stored version.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactVersion {
    /// Its number, from 1.
    pub version: i64,
    /// The version that it was computed from.
    pub based_on: Option<i64>,
    /// When it was written.
    pub at: Moment,
    /// The value.
    pub value: Json,
}

/// A version in the archive.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedVersion {
    /// The artifact.
    pub tag: String,
    /// The version as it was.
    pub version: ArtifactVersion,
    /// When it was archived.
    pub archived: Moment,
    /// Why.
    pub reason: PruneReason,
}

/// A record of the log.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LogRecord {
    /// Its number within the session, ascending.
    pub seq: i64,
    /// When.
    pub at: Moment,
    /// What.
    pub record: Json,
}

/// The state of a session's rules.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionState {
    /// How often it was changed.
    pub revision: i64,
    /// The turn of the last change.
    pub at: Moment,
    /// The state.
    pub value: Json,
}

/// Everything of a session but its log.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionDump {
    /// The stored versions of each artifact, ascending; the last one is the latest.
    pub artifacts: Vec<(String, Vec<ArtifactVersion>)>,
    /// What was archived.
    pub archive: Vec<ArchivedVersion>,
    /// The state of the rules.
    pub state: Option<SessionState>,
    /// When the session was last written.
    pub at: Moment,
    /// The highest turn that was completed.
    pub turns: i64,
}

/// A session in a listing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SessionInfo {
    /// The session.
    pub home: Home,
    /// The number of its artifacts.
    pub artifacts: i64,
    /// When its artifacts or its state were last written, or a turn was completed; zero if that never happened.
    pub at: Moment,
    /// The highest turn that was completed; zero if none was.
    pub turns: i64,
}

/// A part of a long listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// Only what comes behind this number: a version, or a `seq` of the log. `0` for the beginning.
    pub after: i64,
    /// At most this many.
    pub limit: u32,
}

/// Storage of sessions. The two backends of the feature `store` implement it; an application may bring its own.
///
/// Every method fails with a `store.*` code if the backend cannot be reached, is full, or refuses.
pub trait SessionStore: Send + Sync {
    /// The artifacts of a session, sorted by tag, each with its history: of the newest `most` earlier versions, those that
    /// are within the window that `windows` gives to its tag. An artifact that it does not name has no history.
    /// Versions that are outside of their window are not shown, even before they are archived.
    fn view<'a>(&'a self, home: &'a Home, at: Moment, windows: &'a [(String, VersionWindow)], most: u32) -> StoreFuture<'a, Vec<Artifact>>;

    /// One artifact of a session, as [`view`](Self::view) shows it with this window; `None` if there is none of this tag.
    /// The values of other artifacts are not read, so that damage to one does not keep from the others.
    fn artifact<'a>(
        &'a self,
        home: &'a Home,
        at: Moment,
        tag: &'a str,
        window: VersionWindow,
        most: u32,
    ) -> StoreFuture<'a, Option<Artifact>>;

    /// Applies a batch completely or not at all. Versions that leave the window of a written artifact are archived in
    /// the same transaction, and each pruned artifact adds a record `{op: "prune", tag, versions, reason}` to the log, one
    /// for each reason. An empty batch changes nothing.
    fn commit<'a>(&'a self, home: &'a Home, batch: Batch) -> StoreFuture<'a, CommitOutcome>;

    /// Archives the versions that are outside of these windows.
    fn prune<'a>(&'a self, home: &'a Home, at: Moment, windows: &'a [(String, VersionWindow)]) -> StoreFuture<'a, Vec<PrunedVersion>>;

    /// The stored versions of an artifact, ascending, the latest included and the archived ones not.
    fn versions<'a>(&'a self, home: &'a Home, tag: &'a str, page: ListPage) -> StoreFuture<'a, Vec<ArtifactVersion>>;

    /// The archived versions of one artifact, or of all if `tag` is `None`, by the time of archiving. `page.after` is
    /// the number of records to pass over.
    fn archive<'a>(&'a self, home: &'a Home, tag: Option<&'a str>, page: ListPage) -> StoreFuture<'a, Vec<ArchivedVersion>>;

    /// The log, ascending.
    fn log<'a>(&'a self, home: &'a Home, page: ListPage) -> StoreFuture<'a, Vec<LogRecord>>;

    /// The state of a session's rules, if it has one.
    fn state<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, Option<SessionState>>;

    /// What is known of one session; `None` if there is none.
    fn info<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, Option<SessionInfo>>;

    /// Everything of a session, to be kept elsewhere; `None` if there is none. Read in one transaction.
    fn dump<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, Option<SessionDump>>;

    /// Puts back what [`dump`](Self::dump) gave, with the same version numbers, completely or not at all. Returns false,
    /// and changes nothing, if the session has anything but a log: an artifact, an archive, a state, or a completed turn.
    fn restore<'a>(&'a self, home: &'a Home, dump: SessionDump) -> StoreFuture<'a, bool>;

    /// The sessions of an owner, or of all owners, sorted. `page.after` is the number of sessions to pass over.
    fn sessions<'a>(&'a self, owner: Option<&'a str>, page: ListPage) -> StoreFuture<'a, Vec<SessionInfo>>;

    /// Removes a session with everything in it. Returns false if there is none.
    fn forget<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, bool>;
}
