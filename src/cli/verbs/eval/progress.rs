//! The progress bar, which is shown on a terminal only.

use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::run::eval::Outcome;

/// How far an evaluation has come.
pub(super) struct Progress {
    bar: ProgressBar,
    succeeded: AtomicU64,
}

impl Progress {
    /// A bar for so many cells.
    pub(super) fn new(cells: usize, terminal: bool) -> Self {
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(u64::try_from(cells).ok(), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed} of {duration}  {msg}") {
            bar.set_style(style);
        }
        Self { bar, succeeded: AtomicU64::new(0) }
    }

    /// A cell is done.
    pub(super) fn done(&self, outcome: &Outcome) {
        let succeeded = self.succeeded.fetch_add(u64::from(outcome.ok), Ordering::SeqCst) + u64::from(outcome.ok);
        let clean: String = outcome.key.chars().filter(|c| !c.is_control()).take(60).collect();
        self.bar.set_message(format!("{succeeded} succeeded  {clean}"));
        self.bar.inc(1);
    }

    /// Everything is done.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
