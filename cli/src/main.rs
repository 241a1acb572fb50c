//! The command line's entry; everything is in `tapster::cli`, so that tests can run it in-process.

use std::process::ExitCode;

fn main() -> ExitCode {
    tapster::cli::main_with_args(std::env::args_os())
}
