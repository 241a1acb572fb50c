//! What went wrong in a database, told in the words of a store, and whether to try again.

use sqlx::Error;
use sqlx::migrate::MigrateError;

use crate::diag::{Code, Diagnostic};
use crate::store::StoreRefusal;

/// Why a request to a database ended early.
pub(super) enum DatabaseFault {
    /// The database, the connection or the driver failed.
    Sql(Error),
    /// The store refuses by itself.
    Refused(StoreRefusal),
    /// Somebody else has written this artifact (or the state) since.
    Conflict { tag: Option<String>, latest: Option<i64> },
}

impl From<Error> for DatabaseFault {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreRefusal> for DatabaseFault {
    fn from(complaint: StoreRefusal) -> Self {
        Self::Refused(complaint)
    }
}

/// What a failure of a database means for the one who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureMeaning {
    /// Two transactions stood in each other's way; nothing was applied.
    Busy,
    Unreachable,
    Login,
    NoDatabase,
    Full,
    ReadOnly,
    Damaged,
    TooLarge,
    Other,
}

impl DatabaseFault {
    /// Whether the same request may succeed in a moment, and nothing of it was applied.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Self::Sql(error) if meaning(error) == FailureMeaning::Busy)
    }

    /// Whether the file, or one that is needed beside it, could not be opened or written.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Sql(error) if matches!(meaning(error), FailureMeaning::Unreachable | FailureMeaning::ReadOnly))
    }

    /// Whether the file is not a database.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Sql(error) if meaning(error) == FailureMeaning::Damaged)
    }

    /// The complaint about the store of this name. `secret`: the address has a password, which the driver may repeat.
    pub(super) fn told(self, shown: &str, secret: bool) -> StoreRefusal {
        let error = match self {
            Self::Refused(complaint) => return complaint,
            // a caller that expects conflicts has taken them out
            Self::Conflict { .. } => return refused(Code::StoreBusy, format!("`{shown}` was written by somebody else"), "try again"),
            Self::Sql(error) => error,
        };
        if let Error::Configuration(error) = &error {
            let why = if secret { String::new() } else { format!(": {error}") };
            let help = "write `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with other characters than letters and digits as `%` and two hex digits";
            return refused(Code::StoreUrl, format!("`{shown}` is not an address of a database{why}"), help);
        }
        let why = match &error {
            Error::Database(error) => error.message().to_owned(),
            Error::PoolTimedOut => "no connection within the time limit".to_owned(),
            Error::Io(error) => error.to_string(),
            Error::WorkerCrashed => "the connection ended".to_owned(),
            other => other.to_string(),
        };
        let (code, what, help) = match meaning(&error) {
            FailureMeaning::Busy => (Code::StoreBusy, "stays locked by other programs", "try again; end programs that keep it locked"),
            FailureMeaning::Unreachable => {
                (Code::StoreUnreachable, "cannot be reached", "check that the database runs, the address, and the folder of a file")
            }
            FailureMeaning::Login => {
                (Code::StoreUnreachable, "refuses the login", "check the user and the password; `PGPASSWORD` and `~/.pgpass` are read")
            }
            FailureMeaning::NoDatabase => (Code::StoreUnreachable, "has no such database", "create it first (`createdb`), or name another"),
            FailureMeaning::Full => (Code::StoreFull, "has no room left", "make room, then try again: nothing of this request was stored"),
            FailureMeaning::ReadOnly => {
                (Code::StoreReadOnly, "cannot be written", "check the permissions of the file, its folder, or the database user")
            }
            FailureMeaning::Damaged => (Code::StoreDamaged, "is not a store, or is damaged", "name another file, or restore a backup"),
            FailureMeaning::TooLarge => (Code::StoreTooLarge, "cannot take so much in one piece", "store or ask for less at once"),
            FailureMeaning::Other => {
                (Code::StoreFailed, "refused a request", "see the message of the database; report it if it is not about your data")
            }
        };
        refused(code, format!("`{shown}` {what}: {why}"), help)
    }

    /// The complaint about migrations that do not fit.
    pub(super) fn of_migration(error: MigrateError, shown: &str) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => Self::Sql(error),
            MigrateError::VersionMissing(version) => newer(shown, version).into(),
            other => {
                let message = format!("the tables of `{shown}` are not those of a store: {other}");
                refused(Code::StoreDamaged, message, "name another database, or restore a backup").into()
            }
        }
    }
}

/// The complaint about tables that a later release has made.
pub(super) fn newer(shown: &str, version: i64) -> StoreRefusal {
    let message = format!("`{shown}` was written by a newer Tapster: this one does not know its schema {version}");
    refused(Code::StoreNewer, message, "update Tapster, or name another store")
}

pub(super) fn refused(code: Code, message: impl Into<String>, help: impl Into<String>) -> StoreRefusal {
    Box::new(Diagnostic::new(code, message).help(help))
}

fn meaning(error: &Error) -> FailureMeaning {
    match error {
        Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            match code.parse::<i32>() {
                // SQLSTATE has five characters; some consist of digits only
                Ok(1) if error.message().starts_with("no such ") => FailureMeaning::Damaged,
                Ok(number) if code.len() < 5 => of_sqlite(number),
                _ => of_postgres(&code),
            }
        }
        Error::Io(_) | Error::Tls(_) | Error::PoolTimedOut | Error::PoolClosed | Error::WorkerCrashed | Error::Protocol(_) => {
            FailureMeaning::Unreachable
        }
        Error::ColumnDecode { .. } | Error::Decode(_) | Error::RowNotFound => FailureMeaning::Damaged,
        _ => FailureMeaning::Other,
    }
}

/// <https://www.sqlite.org/rescode.html>; the low byte is the primary code.
fn of_sqlite(code: i32) -> FailureMeaning {
    match code & 0xff {
        5 | 6 => FailureMeaning::Busy,
        3 | 8 => FailureMeaning::ReadOnly,
        11 | 26 => FailureMeaning::Damaged,
        13 => FailureMeaning::Full,
        10 | 14 => FailureMeaning::Unreachable,
        18 => FailureMeaning::TooLarge,
        _ => FailureMeaning::Other,
    }
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn of_postgres(code: &str) -> FailureMeaning {
    match code {
        "40001" | "40P01" | "55P03" | "53300" => FailureMeaning::Busy,
        "53100" => FailureMeaning::Full,
        "3D000" => FailureMeaning::NoDatabase,
        "25006" | "42501" => FailureMeaning::ReadOnly,
        "54000" | "22001" => FailureMeaning::TooLarge,
        "42P01" | "42703" => FailureMeaning::Damaged,
        _ if code.starts_with("08") || code.starts_with("57P") => FailureMeaning::Unreachable,
        _ if code.starts_with("28") => FailureMeaning::Login,
        "XX001" | "XX002" => FailureMeaning::Damaged,
        _ => FailureMeaning::Other,
    }
}
