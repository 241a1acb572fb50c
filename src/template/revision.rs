//! The two revisions of the template language, as options of one engine.
//!
//! Neither changes its meaning: a file says which revision it was written for, and old templates always render the
//! same. Source: the templating contract is `base`; `head` is the later state of the same program.

use crate::text::leaf::Syntax;

/// How templates of a revision are read and rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// `base` or `head`.
    pub name: &'static str,
    /// The syntax of tags in texts.
    pub leaf: Syntax,
    /// Whether the layout's own texts are paid for before slots run, from a reserve; otherwise they are paid for after
    /// them, from what is left.
    pub reserves_layout: bool,
    /// Whether a frame block that does not fit ends its header or footer; otherwise the next block is tried.
    pub frame_stops: bool,
    /// Whether joining neighbours changes a slot's message at every place of the slot.
    pub joins_shared: bool,
    /// Whether `prefix`, `skipIfEmptyInterpolation`, `interleave` and `stopWhenOutOfBudget` are known.
    pub knows_flags: bool,
    /// Whether anchors, lanes, and `when` lists of messages are known.
    pub knows_anchors: bool,
}

/// The revision of the contract.
pub const BASE: Revision = Revision {
    name: "base",
    leaf: Syntax::Paths,
    reserves_layout: false,
    frame_stops: true,
    joins_shared: true,
    knows_flags: true,
    knows_anchors: false,
};

/// The later revision.
pub const HEAD: Revision = Revision {
    name: "head",
    leaf: Syntax::Expressions,
    reserves_layout: true,
    frame_stops: false,
    joins_shared: false,
    knows_flags: false,
    knows_anchors: true,
};

/// All revisions; the first is the default of a file that names none.
pub const REVISIONS: [&Revision; 2] = [&BASE, &HEAD];
