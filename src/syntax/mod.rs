//! Reading rule files: from the tree of a document to the compiled terms of the room `terms`.
//!
//! Everything here runs once, when a pack is compiled. It resolves every name ([`context`]), computes what each part
//! depends on ([`dependencies`]), and reports errors at their exact position; evaluation never uses this room.

pub mod calls;
pub mod conditions;
pub mod context;
pub mod dependencies;
pub mod expression;
mod expression_grammar;
pub mod expression_tables;
mod literals;
pub mod named;
pub mod scripts;
pub mod selections;
pub mod steps;
mod tables;
pub mod values;

pub use context::CompileContext;
