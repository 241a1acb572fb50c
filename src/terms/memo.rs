//! Memo cells: the parts of a pass that depend on no item are evaluated once per pass, when they are first needed.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::Value;
use crate::text::shortcuts;

use super::among::ValueSet;

/// What is evaluated once per pass: the values of parts that depend on no item, and sets that are built from lists.
#[derive(Debug, Default)]
pub struct PassMemo {
    cells: RefCell<Vec<Option<Value>>>,
    pub(super) sets: RefCell<Vec<Option<Arc<ValueSet>>>>,
    /// Large facts and values in the evaluations that are going on.
    pub(super) shares: super::shared::SharedResults,
}

impl PassMemo {
    /// The value in a cell, if it has been evaluated.
    pub fn get(&self, slot: u32) -> Option<Value> {
        self.cells.borrow().get(slot as usize).cloned().flatten().filter(|_| shortcuts::are_on())
    }

    /// Fills a cell.
    pub fn put(&self, slot: u32, value: Value) {
        put(&self.cells, slot, value);
    }

    /// The set built from the list in a cell, if it has been built.
    pub(super) fn set(&self, slot: u32) -> Option<Arc<ValueSet>> {
        self.sets.borrow().get(slot as usize).cloned().flatten()
    }
}

/// Stores a value at a slot; the cells grow as needed.
pub(super) fn put<T: Clone>(cells: &RefCell<Vec<Option<T>>>, slot: u32, value: T) {
    let mut cells = cells.borrow_mut();
    let slot = slot as usize;
    if cells.len() <= slot {
        cells.resize(slot + 1, None);
    }
    if let Some(cell) = cells.get_mut(slot) {
        *cell = Some(value);
    }
}
