//! Sessions and templates in a database: SQLite (one file) or PostgreSQL, through the same statements.
//!
//! [`SqlStore`] decides how a request is run: in which transaction, how often it is tried again, how long, and which error of
//! the database becomes which diagnostic. What the requests are is in the other files of this folder. The futures need a `tokio`
//! runtime with time and IO; a program without one uses [`block_on`].

mod address;
mod commit;
mod file;
mod read;
mod schema;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use address::{DatabaseAddress, SqlDialect};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::MigrateError;
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, Error};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::time::Duration;

use crate::diag::{Code, Diagnostic, Help};
use crate::store::{
    ArchivedVersion, Artifact, ArtifactVersion, Batch, CommitOutcome, Home, ListPage, LogRecord, Moment, PrunedVersion, SessionDump,
    SessionInfo, SessionState, SessionStore, StoreFuture, StoreListing, StoreRefusal, StoredTemplate, TemplateStore, VersionWindow,
};

pub use schema::{MAX_DEPTH, MAX_NAME};

/// The most connections at once. What is asked beyond them waits its turn.
const CONNECTIONS: u32 = 8;
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one attempt may take, so that a silent database does not hold its callers for ever.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a request is tried that stands in the way of others.
const ATTEMPTS: u32 = 5;

/// What a request does with a connection.
type ConnectionFuture<'c, T> = Pin<Box<dyn Future<Output = Result<T, DatabaseFault>> + Send + 'c>>;

/// Sessions and templates in SQLite or PostgreSQL. A clone is the same store.
#[derive(Clone)]
pub struct SqlStore(Arc<SharedStore>);

struct SharedStore {
    pool: AnyPool,
    address: DatabaseAddress,
    /// Whose turn it is to use a connection.
    connections: Semaphore,
    /// Whose turn it is to write a file of SQLite, which has one writer at a time.
    writer: Semaphore,
}

/// The transaction that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionMode {
    /// One statement.
    Read,
    /// Several statements that see the same state of the database.
    Snapshot,
    /// A change.
    Write,
}

impl std::fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqlStore").field(&self.0.address.shown).finish()
    }
}

impl SqlStore {
    /// Opens a store: `sqlite:PATH` or a path, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. A file that does not
    /// exist is created, readable by its owner alone, and so are the tables; tables of earlier releases are brought up to date.
    ///
    /// # Errors
    /// `store.url` for an address that cannot be read, `store.newer` for tables of a later release, `store.damaged` for
    /// a file that is not a database, and other `store.*` codes if the database cannot be reached or written.
    ///
    /// # Panics
    /// If the program has called `sqlx::any::install_drivers` with a selection of its own; the default drivers are needed.
    pub async fn open(address: &str) -> Result<Self, StoreRefusal> {
        let mut address = DatabaseAddress::read(address)?;
        if let Some(path) = &address.path {
            file::check_file(path, true)?;
            file::create_file(path);
            // SQLite itself makes none: its file would be readable by everybody
            address = address.existing();
        }
        Self::opened(address, true).await.map_err(|(refused, _)| refused)
    }

    /// Opens a store that exists. Neither a file nor tables are made, but tables of earlier releases are brought up to
    /// date. A file of SQLite in a folder that cannot be written can only be read.
    ///
    /// # Errors
    /// As [`open`](Self::open); `store.unreachable` if there is no file, `store.damaged` if there are no tables, and
    /// `store.read_only` if the folder of a file cannot be written and the file was not closed by its last program.
    ///
    /// # Panics
    /// As [`open`](Self::open).
    pub async fn open_existing(address: &str) -> Result<Self, StoreRefusal> {
        let address = DatabaseAddress::read(address)?.existing();
        let Some(path) = address.path.clone() else {
            return Self::opened(address, false).await.map_err(|(refused, _)| refused);
        };
        file::check_file(&path, false)?;
        match Self::opened(address.clone(), false).await {
            Ok(store) => Ok(store),
            Err((_, true)) if file::has_journal(&path) => {
                let message = format!("`{}` cannot be read: its folder cannot be written, and a program did not close it", address.shown);
                Err(refused(Code::StoreReadOnly, message, "open it once where its folder can be written, or copy it with its `-wal` file"))
            }
            Err((_, true)) => Self::opened(address.alone(), false).await.map_err(|(refused, _)| refused),
            Err((refused, false)) => Err(refused),
        }
    }

