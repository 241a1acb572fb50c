//! How much work one call of the library may take, whatever the rules and the data ask for.

/// The bounds on the work of one call: a build, a payload, a run of a program, or a text that is rendered by itself. They
/// are counted without a clock, so the same input reaches them on every machine. A pack can only lower them (`[limits]`).
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
        Self { steps: 100_000_000, bytes: 256 << 20 }
    }
}

impl WorkLimits {
    /// The smaller of both bounds each.
    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        Self { steps: self.steps.min(other.steps), bytes: self.bytes.min(other.bytes) }
    }
}
