//! Fuzzing: targets, one for each door of the library, and mutations of their seeds.
//!
//! A [`Target`] takes bytes and says whether its door took them. The driver (`main.rs`) gives it its seeds and mutations of
//! them in a process with limits ([`limits`]). There is no feedback from coverage: what is near to the seeds is tried often.

#[cfg(feature = "whole")]
pub mod limits;
pub mod mutate;
pub mod seeds;
pub mod targets;

pub use mutate::run_mutations;
pub use targets::{TARGETS, Target, Verdict, find};