    /// Opens a store whose file has been looked at. `new`: tables may be made. The error says whether the file, or one
    /// beside it, cannot be opened.
    async fn opened(address: DatabaseAddress, new: bool) -> Result<Self, (StoreRefusal, bool)> {
        sqlx::any::install_default_drivers();
        let told = |fault: DatabaseFault| {
            let closed = fault.is_closed();
            (fault.told(&address.shown, address.secret), closed)
        };
        let options: AnyConnectOptions = address.url.parse().map_err(|error| told(DatabaseFault::Sql(error)))?;
        let options = options.disable_statement_logging();
        // without the pool, which would try again for a while what cannot succeed
        let mut attempt = 0;
        loop {
            attempt += 1;
            match within(CONNECT + PATIENCE, &address.shown, prepared(&options, &address, new)).await {
                Ok(()) => break,
                Err(fault) if fault.passes() && attempt < ATTEMPTS => pause(attempt).await,
                Err(fault) => return Err(told(fault)),
            }
        }
        let dialect = address.dialect;
        let pool = AnyPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(CONNECT);
        let pool = pool.after_connect(move |conn, _| Box::pin(set_up(conn, dialect))).connect_lazy_with(options);
        let connections = Semaphore::new(usize::try_from(CONNECTIONS).unwrap_or(1));
        Ok(Self(Arc::new(SharedStore { pool, address, connections, writer: Semaphore::new(1) })))
    }

    /// The name of the store for messages: its path, or its address without the password.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.address.shown
    }

    /// Ends all connections. Requests after it fail. A file of SQLite is whole after that, unless another program has it
    /// open; what was written last may stand beside it before. A store that is dropped ends them as well, without waiting.
    pub async fn close(&self) {
        self.0.pool.close().await;
    }

    /// Runs a request, again if it stood in the way of others, and tells in the words of a store what went wrong.
    async fn run<D, T>(
        &self,
        mode: TransactionMode,
        job: &D,
        work: for<'c> fn(&'c mut AnyConnection, &'c D) -> ConnectionFuture<'c, T>,
    ) -> Result<T, StoreRefusal>
    where
        D: Sync + ?Sized,
    {
        self.run_or_fault(mode, job, work).await.map_err(|fault| self.told(fault))
    }

    async fn run_or_fault<D, T>(
        &self,
        mode: TransactionMode,
        job: &D,
        work: for<'c> fn(&'c mut AnyConnection, &'c D) -> ConnectionFuture<'c, T>,
    ) -> Result<T, DatabaseFault>
    where
        D: Sync + ?Sized,
    {
        let closed = |_| DatabaseFault::Sql(sqlx::Error::PoolClosed);
        let one_writer = mode == TransactionMode::Write && self.0.address.dialect == SqlDialect::Sqlite;
        let _writer = if one_writer { Some(self.0.writer.acquire().await.map_err(closed)?) } else { None };
        let _connection = self.0.connections.acquire().await.map_err(closed)?;
        let mut attempt = 0;
        loop {
            attempt += 1;
            match within(PATIENCE, self.name(), self.once(mode, job, work)).await {
                Err(fault) if fault.passes() && attempt < ATTEMPTS => pause(attempt).await,
                done => return done,
            }
        }
    }

    async fn once<D, T>(
        &self,
        mode: TransactionMode,
        job: &D,
        work: for<'c> fn(&'c mut AnyConnection, &'c D) -> ConnectionFuture<'c, T>,
    ) -> Result<T, DatabaseFault>
    where
        D: Sync + ?Sized,
    {
        let mut conn = self.0.pool.acquire().await?;
        let begin = match (mode, self.0.address.dialect) {
            (TransactionMode::Read, _) => return work(&mut conn, job).await,
            (TransactionMode::Snapshot, SqlDialect::Sqlite) | (TransactionMode::Write, SqlDialect::Postgres) => "BEGIN",
            (TransactionMode::Snapshot, SqlDialect::Postgres) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            // the lock at once: a transaction that reads first could find it taken when it writes
            (TransactionMode::Write, SqlDialect::Sqlite) => "BEGIN IMMEDIATE",
        };
        let mut tx = conn.begin_with(begin).await?;
        let (done, ended) = match work(&mut tx, job).await {
            Ok(done) => match tx.commit().await {
                Ok(()) => (Ok(done), true),
                Err(error) => (Err(error.into()), false),
            },
            Err(fault) => (Err(fault), tx.rollback().await.is_ok()),
        };
        // a database that has ended the transaction by itself, as on a full disk, refuses to end it again; the driver would
        // then count it as open for ever
        if !ended {
            conn.close_on_drop();
        }
        done
    }

    fn told(&self, fault: DatabaseFault) -> StoreRefusal {
        fault.told(&self.0.address.shown, self.0.address.secret)
    }
}

