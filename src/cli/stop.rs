//! Why a verb could not go on, with the exit code that this means.

use crate::diag::{Code, Diagnostic, Report, Sources};
use crate::engine::{BuildError, ErrorKind};
use crate::pack::{PackError, Ruleset};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done: 0.
    Done,
    /// It ran, and the answer is no: 1. A check failed, a build was refused, a file is damaged.
    No,
    /// It could not run: 2. Bad flags, a file or pack that is not there.
    CouldNot,
}

impl Exit {
    /// The number that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::CouldNot => 2,
        }
    }
}

/// A verb's way out before its end.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) exit: Exit,
    pub(super) report: Report,
    pub(super) sources: Sources,
}

impl Stop {
    /// One complaint without a place.
    pub(super) fn new(exit: Exit, diagnostic: Diagnostic) -> Self {
        Self::report(exit, diagnostic.into(), Sources::default())
    }

    /// Something that was named is not there, or cannot be used: exit 2.
    pub(super) fn could_not(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(Exit::CouldNot, Diagnostic::error(code, message).help(help))
    }

    /// Several complaints.
    pub(super) fn report(exit: Exit, report: Report, sources: Sources) -> Self {
        Self { exit, report, sources }
    }

    /// A pack that gave no ruleset: 2 where it is not there, 1 where it is wrong.
    pub(super) fn rejected(rejected: PackError) -> Self {
        let exit = if only_missing(&rejected.report) { Exit::CouldNot } else { Exit::No };
        Self::report(exit, rejected.report, rejected.sources)
    }

    /// A build that gave no plan: 2 where it was asked for what the pack has not, 1 where it was refused.
    pub(super) fn build(error: &BuildError, rules: &Ruleset) -> Self {
        let exit = if matches!(error.kind(), ErrorKind::Call | ErrorKind::UnknownDialect) { Exit::CouldNot } else { Exit::No };
        Self::report(exit, error.diagnostic(rules).into(), rules.sources().clone())
    }
}

/// Whether all errors say that what was named on the command line is not there: those have no place in a file.
pub(super) fn only_missing(report: &Report) -> bool {
    let missing = |d: &Diagnostic| d.span.is_none() && matches!(d.code.known(), Some(Code::PackMissing | Code::FileMissing));
    report.has_errors() && report.items().iter().filter(|d| d.severity == crate::diag::Severity::Error).all(missing)
}
