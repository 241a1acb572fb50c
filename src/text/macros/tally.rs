//! What the tree of a text may hold, and what it costs. A tree takes far more memory than its text, so macros are counted
//! and paid as they are read, and reading ends at the first one that is too much.

use crate::text::Limits;
use crate::text::work::{self, Exceeded};

/// What a macro takes in a tree, in bytes: the node, its name, and the list that it is in, which may be half empty.
const NODE: usize = 256;
/// What the first macro in an argument takes besides: a list has room for four.
const FIRST: usize = 512;
/// What an argument takes beside its macros.
const ARGUMENT: usize = 96;
/// So many arguments and ends of blocks a text may have for each macro that it may have.
const PARTS_PER_MACRO: usize = 10;

/// Why a text is not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// It holds too many macros.
    Macros,
    /// It holds too many arguments and ends of blocks.
    Parts,
    /// A bound of the work was reached.
    Work,
}

/// The count of one text.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The most macros.
    most: usize,
    /// Macros, without those that end blocks.
    macros: usize,
    /// Arguments and ends of blocks.
    parts: usize,
    refused: Option<Refused>,
    /// What the tree takes in memory.
    bytes: usize,
}

impl Tally {
    /// A count of at most this many macros.
    pub(super) fn of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Pays for a macro that is begun.
    pub(super) fn begin(&mut self) {
        self.make(NODE);
    }

    /// Counts a macro whose end has been read. It may be the end of a block, and the first macro in an argument.
    pub(super) fn end(&mut self, closes: bool, first: bool) {
        if first {
            self.make(FIRST);
        }
        if closes {
            return self.part();
        }
        self.macros += 1;
        if self.macros > self.most {
            self.refuse(Refused::Macros);
        }
    }

    /// Counts an argument, and pays for it.
    pub(super) fn argument(&mut self) {
        self.make(ARGUMENT);
        self.part();
    }

    fn part(&mut self) {
        self.parts += 1;
        if self.parts > self.most.saturating_mul(PARTS_PER_MACRO) {
            self.refuse(Refused::Parts);
        }
    }

    fn make(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if work::make(bytes).is_err() {
            self.refuse(Refused::Work);
        }
    }

    /// The first reason is told.
    fn refuse(&mut self, why: Refused) {
        self.refused = self.refused.or(Some(why));
    }

    /// Whether the text is not read to its end, so that it is left as it was.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The warning about a text that is not read to its end.
    pub(super) fn told(&self, limits: &Limits) -> Option<String> {
        Some(match self.refused? {
            Refused::Macros => format!("the text holds more than {} macros and is left as it was", limits.steps),
            Refused::Parts => format!(
                "the macros of the text have more than {} arguments and ends of blocks, and it is left as it was",
                limits.steps.saturating_mul(PARTS_PER_MACRO)
            ),
            Refused::Work => work::told(),
        })
    }

    /// What the tree takes in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Pays as much as reading the text again would cost.
    ///
    /// # Errors
    /// A bound of the work is reached.
    pub(crate) fn pay(&self) -> Result<(), Exceeded> {
        work::make(self.bytes)
    }
}
