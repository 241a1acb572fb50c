//! What is read of sessions. Each function is one statement, and so sees one state of the database.

use std::collections::HashMap;

use serde_json::Value as Json;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::address::SqlDialect;
use super::commit::bounds;
use super::fault::{DatabaseFault, refused};
use super::names::{artifact_key, home_key, value_of};
use crate::diag::Code;
use crate::store::{
    ArchivedVersion, Artifact, ArtifactVersion, Home, ListPage, LogRecord, Moment, PruneReason, SessionInfo, SessionState, StoreRefusal,
    VersionWindow,
};

/// A view of a session: what the statement binds, and the windows by tag.
pub(super) struct SessionView {
    /// The session, or the one artifact that is wanted.
    of: ViewScope,
    at: Moment,
    most: u32,
    /// No window holds more versions than this, the latest included.
    reach: i64,
    windows: HashMap<String, VersionWindow>,
}

/// What a view is of, by its key.
enum ViewScope {
    Session(String),
    Artifact(String),
}

impl SessionView {
    /// A view of one artifact.
    pub(super) fn one(home: &Home, at: Moment, (tag, window): (&str, VersionWindow), most: u32) -> Result<Self, StoreRefusal> {
        let of = ViewScope::Artifact(artifact_key(&home_key(home)?, tag)?);
        Ok(Self { of, ..Self::new(home, at, &[(tag.to_owned(), window)], most)? })
    }

    pub(super) fn new(home: &Home, at: Moment, windows: &[(String, VersionWindow)], most: u32) -> Result<Self, StoreRefusal> {
        let key = home_key(home)?;
        for (tag, _) in windows {
            artifact_key(&key, tag)?;
        }
        let reach = windows.iter().map(|(_, window)| window.versions.map_or(i64::MAX, i64::from)).max().unwrap_or(1);
        // one without history looks nothing up
        let most = if reach <= 1 { 0 } else { most };
        Ok(Self { of: ViewScope::Session(key), at, most, reach, windows: windows.iter().cloned().collect() })
    }

    /// The values of earlier versions that are within the window of an artifact, ascending. `earlier` are versions with
    /// their turn, time and value, in any order.
    fn history(&self, tag: &str, head: i64, mut earlier: Vec<(i64, i64, i64, Json)>) -> Vec<Json> {
        let Some(window) = self.windows.get(tag) else { return Vec::new() };
        earlier.sort_by_key(|(version, ..)| *version);
        let out: Vec<(PruneReason, i64)> = bounds(*window, head, self.at).collect();
        let inside = |version: i64, turn: i64, at: i64| {
            out.iter().all(|(reason, last)| match reason {
                PruneReason::Versions => version > *last,
                PruneReason::Turns => turn > *last,
                PruneReason::Ttl => at > *last,
            })
        };
        earlier.into_iter().filter(|(version, turn, at, _)| inside(*version, *turn, *at)).map(|(.., value)| value).collect()
    }
}

/// One row an artifact. Its history is put together by the database, because a row costs much more than the text in it:
/// a list of `[version, turn, time, value]`, which is sorted here, because the database would need a sorter for each row.
/// Each of the statements has always the same text, so it is prepared once.
macro_rules! view {
    ($history:expr, $condition:literal) => {
        concat!(
            "SELECT h.tag, h.version, v.value, ",
            $history,
            " FROM tapster_heads h JOIN tapster_versions v ON v.artifact = h.artifact AND v.version = h.version WHERE ",
            $condition
        )
    };
}

/// The earlier versions of an artifact; turn and time only where a window needs them.
macro_rules! history {
    ($version:literal) => {
        concat!(
            "(SELECT string_agg('[' || ",
            $version,
            " || x.value || ']', ',') FROM (SELECT p.version, p.turn, p.at_ms, p.value FROM tapster_versions p WHERE p.artifact = h.artifact \
             AND p.version < h.version AND p.version > h.version - $2 ORDER BY p.version DESC LIMIT $3) x)"
        )
    };
}

