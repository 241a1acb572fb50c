//! Which store a verb works on: `--store`, else `TAPSTER_STORE`, else a default.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::diag::Code;
use crate::exit::{EarlyExit, Result};
use crate::full::{OpenStore, open_database, open_existing_database};
use crate::inputs::files::{StoreLocation, from_env};
use crate::inputs::scene::clock;
use crate::layout::head;
use crate::output::Console;
use crate::store::{Home, LOCAL_OWNER, Moment};

/// The database of sessions if none is named.
const DEFAULT_STORE: &str = "tapster.db";

/// Where sessions are stored.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    /// The database of sessions: a path that ends in `.db`, `sqlite:PATH`, or `postgres://…` [default: TAPSTER_STORE,
    /// else `tapster.db`].
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<OsString>,
}

impl StoreArgs {
    /// Opens the store; a file that does not exist is created.
    pub(crate) fn open(&self, show: &Console<'_>) -> Result<OpenStore> {
        open_database(&self.address(show)?)
    }

    /// Whether a store is named, by the flag or by the environment.
    pub(crate) fn is_named(&self, show: &Console<'_>) -> bool {
        self.store.is_some() || from_env("TAPSTER_STORE", show).is_some()
    }

    /// Opens a store that exists.
    pub(crate) fn open_existing(&self, show: &Console<'_>) -> Result<OpenStore> {
        open_existing_database(&self.address(show)?)
    }

    fn address(&self, show: &Console<'_>) -> Result<String> {
        let named = self.store.clone().or_else(|| from_env("TAPSTER_STORE", show));
        let path = match named.map_or_else(|| StoreLocation::Database(DEFAULT_STORE.to_owned()), StoreLocation::of) {
            StoreLocation::Database(address) => return Ok(address),
            StoreLocation::Folder(path) => path,
        };
        let help = "name a file that ends in `.db`, `sqlite:PATH`, or `postgres://…`";
        let shown = head(&path.display().to_string(), 200);
        Err(if shown.is_empty() {
            EarlyExit::could_not(Code::StoreUrl, "`--store` is empty", help)
        } else if path.is_dir() {
            EarlyExit::could_not(Code::StoreUrl, format!("`{shown}` is a folder of templates, which holds no sessions"), help)
        } else {
            let message = format!("`{shown}` does not say which kind of database it is");
            EarlyExit::could_not(Code::StoreUrl, message, format!("write `sqlite:{shown}`, or {help}"))
        })
    }
}

/// Which session of which store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Whose session.
    #[arg(long, value_name = "NAME", default_value = LOCAL_OWNER)]
    owner: String,
    /// The session: a chat, or a branch of it.
    /// [default: `default`; a chat with `--log` has a session of its own for each log]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

impl SessionArgs {
    /// Opens the store, and creates it if it does not exist.
    pub(crate) fn open(&self, show: &Console<'_>) -> Result<OpenStore> {
        self.store.open(show)
    }

    /// Opens a store that exists.
    pub(crate) fn open_existing(&self, show: &Console<'_>) -> Result<OpenStore> {
        self.store.open_existing(show)
    }

    /// The session.
    pub(crate) fn home(&self) -> Home {
        self.home_of(None)
    }

    /// The session of a chat that is kept in a file: each file has its own, unless one is named.
    pub(crate) fn home_of(&self, log: Option<&Path>) -> Home {
        let own = log.map(|log| std::path::absolute(log).map_or_else(|_| log.to_owned(), |whole| whole.canonicalize().unwrap_or(whole)));
        let own = own.map(|log| format!("log:{}", log.display()));
        let session = self.session.clone().or(own).unwrap_or_else(|| "default".to_owned());
        Home { owner: self.owner.clone(), session }
    }

    /// Whether a store or a session is named.
    pub(crate) fn is_named(&self, show: &Console<'_>) -> bool {
        self.session.is_some() || self.store.is_named(show)
    }
}

/// A store that goes away with the chat.
pub(crate) struct ScratchStore(PathBuf);

impl ScratchStore {
    /// A folder of its own, which only this user can read.
    pub(crate) fn new() -> Result<Self> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let mut last = None;
        for number in 0..100 {
            let path = std::env::temp_dir().join(format!("tapster-chat-{}-{number}", std::process::id()));
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) => last = Some(error),
            }
        }
        let why = last.map(|error| error.to_string()).unwrap_or_default();
        let message = format!("no temporary folder can be made for the state of the chat: {why}");
        Err(EarlyExit::could_not(Code::StoreUrl, message, "name a store with `--store`"))
    }

    /// Opens the store.
    pub(crate) fn open(&self) -> Result<OpenStore> {
        open_database(&format!("sqlite:{}", self.0.join("chat.db").display()))
    }
}

impl Drop for ScratchStore {
    fn drop(&mut self) {
        // a folder for temporary files is cleaned up by the system in any case
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// When it is now, for retention.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct TimeArgs {
    /// The time, such as 2026-01-31T20:15:00Z [default: the clock].
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The number of the turn: one more for each message of the user [default: the turn of the last write].
    #[arg(long, value_name = "N")]
    turn: Option<i64>,
}

impl TimeArgs {
    /// The moment; `last` is when the session was last written.
    pub(crate) fn moment(&self, last: Option<Moment>) -> Result<Moment> {
        let now = parse_milliseconds(&self.now.clone().unwrap_or_else(clock))?;
        Ok(Moment { now, turn: self.turn.or(last.map(|at| at.turn)).unwrap_or_default() })
    }
}

/// A time in milliseconds since 1970.
pub(crate) fn parse_milliseconds(text: &str) -> Result<i64> {
    let time = text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_millisecond);
    time.map_err(|_| {
        let message = format!("`{}` is not a time", crate::layout::head(text, 60));
        EarlyExit::could_not(Code::SceneField, message, "write it with its distance from UTC: 2026-01-31T20:15:00Z")
    })
}
