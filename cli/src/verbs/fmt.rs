//! `tapster fmt`: lays out TOML rule files, so that a person can read them.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::diag::{Code, Diagnostic, Report, Sources, Span, limits};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::format::{FormatRefusal, TomlLayout, convert, format};
use crate::inputs::files::{path_text, read_bytes, resolve_own_file, write_file};
use crate::output::Console;
use crate::pack::files::is_rule_file;

/// Most files that one run lays out.
const MAX_FILES: usize = 10_000;

/// Lay out TOML rule files: lines of at most 120 characters, with the same meaning.
///
/// Comments and the blank lines between groups stay. Everything that fits on its line stays as its author wrote it. A
/// table that does not fit becomes a section below its row, and a list gets a line for each item.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster fmt my-pack                     all TOML files of a folder, and of the folders in it
  tapster fmt my-pack/lore.toml
  tapster fmt --check rules               change nothing; exit 1 and name the files that would change
  tapster fmt --stdout my-pack/lore.toml  show the result only
  tapster fmt - < lore.toml               from standard input to standard output
  tapster fmt --to 2 my-pack              write the files in the words of version 2, in which expressions are texts

Exit codes: 0 done, 1 a file cannot be laid out or (with --check) would change, 2 it could not run.")]
pub(crate) struct FmtArgs {
    /// Files and folders; `-` is standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Change nothing; only list the files that would change.
    #[arg(long)]
    check: bool,
    /// Print the result instead of writing it; for one file.
    #[arg(long, conflicts_with = "check")]
    stdout: bool,
    /// Write rule files in the words of this version of the language, 1 or 2, with the same meaning.
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(i64).range(1..=2))]
    to: Option<i64>,
}

/// The results for all files.
#[derive(Default)]
struct FmtTally {
    changed: Vec<String>,
    unchanged: usize,
    refused: usize,
    /// JSON files that were found in folders.
    json: usize,
    report: Report,
    sources: Sources,
}

