//! Templates of slots and layout: what a prompt is to contain, by priority and budget, against the sources of a task.
//!
//! Compiling turns a file into the one [`form`], whatever its [`revision`]; rendering fills the slots by priority
//! under nested budgets, and then lays them out. A template knows names of sources only; who answers them is handed in.

pub mod form;
pub mod revision;

pub use form::Template;
