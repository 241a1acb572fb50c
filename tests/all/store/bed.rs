//! A fresh store of one of the two databases, and shorthands for what tests do with it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::Path;

use serde_json::{Value as Json, json};
use tapster::diag::Code;
use tapster_session::store::{
    ArtifactWrite, Batch, CommitOutcome, Home, ListPage, Moment, SessionStore, SqlStore, StoreRefusal, VersionWindow, block_on,
};

use crate::store::postgres;
pub(crate) use crate::support::Folder;

/// A store and where it is.
pub(crate) struct Bed {
    pub(crate) store: SqlStore,
    pub(crate) address: String,
    _folder: Option<Folder>,
}

impl Bed {
    pub(crate) fn sqlite() -> Self {
        let folder = Folder::new("sql");
        let address = address_of(&folder.path("store.db"));
        Self { store: open(&address), address, _folder: Some(folder) }
    }

    /// `None` where PostgreSQL is not installed.
    pub(crate) fn postgres() -> Option<Self> {
        let address = postgres::shared()?.database();
        Some(Self { store: open(&address), address, _folder: None })
    }

    /// A store of each database.
    pub(crate) fn each() -> Vec<Self> {
        [Some(Self::sqlite()), Self::postgres()].into_iter().flatten().collect()
    }
}

pub(crate) fn address_of(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

#[track_caller]
pub(crate) fn open(address: &str) -> SqlStore {
    block_on(SqlStore::open(address)).unwrap()
}

pub(crate) fn home(owner: &str, session: &str) -> Home {
    Home { owner: owner.to_owned(), session: session.to_owned() }
}

pub(crate) fn at(now: i64, turn: i64) -> Moment {
    Moment { now, turn }
}

pub(crate) const ALL: ListPage = ListPage { after: 0, limit: 1_000_000 };

pub(crate) const KEEP: VersionWindow = VersionWindow { versions: None, turns: None, ttl: None };

pub(crate) fn write(tag: &str, based_on: Option<i64>, value: Json, keep: VersionWindow) -> ArtifactWrite {
    ArtifactWrite { tag: tag.to_owned(), based_on, value, keep, log: json!({ "op": "write", "tag": tag }) }
}

/// Writes one value, which must be accepted, and returns its version.
#[track_caller]
pub(crate) fn put(store: &SqlStore, home: &Home, at: Moment, write: ArtifactWrite) -> i64 {
    match block_on(store.commit(home, Batch { at, writes: vec![write], ..Batch::default() })).unwrap() {
        CommitOutcome::Applied { versions, .. } => *versions.first().unwrap(),
        conflict @ CommitOutcome::Conflict { .. } => unreachable!("{conflict:?}"),
    }
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, StoreRefusal>, code: Code) -> String {
    let complaint = result.unwrap_err();
    assert_eq!(complaint.code, code, "{}", complaint.message);
    assert!(complaint.help.is_some());
    assert!(!complaint.message.contains("hush-hush"), "{}", complaint.message);
    complaint.message.clone()
}
