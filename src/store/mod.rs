//! Storage for what an application keeps between builds: templates, byte for byte as they were authored, and sessions
//! with their artifacts and state.
//!
//! A store knows names and bytes, not their meaning. Whoever reads a template must check it again, because other
//! programs may have changed it. [`TemplateStore`] is the interface for templates, and [`FolderStore`] stores them as
//! files of a folder. [`SessionStore`] is the interface for sessions.

mod folder;
mod sessions;

pub use folder::{FolderStore, MAX_TEMPLATE};
pub use sessions::{
    Archived, Artifact, Batch, Committed, Dump, Home, Logged, MAX_VALUE, Moment, Page, Pending, PruneReason, Pruned, SessionInfo,
    SessionStore, State, Version, Window, Write,
};

use crate::diag::Diagnostic;

/// Why a store refused a request, as a diagnostic without a place.
pub type Refused = Box<Diagnostic>;

/// Stored templates by their `id`, which may be any text, including the empty one.
pub trait TemplateStore {
    /// Lists the stored templates.
    ///
    /// # Errors
    /// A `file.*` code if the store cannot be read.
    fn list(&self) -> Result<Listing, Refused>;

    /// Returns a template as it was authored, or `None` if none of this id is stored.
    ///
    /// # Errors
    /// `store.name` for an id that cannot be stored, a `file.*` code if the template cannot be read.
    fn get(&self, id: &str) -> Result<Option<Stored>, Refused>;

    /// Stores a template completely or not at all, and returns its name for messages. `replace` allows to replace a
    /// stored template of the same id.
    ///
    /// # Errors
    /// `store.taken` if a template of this id is stored and `replace` is false; `store.name` for an id that cannot be
    /// stored; a `file.*` code if it cannot be written.
    fn put(&self, id: &str, bytes: &[u8], replace: bool) -> Result<String, Refused>;

    /// Removes a template. Returns false if none of this id is stored.
    ///
    /// # Errors
    /// `store.name` for an id that cannot be stored; a `file.*` code if the template cannot be removed.
    fn remove(&self, id: &str) -> Result<bool, Refused>;
}

/// A stored template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name for messages: the path of its file.
    pub name: String,
    /// Its content, byte for byte.
    pub bytes: Vec<u8>,
}

/// The content of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The ids of the stored templates, sorted.
    pub ids: Vec<String>,
    /// The names of JSON files in the store that it did not write, sorted. They are not returned as templates.
    pub strangers: Vec<String>,
}
