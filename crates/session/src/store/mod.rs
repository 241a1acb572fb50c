//! Storage for what an application keeps between builds: templates, byte for byte as they were authored, and sessions
//! with their artifacts and state.
//!
//! A store knows names and bytes, not their meaning. Whoever reads a template must check it again, because other
//! programs may have changed it. [`TemplateStore`] is the interface for templates, and [`FolderStore`] stores them as
//! files of a folder. [`SessionStore`] is the interface for sessions. With the feature `store`, `SqlStore` implements both
//! in SQLite and PostgreSQL.
//!
//! The futures of the interfaces do not depend on a runtime, those of `SqlStore` on `tokio`.

#[doc(hidden)]
pub mod disk;
mod folder;
mod sessions;
#[cfg(feature = "store")]
mod sql;

pub use crate::artifact::{Artifact, VersionWindow};
pub use folder::{FolderStore, MAX_TEMPLATE};
pub use sessions::{
    ArchivedVersion, ArtifactVersion, ArtifactWrite, Batch, CommitOutcome, Home, LOCAL_OWNER, ListPage, LogRecord, MAX_VALUE, Moment,
    PruneReason, PrunedVersion, SessionDump, SessionInfo, SessionState, SessionStore, StoreFuture,
};
#[cfg(feature = "store")]
pub use sql::{MAX_DEPTH, MAX_NAME, SqlStore, block_on};

use crate::diag::Diagnostic;

/// Why a store refused a request, as a diagnostic without a place.
pub type StoreRefusal = Box<Diagnostic>;

/// Stored templates by their `id`, which may be any text, including the empty one.
pub trait TemplateStore: Send + Sync {
    /// Lists the stored templates.
    ///
    /// # Errors
    /// A `file.*` or `store.*` code if the store cannot be read.
    fn list(&self) -> StoreFuture<'_, StoreListing>;

    /// Returns a template as it was authored, or `None` if none of this id is stored.
    ///
    /// # Errors
    /// `store.name` for an id that cannot be stored, a `file.*` or `store.*` code if the template cannot be read.
    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTemplate>>;

    /// Stores a template completely or not at all, and returns its name for messages. `replace` allows to replace a
    /// stored template of the same id.
    ///
    /// # Errors
    /// `store.taken` if a template of this id is stored and `replace` is false; `store.name` for an id that cannot be
    /// stored; a `file.*` or `store.*` code if it cannot be written.
    fn put<'a>(&'a self, id: &'a str, bytes: &'a [u8], replace: bool) -> StoreFuture<'a, String>;

    /// Removes a template. Returns false if none of this id is stored.
    ///
    /// # Errors
    /// `store.name` for an id that cannot be stored; a `file.*` or `store.*` code if the template cannot be removed.
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool>;
}

/// A stored template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTemplate {
    /// Its name for messages: the path of its file, or the name of its store with its id.
    pub name: String,
    /// Its content, byte for byte.
    pub bytes: Vec<u8>,
}

/// The content of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreListing {
    /// The ids of the stored templates, sorted.
    pub ids: Vec<String>,
    /// The names of JSON files in the store that it did not write, sorted. They are not returned as templates.
    pub strangers: Vec<String>,
}
