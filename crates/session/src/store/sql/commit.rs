//! What changes a session: a batch of writes, pruning, and removal; and templates, under the same names as in a folder. Each
//! function is the inside of one transaction.
//!
//! The first statement of each that changes a session locks its row, so that transactions of one session take turns and those
//! of different sessions do not wait for each other. Whether a base is stale is decided by the statement that writes.

use serde_json::{Map, Value as Json, json};
use sqlx::{AnyConnection, Row};

use super::schema::{artifact_key, bounded, home_key, text_of};
use super::{DatabaseFault, refused};
use crate::diag::Code;
use crate::store::{
    Batch, Home, MAX_TEMPLATE, Moment, PruneReason, PrunedVersion, StoreListing, StoreRefusal, StoredTemplate, VersionWindow,
};

/// A batch whose names and values are within their bounds.
pub(super) struct CheckedBatch<'a> {
    home: &'a Home,
    key: String,
    at: Moment,
    turn: bool,
    turns_before: Option<i64>,
    writes: Vec<CheckedWrite<'a>>,
    state: Option<String>,
    state_based_on: Option<i64>,
    log: Vec<String>,
}

struct CheckedWrite<'a> {
    tag: &'a str,
    artifact: String,
    based_on: Option<i64>,
    value: String,
    keep: VersionWindow,
    log: &'a Json,
}

/// What a commit did: versions, revision of the state, pruned versions.
type CommitResult = (Vec<i64>, Option<i64>, Vec<PrunedVersion>);

impl<'a> CheckedBatch<'a> {
    /// Checks a batch before anything reaches the database.
    pub(super) fn new(home: &'a Home, batch: &'a Batch) -> Result<Self, StoreRefusal> {
        let key = home_key(home)?;
        let mut writes = Vec::with_capacity(batch.writes.len());
        for write in &batch.writes {
            let artifact = artifact_key(&key, &write.tag)?;
            let value = text_of(&write.value, &|| format!("the value of `{}`", write.tag))?;
            text_of(&write.log, &|| format!("the log of a write to `{}`", write.tag))?;
            writes.push(CheckedWrite { tag: &write.tag, artifact, based_on: write.based_on, value, keep: write.keep, log: &write.log });
        }
        let state = batch.state.as_ref().map(|state| text_of(state, &|| "the state of the session".to_owned())).transpose()?;
        let log = batch.log.iter().map(|record| text_of(record, &|| "a record of the log".to_owned())).collect::<Result<_, _>>()?;
        Ok(Self {
            home,
            key,
            at: batch.at,
            turn: batch.turn,
            turns_before: batch.turns_before,
            writes,
            state,
            state_based_on: batch.state_based_on,
            log,
        })
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_change() && self.log.is_empty()
    }

    /// Whether there is more than records for the log.
    fn is_change(&self) -> bool {
        self.turn || !self.writes.is_empty() || self.state.is_some()
    }
}

