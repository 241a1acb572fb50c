//! Fuzzing in one process: targets, one for each door of the library, and what runs them.
//!
//! A [`Target`] takes bytes and says whether its door took them. [`campaign`] mutates the seeds of a target and gives it
//! the results, each under `catch_unwind`, a count of the memory ([`memory`]) and the eyes of a watchdog ([`watch`]).
//! [`parent`] runs campaigns as child processes, so that an input that ends the process ends one child. There is no
//! feedback from coverage: what is near to the seeds is tried very often, and inputs that cost much are tried further.

#[cfg(feature = "whole")]
pub mod campaign;
#[cfg(feature = "whole")]
pub mod clock;
#[cfg(feature = "whole")]
pub mod determinism;
pub mod dice;
#[cfg(feature = "whole")]
pub mod ledger;
#[cfg(feature = "whole")]
pub mod memory;
pub mod mutate;
#[cfg(feature = "whole")]
pub mod parent;
#[cfg(feature = "whole")]
pub mod report;
pub mod seeds;
#[cfg(feature = "whole")]
pub mod shrink;
#[cfg(feature = "whole")]
pub mod strangers;
pub mod targets;
pub mod trial;
#[cfg(feature = "whole")]
pub mod watch;

pub use targets::{Shape, TARGETS, Target, Verdict, find};
