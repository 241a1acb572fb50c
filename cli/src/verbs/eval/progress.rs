//! The progress bar, which is shown on a terminal only.

use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::ProgressBar;

use crate::run::eval::CellOutcome;

use crate::bar::{bar, clean};

/// How far an evaluation has come.
pub(super) struct EvalProgress {
    bar: ProgressBar,
    succeeded: AtomicU64,
}

impl EvalProgress {
    /// A bar for so many cells.
    pub(super) fn new(cells: usize, terminal: bool) -> Self {
        Self { bar: bar(cells, terminal), succeeded: AtomicU64::new(0) }
    }

    /// A cell is done.
    pub(super) fn done(&self, outcome: &CellOutcome) {
        let succeeded = self.succeeded.fetch_add(u64::from(outcome.ok), Ordering::SeqCst) + u64::from(outcome.ok);
        self.bar.set_message(format!("{succeeded} succeeded  {}", clean(&outcome.key)));
        self.bar.inc(1);
    }

    /// Everything is done.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
