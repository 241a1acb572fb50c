//! Tapster: a declarative rules engine for LLM prompts.
//!
#![doc = include_str!("../README.md")]

pub mod artifact;
pub mod template;

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
    AssembledScene, BuildError, BuildSession, EmittedPlan, ErrorKind, Prompt, ScenePart, assemble_scene, dialects, emit, prompt,
    unchanged_payload,
};
pub use build::{Outcome, Texts, blocks_of, build, convert_document, expand_texts, import_document, run, run_all, unchanged};
pub use model::{Hook, HookView, Plan, Scene, Value, WorkLimits};
pub use pack::{OpenedTemplate, PackError, RuleFile, Ruleset, open_template};
pub use program::foreign::{FieldOutcome, FieldReport, ImportedDocument};
pub use tapster_text::{diag, model};
pub use text::functions::fingerprint;

// the floor of the crate, which the rooms see as `crate::text`
use tapster_text::text;

/// Tools for texts that an application needs beside the rules: language tags, JSON Pointers, and zones of a text that
/// must stay as they are.
///
/// All three are pure and bounded, and both protocols of the runner use them. Rule files have them as functions
/// (`language_tag`, `at_pointer`, `pointer`, `verbatim_parts`).
///
/// ```
/// use tapster::text_utils::{JsonPointer, LanguageTag, VerbatimMasker};
///
/// assert_eq!(LanguageTag::parse_lenient("zh_hant_tw")?.tag, "zh-Hant-TW");
///
/// let document = serde_json::json!({ "a/b": [1, 2] });
/// assert_eq!(JsonPointer::parse("/a~1b/1")?.get(&document)?, 2);
///
/// let masked = VerbatimMasker::default().mask("Say `x` to {{user}}.");
/// let edited = masked.text().replace("Say", "Sag");
/// assert_eq!(masked.unmask(&edited).as_deref(), Ok("Sag `x` to {{user}}."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod text_utils {
    pub use crate::text::json_pointer::{JsonPointer, PointerError, escape as escape_pointer_token};
    pub use crate::text::language_tag::{LanguageTag, LanguageTagError};
    pub use crate::text::verbatim::{MaskedText, PlaceholderProblem, Segment, VerbatimMasker, Zone};
}

/// The rooms of the engine, for the crates that are built around it, for tests and for benches.
///
/// Nothing here is promised to stay: what an application needs stands at the root of the crate. A room is explained in
/// `docs/architecture.md`.
pub mod machinery {
    pub use tapster_text::text;

    pub mod build {
        pub use crate::build::*;
    }
    pub mod macros {
        pub use crate::macros::*;
    }
    pub mod pack {
        pub use crate::pack::*;
    }
    pub mod program {
        pub use crate::program::*;
    }
    pub mod reading {
        pub use crate::reading::*;
    }
    pub mod syntax {
        pub use crate::syntax::*;
    }
    pub mod terms {
        pub use crate::terms::*;
    }
    pub mod verbs {
        pub use crate::verbs::*;
    }
}
