//! Operations on texts, which the verbs are built on.
//!
//! Each file is one primitive that a rule file may call by name: counting tokens, matching patterns as
//! JavaScript means them, the library of pure functions, macros, Handlebars, Liquid, scripts. None knows a pack, a
//! message or a product; all treat their input as hostile, so each has a bound and an answer for reaching it.

mod arithmetic;
mod cache;
#[cfg(feature = "tokens-given")]
mod encoding;
mod error;
mod fingerprint;
pub(crate) mod function;
pub mod functions;
pub mod handlebars;
pub mod js;
mod js_number;
pub mod json_pointer;
mod json_text;
pub mod keys;
mod language;
pub mod language_tag;
pub mod leaf;
mod limits;
pub mod liquid;
mod lists;
pub mod loose_name;
pub mod macro_syntax;
pub mod markup;
mod merge_patch;
pub mod methods;
pub mod moment;
pub mod pattern;
pub mod percent;
pub mod random;
mod replacing;
pub mod schema;
pub mod script;
pub mod surrogates;
#[cfg(feature = "tokens-given")]
mod token_table;
pub mod tokens;
pub mod truthiness;
mod units;
pub mod verbatim;
pub use crate::model::budget as work;
pub mod written;

pub(crate) use error::Mistake;
pub use error::TextError;
pub use language::Language;
pub use limits::{StepBound, StepCounter, TextLimits};
