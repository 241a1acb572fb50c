//! The data types of the library's interface: [`Scene`] is the input of a build, [`Plan`] is its result, [`Value`] is
//! any value in either, and [`Hook`] is a function of the embedding program that a build calls.

pub mod budget;
pub mod hook;
#[doc(hidden)]
pub mod item;
pub mod json_reader;
pub mod options;
pub mod pack;
pub mod plan;
pub mod rights;
pub mod scene;
pub mod term;
pub mod value;
mod written;

pub use budget::WorkLimits;
pub use hook::{Hook, HookView};
#[doc(hidden)]
pub use item::{FieldId, FieldNames, Item};
pub use options::{OptionChoice, OptionCondition, OptionFault, OptionType, PackOption, PackOptions};
pub use pack::Pack;
pub use plan::{Plan, PlanBlock};
pub use scene::Scene;
#[doc(hidden)]
pub use term::{Term, TermType};
pub use value::{Map, RuleRef, Value};
pub use written::{SerializedSize, SizeExcess};