pub(super) async fn view(conn: &mut AnyConnection, view: &SessionView) -> Result<Vec<Artifact>, DatabaseFault> {
    let timed = view.windows.values().any(|window| window.turns.is_some() || window.ttl.is_some());
    let (sql, key) = match (&view.of, view.most, timed) {
        (ViewScope::Session(key), 0, _) => (view!("CAST(NULL AS TEXT)", "h.home = $1"), key),
        (ViewScope::Artifact(key), 0, _) => (view!("CAST(NULL AS TEXT)", "h.artifact = $1"), key),
        (ViewScope::Session(key), _, false) => (view!(history!("x.version || ',0,0,'"), "h.home = $1"), key),
        (ViewScope::Artifact(key), _, false) => (view!(history!("x.version || ',0,0,'"), "h.artifact = $1"), key),
        (ViewScope::Session(key), ..) => (view!(history!("x.version || ',' || x.turn || ',' || x.at_ms || ','"), "h.home = $1"), key),
        (ViewScope::Artifact(key), ..) => (view!(history!("x.version || ',' || x.turn || ',' || x.at_ms || ','"), "h.artifact = $1"), key),
    };
    let query = sqlx::query(sql).bind(key.clone());
    let query = if view.most == 0 { query } else { query.bind(view.reach).bind(i64::from(view.most)) };
    let mut artifacts = Vec::new();
    for row in query.fetch_all(conn).await? {
        let tag: String = row.try_get(0)?;
        let of = || format!("the value of `{tag}`");
        let (version, value) = (row.try_get(1)?, value_of(row.try_get(2)?, &of)?);
        let history = match row.try_get::<Option<String>, _>(3)? {
            Some(earlier) => view.history(&tag, version, value_of(&format!("[{earlier}]"), &of)?),
            None => Vec::new(),
        };
        artifacts.push(Artifact { tag, version, value, history });
    }
    // each database sorts texts in its own way
    artifacts.sort_by(|a, b| a.tag.cmp(&b.tag));
    Ok(artifacts)
}

/// A part of the versions of an artifact, or of the log of a session.
pub(super) struct VersionsPart {
    key: String,
    page: ListPage,
}

impl VersionsPart {
    pub(super) fn versions(home: &Home, tag: &str, page: ListPage) -> Result<Self, StoreRefusal> {
        Ok(Self { key: artifact_key(&home_key(home)?, tag)?, page })
    }

    pub(super) fn log(home: &Home, page: ListPage) -> Result<Self, StoreRefusal> {
        Ok(Self { key: home_key(home)?, page })
    }
}

pub(super) async fn versions(conn: &mut AnyConnection, part: &VersionsPart) -> Result<Vec<ArtifactVersion>, DatabaseFault> {
    let sql = "SELECT version, based_on, at_ms, turn, value FROM tapster_versions WHERE artifact = $1 AND version > $2 \
               ORDER BY version LIMIT $3";
    let query = sqlx::query(sql).bind(part.key.clone()).bind(part.page.after).bind(i64::from(part.page.limit));
    query.fetch_all(conn).await?.iter().map(|row| version_of(row, 0)).collect()
}

/// A version: number, base, time, turn and value, from this column on.
pub(super) fn version_of(row: &AnyRow, first: usize) -> Result<ArtifactVersion, DatabaseFault> {
    let version: i64 = row.try_get(first)?;
    Ok(ArtifactVersion {
        version,
        based_on: row.try_get(first + 1)?,
        at: Moment { now: row.try_get(first + 2)?, turn: row.try_get(first + 3)? },
        value: value_of(row.try_get(first + 4)?, &|| format!("version {version}"))?,
    })
}

pub(super) async fn log(conn: &mut AnyConnection, part: &VersionsPart) -> Result<Vec<LogRecord>, DatabaseFault> {
    let sql = "SELECT seq, at_ms, turn, record FROM tapster_log WHERE home = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let query = sqlx::query(sql).bind(part.key.clone()).bind(part.page.after).bind(i64::from(part.page.limit));
    let mut log = Vec::new();
    for row in query.fetch_all(conn).await? {
        let seq: i64 = row.try_get(0)?;
        let record = value_of(row.try_get(3)?, &|| format!("record {seq} of the log"))?;
        log.push(LogRecord { seq, at: Moment { now: row.try_get(1)?, turn: row.try_get(2)? }, record });
    }
    Ok(log)
}

/// A part of the archive of a session.
pub(super) struct ArchivePart {
    home: String,
    artifact: Option<String>,
    page: ListPage,
}

impl ArchivePart {
    pub(super) fn new(home: &Home, tag: Option<&str>, page: ListPage) -> Result<Self, StoreRefusal> {
        let home = home_key(home)?;
        let artifact = tag.map(|tag| artifact_key(&home, tag)).transpose()?;
        Ok(Self { home, artifact, page })
    }
}

