//! The command line: it reads files, calls the library and shows the results. It decides nothing about prompts.
//!
//! Results go to standard output, diagnostics to standard error. There are three exit codes; see [`RunExit`].

#![cfg_attr(not(feature = "full"), allow(dead_code, reason = "what some verbs alone use is checked with all of them"))]

mod exit;
#[doc(hidden)]
pub mod format;
#[cfg_attr(not(feature = "full"), path = "lean.rs")]
mod full;
mod inputs;
mod layout;
#[cfg_attr(feature = "full", allow(dead_code, reason = "with all features no verb is missing"))]
mod missing;
mod output;
#[cfg(feature = "full")]
mod server;
mod verbs;
mod worker;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};
use tapster::machinery::{build, pack, program, syntax, terms, text};
use tapster::{diag, model, template};
use tapster_exchange::{import, share};
use tapster_session::store;
use tapster_testing as testing;

use crate::diag::Code;
use exit::EarlyExit;
use output::{ColorMode, Console, GlobalArgs, colored};
use verbs::Verb;

pub use exit::RunExit;
pub use output::Io;

#[cfg(unix)]
use rustix::process::{Resource, getrlimit, setrlimit};

/// Builds the exact messages that a language model receives, by rules that are files.
#[derive(Debug, Parser)]
#[command(name = "tapster", version, about, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    verb: Verb,
}

const AFTER_HELP: &str = "\
Examples:
  tapster build examples/hello            the payload of an example
  tapster explain examples/hello          where each block came from
  tapster check rules/base                every mistake of a pack

Environment (more in docs/reference/command-line.md):
  TAPSTER_PACKS   folders of packs, searched before `./rules`
  TAPSTER_CACHE   the folder in which `build` remembers rules without mistakes
  NO_COLOR        anything: no colours

Exit codes: 0 done, 1 it ran and the answer is no, 2 it could not run.";

/// Runs the program with the arguments of the process (the program's own name first) and its streams.
#[must_use]
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let stderr = std::io::stderr();
    let terminal = stderr.is_terminal();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut io =
        Io { input: &mut std::io::stdin().lock(), out: &mut out, err: &mut stderr.lock(), terminal, env: &|name| std::env::var_os(name) };
    let process = ProcessArguments { arguments: args.into_iter().collect(), to_terminal: std::io::stdout().is_terminal() };
    ExitCode::from(run_on(process.arguments.clone(), &mut io, Some(process)).code())
}

/// Runs the program with the given streams.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> RunExit {
    run_on(args.into_iter().collect(), io, None)
}

/// The process, if the program has one of its own.
struct ProcessArguments {
    arguments: Vec<OsString>,
    /// Whether results go to a terminal too.
    to_terminal: bool,
}

fn run_on(args: Vec<OsString>, io: &mut Io<'_>, process: Option<ProcessArguments>) -> RunExit {
    let no_color = !colored(ColorMode::Auto, io);
    let command = Cli::command().color(if no_color { ColorChoice::Never } else { ColorChoice::Auto });
    let streams = crate::inputs::files::find_streams(&args);
    let parsed = command.try_get_matches_from(args).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, no_color, io),
    };
    let paint = colored(cli.globals.color, io);
    let mut show = Console::new(io, &cli.globals, paint);
    show.streams = streams;
    if let Some(process) = process {
        if process.to_terminal {
            show.paint_results();
        }
        if let Err(stop) = set_process_limits(cli.verb.runs_on(), &show.io) {
            let exit = show.stop(stop);
            return show.finish(exit);
        }
        show.arguments = Some(process.arguments);
    }
    let exit = match cli.verb.run(Cli::command(), &mut show) {
        Ok(exit) => exit,
        Err(stop) => show.stop(stop),
    };
    show.finish(exit)
}

/// Help and version are results; any mistake in the flags is a diagnostic.
fn usage(error: &clap::Error, no_color: bool, io: &mut Io<'_>) -> RunExit {
    let text = if no_color { error.render().to_string() } else { error.render().ansi().to_string() };
    if error.use_stderr() {
        // nobody can read an error about a closed stream
        let _ = io.err.write_all(text.as_bytes());
        return RunExit::CouldNot;
    }
    let plain = error.render().to_string();
    match io.out.write_all(plain.as_bytes()).and_then(|()| io.out.flush()) {
        Ok(()) => RunExit::Done,
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => RunExit::Done,
        Err(_) => RunExit::CouldNot,
    }
}

/// The most memory, in MiB, if `TAPSTER_MEMORY` does not say it.
const MEMORY_MIB: u64 = 4096;
/// The most processor time, in seconds, if `TAPSTER_PROCESSOR` does not say it.
const PROCESSOR_SECONDS: u64 = 600;

/// Sets the limits. A number that cannot be read is an error, so that nothing runs without the limit that was meant. A verb
/// that `runs_on` for as long as somebody asks has none of processor time.
#[cfg(unix)]
fn set_process_limits(runs_on: bool, io: &Io<'_>) -> Result<(), EarlyExit> {
    let number = |name: &str, usual| match (io.env)(name).filter(|text| !text.is_empty()) {
        None => Ok(usual),
        Some(text) => text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
            let message = format!("`{name}` is `{}`, which is no whole number", text.display());
            EarlyExit::could_not(Code::SceneField, message, "write a number of MiB, or of seconds, without a unit; 0 sets no limit")
        }),
    };
    lower_limit(Resource::Data, number("TAPSTER_MEMORY", MEMORY_MIB)?.saturating_mul(1 << 20));
    let seconds = number("TAPSTER_PROCESSOR", PROCESSOR_SECONDS)?;
    if !runs_on {
        lower_limit(Resource::Cpu, seconds);
    }
    Ok(())
}

#[cfg(not(unix))]
fn set_process_limits(_: bool, _: &Io<'_>) -> Result<(), EarlyExit> {
    Ok(())
}

/// Lowers a limit, so that it can be raised again by programs that are started. 0 leaves it as it is.
#[cfg(unix)]
fn lower_limit(resource: Resource, most: u64) {
    let mut limit = getrlimit(resource);
    if most > 0 && limit.current.is_none_or(|now| now > most) {
        limit.current = Some(most);
        // a system without such a limit is no reason not to run
        let _ = setrlimit(resource, limit);
    }
}
