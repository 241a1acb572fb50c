//! Sending and reading replies: events, dialects, bounds, faults, retries, records and keys.

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
