//! What of the rules a run has exercised: the passes, both sides of their conditions, and the cells of rows.
//!
//! A sink is set for a thread, and every state that is made there writes to it. Without a sink, a pass costs one check of
//! an option.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::RuleRef;

use super::Select;

thread_local! {
    static SINK: RefCell<Option<Rc<CoverageSink>>> = const { RefCell::new(None) };
}

/// What was seen of one pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassSeen {
    /// It did its work at least once: its `when` held.
    pub ran: bool,
    /// Its `when` did not hold at least once.
    pub skipped: bool,
    /// Its `where` chose an item.
    pub chose: bool,
    /// Its `where` left an item out.
    pub left: bool,
}

impl PassSeen {
    /// Adds what another run has seen.
    pub fn add(&mut self, other: Self) {
        self.ran |= other.ran;
        self.skipped |= other.skipped;
        self.chose |= other.chose;
        self.left |= other.left;
    }
}

/// A cell of a row that was evaluated: a condition or a value, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellSeen {
    /// A value.
    Value(u32),
    /// A condition, and whether it held.
    Condition(u32, bool),
}

/// The sink of a thread.
#[derive(Debug, Default)]
pub struct CoverageSink {
    passes: RefCell<FxHashMap<Arc<str>, PassSeen>>,
    /// The passes by the address of their selections, which live as long as the rules.
    selects: RefCell<FxHashMap<usize, Arc<str>>>,
    cells: RefCell<FxHashSet<CellSeen>>,
    /// The pass that set each path last.
    setters: RefCell<FxHashMap<String, Arc<str>>>,
}

/// Runs something with a sink, and returns what it has seen.
pub fn recording<R>(run: impl FnOnce() -> R) -> (R, Rc<CoverageSink>) {
    /// Takes the sink away even if `run` panics.
    struct SinkGuard(Option<Rc<CoverageSink>>);
    impl Drop for SinkGuard {
        fn drop(&mut self) {
            SINK.set(self.0.take());
        }
    }
    let seen = Rc::new(CoverageSink::default());
    let _back = SinkGuard(SINK.replace(Some(seen.clone())));
    (run(), seen)
}

/// The sink of this thread.
pub(super) fn sink() -> Option<Rc<CoverageSink>> {
    SINK.with_borrow(Clone::clone)
}

impl CoverageSink {
    /// What was seen of each pass that was reached.
    #[must_use]
    pub fn passes(&self) -> FxHashMap<Arc<str>, PassSeen> {
        self.passes.borrow().clone()
    }

    /// The cells that were evaluated.
    #[must_use]
    pub fn cells(&self) -> FxHashSet<CellSeen> {
        self.cells.borrow().clone()
    }

    /// The pass that set a path, or a value above or below it, last.
    #[must_use]
    pub fn setter(&self, path: &str) -> Option<Arc<str>> {
        let setters = self.setters.borrow();
        let above = std::iter::successors(Some(path), |path| path.rsplit_once('.').map(|(above, _)| above));
        above.into_iter().find_map(|path| setters.get(path).cloned()).or_else(|| {
            let below = format!("{path}.");
            setters.iter().find(|(known, _)| known.starts_with(&below)).map(|(_, pass)| pass.clone())
        })
    }

    fn note(&self, pass: &Arc<str>, what: PassSeen) {
        self.passes.borrow_mut().entry(pass.clone()).or_default().add(what);
    }

    /// A pass has come to its gate.
    pub(crate) fn pass(&self, pass: &Arc<str>, select: &Select, held: bool) {
        self.selects.borrow_mut().insert(std::ptr::from_ref(select).addr(), pass.clone());
        self.note(pass, PassSeen { ran: held, skipped: !held, ..PassSeen::default() });
    }

    /// A selection has judged items by its `where`. Selections that belong to no pass are not counted.
    pub(super) fn judged(&self, select: &Select, chose: bool, left: bool) {
        let pass = self.selects.borrow().get(&std::ptr::from_ref(select).addr()).cloned();
        if let Some(pass) = pass {
            self.note(&pass, PassSeen { chose, left, ..PassSeen::default() });
        }
    }

    /// A cell of a row was evaluated.
    pub(crate) fn cell(&self, cell: RuleRef, held: bool) {
        let cell = match cell {
            RuleRef::Expr(n) => CellSeen::Value(n),
            RuleRef::Cond(n) => CellSeen::Condition(n, held),
        };
        self.cells.borrow_mut().insert(cell);
    }

    /// A pass has set a path.
    pub(super) fn set(&self, names: &[Arc<str>], pass: &Arc<str>) {
        self.setters.borrow_mut().insert(names.join("."), pass.clone());
    }
}