/// Applies a batch.
pub(super) async fn commit(conn: &mut AnyConnection, batch: &CheckedBatch<'_>) -> Result<CommitResult, DatabaseFault> {
    let records = batch.log.len() + batch.writes.len();
    // a record of the log is numbered by this row, but says nothing about when the session was written
    let changed = i64::from(batch.is_change());
    let at = if batch.is_change() { batch.at } else { Moment::default() };
    let sql = "INSERT INTO tapster_sessions AS s (home, owner, session, records, at_ms, turn, played) \
               VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (home) DO UPDATE SET records = s.records + excluded.records, \
               at_ms = CASE WHEN $8 > 0 THEN excluded.at_ms ELSE s.at_ms END, \
               turn = CASE WHEN $8 > 0 THEN excluded.turn ELSE s.turn END, \
               played = CASE WHEN excluded.played > s.played THEN excluded.played ELSE s.played END \
               WHERE $9 < 0 OR s.played = $9 RETURNING records";
    let row = sqlx::query(sql)
        .bind(batch.key.clone())
        .bind(batch.home.owner.clone())
        .bind(batch.home.session.clone())
        .bind(number(records))
        .bind(at.now)
        .bind(at.turn)
        .bind(if batch.turn { batch.at.turn.max(0) } else { 0 })
        .bind(changed)
        .bind(batch.turns_before.unwrap_or(-1))
        .fetch_optional(&mut *conn)
        .await?;
    let Some(row) = row else { return Err(DatabaseFault::Conflict { tag: None, latest: None }) };
    let last: i64 = row.try_get(0)?;
    let mut log = SessionLog { home: &batch.key, at: batch.at, next: last - number(records) + 1 };
    for record in &batch.log {
        log.add(conn, record.clone()).await?;
    }
    let mut versions = Vec::with_capacity(batch.writes.len());
    for write in &batch.writes {
        let version = put_version(conn, batch, write).await?;
        versions.push(version);
        log.add(conn, record_of(write.log, version).to_string()).await?;
    }
    let mut pruned = Vec::new();
    for (at, (write, version)) in batch.writes.iter().zip(&versions).enumerate() {
        // of several writes to one artifact, the last says how many versions are kept
        if !batch.writes.iter().skip(at + 1).any(|later| later.artifact == write.artifact) {
            prune_one(conn, &mut log, &write.artifact, write.tag, *version, write.keep, &mut pruned).await?;
        }
    }
    // behind the artifacts, because a conflict about one of them says more
    let state = put_state(conn, batch).await?;
    log.close(conn, last).await?;
    Ok((versions, state, pruned))
}

/// Stores the state if it changes, and returns its revision.
async fn put_state(conn: &mut AnyConnection, batch: &CheckedBatch<'_>) -> Result<Option<i64>, DatabaseFault> {
    let Some(state) = &batch.state else { return Ok(None) };
    let (changed, revision) = match batch.state_based_on {
        None => {
            let sql =
                "INSERT INTO tapster_states (home, revision, at_ms, turn, value) VALUES ($1, 1, $2, $3, $4) ON CONFLICT (home) DO NOTHING";
            (sqlx::query(sql).bind(batch.key.clone()).bind(batch.at.now).bind(batch.at.turn).bind(state.clone()), 1)
        }
        Some(base) => {
            let sql =
                "UPDATE tapster_states SET revision = revision + 1, at_ms = $2, turn = $3, value = $4 WHERE home = $1 AND revision = $5";
            let query = sqlx::query(sql).bind(batch.key.clone()).bind(batch.at.now).bind(batch.at.turn).bind(state.clone()).bind(base);
            (query, base.saturating_add(1))
        }
    };
    if changed.execute(&mut *conn).await?.rows_affected() == 1 {
        return Ok(Some(revision));
    }
    let row = sqlx::query("SELECT revision FROM tapster_states WHERE home = $1").bind(batch.key.clone()).fetch_optional(&mut *conn).await?;
    let latest = row.map(|row| row.try_get(0)).transpose()?;
    Err(DatabaseFault::Conflict { tag: None, latest })
}

/// Stores a new version, unless its base is not the latest.
async fn put_version(conn: &mut AnyConnection, batch: &CheckedBatch<'_>, write: &CheckedWrite<'_>) -> Result<i64, DatabaseFault> {
    let artifact = || write.artifact.clone();
    let (changed, version) = match write.based_on {
        None => {
            let sql = "INSERT INTO tapster_heads (artifact, home, tag, version) VALUES ($1, $2, $3, 1) ON CONFLICT (artifact) DO NOTHING";
            (sqlx::query(sql).bind(artifact()).bind(batch.key.clone()).bind(write.tag.to_owned()), 1)
        }
        Some(base) => {
            let sql = "UPDATE tapster_heads SET version = version + 1 WHERE artifact = $1 AND version = $2";
            (sqlx::query(sql).bind(artifact()).bind(base), base.saturating_add(1))
        }
    };
    if changed.execute(&mut *conn).await?.rows_affected() != 1 {
        let row = sqlx::query("SELECT version FROM tapster_heads WHERE artifact = $1").bind(artifact()).fetch_optional(&mut *conn).await?;
        let latest = row.map(|row| row.try_get(0)).transpose()?;
        return Err(DatabaseFault::Conflict { tag: Some(write.tag.to_owned()), latest });
    }
    let sql = "INSERT INTO tapster_versions (artifact, version, based_on, at_ms, turn, value) VALUES ($1, $2, $3, $4, $5, $6)";
    sqlx::query(sql)
        .bind(artifact())
        .bind(version)
        .bind(write.based_on)
        .bind(batch.at.now)
        .bind(batch.at.turn)
        .bind(write.value.clone())
        .execute(&mut *conn)
        .await?;
    Ok(version)
}

