//! Evaluation: scenarios × models × modes × presets, each asked several times.
//!
//! An [`EvalFile`] says what is asked and what the replies must be like. [`cells`] lists what there is to do,
//! [`evaluate`] does it over transports that the application brings, and an [`EvalReport`] counts: success rates with
//! confidence intervals, percentiles of latency, tokens, cost, and why replies failed. What is done is told as it is
//! done, one [`CellOutcome`] at a time, so that an interrupted evaluation goes on where it ended. Time comes from
//! outside.

mod cell;
mod judge;
mod mode;
mod page;
mod plot;
mod record;
mod report;
mod scenario;
mod stats;
mod table;
mod trial;
mod work;

pub use cell::{CellOptions, EvalCell, cells};
pub use judge::{CallRecord, DirectiveRecord, ReplyCheck};
pub use mode::EvalMode;
pub use record::{CellOutcome, CheckRecord, TokenCounts, finished};
pub use report::{CellGroup, CellSlice, EvalReport};
pub use scenario::{Candidate, EvalFile, EvalFileMistake, EvalPreset, Scenario, TokenPrice};
pub use stats::{percentile, wilson};
pub use trial::{EvalClock, TrialSubject, dialect_of};
pub use work::{Evaluation, evaluate, known};
