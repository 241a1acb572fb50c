//! Evaluation: scenarios × models × modes × presets, each asked several times.
//!
//! An [`EvalFile`] says what is asked and what the replies must be like. [`cells`] lists what there is to do, [`evaluate`]
//! does it over transports that the application brings, and a [`Report`] counts: success rates with confidence intervals,
//! percentiles of latency, tokens, cost, and why replies failed. What is done is told as it is done, one [`Outcome`] at a
//! time, so that an interrupted evaluation goes on where it ended. Time comes from outside.

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

pub use cell::{Cell, Wanted, cells};
pub use judge::{Call, Check, Given};
pub use mode::Mode;
pub use record::{Made, Outcome, Tokens, finished};
pub use report::{Group, Report, Slice};
pub use scenario::{Candidate, EvalFile, Mistake, Preset, Price, Scenario};
pub use stats::{percentile, wilson};
pub use trial::{Clock, Subject, dialect_of};
pub use work::{Evaluation, evaluate, known};
