//! The verbs that share packs: what they have in common.

pub(in crate::cli) mod index;
pub(in crate::cli) mod install;
mod journal;
pub(in crate::cli) mod keys;
pub(in crate::cli) mod list;
pub(in crate::cli) mod pack;
mod place;
pub(in crate::cli) mod remove;
mod shelf;
mod sources;
pub(in crate::cli) mod update;
