//! A verb that is not compiled in: it says how to get it.

use std::ffi::OsString;

use clap::Args;

use crate::diag::Code;

use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

/// Whatever follows the verb.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = "This program was built without this verb.")]
pub(crate) struct MissingVerb {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl MissingVerb {
    #[expect(clippy::unused_self, reason = "the same call as of a verb that is there")]
    pub(crate) fn run(&self, _: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        Err(EarlyExit::could_not(
            Code::FeatureMissing,
            "this program was built without the verbs `artifact`, `chat`, `eval` and `turn`",
            HELP,
        ))
    }
}

/// How to get what is not compiled in.
pub(crate) const HELP: &str = "build it with all features: `cargo install --path cli --features full`";
