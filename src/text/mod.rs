//! Operations on texts, which the verbs are built on.
//!
//! Each file is one primitive that a rule file may call by name: counting tokens, matching patterns as
//! JavaScript means them, the library of pure functions, macros, Handlebars, Liquid, scripts. None knows a pack, a
//! message or a product; all treat their input as hostile, so each has a bound and an answer for reaching it.

mod cache;
pub mod dice;
mod dollars;
mod error;
mod fingerprint;
pub mod functions;
pub mod halves;
pub mod handlebars;
pub mod js;
pub mod json_pointer;
pub mod keys;
mod language;
pub mod language_tag;
pub mod leaf;
mod limits;
pub mod liquid;
pub(crate) mod loose_name;
pub mod macros;
mod merge_patch;
pub mod moment;
pub mod pattern;
pub(crate) mod schema;
mod schema_problems;
mod schema_words;
pub mod script;
pub mod seedrandom;
pub mod tokens;
mod tools;
pub mod truth;
pub mod verbatim;

pub(crate) use error::Mistake;
pub use error::TextError;
pub use language::Language;
pub use limits::Limits;
