//! What counting the tokens of a text costs.

use super::work::{self, Exceeded};

/// What counting a text costs. It is paid as it grows, before the work is done.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(super) cost: Cost,
    pays: bool,
}

/// What counting a text has cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    /// Steps, with those of the memory.
    pub(super) steps: u64,
    /// The most memory that was in use at one time, in bytes.
    pub(super) held: usize,
}

impl Meter {
    pub(super) fn paid() -> Self {
        Self { cost: Cost::default(), pays: true }
    }

    pub(super) fn unpaid() -> Self {
        Self { cost: Cost::default(), pays: false }
    }

    /// Pays for steps, and for so many bytes that are free again at the end of them.
    ///
    /// # Errors
    /// A bound of the work is reached.
    pub(crate) fn pay(&mut self, steps: u64, held: usize) -> Result<(), Exceeded> {
        let steps = if held > 0 { steps.saturating_add(work::steps_of(held)) } else { steps };
        self.cost = Cost { steps: self.cost.steps.saturating_add(steps), held: self.cost.held.max(held) };
        if self.pays { Cost { steps, held }.pay() } else { Ok(()) }
    }
}

impl Cost {
    pub(super) fn pay(self) -> Result<(), Exceeded> {
        if self.held == 0 {
            return work::spend(self.steps);
        }
        work::spend(self.steps.saturating_sub(work::steps_of(self.held)))?;
        work::hold(self.held)
    }
}
