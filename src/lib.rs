//! Tapster: a declarative rules engine for LLM prompts.
//!
#![doc = include_str!("../README.md")]

pub mod artifact;
pub mod machinery;
pub mod template;
pub mod text_utils;

mod build;
mod lint;
mod macros;
mod pack;
mod program;
mod reading;
mod syntax;
mod terms;
mod verbs;

pub use build::{
    AssembledScene, BuildError, EmittedPlan, ErrorKind, Prompt, ScenePart, assemble_scene, dialects, emit, prompt, unchanged_payload,
};
pub use build::{Outcome, Texts, blocks_of, build, convert_document, expand_texts, import_document, run, run_all, unchanged};
pub use model::{Hook, HookView, Plan, Scene, Value, WorkLimits};
pub use pack::{OpenedTemplate, PackError, RuleFile, Ruleset, open_template};
pub use program::foreign::{FieldOutcome, FieldReport, ImportedDocument};
pub use tapster_text::{diag, model};
pub use text::functions::fingerprint;

// the floor of the crate, which the rooms see as `crate::text`
use tapster_text::text;
