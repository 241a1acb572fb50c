//! The server as an editor sees it, over a connection in memory.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod editor;
mod features;
mod lenses;
mod rename;
mod robustness;
mod speed;