/// The record of a write: what the caller says about it, and its version.
fn record_of(said: &Json, version: i64) -> Json {
    let mut record = match said {
        Json::Object(fields) => fields.clone(),
        Json::Null => Map::new(),
        other => Map::from_iter([("record".to_owned(), other.clone())]),
    };
    record.insert("version".to_owned(), json!(version));
    Json::Object(record)
}

/// The log of a session whose row is locked: numbers without gaps.
struct SessionLog<'a> {
    home: &'a str,
    at: Moment,
    next: i64,
}

impl SessionLog<'_> {
    async fn add(&mut self, conn: &mut AnyConnection, record: String) -> Result<(), DatabaseFault> {
        let sql = "INSERT INTO tapster_log (home, seq, at_ms, turn, record) VALUES ($1, $2, $3, $4, $5)";
        let query = sqlx::query(sql).bind(self.home.to_owned()).bind(self.next).bind(self.at.now).bind(self.at.turn).bind(record);
        query.execute(&mut *conn).await?;
        self.next += 1;
        Ok(())
    }

    /// Keeps the last number, if it is not `reserved` already.
    async fn close(self, conn: &mut AnyConnection, reserved: i64) -> Result<(), DatabaseFault> {
        if self.next - 1 != reserved {
            let sql = "UPDATE tapster_sessions SET records = $2 WHERE home = $1";
            sqlx::query(sql).bind(self.home.to_owned()).bind(self.next - 1).execute(&mut *conn).await?;
        }
        Ok(())
    }
}

/// The artifacts of a session that are to be pruned, and their windows.
pub(super) struct PruneTargets<'a> {
    key: String,
    at: Moment,
    windows: Vec<(String, &'a str, VersionWindow)>,
}

impl<'a> PruneTargets<'a> {
    /// Checks the names. Of several windows of one artifact, the last counts.
    pub(super) fn new(home: &Home, at: Moment, windows: &'a [(String, VersionWindow)]) -> Result<Self, StoreRefusal> {
        let key = home_key(home)?;
        let mut checked: Vec<(String, &str, VersionWindow)> = Vec::with_capacity(windows.len());
        for (tag, window) in windows {
            let artifact = artifact_key(&key, tag)?;
            checked.retain(|(earlier, ..)| *earlier != artifact);
            checked.push((artifact, tag, *window));
        }
        Ok(Self { key, at, windows: checked })
    }
}

/// Archives the versions that are outside of their windows.
pub(super) async fn prune(conn: &mut AnyConnection, pruning: &PruneTargets<'_>) -> Result<Vec<PrunedVersion>, DatabaseFault> {
    let mut pruned = Vec::new();
    // an update that changes nothing locks the row
    let sql = "UPDATE tapster_sessions SET records = records WHERE home = $1 RETURNING records";
    let Some(row) = sqlx::query(sql).bind(pruning.key.clone()).fetch_optional(&mut *conn).await? else { return Ok(pruned) };
    let last: i64 = row.try_get(0)?;
    let mut log = SessionLog { home: &pruning.key, at: pruning.at, next: last + 1 };
    for (artifact, tag, window) in &pruning.windows {
        let row =
            sqlx::query("SELECT version FROM tapster_heads WHERE artifact = $1").bind(artifact.clone()).fetch_optional(&mut *conn).await?;
        if let Some(row) = row {
            prune_one(conn, &mut log, artifact, tag, row.try_get(0)?, *window, &mut pruned).await?;
        }
    }
    log.close(conn, last).await?;
    Ok(pruned)
}

