//! Sending and reading replies: events, dialects, bounds, faults, retries, records and keys.

mod reading;
pub(crate) mod scripted;
mod sse;
