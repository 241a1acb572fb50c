//! How much work one call of the library may take, whatever the rules and the data ask for.

/// The bounds on the work of one call: a build, a payload, a run of a program, or a text that is rendered by itself. They
/// are counted without a clock, so the same input reaches them on every machine. A pack can only lower them (`[limits]`).
/// The data that the call is given adds to both in proportion to its size, at most as much again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimits {
    /// Steps: an item that a pass visits, a macro, a tag, some bytes of text that are searched … A step takes some
    /// ten nanoseconds.
    pub steps: u64,
    /// Bytes of all texts, lists and tables that are made, also of those that are no longer needed.
    pub bytes: u64,
}

impl Default for WorkLimits {
    // a build of the largest example takes less than a tenth of both; a hostile one ends within two seconds
    fn default() -> Self {
        Self { steps: 150_000_000, bytes: 256 << 20 }
    }
}

impl WorkLimits {
    /// The share of both bounds that each part of the given data adds: a text, a number, a list, a table.
    const PER_PART: u64 = 800_000;
    /// The parts that are counted: more add nothing.
    pub(crate) const MOST_PARTS: usize = 800_000;

    /// What data of so many parts adds to the bounds, at most as much again: a long chat or a large book takes more work
    /// than a short one, but a stranger's file must not set its own bounds.
    #[must_use]
    pub(crate) fn more_for(self, parts: usize) -> Self {
        let parts = u128::from(Self::PER_PART).min(parts as u128);
        let share = |bound: u64| u128::from(bound) * parts / u128::from(Self::PER_PART);
        let share = |bound: u64| u64::try_from(share(bound)).unwrap_or(u64::MAX);
        Self { steps: share(self.steps), bytes: share(self.bytes) }
    }

    /// The sum of both bounds each.
    #[must_use]
    pub(crate) fn and(self, more: Self) -> Self {
        Self { steps: self.steps.saturating_add(more.steps), bytes: self.bytes.saturating_add(more.bytes) }
    }

    /// The smaller of both bounds each.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        Self { steps: self.steps.min(other.steps), bytes: self.bytes.min(other.bytes) }
    }

    /// What is left of both after so much was spent.
    #[must_use]
    pub(crate) fn without(self, spent: Self) -> Self {
        Self { steps: self.steps.saturating_sub(spent.steps), bytes: self.bytes.saturating_sub(spent.bytes) }
    }
}
