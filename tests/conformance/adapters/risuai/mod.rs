//! Recordings of RisuAI: their inputs are laid over a baseline and go through the pack's `foreign` maps.

pub(crate) mod cbs;
pub(crate) mod import;
pub(crate) mod lore;
pub(crate) mod prompt;
pub(crate) mod regex;
pub(crate) mod scene;

/// The pack that follows the real program.
pub(crate) const PACK: &str = "risuai-exact";
