//! What an application keeps between builds: templates, as they were authored.
//!
//! A store knows names and bytes and nothing of what they mean; who reads a template checks it anew, since others may
//! have changed it. There is one trait, and the folder as its first backend.

mod folder;

pub use folder::{FolderStore, MAX_TEMPLATE};

use crate::diag::Diagnostic;

/// Why a store did not do what it was asked to.
pub type Refused = Box<Diagnostic>;

/// Templates at rest, by their `id`: any text, the empty one too.
pub trait TemplateStore {
    /// What is stored.
    ///
    /// # Errors
    /// `file.*` where the store cannot be read.
    fn list(&self) -> Result<Listing, Refused>;

    /// A template as it was authored; nothing where none is stored.
    ///
    /// # Errors
    /// `store.name` for an id that cannot be stored, `file.*` for what cannot be read.
    fn get(&self, id: &str) -> Result<Option<Stored>, Refused>;

    /// Stores a template whole, or not at all; gives what messages call it.
    ///
    /// # Errors
    /// `store.taken` where there is one and it is not to be replaced; `store.name`; `file.*`.
    fn put(&self, id: &str, bytes: &[u8], replace: bool) -> Result<String, Refused>;

    /// Removes a template. False where none is stored.
    ///
    /// # Errors
    /// `store.name`; `file.*`.
    fn remove(&self, id: &str) -> Result<bool, Refused>;
}

/// A stored template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What messages call it: the path of its file.
    pub name: String,
    /// What it holds, byte for byte.
    pub bytes: Vec<u8>,
}

/// What a store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The ids, sorted.
    pub ids: Vec<String>,
    /// Names of JSON files that the store did not write, sorted: they are nobody's template.
    pub strangers: Vec<String>,
}
