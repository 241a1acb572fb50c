//! The fifteen verbs: what a pass does with the items that its selection chose.
//!
//! One file is one verb: its row of the [table](VERBS), its terms as compiled, how they are read, how much of an unread
//! history it needs, and what it does. `repeat` and `run` need other programs, which they reach through [`ProgramRunner`].

pub mod add;
pub mod admit;
pub mod drop;
pub mod evict;
pub mod matching;
pub mod merge;
pub mod order;
pub mod pass;
pub mod place;
pub mod reach;
pub mod reads;
pub mod reason;
pub mod repeat;
pub mod require;
pub mod reserve;
pub mod run;
pub mod set;
pub mod shape;
pub mod split;
pub mod table;
pub mod units;

mod misuse;
mod parts;
mod running;

pub use pass::{CompiledPass, FailurePolicy, ProgramInterrupt, ProgramRunner};
pub use table::{SHARED, VERBS};
