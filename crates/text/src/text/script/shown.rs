//! What a view is made of; `view.rs` says what it does.

use std::sync::Arc;

use crate::model::Value;
use crate::model::rights::ScriptRights;

use super::fuel::{STEPS_PER_VALUE, VIEWS, charge};

/// What a script may read and write of a table, and the path of the table.
#[derive(Debug, Clone)]
pub(super) struct TableGuard {
    pub(super) rights: Arc<ScriptRights>,
    pub(super) path: Arc<str>,
    /// The table is an item that is given back, so changes of it are writes.
    pub(super) item: bool,
}

/// A table that is read lazily.
#[derive(Debug, Clone)]
pub(super) struct LazyMap {
    pub(super) value: Value,
    /// `None`: all of it may be read and changed.
    pub(super) guard: Option<TableGuard>,
    /// It is the scene, which no script changes in place.
    pub(super) scene: bool,
    pub(super) _held: HeldTable,
}

/// A table of the build that a script holds: each copy is counted and paid, and one that is dropped is counted no more.
#[derive(Debug)]
pub(super) struct HeldTable;

impl HeldTable {
    pub(super) fn new() -> Self {
        VIEWS.set(VIEWS.get().saturating_add(1));
        Self
    }
}

impl Clone for HeldTable {
    fn clone(&self) -> Self {
        // the next operation ends the script, if this was too much
        let _ = charge(STEPS_PER_VALUE, 0);
        Self::new()
    }
}

impl Drop for HeldTable {
    fn drop(&mut self) {
        VIEWS.set(VIEWS.get().saturating_sub(1));
    }
}
