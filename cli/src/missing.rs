//! A verb that is not compiled in stays in the help, and says how to get it.

use std::ffi::OsString;

use clap::Args;

use crate::diag::Code;
use crate::exit::{EarlyExit, Result, RunExit};
use crate::output::Console;

/// How to get what is not compiled in.
pub(crate) const HELP: &str = "build it with all features: `cargo install --path cli --features full`";

/// A command that is not compiled in, with whatever follows it.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = "This program was built without this verb.")]
pub(crate) struct MissingArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl MissingArgs {
    #[expect(clippy::unused_self, reason = "the same call as of a command that is there")]
    pub(crate) fn run(&self, _: &mut Console<'_>) -> Result<RunExit> {
        let message = if cfg!(feature = "lsp") {
            "this program was built without the verbs `artifact`, `chat`, `eval`, `mcp` and `turn`"
        } else {
            "this program was built without the verbs `artifact`, `chat`, `eval`, `lsp`, `mcp` and `turn`"
        };
        Err(EarlyExit::could_not(Code::FeatureMissing, message, HELP))
    }
}
