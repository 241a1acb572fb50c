//! What is evaluated once and used again: parts of a pass that depend on no item (memo cells), large facts and values that
//! several places name, and lists that values are looked for in.
//!
//! Shared facts and values are compiled once and evaluated once within one evaluation of the outermost. Without that, forty
//! values that each name the next one twice would be compiled and evaluated 2⁴⁰ times.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::Value;
use crate::text::work::{self, BudgetExceeded};
use crate::text::written;

use super::eval::{Env, EvalFault};
use super::{Cond, Expr};

/// What of the running pass the evaluation of its terms depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassContext {
    /// The list that it works on, which `$account.x.left` refers to.
    pub list: usize,
    /// An item whose condition fails is not selected, with a warning.
    pub spares: bool,
}

/// What is evaluated once per pass: the values of parts that depend on no item, and sets that are built from lists.
#[derive(Debug, Default)]
pub struct PassMemo {
    /// The pass that it belongs to.
    pub pass: PassContext,
    cells: RefCell<Vec<Option<Value>>>,
    pub(super) sets: RefCell<Vec<Option<Arc<ValueSet>>>>,
    /// Large facts and values in the evaluations that are going on.
    pub(super) shares: SharedResults,
}

impl PassMemo {
    /// In which nothing has been evaluated.
    #[must_use]
    pub fn of(pass: PassContext) -> Self {
        Self { pass, ..Self::default() }
    }

    /// Outside of any pass, about a list.
    #[must_use]
    pub fn over(list: usize) -> Self {
        Self::of(PassContext { list, spares: false })
    }

    /// The value in a cell, if it has been evaluated.
    pub fn get(&self, slot: u32) -> Option<Value> {
        self.cells.borrow().get(slot as usize).cloned().flatten().filter(|_| work::takes_shortcuts())
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

/// What one memo cell of a pass holds.
#[derive(Debug, Clone)]
pub struct MemoCell {
    slot: u32,
    what: CellContent,
    /// It is inside a branch that may not be chosen.
    branch: bool,
}

#[derive(Debug, Clone)]
enum CellContent {
    Expr(Expr),
    Cond(Cond),
}

impl MemoCell {
    /// The cell of an expression.
    #[must_use]
    pub fn of_expr(slot: u32, expr: Expr, branch: bool) -> Self {
        Self { slot, what: CellContent::Expr(expr), branch }
    }

    /// The cell of a condition.
    #[must_use]
    pub fn of_cond(slot: u32, cond: Cond, branch: bool) -> Self {
        Self { slot, what: CellContent::Cond(cond), branch }
    }

    /// Evaluates the cell now. An error inside a branch that may not be chosen is raised only if the branch is
    /// chosen.
    pub fn fill(&self, env: &Env<'_>) -> Result<(), EvalFault> {
        let value = match &self.what {
            CellContent::Expr(e) => env.eval(e),
            CellContent::Cond(c) => env.holds(c).map(Value::Bool),
        };
        match value {
            Ok(value) => env.memo.put(self.slot, value),
            Err(_) if self.branch => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}

/// A compiled fact or value that several places hold.
#[derive(Debug)]
pub struct SharedValue<T> {
    /// What it holds.
    pub of: T,
    /// Which one it is; the numbers are those of one pack.
    pub id: u32,
    /// How many levels of items it depends on, 1 for the current item, 2 for the item around it.
    pub depends: u8,
    /// Whether evaluating it may take a draw.
    pub draws: bool,
}

impl<T> SharedValue<T> {
    /// Shares a value or condition; `refers` says whether it depends on the item so many levels up.
    pub fn new(id: u32, of: T, refers: impl Fn(&T, u8) -> bool, draws: impl FnOnce(&T) -> bool) -> Self {
        let depends = (0..u8::MAX).find(|depth| !refers(&of, *depth)).unwrap_or(u8::MAX);
        let draws = draws(&of);
        Self { of, id, depends, draws }
    }
}

/// What has been evaluated within the evaluations that are going on, outermost first.
#[derive(Debug, Default)]
pub(super) struct SharedResults(RefCell<Vec<SharedFrame>>);

/// One such evaluation.
#[derive(Debug)]
struct SharedFrame {
    /// The address of its environment, which lives as long as the evaluation.
    env: usize,
    known: FxHashMap<u32, Value>,
}

impl SharedResults {
    /// The frame that may hold the result: one that depends on no item is the same in all of them.
    fn frame(&self, env: usize, depends: u8) -> Option<usize> {
        let frames = self.0.borrow();
        if depends == 0 {
            return (!frames.is_empty()).then_some(0);
        }
        let last = frames.len().checked_sub(1)?;
        frames.get(last).filter(|frame| frame.env == env).map(|_| last)
    }

    fn get(&self, frame: usize, id: u32) -> Option<Value> {
        self.0.borrow().get(frame)?.known.get(&id).cloned()
    }
}

impl SharedResults {
    /// The result of a shared fact or value in an environment: taken from an evaluation that is going on, or made by `eval`.
    pub(super) fn result<E, T>(
        &self,
        env: &E,
        shared: &SharedValue<T>,
        eval: impl FnOnce(&T) -> Result<Value, EvalFault>,
    ) -> Result<Value, EvalFault> {
        if shared.draws {
            return eval(&shared.of);
        }
        let here = std::ptr::from_ref(env).cast::<u8>().addr();
        let Some(frame) = self.frame(here, shared.depends) else {
            self.0.borrow_mut().push(SharedFrame { env: here, known: FxHashMap::default() });
            let value = eval(&shared.of);
            self.0.borrow_mut().pop();
            return value;
        };
        if let Some(value) = self.get(frame, shared.id) {
            return Ok(value);
        }
        let value = eval(&shared.of)?;
        if let Some(frame) = self.0.borrow_mut().get_mut(frame) {
            frame.known.insert(shared.id, value.clone());
        }
        Ok(value)
    }
}

/// Values to look for others among. A text is looked up as it is, because a long list is asked for each of its items.
#[derive(Debug, Default)]
pub(super) struct ValueSet {
    texts: FxHashSet<Arc<str>>,
    /// The others, as [`written::key`] writes them.
    others: FxHashSet<String>,
}

impl ValueSet {
    /// The values of a list.
    ///
    /// # Errors
    /// As for [`written::key`].
    pub(super) fn of(values: &[Value]) -> Result<Self, BudgetExceeded> {
        let mut made = Self::default();
        for value in values {
            if let Value::Text(text) = value {
                made.texts.insert(text.clone());
            } else {
                made.others.insert(written::key(value)?);
            }
        }
        Ok(made)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.others.is_empty()
    }

    /// Whether a value is one of them.
    ///
    /// # Errors
    /// As for [`written::key`].
    pub(super) fn has(&self, value: &Value) -> Result<bool, BudgetExceeded> {
        if self.is_empty() {
            return Ok(false);
        }
        if let Value::Text(text) = value {
            return Ok(self.texts.contains(text));
        }
        Ok(self.others.contains(&written::key(value)?))
    }
}
