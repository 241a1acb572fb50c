//! Tapster: a declarative rules engine for LLM prompts.

pub mod diag;
pub mod kinds;
pub mod model;
pub mod pack;
