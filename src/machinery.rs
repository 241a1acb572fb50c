//! The rooms of the engine, for the crates that are built around it, for tests and for benches.
//!
//! Nothing here is promised to stay: what an application needs stands at the root of the crate. A room is explained in
//! `docs/architecture.md`.

pub use tapster_text::text;

pub mod build {
    pub use crate::build::*;
}
pub mod macros {
    pub use crate::macros::*;
}
pub mod pack {
    pub use crate::pack::*;
}
pub mod program {
    pub use crate::program::*;
}
pub mod reading {
    pub use crate::reading::*;
}
pub mod syntax {
    pub use crate::syntax::*;
}
pub mod terms {
    pub use crate::terms::*;
}
pub mod verbs {
    pub use crate::verbs::*;
}
