//! A session as a whole: what is known of it, everything in it, and putting it back. Each function is the inside of one
//! transaction.

use std::collections::{HashMap, HashSet};

use sqlx::{AnyConnection, Row};

use super::fault::{DatabaseFault, refused};
use super::names::{artifact_key, head, home_key, text_of};
use super::read::{archived_of, state, version_of};
use crate::diag::Code;
use crate::store::{ArchivedVersion, ArtifactVersion, Home, Moment, SessionDump, SessionInfo, SessionState, StoreRefusal};

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
