//! The fifteen verbs: what a pass does with the items that its selection chose.
//!
//! One file a verb (or a close pair): its terms as compiled, how they are read, what it does. The table
//! [`VERBS`] is what `tapster ops`, the compiler and the docs are driven by. `repeat` and `run` need other
//! programs, which they reach through [`Caller`].

pub mod add;
pub mod admit;
pub mod drop;
pub mod evict;
pub mod matching;
pub mod merge;
mod misuse;
pub mod order;
mod parts;
pub mod pass;
pub mod place;
pub mod reach;
pub mod reason;
pub mod repeat;
pub mod require;
pub mod reserve;
pub mod run;
mod scripts;
pub mod set;
pub mod shape;
pub mod split;
pub mod units;

pub use pass::{Failing, Halt, Pass, Verb};

use crate::terms::State;

/// A verb as the table knows it.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// The word in `do = "…"`.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Its own terms, beside those that every pass may have.
    pub terms: &'static [&'static str],
    /// What it costs.
    pub cost: &'static str,
}

/// All verbs.
pub const VERBS: &[Info] = &[
    Info {
        name: "add",
        doc: "makes items, one for each element of `each`",
        terms: &["item", "each", "to", "at"],
        cost: "what is made; a long history is read as needed",
    },
    Info { name: "drop", doc: "removes the selected items from the list, and reports them", terms: &[], cost: "the list" },
    Info {
        name: "set",
        doc: "sets fields of the selected items; `$name` keys once per pass, `$state.x` in the patch",
        terms: &["set", "number"],
        cost: "the selected",
    },
    Info {
        name: "shape",
        doc: "changes a text of the selected items, step by step",
        terms: &["steps", "field"],
        cost: "the text of the selected",
    },
    Info {
        name: "place",
        doc: "moves the selected items, or copies of them, to a place",
        terms: &["to", "at", "against", "copy", "field", "pick"],
        cost: "the list",
    },
    Info { name: "order", doc: "sorts the selected items among their positions", terms: &[], cost: "n log n of the selected" },
    Info {
        name: "merge",
        doc: "joins neighbours that are equal in `same`",
        terms: &["same", "absorb", "stop", "join", "field", "fold", "into"],
        cost: "the list and its text",
    },
    Info {
        name: "split",
        doc: "cuts an item into several at a pattern",
        terms: &["cut", "heads", "lead", "number", "to", "field"],
        cost: "the text",
    },
    Info {
        name: "match",
        doc: "searches the scan sources for the keys of the items",
        terms: &["keys", "more", "prepare", "set", "grow"],
        cost: "one pass over the text",
    },
    Info { name: "reserve", doc: "takes tokens from an account", terms: &["account", "cost"], cost: "the selected" },
    Info {
        name: "admit",
        doc: "lets units in until one does not fit into the account",
        terms: &["account", "unit", "misfit", "fits", "rest", "exempt", "set", "admitted"],
        cost: "what is admitted, and one",
    },
    Info {
        name: "evict",
        doc: "switches units off until the list fits into the account",
        terms: &["account", "unit", "spare"],
        cost: "what fits",
    },
    Info {
        name: "require",
        doc: "states what must hold; otherwise an error, a warning, or the end of the program",
        terms: &["that", "error", "level", "message", "help", "row"],
        cost: "the selected, or one test",
    },
    Info { name: "repeat", doc: "runs a program in rounds", terms: &["program", "max", "set"], cost: "bounded by `max`" },
    Info {
        name: "run",
        doc: "runs a program, a script, or the hooks of an event",
        terms: &["program", "script", "event", "each", "as", "copy", "singly"],
        cost: "what it runs",
    },
];

/// Terms that a pass of any verb may have.
pub const SHARED: &[&str] = &["name", "about", "do", "when", "then", "list", "failing", "because", "why"];

/// Who can run another program: the room above.
pub trait Caller {
    /// Runs a program by number, over `list` if given.
    fn program(&self, program: usize, list: Option<usize>, st: &mut State) -> Result<(), Halt>;
    /// The list that a program works on by itself.
    fn list_of(&self, program: usize) -> usize;
    /// Runs a script of the pack over a list.
    fn script(&self, function: &str, list: usize, st: &mut State) -> Result<(), Halt>;
    /// Runs the hooks `before_NAME` now, and those of `after_NAME` when the program at hand ends.
    fn event(&self, name: &str, pass: &Pass, list: usize, st: &mut State) -> Result<(), Halt>;
}

/// What the trail says that a pass did.
pub(crate) fn pass_did(pass: &Pass) -> &'static str {
    match &pass.verb {
        Verb::Add(_) => "made",
        Verb::Drop => "dropped",
        Verb::Set(_) | Verb::Match(_) => "set",
        Verb::Shape(_) => "shaped",
        Verb::Place(_) | Verb::Order => "placed",
        Verb::Merge(_) => "merged",
        Verb::Split(_) => "split",
        Verb::Admit(_) | Verb::Reserve(_) => "admitted",
        Verb::Evict(_) => "evicted",
        Verb::Require(_) | Verb::Repeat(_) | Verb::Run(_) => "run",
    }
}
