//! Which store a verb works on: `--store`, else `TAPSTER_STORE`, else a default.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::output::OutputStreams;

/// What `--store` or an environment variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// A database: an address, or a path that ends in `.db` or `.sqlite` and is not a folder.
    Database(String),
    /// A folder of templates: every other path.
    Folder(PathBuf),
}

impl StoreLocation {
    pub(crate) fn of(name: OsString) -> Self {
        // an address is text; a path may be anything
        let text = match name.into_string() {
            Ok(text) => text,
            Err(name) => return Self::Folder(name.into()),
        };
        let address = ["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme)) || text.contains("://");
        let file = [".db", ".sqlite", ".sqlite3"].iter().any(|end| text.ends_with(end)) && !Path::new(&text).is_dir();
        if address || file { Self::Database(text) } else { Self::Folder(text.into()) }
    }
}

/// The value of an environment variable that is set and not empty.
pub(crate) fn from_env(name: &str, show: &OutputStreams<'_, '_>) -> Option<OsString> {
    (show.io.env)(name).filter(|value| !value.is_empty())
}

#[cfg(feature = "full")]
pub(crate) use database::{OpenStore, StoreArgs, open};

#[cfg(feature = "full")]
mod database {
    //! Opening of databases, which takes the feature `store`.

    use std::ffi::OsString;

    use clap::Args;

    use super::{StoreLocation, from_env};
    use crate::diag::Code;
    use crate::layout::head;
    use crate::output::OutputStreams;
    use crate::stop::EarlyExit;
    use crate::stop::RunExit;
    use crate::store::{SqlStore, StoreRefusal};
    use crate::waiting::wait;

    /// A store that is closed when it is dropped, however its verb ends: what was written then stands in the file itself,
    /// and a copy of it is whole.
    pub(crate) struct OpenStore(SqlStore);

    impl std::ops::Deref for OpenStore {
        type Target = SqlStore;

        fn deref(&self) -> &SqlStore {
            &self.0
        }
    }

    impl Drop for OpenStore {
        fn drop(&mut self) {
            wait(self.0.close());
        }
    }

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
        pub(crate) fn open(&self, show: &OutputStreams<'_, '_>) -> Result<OpenStore, EarlyExit> {
            open(&self.address(show)?)
        }

        /// Whether a store is named, by the flag or by the environment.
        pub(crate) fn is_named(&self, show: &OutputStreams<'_, '_>) -> bool {
            self.store.is_some() || from_env("TAPSTER_STORE", show).is_some()
        }

        /// Opens a store that exists.
        pub(crate) fn open_existing(&self, show: &OutputStreams<'_, '_>) -> Result<OpenStore, EarlyExit> {
            told(wait(SqlStore::open_existing(&self.address(show)?)))
        }

        fn address(&self, show: &OutputStreams<'_, '_>) -> Result<String, EarlyExit> {
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

    /// Opens a database.
    pub(crate) fn open(address: &str) -> Result<OpenStore, EarlyExit> {
        told(wait(SqlStore::open(address)))
    }

    fn told(opened: Result<SqlStore, StoreRefusal>) -> Result<OpenStore, EarlyExit> {
        opened.map(OpenStore).map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))
    }
}
