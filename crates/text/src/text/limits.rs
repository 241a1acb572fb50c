//! The limits of the text languages: one type for all, and the numbers of each language.
//!
//! A text of a pack or of a scene may be hostile. Its length and nesting are checked while it is parsed, its steps and
//! output while it is rendered. A host may lower a number (the output follows the pack's `limits.text_bytes`).

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

    /// The same limits, with at most this many bytes of output.
    #[must_use]
    pub const fn with_output(self, output: usize) -> Self {
        Self { output, ..self }
    }
}