/// Archives the versions of one artifact that are outside of its window. The latest version, `head`, stays.
async fn prune_one(
    conn: &mut AnyConnection,
    log: &mut SessionLog<'_>,
    artifact: &str,
    tag: &str,
    head: i64,
    window: VersionWindow,
    pruned: &mut Vec<PrunedVersion>,
) -> Result<(), DatabaseFault> {
    // what meets one bound may still not meet the next
    for (reason, bound) in bounds(window, head, log.at) {
        let versions = archive(conn, log, (artifact, tag), head, reason, bound).await?;
        if !versions.is_empty() {
            let record = json!({ "op": "prune", "tag": tag, "versions": versions, "reason": reason.word() });
            log.add(conn, record.to_string()).await?;
            pruned.push(PrunedVersion { tag: tag.to_owned(), versions, reason });
        }
    }
    Ok(())
}

/// The bounds of a window, in their order: versions, turns and times up to this are out.
pub(super) fn bounds(window: VersionWindow, head: i64, at: Moment) -> impl Iterator<Item = (PruneReason, i64)> {
    let versions = window.versions.map(|n| (PruneReason::Versions, head.saturating_sub(i64::from(n.max(1)))));
    let turns = window.turns.map(|n| (PruneReason::Turns, at.turn.saturating_sub(i64::from(n))));
    let ttl = window.ttl.map(|ms| (PruneReason::Ttl, at.now.saturating_sub(ms)));
    [versions, turns, ttl].into_iter().flatten()
}