pub(super) async fn archive(conn: &mut AnyConnection, part: &ArchivePart) -> Result<Vec<ArchivedVersion>, DatabaseFault> {
    macro_rules! statement {
        ($condition:literal) => {
            concat!(
                "SELECT tag, archived_ms, archived_turn, reason, version, based_on, at_ms, turn, value FROM tapster_archive WHERE ",
                $condition,
                " ORDER BY record, version LIMIT $2 OFFSET $3"
            )
        };
    }
    let query = match &part.artifact {
        None => sqlx::query(statement!("home = $1")).bind(part.home.clone()),
        Some(artifact) => sqlx::query(statement!("artifact = $1")).bind(artifact.clone()),
    };
    let query = query.bind(i64::from(part.page.limit)).bind(part.page.after.max(0));
    query.fetch_all(conn).await?.iter().map(archived_of).collect()
}

/// A record of the archive: tag, time, turn, reason, and the five columns of a version.
pub(super) fn archived_of(row: &AnyRow) -> Result<ArchivedVersion, DatabaseFault> {
    let tag: String = row.try_get(0)?;
    let word: String = row.try_get(3)?;
    let reason = [PruneReason::Versions, PruneReason::Turns, PruneReason::Ttl].into_iter().find(|reason| reason.word() == word);
    let Some(reason) = reason else {
        let message = format!("the archive of `{tag}` has the reason `{word}`, which is none");
        return Err(refused(Code::StoreDamaged, message, "restore a backup, or write one of versions, turns, ttl").into());
    };
    let archived = Moment { now: row.try_get(1)?, turn: row.try_get(2)? };
    Ok(ArchivedVersion { tag, version: version_of(row, 4)?, archived, reason })
}

pub(super) async fn state(conn: &mut AnyConnection, home: &str) -> Result<Option<SessionState>, DatabaseFault> {
    let sql = "SELECT revision, at_ms, turn, value FROM tapster_states WHERE home = $1";
    let Some(row) = sqlx::query(sql).bind(home.to_owned()).fetch_optional(conn).await? else { return Ok(None) };
    let value = value_of(row.try_get(3)?, &|| "the state of the session".to_owned())?;
    Ok(Some(SessionState { revision: row.try_get(0)?, at: Moment { now: row.try_get(1)?, turn: row.try_get(2)? }, value }))
}

/// A part of the list of sessions.
pub(super) struct SessionsPart<'a> {
    pub(super) dialect: SqlDialect,
    pub(super) owner: Option<&'a str>,
    pub(super) page: ListPage,
}

pub(super) async fn sessions(conn: &mut AnyConnection, part: &SessionsPart<'_>) -> Result<Vec<SessionInfo>, DatabaseFault> {
    // sorted by bytes, whatever the language of the database
    macro_rules! statement {
        ($condition:literal, $bytes:literal) => {
            concat!(
                "SELECT s.owner, s.session, s.at_ms, s.turn, s.played, (SELECT COUNT(*) FROM tapster_heads h WHERE h.home = s.home) \
                 FROM tapster_sessions s WHERE ",
                $condition,
                " ORDER BY s.owner COLLATE ",
                $bytes,
                ", s.session COLLATE ",
                $bytes,
                " LIMIT $2 OFFSET $3"
            )
        };
    }
    let sql = match (part.dialect, part.owner.is_some()) {
        (SqlDialect::Sqlite, true) => statement!("s.owner = $1", "BINARY"),
        (SqlDialect::Sqlite, false) => statement!("$1 = ''", "BINARY"),
        (SqlDialect::Postgres, true) => statement!("s.owner = $1", "\"C\""),
        (SqlDialect::Postgres, false) => statement!("$1 = ''", "\"C\""),
    };
    let query = sqlx::query(sql).bind(part.owner.unwrap_or_default().to_owned());
    let mut sessions = Vec::new();
    for row in query.bind(i64::from(part.page.limit)).bind(part.page.after.max(0)).fetch_all(conn).await? {
        let home = Home { owner: row.try_get(0)?, session: row.try_get(1)? };
        let at = Moment { now: row.try_get(2)?, turn: row.try_get(3)? };
        sessions.push(SessionInfo { home, artifacts: row.try_get(5)?, at, turns: row.try_get(4)? });
    }
    Ok(sessions)
}
