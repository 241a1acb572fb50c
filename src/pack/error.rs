//! Why a pack could not be loaded or compiled.

use crate::diag::{Report, Sources};

/// Why a pack could not be loaded or compiled. `Display` gives one line per diagnostic; [`render`](crate::diag::render)
/// gives them with the source lines, or as JSON.
#[derive(Debug)]
pub struct PackError {
    /// All diagnostics, errors and warnings.
    pub report: Report,
    /// The texts that their spans point into.
    pub sources: Sources,
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::diag::render::plain(&self.report, &self.sources))
    }
}

impl std::error::Error for PackError {}