/// Connects, sets the file of SQLite up, and brings the tables up to date.
async fn prepared(options: &AnyConnectOptions, address: &DatabaseAddress, new: bool) -> Result<(), DatabaseFault> {
    let mut conn = options.connect().await?;
    set_up(&mut conn, address.dialect).await?;
    schema::look(&mut conn, address.dialect, &address.shown, new).await?;
    if new && address.dialect == SqlDialect::Sqlite {
        // a setting of the file, which a file that cannot be written keeps as it is
        match sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut conn).await.map_err(DatabaseFault::Sql) {
            Err(fault) if fault.passes() || fault.is_damage() => return Err(fault),
            _ => {}
        }
    }
    schema::prepare(&mut conn, address.dialect, &address.shown).await?;
    // the connection has done its work, whatever becomes of it
    let _ = conn.close().await;
    Ok(())
}

/// Settings of each connection.
async fn set_up(conn: &mut AnyConnection, dialect: SqlDialect) -> Result<(), sqlx::Error> {
    if dialect == SqlDialect::Sqlite {
        // a transaction is on the disk before it is acknowledged; another writer is waited for; a view finds its pages
        let settings = "PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000; PRAGMA cache_size = -16384";
        sqlx::raw_sql(settings).execute(conn).await?;
    }
    Ok(())
}

/// Waits no longer than this.
async fn within<T>(most: Duration, shown: &str, work: impl Future<Output = Result<T, DatabaseFault>>) -> Result<T, DatabaseFault> {
    match tokio::time::timeout(most, work).await {
        Ok(done) => done,
        Err(_) => {
            let message = format!("`{shown}` gave no answer within {} s", most.as_secs());
            let help = "check the database; read the session before you try again, because a write may have been applied";
            Err(refused(Code::StoreUnreachable, message, help).into())
        }
    }
}

/// Waits before another attempt: longer each time.
async fn pause(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(5 << attempt.min(7))).await;
}

impl SessionStore for SqlStore {
    fn view<'a>(&'a self, home: &'a Home, at: Moment, windows: &'a [(String, VersionWindow)], most: u32) -> StoreFuture<'a, Vec<Artifact>> {
        Box::pin(async move {
            let view = read::SessionView::new(home, at, windows, most)?;
            self.run(TransactionMode::Read, &view, |conn, view| Box::pin(read::view(conn, view))).await
        })
    }

    fn artifact<'a>(
        &'a self,
        home: &'a Home,
        at: Moment,
        tag: &'a str,
        window: VersionWindow,
        most: u32,
    ) -> StoreFuture<'a, Option<Artifact>> {
        Box::pin(async move {
            let view = read::SessionView::one(home, at, (tag, window), most)?;
            Ok(self.run(TransactionMode::Read, &view, |conn, view| Box::pin(read::view(conn, view))).await?.pop())
        })
    }

    fn commit<'a>(&'a self, home: &'a Home, batch: Batch) -> StoreFuture<'a, CommitOutcome> {
        Box::pin(async move {
            let checked = commit::CheckedBatch::new(home, &batch)?;
            if checked.is_empty() {
                return Ok(CommitOutcome::Applied { versions: Vec::new(), state: None, pruned: Vec::new() });
            }
            match self.run_or_fault(TransactionMode::Write, &checked, |conn, batch| Box::pin(commit::commit(conn, batch))).await {
                Ok((versions, state, pruned)) => Ok(CommitOutcome::Applied { versions, state, pruned }),
                Err(DatabaseFault::Conflict { tag, latest }) => Ok(CommitOutcome::Conflict { tag, latest }),
                Err(fault) => Err(self.told(fault)),
            }
        })
    }

    fn prune<'a>(&'a self, home: &'a Home, at: Moment, windows: &'a [(String, VersionWindow)]) -> StoreFuture<'a, Vec<PrunedVersion>> {
        Box::pin(async move {
            let pruning = commit::PruneTargets::new(home, at, windows)?;
            self.run(TransactionMode::Write, &pruning, |conn, pruning| Box::pin(commit::prune(conn, pruning))).await
        })
    }

    fn versions<'a>(&'a self, home: &'a Home, tag: &'a str, page: ListPage) -> StoreFuture<'a, Vec<ArtifactVersion>> {
        Box::pin(async move {
            let part = read::VersionsPart::versions(home, tag, page)?;
            self.run(TransactionMode::Read, &part, |conn, part| Box::pin(read::versions(conn, part))).await
        })
    }

    fn archive<'a>(&'a self, home: &'a Home, tag: Option<&'a str>, page: ListPage) -> StoreFuture<'a, Vec<ArchivedVersion>> {
        Box::pin(async move {
            let part = read::ArchivePart::new(home, tag, page)?;
            self.run(TransactionMode::Read, &part, |conn, part| Box::pin(read::archive(conn, part))).await
        })
    }

    fn log<'a>(&'a self, home: &'a Home, page: ListPage) -> StoreFuture<'a, Vec<LogRecord>> {
        Box::pin(async move {
            let part = read::VersionsPart::log(home, page)?;
            self.run(TransactionMode::Read, &part, |conn, part| Box::pin(read::log(conn, part))).await
        })
    }

    fn state<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, Option<SessionState>> {
        Box::pin(async move {
            let key = schema::home_key(home)?;
            self.run(TransactionMode::Read, key.as_str(), |conn, key| Box::pin(read::state(conn, key))).await
        })
    }

    fn info<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, Option<SessionInfo>> {
        Box::pin(async move {
            let wanted = read::SessionKey { home, key: schema::home_key(home)? };
            self.run(TransactionMode::Read, &wanted, |conn, wanted| Box::pin(read::info(conn, wanted))).await
        })
    }

    fn dump<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, Option<SessionDump>> {
        Box::pin(async move {
            let wanted = read::SessionKey { home, key: schema::home_key(home)? };
            self.run(TransactionMode::Snapshot, &wanted, |conn, wanted| Box::pin(read::dump(conn, wanted))).await
        })
    }

    fn restore<'a>(&'a self, home: &'a Home, dump: SessionDump) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let restored = read::RestoredDump::new(home, &dump)?;
            self.run(TransactionMode::Write, &restored, |conn, restored| Box::pin(read::restore(conn, restored))).await
        })
    }

    fn sessions<'a>(&'a self, owner: Option<&'a str>, page: ListPage) -> StoreFuture<'a, Vec<SessionInfo>> {
        Box::pin(async move {
            schema::bounded("owner", owner.unwrap_or_default())?;
            let part = read::SessionsPart { dialect: self.0.address.dialect, owner, page };
            self.run(TransactionMode::Read, &part, |conn, part| Box::pin(read::sessions(conn, part))).await
        })
    }

    fn forget<'a>(&'a self, home: &'a Home) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let key = schema::home_key(home)?;
            self.run(TransactionMode::Write, key.as_str(), |conn, key| Box::pin(commit::forget(conn, key))).await
        })
    }
}

