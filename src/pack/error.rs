//! Why a pack could not be compiled.

use crate::diag::{Report, Sources};

/// Why a pack gave no ruleset: all complaints, and the texts they point into.
#[derive(Debug)]
pub struct PackError {
    /// All complaints.
    pub report: Report,
    /// The texts.
    pub sources: Sources,
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::diag::render::plain(&self.report, &self.sources))
    }
}

impl std::error::Error for PackError {}
