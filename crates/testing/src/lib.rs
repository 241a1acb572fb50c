//! Rule tests: the rows `[[case]]` of case files are run, and what comes out is held against what they expect.
//!
//! [`files`] finds and reads case files, [`case`] reads their rows, and [`sound`] (with `nodes`) and [`dialects`] say whether
//! what they name is there: `given` looks at what a case gives, `effect` for what of it has no effect, `idle` for expectations
//! that can never fail, `literals` at the values that are expected, and `spelling` at the keys and words inside of them.
//! [`play`] runs one turn and [`turns`] all of them.
//! [`compare`] finds the differences: `matchers` knows the words of tests, `fitting` carries them out, and `plain` looks up
//! plain values; [`blame`] finds the rule behind each. [`runner`] does this for many files at once.
//! [`snapshot`] writes what came out into the file, [`coverage`] says what no case exercised, and [`mutate`] breaks each pass
//! to see whether a case notices.

pub mod blame;
pub mod case;
pub mod compare;
pub mod coverage;
pub mod dialects;
mod effect;
pub mod files;
mod fitting;
mod given;
mod idle;
mod literals;
mod matchers;
pub mod mutate;
mod nodes;
mod plain;
pub mod play;
pub mod report;
pub mod runner;
pub mod snapshot;
pub mod sound;
mod spelling;
pub mod toml_text;
pub mod turns;

pub use files::{CaseFile, UnreadableFile};
pub use runner::{CaseRunner, FileResult, SnapshotUpdate};

use tapster::machinery::{build, pack, terms, text, verbs};
use tapster::{diag, model};
use tapster_exchange::import;
