//! What a store holds of an artifact: its value with its history, and how many versions are kept.

use serde_json::Value as Json;

/// How many versions of an artifact are kept. The latest version is always kept; of the others, those that meet every
/// bound. Without a bound, all versions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VersionWindow {
    /// This many versions, the latest included.
    pub versions: Option<u32>,
    /// The versions of this many turns, the present one included.
    pub turns: Option<u32>,
    /// Versions that are younger than this, in milliseconds.
    pub ttl: Option<i64>,
}

impl VersionWindow {
    /// Only the latest version.
    pub const LATEST: VersionWindow = VersionWindow { versions: Some(1), turns: None, ttl: None };
}

/// An artifact as it is now.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Artifact {
    /// Its tag.
    pub tag: String,
    /// Its latest version.
    pub version: i64,
    /// The value of that version.
    pub value: Json,
    /// The values of earlier versions within its window, oldest first.
    pub history: Vec<Json>,
}
