//! Rule tests: the rows `[[case]]` of case files are run, and what comes out is compared with what they expect.
//!
//! [`case`] finds and reads case files, [`validate`] reports what a case names and its rules do not have ([`inputs`]: what it
//! gives; `expectations`: what can never fail), and [`play`] runs the turns of a case. `compare` finds the differences,
//! [`runner`] does this for many files at once and finds the rule behind each difference, and [`snapshot`] writes what came out
//! into the file. [`coverage`] says what no case exercised, and [`mutate`] breaks each pass to see whether a case notices.

pub mod case;
mod compare;
pub mod coverage;
mod expectations;
pub mod inputs;
pub mod mutate;
mod nodes;
pub mod play;
pub mod report;
pub mod runner;
pub mod snapshot;
pub mod validate;

pub use case::{CaseFile, UnreadableFile};
pub use runner::{CaseRunner, FileResult, SnapshotUpdate};

use tapster::machinery::{build, pack, terms, text, verbs};
use tapster::{diag, model};
use tapster_exchange::import;
