//! The floor of Tapster: values, diagnostics, and the text languages that rules are written with.
//!
//! Nothing here knows a pack, a rule or a product. An application uses the crate `tapster`, which re-exports [`diag`]
//! and [`model`] as a whole; [`text`] is the engine's own, and changes with it.

pub mod diag;
pub mod model;
pub mod text;
