//! Tapster: a declarative rules engine for LLM prompts.

pub mod build;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod diag;
pub mod emit;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod format;
pub mod import;
pub mod kinds;
pub mod model;
pub mod pack;
pub mod program;
pub mod store;
pub mod terms;
pub mod text;
pub mod verbs;

/// Templates of slots and layout: reading, compiling and rendering them.
pub mod template {
    pub use crate::kinds::template::form;
    pub use crate::kinds::template::render::{
        Budget, ErrorKind, Inputs, Limits, Message, QuarterRuler, RenderError, Rendered, Ruler, Sources, Unread, offers, render,
    };
    pub use crate::kinds::template::revision::{self, BASE, HEAD, REVISIONS, Revision};
    pub use crate::kinds::template::{Asked, KIND, Offer, RESERVED, Template, advice, compile, revision_of};
    pub use crate::pack::templates::{Opened, Templates, open_template as open};
    pub use crate::text::leaf::{Leaf, Syntax};
}

pub use build::{BuildError, Outcome, Texts, blocks_of, bring, build, expand_texts, run, run_all, unchanged};
pub use emit::{Emitted, emit, unchanged_payload};
pub use model::{Hook, HookView, Plan, Scene, Value};
pub use pack::{Rejected, Ruleset};
pub use text::functions::fingerprint;

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
