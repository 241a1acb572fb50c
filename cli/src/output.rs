//! How results and diagnostics are written: one place for formats, colour, tables and closed pipes.

use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use indexmap::IndexMap;

use crate::diag::{Diagnostic, Report, Sources, Span, render, sarif};
use crate::exit::{EarlyExit, RunExit};

/// The parts of the process that a run may use; tests provide their own.
pub struct Io<'a> {
    /// Standard input, for `-`.
    pub input: &'a mut dyn Read,
    /// Results.
    pub out: &'a mut dyn Write,
    /// Diagnostics.
    pub err: &'a mut dyn Write,
    /// Whether diagnostics go to a terminal.
    pub terminal: bool,
    /// The environment: `NO_COLOR`, `TERM`, `TAPSTER_PACKS` and the like.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
}

/// Flags that every verb has.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct GlobalArgs {
    /// How results are written (`build` writes JSON either way).
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(super) format: OutputFormat,
    /// How diagnostics are written; `json` is one object per line, `sarif` one document.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(super) error_format: ErrorFormat,
    /// Colour in diagnostics and differences; `auto` depends on the terminal and `NO_COLOR`.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(super) color: ColorMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ErrorFormat {
    /// The message with the line of the file and carets.
    #[default]
    Human,
    /// One line each: `file:line:column: error[code]: message`.
    Plain,
    /// One JSON object per line.
    Json,
    /// Workflow commands of GitHub Actions, which show diagnostics beside the lines of a pull request.
    Github,
    /// One SARIF 2.1.0 document for the whole run, for code hosts and editors.
    Sarif,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorMode {
    #[default]
    Auto,
    Always,
    Never,
}

/// Whether diagnostics are coloured: as the flag says, else as `NO_COLOR` and `TERM` say, else if they go to a
/// terminal.
pub(super) fn colored(flag: ColorMode, io: &Io<'_>) -> bool {
    let set = |name: &str| (io.env)(name).is_some_and(|v| !v.is_empty());
    let dumb = (io.env)("TERM").is_some_and(|t| t == "dumb");
    match flag {
        ColorMode::Always => true,
        ColorMode::Never => false,
        ColorMode::Auto => io.terminal && !set("NO_COLOR") && !dumb,
    }
}

/// What a build may warn of, by the message of the warning, with the places where a file says it.
#[derive(Debug, Clone)]
pub(super) struct WarningPlaces {
    pub(super) told: Vec<(String, Span)>,
    /// The text of the file.
    pub(super) sources: Sources,
}

/// Input, results and diagnostics in the requested formats.
pub(super) struct Console<'io> {
    pub(super) io: Io<'io>,
    format: OutputFormat,
    errors: ErrorFormat,
    paint: bool,
    /// Whether results may be coloured.
    paints_results: bool,
    failed: Option<std::io::Error>,
    /// Folders in which packs are searched too: those of the scene and of the pack that were named.
    pub(super) near: Vec<PathBuf>,
    /// Where files say what a build may warn of; the last one counts.
    pub(super) places: Vec<WarningPlaces>,
    /// The arguments of the process, if the program has one of its own: it can start itself again.
    pub(super) arguments: Option<Vec<OsString>>,
    /// The streams among the arguments of the program, which are read although they are no files.
    pub(super) streams: Vec<PathBuf>,
    /// Diagnostics that are kept instead of written, for a verb that counts them.
    kept: Option<Vec<(Report, Sources)>>,
    /// The diagnostics of a document that is written at the end.
    gathered: Vec<(Report, Sources)>,
}

impl<'io> Console<'io> {
    pub(super) fn new(io: &'io mut Io<'_>, globals: &GlobalArgs, paint: bool) -> Self {
        Self {
            io: Io { input: io.input, out: io.out, err: io.err, terminal: io.terminal, env: io.env },
            format: globals.format,
            errors: globals.error_format,
            paint,
            paints_results: globals.color == ColorMode::Always,
            failed: None,
            near: Vec::new(),
            places: Vec::new(),
            arguments: None,
            streams: Vec::new(),
            kept: None,
            gathered: Vec::new(),
        }
    }

    /// Colours results as diagnostics, because they go to the same terminal.
    pub(super) fn paint_results(&mut self) {
        self.paints_results |= self.paint;
    }

    /// Whether results are coloured.
    pub(super) fn paints_results(&self) -> bool {
        self.paints_results
    }

    /// Whether results are requested as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }

    /// Whether diagnostics become one document, which is to hold all of them.
    pub(super) fn gathers(&self) -> bool {
        self.errors == ErrorFormat::Sarif
    }

    /// Writes results as JSON from now on, as the verb's own flag requests.
    pub(super) fn set_json(&mut self) {
        self.format = OutputFormat::Json;
    }

