//! Directives: structured commands that a model writes into one reply, beside its text.
//!
//! A [`DirectiveRegistry`] holds the types that there are, [`Directives`] asks for them and reads a reply, and a
//! [`DirectiveRunner`] sends a plan in one mode after another until a reply can be read. The modes and their order, what
//! a model is told, the schema it is given and the limits stand in the pack (program `directives`). Directives are no
//! tools: nothing is carried out here, and no request of this protocol holds a tool. Source: the contract of the
//! runner, section 4.

mod extract;
mod registry;
mod report;
mod runner;
mod settings;
mod validate;

pub use extract::DirectiveReadError;
pub use registry::{DirectiveRegistry, DirectiveType};
pub use report::{DirectiveAttempt, DirectiveReport, SkippedMode};
pub use runner::DirectiveRunner;
pub use settings::{DirectiveRequest, Directives};
pub use validate::{Directive, DirectiveReply, DirectiveWarning};
