//! Tapster: a declarative rules engine for LLM prompts.
//!
#![doc = include_str!("../README.md")]
// behind the door the rooms look at each other, and tests at all of them
#![cfg_attr(
    not(any(feature = "full", feature = "unstable_machinery")),
    allow(dead_code, reason = "what some verbs of the command line alone use is checked with all of them")
)]
#![cfg_attr(not(feature = "unstable_machinery"), expect(unreachable_pub, reason = "rooms are public to tests only"))]

pub mod artifact;
pub mod diag;
pub mod import;
pub mod model;
pub mod run;
pub mod session;
pub mod store;
pub mod template;
pub mod text_utils;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod assemble;
#[cfg(not(feature = "unstable_machinery"))]
mod assemble;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod emit;
#[cfg(not(feature = "unstable_machinery"))]
mod emit;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod engine;
#[cfg(not(feature = "unstable_machinery"))]
mod engine;
#[cfg(all(feature = "cli", feature = "unstable_machinery"))]
#[doc(hidden)]
pub mod format;
#[cfg(all(feature = "cli", not(feature = "unstable_machinery")))]
mod format;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod macros;
#[cfg(not(feature = "unstable_machinery"))]
mod macros;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod pack;
#[cfg(not(feature = "unstable_machinery"))]
mod pack;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod program;
#[cfg(not(feature = "unstable_machinery"))]
mod program;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod reading;
#[cfg(not(feature = "unstable_machinery"))]
mod reading;
#[cfg(all(feature = "share", feature = "unstable_machinery"))]
#[doc(hidden)]
pub mod share;
#[cfg(all(feature = "share", not(feature = "unstable_machinery")))]
mod share;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod syntax;
#[cfg(not(feature = "unstable_machinery"))]
mod syntax;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod terms;
#[cfg(not(feature = "unstable_machinery"))]
mod terms;
#[cfg(all(feature = "cli", feature = "unstable_machinery"))]
#[doc(hidden)]
pub mod testing;
#[cfg(all(feature = "cli", not(feature = "unstable_machinery")))]
mod testing;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod text;
#[cfg(not(feature = "unstable_machinery"))]
mod text;
#[cfg(feature = "unstable_machinery")]
#[doc(hidden)]
pub mod verbs;
#[cfg(not(feature = "unstable_machinery"))]
mod verbs;

pub use assemble::{AssembledScene, ScenePart, assemble_scene};
pub use assemble::{Outcome, Texts, blocks_of, build, convert_document, expand_texts, import_document, run, run_all, unchanged};
pub use emit::{Emitted, Prompt, dialects, emit, prompt, unchanged_payload};
pub use engine::{BuildError, ErrorKind};
pub use model::{Hook, HookView, Plan, Scene, Value, WorkLimits};
pub use pack::{Opened, PackError, RuleFile, Ruleset, open_template};
pub use program::foreign::{Fate, FieldReport, Imported};
pub use text::functions::fingerprint;