/// Moves the versions up to a bound to the archive, and returns their numbers, ascending.
async fn archive(
    conn: &mut AnyConnection,
    log: &SessionLog<'_>,
    (artifact, tag): (&str, &str),
    head: i64,
    reason: PruneReason,
    bound: i64,
) -> Result<Vec<i64>, DatabaseFault> {
    macro_rules! statements {
        ($column:literal) => {
            (
                concat!(
                    "INSERT INTO tapster_archive (artifact, version, home, tag, based_on, at_ms, turn, value, record, archived_ms, \
                     archived_turn, reason) SELECT artifact, version, $4, $5, based_on, at_ms, turn, value, $6, $7, $8, $9 \
                     FROM tapster_versions WHERE artifact = $1 AND version < $2 AND ",
                    $column,
                    " <= $3"
                ),
                concat!("DELETE FROM tapster_versions WHERE artifact = $1 AND version < $2 AND ", $column, " <= $3 RETURNING version"),
            )
        };
    }
    let (copy, delete) = match reason {
        PruneReason::Versions => statements!("version"),
        PruneReason::Turns => statements!("turn"),
        PruneReason::Ttl => statements!("at_ms"),
    };
    let copied = sqlx::query(copy)
        .bind(artifact.to_owned())
        .bind(head)
        .bind(bound)
        .bind(log.home.to_owned())
        .bind(tag.to_owned())
        .bind(log.next)
        .bind(log.at.now)
        .bind(log.at.turn)
        .bind(reason.word().to_owned())
        .execute(&mut *conn)
        .await?;
    if copied.rows_affected() == 0 {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(delete).bind(artifact.to_owned()).bind(head).bind(bound).fetch_all(&mut *conn).await?;
    let mut versions = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    versions.sort_unstable();
    Ok(versions)
}

/// Removes a session with everything in it. Returns false if there is none.
pub(super) async fn forget(conn: &mut AnyConnection, home: &str) -> Result<bool, DatabaseFault> {
    // its row first, so that a commit at the same time waits and then begins a new session
    let statements = [
        "DELETE FROM tapster_sessions WHERE home = $1",
        "DELETE FROM tapster_versions WHERE artifact IN (SELECT artifact FROM tapster_heads WHERE home = $1)",
        "DELETE FROM tapster_heads WHERE home = $1",
        "DELETE FROM tapster_archive WHERE home = $1",
        "DELETE FROM tapster_log WHERE home = $1",
        "DELETE FROM tapster_states WHERE home = $1",
    ];
    for (at, statement) in statements.into_iter().enumerate() {
        let removed = sqlx::query(statement).bind(home.to_owned()).execute(&mut *conn).await?.rows_affected();
        if at == 0 && removed == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The most templates of a listing.
const MAX_ENTRIES: i64 = 20_000;

/// A template to store.
pub(super) struct NewTemplate<'a> {
    pub(super) id: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) replace: bool,
    pub(super) name: String,
}

impl<'a> NewTemplate<'a> {
    pub(super) fn checked(id: &'a str, bytes: &'a [u8], replace: bool, shown: &str) -> Result<Self, StoreRefusal> {
        bounded("id", id)?;
        if bytes.len() as u64 > MAX_TEMPLATE {
            let message = format!("a template for `{shown}` is larger than {} MiB", MAX_TEMPLATE >> 20);
            return Err(refused(Code::FileTooLarge, message, "split the template, or move long texts into the data"));
        }
        Ok(Self { id, bytes, replace, name: name(id, shown) })
    }
}

/// The name of a stored template for messages.
fn name(id: &str, shown: &str) -> String {
    format!("{shown}#{id}")
}

pub(super) async fn list(conn: &mut AnyConnection, shown: &str) -> Result<StoreListing, DatabaseFault> {
    let rows = sqlx::query("SELECT id FROM tapster_templates LIMIT $1").bind(MAX_ENTRIES + 1).fetch_all(conn).await?;
    let mut ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    if i64::try_from(ids.len()).unwrap_or(i64::MAX) > MAX_ENTRIES {
        let message = format!("`{shown}` has more than {MAX_ENTRIES} templates");
        return Err(refused(Code::FileTooLarge, message, "remove some, or use several stores").into());
    }
    ids.sort_unstable();
    Ok(StoreListing { ids, strangers: Vec::new() })
}

/// The id of a template, and the name of the store.
type TemplateKey<'a> = (&'a str, &'a str);

pub(super) async fn get(conn: &mut AnyConnection, (id, shown): &TemplateKey<'_>) -> Result<Option<StoredTemplate>, DatabaseFault> {
    let query = sqlx::query("SELECT content FROM tapster_templates WHERE id = $1").bind((*id).to_owned());
    let Some(row) = query.fetch_optional(conn).await? else { return Ok(None) };
    Ok(Some(StoredTemplate { name: name(id, shown), bytes: row.try_get(0)? }))
}

pub(super) async fn put(conn: &mut AnyConnection, new: &NewTemplate<'_>) -> Result<String, DatabaseFault> {
    let sql = if new.replace {
        "INSERT INTO tapster_templates (id, content) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET content = excluded.content"
    } else {
        "INSERT INTO tapster_templates (id, content) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING"
    };
    let stored = sqlx::query(sql).bind(new.id.to_owned()).bind(new.bytes.to_vec()).execute(conn).await?;
    if stored.rows_affected() == 0 {
        let message = format!("a template is stored already as `{}`", new.name);
        return Err(refused(Code::StoreTaken, message, "give it another `id`, or replace the stored one (`--force`)").into());
    }
    Ok(new.name.clone())
}

pub(super) async fn remove(conn: &mut AnyConnection, id: &str) -> Result<bool, DatabaseFault> {
    let removed = sqlx::query("DELETE FROM tapster_templates WHERE id = $1").bind(id.to_owned()).execute(conn).await?;
    Ok(removed.rows_affected() > 0)
}
