//! Reading rule files: from the tree of a document to the compiled terms of the room `terms`.
//!
//! Everything here runs once, when a pack is compiled. It resolves every name ([`context`]), finds out what each part
//! depends on ([`dependencies`]), and complains at the character; evaluation never looks at this room.

pub mod calls;
pub mod conditions;
pub mod context;
pub mod dependencies;
pub mod languages;
pub mod named;
pub mod scripts;
mod sealing;
pub mod selections;
pub mod steps;
pub mod values;

pub use context::CompileContext;
