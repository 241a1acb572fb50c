//! What the feature `full` adds for the rest of the program. Without it, `lean.rs` is compiled in its place.

use crate::diag::{Code, Diagnostic};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::share::shown;
use crate::store::{SqlStore, StoreRefusal, TemplateStore};

pub(crate) use tapster_client::http::file_of as file_of_address;

pub(crate) use crate::store::block_on as wait;

/// The bytes at an address, at most `limit`.
pub(crate) fn fetch(url: &str, limit: usize) -> Result<Option<Vec<u8>>> {
    use tapster_client::http::{fetch, timeouts};
    wait(fetch(url, limit, timeouts())).map_err(|error| {
        let message = format!("`{}` cannot be fetched: {}", shown(url), shown(&error.message));
        let help = "check the address and the connection; nothing was changed";
        EarlyExit::new(RunExit::CouldNot, Diagnostic::new(Code::ShareUnreachable, message).help(help))
    })
}

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

/// Opens a database; a file that does not exist is created.
pub(crate) fn open_database(address: &str) -> Result<OpenStore> {
    opened(wait(SqlStore::open(address)))
}

/// Opens a database that exists.
pub(crate) fn open_existing_database(address: &str) -> Result<OpenStore> {
    opened(wait(SqlStore::open_existing(address)))
}

fn opened(database: Result<SqlStore, StoreRefusal>) -> Result<OpenStore> {
    database.map(OpenStore).map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))
}

/// The templates of a database, its name, and what closes it.
pub(crate) fn open_template_database(address: &str) -> Result<(Box<dyn TemplateStore>, String, OpenStore)> {
    let store = open_database(address)?;
    Ok((Box::new(SqlStore::clone(&store)), store.name().to_owned(), store))
}
