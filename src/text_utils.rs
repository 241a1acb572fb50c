//! Tools for texts that an application needs beside the rules: language tags, JSON Pointers, and zones of a text that
//! must stay as they are.
//!
//! All three are pure and bounded, and both protocols of the runner use them. Rule files have them as functions
//! (`language_tag`, `at_pointer`, `pointer`, `verbatim_parts`).
//!
//! ```
//! use tapster::text_utils::{JsonPointer, LanguageTag, VerbatimMasker};
//!
//! assert_eq!(LanguageTag::parse_lenient("zh_hant_tw")?.tag, "zh-Hant-TW");
//!
//! let document = serde_json::json!({ "a/b": [1, 2] });
//! assert_eq!(JsonPointer::parse("/a~1b/1")?.get(&document)?, 2);
//!
//! let masked = VerbatimMasker::default().mask("Say `x` to {{user}}.");
//! let edited = masked.text().replace("Say", "Sag");
//! assert_eq!(masked.unmask(&edited).as_deref(), Ok("Sag `x` to {{user}}."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::text::json_pointer::{JsonPointer, PointerError, escape as escape_pointer_token};
pub use crate::text::language_tag::{LanguageTag, LanguageTagError};
pub use crate::text::verbatim::{MaskedText, PlaceholderProblem, Segment, VerbatimMasker, Zone};
