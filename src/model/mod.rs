//! The nouns that travel the road.

pub mod item;
pub mod pack;
pub mod value;

pub use item::{FieldId, Fields, Item};
pub use pack::Pack;
pub use value::{Map, RuleRef, Value};