impl TemplateStore for SqlStore {
    fn list(&self) -> StoreFuture<'_, StoreListing> {
        Box::pin(self.run(TransactionMode::Read, self.name(), |conn, shown| Box::pin(commit::list(conn, shown))))
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTemplate>> {
        Box::pin(async move {
            schema::bounded("id", id)?;
            let wanted = (id, self.name());
            self.run(TransactionMode::Read, &wanted, |conn, wanted| Box::pin(commit::get(conn, wanted))).await
        })
    }

    fn put<'a>(&'a self, id: &'a str, bytes: &'a [u8], replace: bool) -> StoreFuture<'a, String> {
        Box::pin(async move {
            let new = commit::NewTemplate::checked(id, bytes, replace, self.name())?;
            self.run(TransactionMode::Write, &new, |conn, new| Box::pin(commit::put(conn, new))).await
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            schema::bounded("id", id)?;
            self.run(TransactionMode::Write, id, |conn, id| Box::pin(commit::remove(conn, id))).await
        })
    }
}

/// Runs a future of a store to its end on this thread. All calls of a process share one runtime, so that connections
/// stay usable from one call to the next, and its own thread, which closes those that a call has left.
///
/// # Panics
/// If the system refuses a runtime, or if it is called from inside of a `tokio` runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    #[expect(clippy::expect_used, reason = "a system that refuses an event queue can run no store")]
    let runtime =
        RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("the system refuses a runtime"));
    runtime.block_on(future)
}

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
    fn passes(&self) -> bool {
        matches!(self, Self::Sql(error) if meaning(error) == FailureMeaning::Busy)
    }

    /// Whether the file, or one that is needed beside it, could not be opened or written.
    fn is_closed(&self) -> bool {
        matches!(self, Self::Sql(error) if matches!(meaning(error), FailureMeaning::Unreachable | FailureMeaning::ReadOnly))
    }

    /// Whether the file is not a database.
    fn is_damage(&self) -> bool {
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

pub(super) fn refused(code: Code, message: impl Into<String>, help: impl Into<Help>) -> StoreRefusal {
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
