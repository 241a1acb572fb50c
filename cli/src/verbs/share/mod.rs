//! The verbs that share packs: what they have in common.

pub(crate) mod index;
pub(crate) mod install;
mod journal;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod pack;
mod place;
pub(crate) mod remove;
mod shelf;
mod sources;
pub(crate) mod update;
