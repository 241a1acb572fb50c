//! Why a verb could not continue, with the resulting exit code.

use crate::build::{BuildError, ErrorKind};
use crate::diag::{Code, Diagnostic, DiagnosticCode, Help, Report, Sources};
use crate::pack::{PackError, Ruleset};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunExit {
    /// Done: 0.
    Done,
    /// It ran with a negative result: 1. A check failed, a build was refused, or a file is damaged.
    No,
    /// It could not run: 2. The flags are wrong, or a file or pack does not exist.
    CouldNot,
}

impl RunExit {
    /// The number that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            RunExit::Done => 0,
            RunExit::No => 1,
            RunExit::CouldNot => 2,
        }
    }
}

/// What a command does, or why it ends early.
pub(crate) type Result<T, E = EarlyExit> = std::result::Result<T, E>;

/// Why a command ends early.
#[derive(Debug)]
pub(super) struct EarlyExit {
    pub(super) exit: RunExit,
    pub(super) report: Report,
    pub(super) sources: Sources,
}

impl EarlyExit {
    /// One diagnostic without a place.
    pub(super) fn new(exit: RunExit, diagnostic: Diagnostic) -> Self {
        Self::report(exit, diagnostic.into(), Sources::default())
    }

    /// Something that was named does not exist or cannot be used: exit code 2.
    pub(super) fn could_not(code: impl Into<DiagnosticCode>, message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self::new(RunExit::CouldNot, Diagnostic::error(code, message).help(help))
    }

    /// What was asked for is refused by the rules, or by what a file holds: exit code 1.
    pub(super) fn refused(code: impl Into<DiagnosticCode>, message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self::new(RunExit::No, Diagnostic::error(code, message).help(help))
    }

    /// Several diagnostics.
    pub(super) fn report(exit: RunExit, report: Report, sources: Sources) -> Self {
        Self { exit, report, sources }
    }

    /// A pack that could not be loaded: 2 if it does not exist, 1 if it has mistakes.
    pub(super) fn rejected(rejected: PackError) -> Self {
        let exit = if only_missing(&rejected.report) { RunExit::CouldNot } else { RunExit::No };
        Self::report(exit, rejected.report, rejected.sources)
    }

    /// A build that failed: 2 if it was asked for something that the pack does not have, 1 if it was refused.
    pub(super) fn build(error: &BuildError, rules: &Ruleset) -> Self {
        let exit = if matches!(error.kind(), ErrorKind::Call | ErrorKind::UnknownDialect) { RunExit::CouldNot } else { RunExit::No };
        Self::report(exit, error.diagnostic(rules).into(), rules.sources().clone())
    }
}

/// Whether all errors say that something named on the command line does not exist; such errors have no place in a file.
pub(super) fn only_missing(report: &Report) -> bool {
    let missing = |d: &Diagnostic| d.span.is_none() && matches!(d.code.known(), Some(Code::PackMissing | Code::FileMissing));
    report.has_errors() && report.items().iter().filter(|d| d.severity == crate::diag::Severity::Error).all(missing)
}
