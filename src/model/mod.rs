//! The data types of the library's interface: [`Scene`] is the input of a build, [`Plan`] is its result, [`Value`] is
//! any value in either, and [`Hook`] is a function of the embedding program that a build calls.

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
