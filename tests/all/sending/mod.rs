//! Sending and reading replies: events, dialects, bounds, faults, retries, records and keys.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod faults;
mod keys;
mod reading;
mod real;
mod records;
mod retries;
pub(crate) mod scripted;
mod sdk;
mod sockets;
mod sse;
