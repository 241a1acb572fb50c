//! Bounds the nesting of values and texts, so that none refers to itself without end.

use std::cell::Cell;

/// Maximum depth of nested values and texts.
const DEEPEST: u32 = 48;

/// Maximum number of texts that may be expanded inside one text.
const MOST_TEXTS: u32 = 10_000;

/// How deep the current evaluation is nested.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    depth: Cell<u32>,
    /// How many texts are being expanded inside one another, and how many have been expanded inside the outermost
    /// one.
    texts: Cell<(u32, u32)>,
}

impl Nesting {
    /// Enters one level of values that refer to values; false if that is too deep.
    pub(crate) fn deeper(&self) -> bool {
        let fine = self.depth.get() < DEEPEST;
        self.depth.set(self.depth.get() + u32::from(fine));
        fine
    }

    /// Leaves one level.
    pub(crate) fn shallower(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Begins to expand a text. Returns whether it is inside another text whose macros are being expanded, or `None`
    /// if the nesting is too deep or too many texts have been expanded inside one text.
    pub(crate) fn begin_text(&self) -> Option<bool> {
        let (open, all) = match self.texts.get() {
            (0, _) => (0, 0),
            within => within,
        };
        (all < MOST_TEXTS && self.deeper()).then(|| {
            self.texts.set((open + 1, all + 1));
            open > 0
        })
    }

    /// How many texts are being expanded inside one another.
    pub(crate) fn open_texts(&self) -> u32 {
        self.texts.get().0
    }

    /// Ends the expansion that was begun last.
    pub(crate) fn end_text(&self) {
        let (open, all) = self.texts.get();
        self.texts.set((open.saturating_sub(1), all));
        self.shallower();
    }
}
