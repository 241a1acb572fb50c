//! The language server of tapster: an editor that speaks the Language Server Protocol shows what is wrong in rule files while they
//! are written, completes and explains them, and shows the prompt that they make.
//!
//! It decides nothing about rules: it asks the engine and the door, with the texts of open documents in the place of the files on
//! disk. [`serve_streams`] answers an editor that has started the program; [`serve`] one at the other end of any connection.

mod actions;
mod address;
mod capabilities;
mod cases;
mod completion;
mod diagnostics;
mod document;
mod entry;
mod files;
mod foreign;
mod hints;
mod hover;
mod lens;
mod mentions;
mod navigation;
mod outline;
mod position;
mod preview;
mod project;
mod rename;
mod requests;
mod schema;
mod server;
mod signature;
mod streams;
mod subject;
mod symbols;
mod tokens;

pub use navigation::ShippedFiles;
pub use server::{ServerOptions, serve};
pub use streams::serve_streams;
