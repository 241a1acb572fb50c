//! Scratch.
#[path = "all/store/mod.rs"]
mod store;
