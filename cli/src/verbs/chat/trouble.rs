//! What a chat tells when something cannot be done.

use crate::diag::{Diagnostic, DiagnosticCode};
use crate::layout::visible;
use crate::pack::Ruleset;
use crate::run::{Problem, ProviderError, RunError};
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::operations::error_code;

/// Why there is no reply, for the terminal. With `once` there is no chat in which it could be asked for again.
pub(super) fn told(error: &RunError, rules: &Ruleset, once: bool) -> EarlyExit {
    let list = |problems: &[Problem]| -> String { problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ") };
    let (message, help) = match error {
        RunError::Build(error) => return EarlyExit::build(error, rules),
        RunError::Config(problems) => {
            (format!("the configuration of the run has mistakes: {}", list(problems)), "docs/reference/runner.md says what it may hold")
        }
        RunError::Preflight(problems) => {
            (format!("the request is not sent: {}", list(problems)), "change the options, or the capabilities in `--config`")
        }
        RunError::Provider(error) => (visible(&error.message), remedy(error, once)),
        other => (visible(&other.to_string()), ""),
    };
    let exit = if matches!(error, RunError::Config(_)) { RunExit::CouldNot } else { RunExit::No };
    let found = Diagnostic::error(named(&format!("run.{}", error_code(error))), message);
    EarlyExit::new(exit, if help.is_empty() { found } else { found.help(help) })
}

/// What can be done about a failure of a provider; empty if the message says it all.
fn remedy(error: &ProviderError, once: bool) -> &'static str {
    match (error.status, error.code.as_str()) {
        (Some(401 | 403), _) => "check the key: `--key-env NAME` or `--key-file FILE` names another one",
        (Some(404), _) => "check the name of the model, `--model`, and the address, `--url`",
        (_, "key_not_for_this_address" | "other_address" | "address") => "",
        (_, "max_turns") => "raise `tool_calling = { max_turns = … }` in the file for `--config`",
        _ if once => "",
        _ => "`/regen` asks again",
    }
}

pub(super) fn named(code: &str) -> DiagnosticCode {
    DiagnosticCode::named(code)
}

/// A command that has nothing to work on.
pub(super) fn nothing(message: &str) -> EarlyExit {
    EarlyExit::new(RunExit::No, Diagnostic::error(named("chat.command"), message).help("`/help` lists the commands"))
}
