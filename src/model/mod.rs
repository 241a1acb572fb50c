//! The nouns that travel the road.

pub mod value;

pub use value::{Map, RuleRef, Value};
