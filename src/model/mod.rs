//! The nouns that travel the road.

pub mod pack;
pub mod value;

pub use pack::Pack;
pub use value::{Map, RuleRef, Value};
