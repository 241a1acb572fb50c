//! Sending and reading replies: events, dialects, bounds, faults, retries, records and keys.

mod reading;
mod scripted;
mod sse;