    /// Writes a result. A failure to write is reported once, at the end.
    pub(super) fn result(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.io.out.write_all(text.as_bytes()).err();
        }
    }

    /// Whether results can no longer be written.
    pub(super) fn is_closed(&self) -> bool {
        self.failed.is_some()
    }

    /// Hands results over to whoever reads them, in front of longer work.
    pub(super) fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.io.out.flush().err();
        }
    }

    /// Writes a result as indented JSON, piece by piece: it may be large.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) {
        if self.failed.is_some() {
            return;
        }
        let mut out = BufWriter::new(&mut *self.io.out);
        let written = serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from);
        self.failed = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()).err();
    }

    /// Writes the result of a command: as JSON if that is requested, and otherwise as text.
    pub(super) fn answer<S: AsRef<str>>(&mut self, value: &impl serde::Serialize, text: impl FnOnce() -> S) {
        if self.is_json() { self.json(value) } else { self.result(text().as_ref()) }
    }

    /// Keeps all diagnostics that are written while `run` runs, and returns them.
    pub(super) fn keeping<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (T, Vec<(Report, Sources)>) {
        let outer = self.kept.replace(Vec::new());
        let result = run(self);
        let kept = std::mem::replace(&mut self.kept, outer);
        (result, kept.unwrap_or_default())
    }

    /// Writes diagnostics of the library; of very many the first ones, and how many more there are.
    pub(super) fn report(&mut self, report: &Report, sources: &Sources) {
        if let Some(kept) = &mut self.kept {
            kept.push((report.clone(), sources.clone()));
            return;
        }
        let mut report = report.clone();
        report.shorten();
        let report = &report;
        let text = match self.errors {
            ErrorFormat::Human => render::human(report, sources, self.paint),
            ErrorFormat::Plain => render::plain(report, sources),
            ErrorFormat::Github => render::github(report, sources),
            ErrorFormat::Sarif => {
                self.gathered.push((report.clone(), sources.clone()));
                return;
            }
            ErrorFormat::Json => {
                let all = render::json(report, sources);
                all.as_array().into_iter().flatten().map(|d| format!("{d}\n")).collect()
            }
        };
        self.complain(&text);
    }

    /// Writes the warnings of a build; equal warnings are shown once, with their number.
    pub(super) fn warnings(&mut self, warnings: &[Diagnostic], sources: &Sources) {
        type Same<'a> = (&'a str, &'a str, &'a str, Option<&'a str>, Option<&'a str>);
        let mut counted: IndexMap<Same<'_>, (&Diagnostic, usize)> = IndexMap::new();
        for warning in warnings {
            let Diagnostic { code, message, pass, help, row, .. } = warning;
            let key = (code.as_str(), message.as_str(), pass.as_str(), help.as_deref(), row.as_deref());
            counted.entry(key).or_insert((warning, 0)).1 += 1;
        }
        let shown = counted.into_values().map(|(warning, times)| {
            let message = if times > 1 { format!("{} ({times} times)", warning.message) } else { warning.message.clone() };
            Diagnostic { message, ..warning.clone() }
        });
        let mut others = Report::default();
        let mut placed: Vec<Report> = self.places.iter().map(|_| Report::default()).collect();
        for warning in shown {
            let place = self.place_of(&warning);
            match place.and_then(|(n, _)| placed.get_mut(n)) {
                Some(report) => report.push(Diagnostic { span: place.map(|(_, span)| span), ..warning }),
                None => others.push(warning),
            }
        }
        self.report(&others, sources);
        let files: Vec<Sources> = self.places.iter().map(|placed| placed.sources.clone()).collect();
        placed.iter().zip(&files).for_each(|(report, sources)| self.report(report, sources));
    }

    /// Where a file says what a warning without a place is about, with the number of the file.
    fn place_of(&self, warning: &Diagnostic) -> Option<(usize, Span)> {
        if warning.span.is_some() {
            return None;
        }
        let within = |placed: &WarningPlaces| placed.told.iter().find(|(message, _)| *message == warning.message).map(|(_, span)| *span);
        self.places.iter().enumerate().rev().find_map(|(n, placed)| Some((n, within(placed)?)))
    }

    /// Writes information that has no place.
    pub(super) fn note(&mut self, note: Diagnostic) {
        self.report(&note.into(), &Sources::default());
    }

    /// Reports why a verb could not continue, and returns the exit code.
    pub(super) fn stop(&mut self, stop: EarlyExit) -> RunExit {
        self.report(&stop.report, &stop.sources);
        stop.exit
    }

    fn complain(&mut self, text: &str) {
        // nobody can read an error about a closed stream
        let _ = self.io.err.write_all(text.as_bytes());
    }

    /// Flushes the streams. A reader that has closed the pipe (`| head`) is not a failure; a full disk is.
    pub(super) fn finish(mut self, exit: RunExit) -> RunExit {
        if self.gathers() {
            let document = serde_json::to_string_pretty(&sarif::document(&self.gathered)).unwrap_or_default();
            self.complain(&format!("{document}\n"));
        }
        let failed = self.failed.take().or_else(|| self.io.out.flush().err());
        match failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.complain(&format!("error: the result cannot be written: {error}\n"));
                RunExit::CouldNot
            }
            _ => exit,
        }
    }
}
