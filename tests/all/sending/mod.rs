//! Sending and reading replies: events, dialects, bounds, faults, retries, records and keys.

mod faults;
mod reading;
mod records;
pub(crate) mod scripted;

mod sockets;
