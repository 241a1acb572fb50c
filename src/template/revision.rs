//! The two revisions of the template language, as differences in manner over one compiled form.
//!
//! Neither ever changes meaning: a file says which it was written for, and old templates render for ever as they did.
//! Source: the templating contract is `base`; `head` is the later state of the same program.

use crate::text::leaf::Syntax;

/// How templates of a revision are read and rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// `base` or `head`.
    pub name: &'static str,
    /// The syntax of leaf strings.
    pub leaf: Syntax,
    /// The layout's own texts are paid before slots run, from a reserve; otherwise behind them, from what is left.
    pub reserves_layout: bool,
    /// A frame block that does not fit ends its list of headers or footers; otherwise the next is tried.
    pub frame_stops: bool,
    /// Joining neighbours changes a slot's message wherever the slot stands.
    pub joins_shared: bool,
    /// `prefix`, `skipIfEmptyInterpolation`, `interleave` and `stopWhenOutOfBudget` are known.
    pub knows_flags: bool,
    /// Anchors, lanes, and `when` lists of messages are known.
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

/// All revisions; the first is the one of a file that names none.
pub const REVISIONS: [&Revision; 2] = [&BASE, &HEAD];
