//! What of the rules builds have exercised: the passes, both sides of their conditions, and the cells of rows.
//!
//! A ruleset may have a sink, to which every build writes that runs on it. Without a sink, a pass costs one check of an
//! option.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::RuleRef;

use super::Select;

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

/// What the builds of a ruleset have exercised so far.
#[derive(Debug, Default)]
pub struct CoverageSink(Mutex<Coverage>);

#[derive(Debug, Default)]
struct Coverage {
    passes: FxHashMap<Arc<str>, PassSeen>,
    /// The passes by the address of their selections, which live as long as the rules.
    selects: FxHashMap<usize, Arc<str>>,
    cells: FxHashSet<CellSeen>,
    /// The pass that set each path last.
    setters: FxHashMap<String, Arc<str>>,
}

impl Coverage {
    fn note(&mut self, pass: &Arc<str>, what: PassSeen) {
        self.passes.entry(pass.clone()).or_default().add(what);
    }
}

impl CoverageSink {
    fn open(&self) -> MutexGuard<'_, Coverage> {
        // each entry is complete, so what a build has left behind that panicked can be used
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen of each pass that was reached.
    #[must_use]
    pub fn passes(&self) -> FxHashMap<Arc<str>, PassSeen> {
        self.open().passes.clone()
    }

    /// The cells that were evaluated.
    #[must_use]
    pub fn cells(&self) -> FxHashSet<CellSeen> {
        self.open().cells.clone()
    }

    /// The pass that set a path, or a value above or below it, last.
    #[must_use]
    pub fn setter(&self, path: &str) -> Option<Arc<str>> {
        let coverage = self.open();
        let setters = &coverage.setters;
        let above = std::iter::successors(Some(path), |path| path.rsplit_once('.').map(|(above, _)| above));
        above.into_iter().find_map(|path| setters.get(path).cloned()).or_else(|| {
            let below = format!("{path}.");
            setters.iter().find(|(known, _)| known.starts_with(&below)).map(|(_, pass)| pass.clone())
        })
    }

    /// A pass has come to its gate.
    pub(crate) fn pass(&self, pass: &Arc<str>, select: &Select, held: bool) {
        let mut coverage = self.open();
        coverage.selects.insert(std::ptr::from_ref(select).addr(), pass.clone());
        coverage.note(pass, PassSeen { ran: held, skipped: !held, ..PassSeen::default() });
    }

    /// A selection has judged items by its `where`. Selections that belong to no pass are not counted.
    pub(super) fn judged(&self, select: &Select, chose: bool, left: bool) {
        let mut coverage = self.open();
        let pass = coverage.selects.get(&std::ptr::from_ref(select).addr()).cloned();
        if let Some(pass) = pass {
            coverage.note(&pass, PassSeen { chose, left, ..PassSeen::default() });
        }
    }

    /// A cell of a row was evaluated.
    pub(crate) fn cell(&self, cell: RuleRef, held: bool) {
        let cell = match cell {
            RuleRef::Expr(n) => CellSeen::Value(n),
            RuleRef::Cond(n) => CellSeen::Condition(n, held),
        };
        self.open().cells.insert(cell);
    }

    /// A pass has set a path.
    pub(super) fn set(&self, names: &[Arc<str>], pass: &Arc<str>) {
        self.open().setters.insert(names.join("."), pass.clone());
    }
}
