//! Tapster: a declarative rules engine for LLM prompts.

pub mod diag;
pub mod model;
pub mod text;
