//! The tables, made by migrations that are part of the program, and what to say about tables that it does not know.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, Connection, Error, Row, SqlSafeStr};

use super::address::SqlDialect;
use super::fault::{DatabaseFault, newer, refused};
use crate::diag::Code;

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
