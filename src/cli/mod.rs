//! The command line: what a pack author and a prompt maker type. It reads files, calls the library and shows what
//! comes back; it decides nothing about prompts.
//!
//! Results go to standard output, diagnostics to standard error. Three exit codes: see [`Exit`].

mod build;
mod check;
mod error;
mod explain;
mod explain_cache;
mod explain_lore;
mod fmt;
mod import;
mod inputs;
mod library;
mod ops;
mod rules_page;
mod scene;
mod scene_file;
mod schema;
mod show;
mod template;
mod template_render;
mod templated;

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use clap::{Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use error::Stop;
use show::Show;

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

/// What a run may touch of the process around it, so that tests can hand in their own.
pub struct Io<'a> {
    /// Standard input, for `-`.
    pub input: &'a mut dyn Read,
    /// Results.
    pub out: &'a mut dyn Write,
    /// Diagnostics.
    pub err: &'a mut dyn Write,
    /// Whether diagnostics go to a terminal.
    pub terminal: bool,
    /// The environment: `NO_COLOR`, `TERM`, `TAPSTER_PACKS`, `TAPSTER_TEMPLATES`.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
}

/// Builds the exact messages that a language model receives, by rules that are files.
#[derive(Debug, Parser)]
#[command(name = "tapster", version, about, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  tapster build examples/hello            the payload of an example
  tapster explain examples/hello          where each block came from
  tapster check rules/base                every mistake of a pack

Exit codes: 0 done, 1 it ran and the answer is no, 2 it could not run.";

/// Flags that every verb has.
#[derive(Debug, Clone, Args)]
struct Globals {
    /// How results are written (`build` writes JSON either way).
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
    /// How diagnostics are written; `json` is one object a line.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    error_format: ErrorFormat,
    /// Colour in diagnostics; `auto` asks the terminal and `NO_COLOR`.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    color: Color,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ErrorFormat {
    /// With the line of the file and carets.
    #[default]
    Human,
    /// One line each: `file:line:column: error[code]: message`.
    Plain,
    /// One JSON object a line.
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Build a prompt: the payload, or another link of the chain.
    Build(build::Build),
    /// Say where each block of a prompt came from, or which rules are in force.
    Explain(explain::Explain),
    /// Check a pack, an overlay or single rule files.
    Check(check::Check),
    /// Lay out TOML rule files.
    Fmt(fmt::Fmt),
    /// Turn a card, preset, lorebook or chat of another program into JSON of this one.
    Import(import::Import),
    /// Print the JSON Schema of a kind of rule file.
    Schema(schema::Schema),
    /// List the vocabulary: verbs, terms, functions, fields, paths.
    Ops(ops::Ops),
    /// Store templates, check them, and render them.
    Template(template::Templates),
    /// List the packs that can be named.
    Packs(library::Packs),
}

/// Runs the program with the arguments of the process (the program's own name first) and its streams.
#[must_use]
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let stderr = std::io::stderr();
    let terminal = stderr.is_terminal();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut io =
        Io { input: &mut std::io::stdin().lock(), out: &mut out, err: &mut stderr.lock(), terminal, env: &|name| std::env::var_os(name) };
    ExitCode::from(run(args, &mut io).code())
}

/// Runs the program over given streams.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let no_color = !colored(Color::Auto, io);
    let command = Cli::command().color(if no_color { ColorChoice::Never } else { ColorChoice::Auto });
    let parsed = command.try_get_matches_from(args).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, no_color, io),
    };
    let paint = colored(cli.globals.color, io);
    let mut show = Show::new(io, &cli.globals, paint);
    let result = match cli.verb {
        Verb::Build(verb) => verb.run(&mut show),
        Verb::Explain(verb) => verb.run(&mut show),
        Verb::Check(verb) => verb.run(&mut show),
        Verb::Fmt(verb) => verb.run(&mut show),
        Verb::Import(verb) => verb.run(&mut show),
        Verb::Schema(verb) => verb.run(&mut show),
        Verb::Ops(verb) => verb.run(&mut show),
        Verb::Template(verb) => verb.run(&mut show),
        Verb::Packs(verb) => verb.run(&mut show),
    };
    let exit = match result {
        Ok(exit) => exit,
        Err(stop) => stop.tell(&mut show),
    };
    show.finish(exit)
}

/// Help and version are results; anything else that the flags are wrong in is a diagnostic.
fn usage(error: &clap::Error, no_color: bool, io: &mut Io<'_>) -> Exit {
    let text = if no_color { error.render().to_string() } else { error.render().ansi().to_string() };
    if error.use_stderr() {
        // a closed stream has no one left to tell
        let _ = io.err.write_all(text.as_bytes());
        return Exit::CouldNot;
    }
    let plain = error.render().to_string();
    match io.out.write_all(plain.as_bytes()).and_then(|()| io.out.flush()) {
        Ok(()) => Exit::Done,
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Exit::Done,
        Err(_) => Exit::CouldNot,
    }
}

/// Whether diagnostics are coloured: the flag, else `NO_COLOR` and `TERM`, else whether a terminal reads them.
fn colored(flag: Color, io: &Io<'_>) -> bool {
    let set = |name: &str| (io.env)(name).is_some_and(|v| !v.is_empty());
    let dumb = (io.env)("TERM").is_some_and(|t| t == "dumb");
    match flag {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => io.terminal && !set("NO_COLOR") && !dumb,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn flags_do_not_clash() {
        super::Cli::command().debug_assert();
    }
}
