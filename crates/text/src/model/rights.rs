//! What the scripts of a pack declare that they read and write: `[rhai]` of `pack.toml`.
//!
//! A word is a path: `scene.card` (and everything below it), `blocks` (all items of a list), `blocks.text` (one field of
//! them). A pack that declares nothing may read and write everything that a script is given.

use std::sync::Arc;

use crate::diag::Span;

/// The table of a manifest or an overlay that is about scripts.
pub const TABLE: &str = "rhai";
/// The word for the whole scene, with which the words of its paths begin.
pub const SCENE: &str = "scene";

/// What the scripts of one pack may read and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRights {
    /// What they may read.
    pub reads: Arc<[Arc<str>]>,
    /// What they may change.
    pub writes: Arc<[Arc<str>]>,
    /// The file that says so, for messages.
    pub file: Arc<str>,
    /// Where each word of both lists stands.
    pub places: Arc<[(Arc<str>, Span)]>,
}

/// How much of a path is covered by some words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathCoverage {
    Wholly,
    /// A part below it is.
    Partly,
    Not,
}

fn covered(words: &[Arc<str>], path: &str) -> PathCoverage {
    let below = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
    if words.iter().any(|word| word.as_ref() == path || below(word, path)) {
        PathCoverage::Wholly
    } else if words.iter().any(|word| below(path, word)) {
        PathCoverage::Partly
    } else {
        PathCoverage::Not
    }
}

impl ScriptRights {
    /// Whether a path may be read as a whole; `false` if only a part below it may, which a table allows.
    ///
    /// # Errors
    /// It may not be read, and what to declare.
    pub fn read(&self, path: &str, is_table: bool) -> Result<bool, String> {
        match covered(&self.reads, path) {
            PathCoverage::Wholly => Ok(true),
            PathCoverage::Partly if is_table => Ok(false),
            _ => Err(self.refusal("read", "reads", path)),
        }
    }

    /// Whether a path may be changed.
    ///
    /// # Errors
    /// It may not be changed, and what to declare.
    pub fn write(&self, path: &str) -> Result<(), String> {
        if self.writes_all(path) { Ok(()) } else { Err(self.refusal("changed", "writes", path)) }
    }

    /// Whether everything below a path may be read.
    #[must_use]
    pub fn reads_all(&self, path: &str) -> bool {
        covered(&self.reads, path) == PathCoverage::Wholly
    }

    /// Whether everything below a path may be changed.
    #[must_use]
    pub fn writes_all(&self, path: &str) -> bool {
        covered(&self.writes, path) == PathCoverage::Wholly
    }

    fn refusal(&self, done: &str, list: &str, path: &str) -> String {
        format!("`{path}` may not be {done}: the pack does not declare it; add `\"{path}\"` to `{list}` of `[rhai]` in `{}`", self.file)
    }
}
