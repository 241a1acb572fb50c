//! The limits of the text languages: one type for all, and the numbers of each language.
//!
//! A text of a pack or of a scene may be hostile. Its length and nesting are checked while it is parsed, its steps and
//! output while it is rendered. A host may lower a number (the output follows the pack's `limits.text_bytes`).

use super::work;

/// Why a rendering stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepBound {
    /// The language allows no more steps.
    Language,
    /// The work of the call is spent.
    Call,
}

impl StepBound {
    /// The sentence about it; `language` says what the language allows.
    pub fn message(self, language: impl FnOnce() -> String) -> String {
        if self == Self::Call { work::excess_message() } else { language() }
    }
}

/// Counts the steps of a rendering. Loops can do much work without output, so steps are bounded besides the output.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepCounter {
    most: u64,
    taken: u64,
    /// What a step takes of the work of the call.
    price: u64,
}

impl StepCounter {
    /// A counter of at most so many steps.
    #[must_use]
    pub fn new(most: u64, price: u64) -> Self {
        Self { most, taken: 0, price }
    }

    /// Counts steps.
    ///
    /// # Errors
    /// They are too many.
    #[inline]
    pub fn count(&mut self, steps: u64) -> Result<(), StepBound> {
        self.taken = self.taken.saturating_add(steps);
        work::spend(steps.saturating_mul(self.price)).map_err(|_| StepBound::Call)?;
        if self.taken > self.most { Err(StepBound::Language) } else { Ok(()) }
    }
}

/// The limits of a text language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimits {
    /// Longest source text, in bytes.
    pub length: usize,
    /// Deepest nesting of blocks, calls or brackets.
    pub depth: usize,
    /// The most units of work of one rendering; each language defines its unit.
    pub steps: usize,
    /// The longest output of one rendering, in bytes.
    pub output: usize,
}

impl TextLimits {
    /// Handlebars: a step is a piece that is rendered or an iteration of a loop.
    pub const HANDLEBARS: Self = Self { length: 1 << 20, depth: 64, steps: 1_000_000, output: 64 << 20 };
    /// Liquid: a step is a tag, an iteration of a loop, an operator, an element of a list or 32 bytes of text.
    pub const LIQUID: Self = Self { length: 1 << 20, depth: 64, steps: 2_000_000, output: 8 << 20 };
    /// Macros: a step is a macro that is evaluated, and the output is what macros add. Texts of any length are read,
    /// because most of them are messages without a macro.
    pub const MACROS: Self = Self { length: usize::MAX, depth: 64, steps: 100_000, output: 8 << 20 };
    /// Leaf strings: the length is that of one tag, the depth that of values whose text holds tags again.
    pub const LEAF: Self = Self { length: 1 << 18, depth: 5, steps: 1 << 22, output: usize::MAX };
    /// Arithmetic: a step is an operator, a function or an argument. Every operator nests the compiled form.
    pub const CALC: Self = Self { length: 1 << 16, depth: 64, steps: 512, output: usize::MAX };

    /// Counts the steps of a rendering, each of which takes so many steps of the work of the call.
    #[must_use]
    pub fn counter(&self, price: u64) -> StepCounter {
        StepCounter::new(self.steps as u64, price)
    }

    /// The same limits, with at most this many bytes of output.
    #[must_use]
    pub const fn with_output(self, output: usize) -> Self {
        Self { output, ..self }
    }
}
