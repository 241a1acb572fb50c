//! What a view is made of; `view.rs` says what it does.

use std::sync::Arc;

use crate::model::Value;
use crate::model::rights::Rights;

/// What a script may read and write of a table, and the path of the table.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    pub(super) rights: Arc<Rights>,
    pub(super) path: Arc<str>,
    /// The table is an item that is given back, so changes of it are writes.
    pub(super) item: bool,
}

/// A table that is read lazily.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) value: Value,
    /// `None`: all of it may be read and changed.
    pub(super) guard: Option<Guard>,
    /// It is the scene, which no script changes in place.
    pub(super) scene: bool,
}