impl FmtArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let mut files = Vec::new();
        for path in &self.paths {
            collect(path, 0, &mut files)?;
        }
        let prints = self.stdout || !self.check && files.iter().any(|file| file == Path::new("-"));
        if prints && files.len() > 1 {
            let message = "several files cannot be printed as one";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "name one file, or leave out `--stdout` and `-`"));
        }
        let mut tally = FmtTally::default();
        for file in &files {
            self.one(file, prints, &mut tally, show)?;
        }
        if tally.json > 0 {
            let files = if tally.json == 1 { "file in the folders is" } else { "files in the folders are" };
            let told = Diagnostic::note(Code::FormatSkipped, format!("{} JSON {files} not laid out", tally.json));
            tally.report.push(told);
        }
        show.report(&tally.report, &tally.sources);
        if !prints {
            self.sum_up(&tally, show);
        }
        let no = tally.refused > 0 || self.check && !tally.changed.is_empty();
        Ok(if no { RunExit::No } else { RunExit::Done })
    }

    fn one(&self, path: &Path, prints: bool, tally: &mut FmtTally, show: &mut Console<'_>) -> Result<()> {
        let name = path_text(path);
        let is_json = path.extension().is_some_and(|e| e == "json");
        if is_json && !self.paths.iter().any(|named| named == path) {
            tally.json += 1;
            return Ok(());
        }
        if is_json {
            read_bytes(path, show)?;
            let message = format!("`{name}` is JSON, which is not laid out");
            tally.report.push(Diagnostic::new(Code::FormatSkipped, message).help("name TOML files, or use a formatter of JSON"));
            return Ok(());
        }
        let bytes = read_bytes(path, show)?;
        let Some(text) = text_of(&bytes, &name, tally) else { return Ok(()) };
        let source = tally.sources.add(&name, "", text);
        let converted = self.to.map_or_else(|| Ok(text.to_owned()), |version| convert(source, text, version));
        match converted.and_then(|text| format(source, &text, TomlLayout::default())) {
            Ok(formatted) => {
                if !formatted.long.is_empty() {
                    let result = tally.sources.add(&name, "", &formatted.text);
                    for line in &formatted.long {
                        let message = format!("a line stays longer than {} characters", TomlLayout::default().width);
                        let help = "it holds nested inline tables or one long text; name a part as a `[[value]]`, or shorten it";
                        let span = Span::new(result, line.start, line.end);
                        tally.report.push(Diagnostic::new(Code::FormatLong, message).at(span).help(help));
                    }
                }
                if prints {
                    show.result(&formatted.text);
                } else if formatted.text == text {
                    tally.unchanged += 1;
                } else {
                    if !self.check {
                        write_file(&resolve_own_file(path)?, &formatted.text)?;
                    }
                    tally.changed.push(name);
                }
            }
            Err(FormatRefusal::Loss(complaint) | FormatRefusal::Large(complaint)) => {
                tally.refused += 1;
                tally.report.push(*complaint);
            }
            Err(FormatRefusal::Syntax(complaint)) => {
                tally.refused += 1;
                // the reader of rule files reports all mistakes with their remedies
                let mut report = Report::default();
                let _ = crate::pack::toml::parse(source, text, &mut report);
                if !report.has_errors() {
                    report.push(*complaint);
                }
                tally.report.extend(report);
            }
        }
        Ok(())
    }

    fn sum_up(&self, tally: &FmtTally, show: &mut Console<'_>) {
        if show.is_json() {
            show.json(&json!({ "changed": tally.changed, "unchanged": tally.unchanged, "refused": tally.refused }));
            return;
        }
        let verb = if self.check { "would change" } else { "formatted" };
        for name in &tally.changed {
            show.result(&format!("{verb} {name}\n"));
        }
        let refused = if tally.refused > 0 { format!(", {} refused", tally.refused) } else { String::new() };
        show.result(&format!("{} {verb}, {} unchanged{refused}\n", tally.changed.len(), tally.unchanged));
    }
}

/// The text of a file; `None`, with a diagnostic, if it is too large or not UTF-8.
fn text_of<'b>(bytes: &'b [u8], name: &str, tally: &mut FmtTally) -> Option<&'b str> {
    let complaint = match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= limits::FILE_BYTES => return Some(text),
        Ok(_) => Diagnostic::new(Code::FileTooLarge, format!("`{name}` is larger than {} MiB", limits::FILE_BYTES >> 20))
            .help("split it into several files"),
        Err(error) => {
            let message = format!("`{name}` is not valid UTF-8: byte {} does not begin a character", error.valid_up_to());
            Diagnostic::new(Code::FileEncoding, message).help("save it as UTF-8")
        }
    };
    tally.refused += 1;
    tally.report.push(complaint);
    None
}

/// The files that a path names: itself, or the TOML files of the folder, sorted. Hidden files and links in a folder are
/// skipped.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let too_many = |what: String| EarlyExit::could_not(Code::FileTooLarge, what, "name the folders one by one");
    if path == Path::new("-") || !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if depth > limits::CHAIN {
        return Err(too_many(format!("folders are nested deeper than {} levels at `{}`", limits::CHAIN, path.display())));
    }
    let unreadable = |error: std::io::Error| {
        let message = format!("`{}` cannot be read: {error}", path.display());
        EarlyExit::could_not(Code::FileMissing, message, "check the path and its permissions")
    };
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let kind = entry.file_type().map_err(unreadable)?;
        let inner = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && (kind.is_dir() || kind.is_file() && is_rule_file(&inner)) {
            inside.push(inner);
        }
    }
    inside.sort();
    for inner in inside {
        collect(&inner, depth + 1, files)?;
        if files.len() > MAX_FILES {
            return Err(too_many(format!("`{}` holds more than {MAX_FILES} files", path.display())));
        }
    }
    Ok(())
}
