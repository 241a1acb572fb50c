//! Tapster: a declarative rules engine for LLM prompts.

pub mod assemble;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod diag;
pub mod emit;
pub mod engine;
pub mod import;
pub mod macros;
pub mod model;
pub mod pack;
pub mod program;
pub mod store;
pub mod syntax;
pub mod template;
pub mod terms;
pub mod text;
pub mod verbs;

pub use assemble::{Outcome, Texts, blocks_of, build, expand_texts, import_document, run, run_all, unchanged};
pub use emit::{Emitted, emit, unchanged_payload};
pub use engine::{BuildError, ErrorKind};
pub use model::{Hook, HookView, Plan, Scene, Value};
pub use pack::{Opened, PackError, Ruleset, open_template};
pub use text::functions::fingerprint;

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
