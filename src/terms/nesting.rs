//! Bounds the nesting of values and texts, so that none refers to itself without end, and the work of texts inside texts.

use std::cell::Cell;

/// Maximum depth of nested values and texts.
const DEEPEST: u32 = 48;

/// Maximum number of texts that may be expanded inside one text.
const MOST_TEXTS: u32 = 10_000;

/// Maximum number of texts that may be expanded inside texts which are inside one text themselves.
const MOST_INNER_TEXTS: u32 = 1000;

/// Maximum number of bytes of all texts that are expanded inside one text.
const MOST_BYTES: usize = 4 << 20;

/// Maximum number of bytes of all texts of a build that are expanded inside texts.
const MOST_BYTES_OF_BUILD: usize = 32 << 20;

/// How a text begins to be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextNesting {
    /// No other text is being expanded.
    Outermost,
    /// It is inside another text.
    Inside,
    /// It must stay as it is, because a bound has been reached; whether this is the first such text inside the outermost
    /// one.
    Refused(bool),
}

/// How deep the current evaluation is nested.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    depth: Cell<u32>,
    /// How many texts are being expanded inside one another.
    open: Cell<u32>,
    /// How many texts have been expanded inside the outermost one, and how many of these inside inner ones.
    texts: Cell<(u32, u32)>,
    /// The bytes of the texts that have been expanded inside the outermost one, and inside all texts of the build.
    bytes: Cell<(usize, usize)>,
    /// A text inside the outermost one has been refused.
    refused: Cell<bool>,
    /// Steps of functions that have not been counted.
    steps: Cell<usize>,
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

    /// Begins to expand a text of this many bytes.
    pub(crate) fn begin_text(&self, bytes: usize) -> TextNesting {
        let open = self.open.get();
        if open == 0 {
            self.texts.set((0, 0));
            self.bytes.set((0, self.bytes.get().1));
            self.refused.set(false);
        }
        let (all, inner) = self.texts.get();
        let many = all >= MOST_TEXTS || inner >= MOST_INNER_TEXTS;
        if many || (open > 0 && !self.spend(bytes)) || !self.deeper() {
            return TextNesting::Refused(self.refuse());
        }
        self.texts.set((all + u32::from(open > 0), inner + u32::from(open > 1)));
        self.open.set(open + 1);
        if open == 0 { TextNesting::Outermost } else { TextNesting::Inside }
    }

    /// Counts bytes of texts inside the outermost one; false if these are too many.
    fn spend(&self, bytes: usize) -> bool {
        let (text, build) = self.bytes.get();
        let (text, build) = (text.saturating_add(bytes), build.saturating_add(bytes));
        self.bytes.set((text, build));
        text <= MOST_BYTES && build <= MOST_BYTES_OF_BUILD
    }

    /// How many texts are being expanded inside one another.
    pub(crate) fn open_texts(&self) -> u32 {
        self.open.get()
    }

    /// Whether macros stay as they are written: the text is inside another one, and a bound of such texts has been
    /// reached.
    pub(crate) fn is_spent(&self) -> bool {
        let ((text, build), (all, inner)) = (self.bytes.get(), self.texts.get());
        self.open.get() > 1 && (text > MOST_BYTES || build > MOST_BYTES_OF_BUILD || all >= MOST_TEXTS || inner >= MOST_INNER_TEXTS)
    }

    /// Notes that a text inside the outermost one, or its macros, stay as they are; whether it is the first such text.
    pub(crate) fn refuse(&self) -> bool {
        !self.refused.replace(true)
    }

    /// Whether a text inside the outermost one has been refused, which has been told.
    pub(crate) fn has_refused(&self) -> bool {
        self.refused.get()
    }

    /// Ends the expansion that was begun last, whose result has this many bytes. Returns whether the text may be used;
    /// if not, it stays as it was, and whether it is the first such text inside the outermost one.
    pub(crate) fn end_text(&self, bytes: usize) -> Result<(), bool> {
        let open = self.open.get().saturating_sub(1);
        self.open.set(open);
        self.shallower();
        if open == 0 || self.spend(bytes) { Ok(()) } else { Err(self.refuse()) }
    }

    /// Counts steps of a function, for the text that is being expanded.
    pub(crate) fn work(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// The steps of functions since the last call.
    pub(crate) fn worked(&self) -> usize {
        self.steps.take()
    }
}
