//! The tables, made by migrations that are part of the program, and how names and values are kept in them: bounds, hashes as
//! keys, and JSON as text.

use serde_json::Value as Json;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, Connection, Error, Row, SqlSafeStr};

use super::address::SqlDialect;
use super::{DatabaseFault, newer, refused};
use crate::diag::depth::nests_deeper;
use crate::diag::{Code, short};
use crate::store::{Home, MAX_VALUE, StoreRefusal};

/// The table in which the driver records the migrations that were applied.
const TABLE: &str = "tapster_migrations";

/// Refuses a file of SQLite with the tables of another program, and a database without tables unless it may be `new`.
pub(super) async fn look(conn: &mut AnyConnection, dialect: SqlDialect, shown: &str, new: bool) -> Result<(), DatabaseFault> {
    let has_ours = if dialect == SqlDialect::Sqlite {
        // one statement, because another program may be making the tables
        let sql = "SELECT COUNT(*), COUNT(CASE WHEN name = 'tapster_migrations' THEN 1 END) FROM sqlite_master WHERE type = 'table'";
        let row = sqlx::query(sql).fetch_one(&mut *conn).await?;
        let (all, ours): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        if all > 0 && ours == 0 {
            let message = format!("`{shown}` is a database of another program");
            return Err(refused(Code::StoreDamaged, message, "name another file; this one is left as it is").into());
        }
        ours > 0
    } else {
        new || applied(conn).await?.is_some()
    };
    if !has_ours && !new {
        let message = format!("`{shown}` has no tables of a store");
        let help = "check the address; `tapster artifact put` and `tapster turn` make the tables where there are none";
        return Err(refused(Code::StoreDamaged, message, help).into());
    }
    Ok(())
}

/// Brings the tables up to date. Databases that are need no write access for it.
pub(super) async fn prepare(conn: &mut AnyConnection, dialect: SqlDialect, shown: &str) -> Result<(), DatabaseFault> {
    let migrator = migrator();
    if let Some(applied) = applied(conn).await? {
        let known: Vec<i64> = migrator.iter().map(|migration| migration.version).collect();
        if let Some(unknown) = applied.iter().find(|version| !known.contains(version)) {
            return Err(newer(shown, *unknown).into());
        }
        if applied == known {
            return Ok(());
        }
    }
    let run = match dialect {
        // the driver takes a lock of its own
        SqlDialect::Postgres => migrator.run_direct(None, conn, false).await,
        // the driver takes none, so that two programs might make the same tables at once
        SqlDialect::Sqlite => {
            let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
            let run = migrator.run_direct(None, &mut *tx, false).await;
            match run {
                Ok(()) => tx.commit().await.map_err(sqlx::migrate::MigrateError::Execute),
                Err(error) => {
                    tx.rollback().await?;
                    Err(error)
                }
            }
        }
    };
    run.map_err(|error| DatabaseFault::of_migration(error, shown))
}

fn migrator() -> Migrator {
    let migration = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations(vec![
        migration(1, "sessions", include_str!("migrations/0001_sessions.sql")),
        migration(2, "templates", include_str!("migrations/0002_templates.sql")),
    ]);
    migrator.dangerous_set_table_name(TABLE);
    migrator
}

/// The migrations that were applied, ascending; `None` if there are no tables yet.
async fn applied(conn: &mut AnyConnection) -> Result<Option<Vec<i64>>, Error> {
    match sqlx::query("SELECT version FROM tapster_migrations ORDER BY version").fetch_all(conn).await {
        Ok(rows) => rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map(Some),
        Err(Error::Database(error)) if is_missing_table(&*error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing_table(error: &dyn sqlx::error::DatabaseError) -> bool {
    match error.code().as_deref() {
        Some("42P01") => true,
        // SQLite has one code for every mistake in a statement
        Some("1") => error.message().starts_with("no such table"),
        _ => false,
    }
}

/// The longest owner, session, tag or id of a template, in bytes.
pub const MAX_NAME: usize = 1024;
/// How deep lists and objects may be nested in a stored value. What is nested deeper could not be read back.
pub const MAX_DEPTH: usize = 100;

/// The key of a session.
pub(super) fn home_key(home: &Home) -> Result<String, StoreRefusal> {
    bounded("owner", &home.owner)?;
    bounded("session", &home.session)?;
    Ok(key(&[&home.owner, &home.session]))
}

/// The key of an artifact of a session.
pub(super) fn artifact_key(home_key: &str, tag: &str) -> Result<String, StoreRefusal> {
    bounded("tag", tag)?;
    Ok(key(&[home_key, tag]))
}

/// 160 bits of a hash, as hex digits: two names with the same key are not found by chance, nor on purpose.
fn key(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(40).collect()
}

/// The beginning of a name, for a message.
pub(super) fn head(name: &str) -> String {
    short::head(name, 40)
}

/// Refuses a name that one of the databases would refuse or cut.
pub(super) fn bounded(what: &str, name: &str) -> Result<(), StoreRefusal> {
    if name.len() > MAX_NAME {
        let message = format!("the {what} `{}` is {} bytes long", head(name), name.len());
        return Err(refused(Code::StoreName, message, format!("use at most {MAX_NAME} bytes")));
    }
    if name.contains('\0') {
        return Err(refused(Code::StoreName, format!("the {what} `{}` contains a NUL", name.escape_debug()), "leave it out"));
    }
    Ok(())
}

/// A value as compact JSON, within the bounds of a store. `of` says whose it is.
pub(super) fn text_of(value: &Json, of: &dyn Fn() -> String) -> Result<String, StoreRefusal> {
    if nests_deeper(value, MAX_DEPTH) {
        let message = format!("{} is nested deeper than {MAX_DEPTH} levels", of());
        return Err(refused(Code::StoreTooLarge, message, "make it flatter"));
    }
    let text = value.to_string();
    if text.len() > MAX_VALUE {
        let message = format!("{} has {} bytes of JSON", of(), text.len());
        return Err(refused(Code::StoreTooLarge, message, format!("split it: at most {} MiB are stored in one piece", MAX_VALUE >> 20)));
    }
    Ok(text)
}

/// Reads a stored text of JSON back. `of` says whose it is.
pub(super) fn value_of<T: serde::de::DeserializeOwned>(text: &str, of: &dyn Fn() -> String) -> Result<T, StoreRefusal> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("{} is stored as something that is not JSON: {error}", of());
        refused(Code::StoreDamaged, message, "restore a backup, or remove it and write it anew")
    })
}
