//! How deep values and texts lie inside one another, so that none refers to itself without end.

use std::cell::Cell;

/// Values and texts inside one another.
const DEEPEST: u32 = 48;

/// Texts that may be expanded inside one text.
const MOST_TEXTS: u32 = 10_000;

/// What is being worked out at the moment.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    depth: Cell<u32>,
    /// Texts whose macros are being expanded, one inside another, and how many there have been inside the outermost.
    texts: Cell<(u32, u32)>,
}

impl Nesting {
    /// One level of values that refer to values deeper; false when that is too deep.
    pub(crate) fn deeper(&self) -> bool {
        let fine = self.depth.get() < DEEPEST;
        self.depth.set(self.depth.get() + u32::from(fine));
        fine
    }

    /// One level up again.
    pub(crate) fn shallower(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Begins to expand a text; says whether it is inside another one whose macros are being expanded. Nothing when
    /// that is too deep, or when there have been too many inside one text.
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

    /// Ends the text that was begun last.
    pub(crate) fn end_text(&self) {
        let (open, all) = self.texts.get();
        self.texts.set((open.saturating_sub(1), all));
        self.shallower();
    }
}
