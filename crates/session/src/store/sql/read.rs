//! What is read of sessions, and a session as a whole: exporting and restoring it. Each function that reads is one statement, and so
//! sees one state of the database.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::address::SqlDialect;
use super::commit::bounds;
use super::schema::{artifact_key, head, home_key, text_of, value_of};
use super::{DatabaseFault, refused};
use crate::diag::Code;
use crate::store::{
    ArchivedVersion, Artifact, ArtifactVersion, Home, ListPage, LogRecord, Moment, PruneReason, SessionDump, SessionInfo, SessionState,
    StoreRefusal, VersionWindow,
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
fn version_of(row: &AnyRow, first: usize) -> Result<ArtifactVersion, DatabaseFault> {
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
fn archived_of(row: &AnyRow) -> Result<ArchivedVersion, DatabaseFault> {
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

/// A session, by its names and by its key.
pub(super) struct SessionKey<'a> {
    pub(super) home: &'a Home,
    pub(super) key: String,
}

pub(super) async fn info(conn: &mut AnyConnection, wanted: &SessionKey<'_>) -> Result<Option<SessionInfo>, DatabaseFault> {
    let sql = "SELECT at_ms, turn, played, (SELECT COUNT(*) FROM tapster_heads h WHERE h.home = s.home) \
               FROM tapster_sessions s WHERE s.home = $1";
    let Some(row) = sqlx::query(sql).bind(wanted.key.clone()).fetch_optional(conn).await? else { return Ok(None) };
    let at = Moment { now: row.try_get(0)?, turn: row.try_get(1)? };
    Ok(Some(SessionInfo { home: wanted.home.clone(), artifacts: row.try_get(3)?, at, turns: row.try_get(2)? }))
}

pub(super) async fn dump(conn: &mut AnyConnection, wanted: &SessionKey<'_>) -> Result<Option<SessionDump>, DatabaseFault> {
    let Some(SessionInfo { at, turns, .. }) = info(conn, wanted).await? else { return Ok(None) };
    let mut artifacts: Vec<(String, Vec<ArtifactVersion>)> = Vec::new();
    let sql = "SELECT h.tag, v.version, v.based_on, v.at_ms, v.turn, v.value FROM tapster_heads h \
               JOIN tapster_versions v ON v.artifact = h.artifact WHERE h.home = $1 ORDER BY h.artifact, v.version";
    for row in sqlx::query(sql).bind(wanted.key.clone()).fetch_all(&mut *conn).await? {
        let tag: String = row.try_get(0)?;
        let version = version_of(&row, 1)?;
        match artifacts.last_mut() {
            Some((last, versions)) if *last == tag => versions.push(version),
            _ => artifacts.push((tag, vec![version])),
        }
    }
    artifacts.sort_by(|a, b| a.0.cmp(&b.0));
    let sql = "SELECT tag, archived_ms, archived_turn, reason, version, based_on, at_ms, turn, value FROM tapster_archive \
               WHERE home = $1 ORDER BY record, version";
    let rows = sqlx::query(sql).bind(wanted.key.clone()).fetch_all(&mut *conn).await?;
    let archive = rows.iter().map(archived_of).collect::<Result<_, _>>()?;
    let state = state(conn, &wanted.key).await?;
    Ok(Some(SessionDump { artifacts, archive, state, at, turns }))
}

/// An artifact: its key, its tag, and its versions with their values as text.
type RestoredArtifact<'a> = (String, &'a str, Vec<(&'a ArtifactVersion, String)>);

/// A dump whose names, numbers and values fit together.
pub(super) struct RestoredDump<'a> {
    home: &'a Home,
    key: String,
    at: Moment,
    turns: i64,
    artifacts: Vec<RestoredArtifact<'a>>,
    /// Artifact, and what was archived with its value as text.
    archive: Vec<(String, &'a ArchivedVersion, String)>,
    state: Option<(&'a SessionState, String)>,
}

/// The largest number of a version, a revision or a turn (2^53): there is room behind it, and every program can read it.
const MAX_NUMBER: i64 = 1 << 53;

/// Checks the number of a version and the one that it is based on.
fn numbered(tag: &str, version: &ArtifactVersion) -> Result<(), StoreRefusal> {
    let number = version.version;
    let of = || format!("version {number} of `{}`", head(tag));
    if !(1..=MAX_NUMBER).contains(&number) {
        return Err(unfit(format!("{} is not a number from 1 to 2^53", of())));
    }
    if let Some(base) = version.based_on.filter(|base| !(1..number).contains(base)) {
        return Err(unfit(format!("{} is based on version {base}, which is not an earlier one", of())));
    }
    timed(version.at, &of)
}

/// Checks the turn of a moment.
fn timed(at: Moment, of: &dyn Fn() -> String) -> Result<(), StoreRefusal> {
    if (-MAX_NUMBER..=MAX_NUMBER).contains(&at.turn) {
        return Ok(());
    }
    Err(unfit(format!("the turn of {} is {}, which is beyond 2^53", of(), at.turn)))
}

impl<'a> RestoredDump<'a> {
    pub(super) fn new(home: &'a Home, dump: &'a SessionDump) -> Result<Self, StoreRefusal> {
        let key = home_key(home)?;
        timed(dump.at, &|| "the session".to_owned())?;
        if !(0..=MAX_NUMBER).contains(&dump.turns) {
            return Err(unfit(format!("the number of turns is {}, and not a number from 0 to 2^53", dump.turns)));
        }
        let mut heads = HashMap::new();
        let mut seen = HashSet::new();
        let mut artifacts = Vec::with_capacity(dump.artifacts.len());
        for (tag, versions) in &dump.artifacts {
            let artifact = artifact_key(&key, tag)?;
            let Some(last) = versions.last() else {
                return Err(unfit(format!("`{}` has no version", head(tag))));
            };
            if !versions.windows(2).all(|pair| matches!(pair, [a, b] if a.version < b.version)) {
                return Err(unfit(format!("the versions of `{}` are not in ascending order, each once", head(tag))));
            }
            if heads.insert(artifact.clone(), last.version).is_some() {
                return Err(unfit(format!("`{}` is there twice", head(tag))));
            }
            let mut texts = Vec::with_capacity(versions.len());
            for version in versions {
                numbered(tag, version)?;
                seen.insert((artifact.clone(), version.version));
                texts.push((version, text_of(&version.value, &|| format!("the value of `{tag}`"))?));
            }
            artifacts.push((artifact, tag.as_str(), texts));
        }
        let mut archive = Vec::with_capacity(dump.archive.len());
        for archived in &dump.archive {
            let artifact = artifact_key(&key, &archived.tag)?;
            let number = archived.version.version;
            let of = || format!("version {number} of `{}`", head(&archived.tag));
            let Some(latest) = heads.get(&artifact) else {
                return Err(unfit(format!("{} is in the archive, and the artifact is not there", of())));
            };
            if number >= *latest {
                return Err(unfit(format!("{} is in the archive, and the latest version is {latest}", of())));
            }
            if !seen.insert((artifact.clone(), number)) {
                return Err(unfit(format!("{} is there twice", of())));
            }
            numbered(&archived.tag, &archived.version)?;
            timed(archived.archived, &|| format!("the archiving of {}", of()))?;
            let text = text_of(&archived.version.value, &|| format!("an archived value of `{}`", archived.tag))?;
            archive.push((artifact, archived, text));
        }
        let state = match &dump.state {
            Some(state) if !(1..=MAX_NUMBER).contains(&state.revision) => {
                return Err(unfit(format!("the revision of the state is {}, and not a number from 1 to 2^53", state.revision)));
            }
            Some(state) => {
                timed(state.at, &|| "the state".to_owned())?;
                Some((state, text_of(&state.value, &|| "the state of the session".to_owned())?))
            }
            None => None,
        };
        Ok(Self { home, key, at: dump.at, turns: dump.turns, artifacts, archive, state })
    }
}

fn unfit(message: String) -> StoreRefusal {
    refused(Code::StoreDamaged, format!("the dump of the session is not sound: {message}"), "restore a dump that was not changed")
}

/// Puts a session back. Returns false if there is one already that has more than a log.
pub(super) async fn restore(conn: &mut AnyConnection, dump: &RestoredDump<'_>) -> Result<bool, DatabaseFault> {
    // an update that changes nothing locks the row
    let sql = "INSERT INTO tapster_sessions AS s (home, owner, session, records, at_ms, turn, played) \
               VALUES ($1, $2, $3, 0, 0, 0, 0) ON CONFLICT (home) DO UPDATE SET records = s.records RETURNING records, played";
    let query = sqlx::query(sql).bind(dump.key.clone()).bind(dump.home.owner.clone()).bind(dump.home.session.clone());
    let row = query.fetch_one(&mut *conn).await?;
    let (records, played): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let sql = "SELECT (SELECT COUNT(*) FROM tapster_heads WHERE home = $1) + (SELECT COUNT(*) FROM tapster_archive WHERE home = $1) \
               + (SELECT COUNT(*) FROM tapster_states WHERE home = $1)";
    let there: i64 = sqlx::query(sql).bind(dump.key.clone()).fetch_one(&mut *conn).await?.try_get(0)?;
    if there > 0 || played > 0 {
        return Ok(false);
    }
    // the log is not part of a dump; new records come behind those that archived the versions
    let archived = i64::try_from(dump.archive.len()).unwrap_or(i64::MAX);
    let sql = "UPDATE tapster_sessions SET records = $2, at_ms = $3, turn = $4, played = $5 WHERE home = $1";
    let query = sqlx::query(sql).bind(dump.key.clone()).bind(records.saturating_add(archived));
    query.bind(dump.at.now).bind(dump.at.turn).bind(dump.turns).execute(&mut *conn).await?;
    for (artifact, tag, versions) in &dump.artifacts {
        let Some((head, _)) = versions.last() else { continue };
        let sql = "INSERT INTO tapster_heads (artifact, home, tag, version) VALUES ($1, $2, $3, $4)";
        let query = sqlx::query(sql).bind(artifact.clone()).bind(dump.key.clone()).bind((*tag).to_owned()).bind(head.version);
        query.execute(&mut *conn).await?;
        for (version, value) in versions {
            let sql = "INSERT INTO tapster_versions (artifact, version, based_on, at_ms, turn, value) VALUES ($1, $2, $3, $4, $5, $6)";
            let query = sqlx::query(sql).bind(artifact.clone()).bind(version.version).bind(version.based_on);
            query.bind(version.at.now).bind(version.at.turn).bind(value.clone()).execute(&mut *conn).await?;
        }
    }
    for (record, (artifact, archived, value)) in (records + 1..).zip(&dump.archive) {
        let sql = "INSERT INTO tapster_archive (artifact, version, home, tag, based_on, at_ms, turn, value, record, archived_ms, \
                   archived_turn, reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let version = &archived.version;
        let query = sqlx::query(sql).bind(artifact.clone()).bind(version.version).bind(dump.key.clone()).bind(archived.tag.clone());
        let query = query.bind(version.based_on).bind(version.at.now).bind(version.at.turn).bind(value.clone()).bind(record);
        let query = query.bind(archived.archived.now).bind(archived.archived.turn).bind(archived.reason.word().to_owned());
        query.execute(&mut *conn).await?;
    }
    if let Some((state, value)) = &dump.state {
        let sql = "INSERT INTO tapster_states (home, revision, at_ms, turn, value) VALUES ($1, $2, $3, $4, $5)";
        let query = sqlx::query(sql).bind(dump.key.clone()).bind(state.revision).bind(state.at.now).bind(state.at.turn);
        query.bind(value.clone()).execute(&mut *conn).await?;
    }
    Ok(true)
}
