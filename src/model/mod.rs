//! The nouns that travel the road.

pub mod hook;
pub mod item;
pub mod pack;
pub mod plan;
pub mod scene;
pub mod value;

pub use hook::{Hook, HookView};
pub use item::{FieldId, Fields, Item};
pub use pack::Pack;
pub use plan::{Block, Plan};
pub use scene::Scene;
pub use value::{Map, RuleRef, Value};
