//! What outlives a build: sessions of a chat, played turn by turn over a store.
//!
//! [`Session`] loads what a chat knows, runs the operations of a pack and commits what a turn changes. [`store`] has the
//! interfaces of stores, a folder for templates, and with the feature `store` SQLite and PostgreSQL.

pub mod store;

mod session;

pub use session::*;

use tapster::machinery::{build, pack};
use tapster::{artifact, diag, model};
