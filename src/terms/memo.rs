//! Memo cells: the parts of a pass that look at no item are evaluated once per pass, when they are first needed.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::model::Value;

use super::eval::{Env, Fault};
use super::{Cond, Expr};

/// What is evaluated once per pass: values of parts that look at no item, and sets made of lists.
#[derive(Debug, Default)]
pub struct Memo {
    cells: RefCell<Vec<Option<Value>>>,
    pub(super) sets: RefCell<Vec<Option<Arc<FxHashSet<String>>>>>,
}

impl Memo {
    /// The value in a cell, if it has been evaluated.
    pub fn get(&self, slot: u32) -> Option<Value> {
        self.cells.borrow().get(slot as usize).cloned().flatten()
    }

    /// Fills a cell.
    pub fn put(&self, slot: u32, value: Value) {
        put(&self.cells, slot, value);
    }

    /// The set made of the list in a cell, if it has been made.
    pub(super) fn set(&self, slot: u32) -> Option<Arc<FxHashSet<String>>> {
        self.sets.borrow().get(slot as usize).cloned().flatten()
    }
}

/// Puts a value at a slot, which the cells grow to hold.
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

/// What one memo cell of a pass holds.
#[derive(Debug, Clone)]
pub struct Cell {
    slot: u32,
    what: What,
    /// It stands in a branch that may not be chosen.
    branch: bool,
}

#[derive(Debug, Clone)]
enum What {
    Expr(Expr),
    Cond(Cond),
}

impl Cell {
    /// The cell of an expression.
    #[must_use]
    pub fn of_expr(slot: u32, expr: Expr, branch: bool) -> Self {
        Self { slot, what: What::Expr(expr), branch }
    }

    /// The cell of a condition.
    #[must_use]
    pub fn of_cond(slot: u32, cond: Cond, branch: bool) -> Self {
        Self { slot, what: What::Cond(cond), branch }
    }

    /// Evaluates the cell now. What fails in a branch that may not be chosen fails where it is chosen.
    pub fn fill(&self, env: &Env<'_>) -> Result<(), Fault> {
        let value = match &self.what {
            What::Expr(e) => env.eval(e),
            What::Cond(c) => env.holds(c).map(Value::Bool),
        };
        match value {
            Ok(value) => env.memo.put(self.slot, value),
            Err(_) if self.branch => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}
