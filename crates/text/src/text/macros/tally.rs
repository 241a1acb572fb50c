//! What the tree of a text may hold. A tree takes far more memory than its text, so macros are counted as they are read, and
//! reading ends at the first one that is too much.

use crate::text::TextLimits;

/// So many arguments and ends of blocks a text may have for each macro that it may have.
const PARTS_PER_MACRO: usize = 10;

/// Why a text is not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TallyRefusal {
    /// It holds too many macros.
    Macros,
    /// It holds too many arguments and ends of blocks.
    Parts,
}

/// The count of one text.
#[derive(Debug, Default)]
pub struct ArgumentTally {
    /// The most macros.
    most: usize,
    /// Macros, without those that end blocks.
    macros: usize,
    /// Arguments and ends of blocks.
    parts: usize,
    refused: Option<TallyRefusal>,
}

impl ArgumentTally {
    /// A count of at most this many macros.
    pub(super) fn of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Counts a macro whose end has been read. It may be the end of a block.
    pub(super) fn end(&mut self, closes: bool) {
        if closes {
            return self.count_part();
        }
        self.macros += 1;
        if self.macros > self.most {
            self.refuse(TallyRefusal::Macros);
        }
    }

    /// Counts an argument or the end of a block.
    pub(super) fn count_part(&mut self) {
        self.parts += 1;
        if self.parts > self.most.saturating_mul(PARTS_PER_MACRO) {
            self.refuse(TallyRefusal::Parts);
        }
    }

    /// The first reason is told.
    fn refuse(&mut self, why: TallyRefusal) {
        self.refused = self.refused.or(Some(why));
    }

    /// Whether the text is not read to its end, so that it is left as it was.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The warning about a text that is not read to its end.
    pub(super) fn told(&self, limits: &TextLimits) -> Option<String> {
        Some(match self.refused? {
            TallyRefusal::Macros => format!("the text holds more than {} macros and is left as it was", limits.steps),
            TallyRefusal::Parts => format!(
                "the macros of the text have more than {} arguments and ends of blocks, and it is left as it was",
                limits.steps.saturating_mul(PARTS_PER_MACRO)
            ),
        })
    }

    /// How many macros, arguments and ends of blocks there are.
    pub fn count(&self) -> usize {
        self.macros + self.parts
    }
}
