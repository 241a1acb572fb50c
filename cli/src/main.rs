//! The command line's entry; everything is in the library beside it, so that tests can run it in-process.

use std::process::ExitCode;

fn main() -> ExitCode {
    tapster_cli::main_with_args(std::env::args_os())
}
