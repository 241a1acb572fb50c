//! How results and diagnostics are written: one place for formats, colour, tables and closed pipes.

use std::io::ErrorKind;
use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::diag::{Report, Sources, render};
use crate::engine::BuildError;
use crate::model::plan::Warning;
use crate::pack::Ruleset;

use super::error::pass_span;
use super::{ErrorFormat, Exit, Format, Globals, Io, Stop};

/// The streams with the formats that were asked for.
pub(super) struct Show<'a, 'io> {
    pub(super) io: &'a mut Io<'io>,
    format: Format,
    errors: ErrorFormat,
    paint: bool,
    failed: Option<std::io::Error>,
}

/// A complaint whose code comes from a pack: what a build warns of or refuses.
#[derive(Debug)]
pub(super) struct Note {
    /// `error`, `warning`, `note`.
    word: &'static str,
    code: String,
    message: String,
    place: Option<String>,
    rule: Option<String>,
    help: Option<String>,
    more: Json,
}

impl Note {
    pub(super) fn of_build(error: &BuildError, rules: Option<&Ruleset>) -> Self {
        let place = rules.and_then(|r| place_of(r, error.stage.as_deref()?));
        let help = error.estimated_tokens.map(|n| {
            let window = error.max_tokens.unwrap_or_default();
            let reserve = error.reserve_tokens.unwrap_or_default();
            format!("{n} tokens must be sent, {window} fit, {reserve} of them are kept for the answer")
        });
        Self {
            word: "error",
            code: error.kind().to_owned(),
            message: error.message.clone(),
            place,
            rule: error.stage.as_ref().map(|s| format!("stage `{s}`")),
            help,
            more: error.to_json(),
        }
    }

    pub(super) fn of_warning(warning: &Warning, rules: &Ruleset) -> Self {
        Self {
            word: "warning",
            code: warning.code.clone(),
            message: warning.message.clone(),
            place: place_of(rules, &warning.pass),
            rule: (!warning.pass.is_empty()).then(|| rule_of(warning, rules)),
            help: warning.help.clone().or_else(|| remedy(&warning.code).map(str::to_owned)),
            more: Json::Null,
        }
    }

    /// Something worth knowing that nothing is wrong with.
    pub(super) fn told(code: &str, message: String) -> Self {
        Self { word: "note", code: code.to_owned(), message, place: None, rule: None, help: None, more: Json::Null }
    }

    fn text(&self, human: bool, paint: bool) -> String {
        let head = format!("{}[{}]", self.word, self.code);
        let message = one_line(&self.message);
        if !human {
            let place = self.place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
            return format!("{place}{head}: {message}\n");
        }
        let color = |code: &str, text: &str| if paint { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() };
        let head = color(if self.word == "error" { "1;31" } else { "1;33" }, &head);
        let mut out = format!("{head}{}\n", color("1", &format!(": {message}")));
        if let Some(place) = &self.place {
            out.push_str(&format!(" {} {place}\n", color("1;34", "┌─")));
        }
        for (name, text) in [("rule", &self.rule), ("help", &self.help)] {
            if let Some(text) = text {
                out.push_str(&format!(" {} {}\n", color("1;34", &format!("= {name}:")), one_line(text)));
            }
        }
        out
    }

    fn json(&self) -> Json {
        let mut out = json!({
            "severity": self.word, "code": self.code, "message": self.message,
            "place": self.place, "rule": self.rule, "help": self.help,
        });
        if let (Json::Object(out), Json::Object(more)) = (&mut out, &self.more) {
            for (key, value) in more {
                out.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        out
    }
}

/// What to do about a warning that is about what a file brought.
fn remedy(code: &str) -> Option<&'static str> {
    match code {
        "regex.bad" => Some("correct the pattern in the file that brought it"),
        "regex.unsafe" => Some("write the pattern without repeats inside repeats, or as plain words"),
        "template.data" => Some("correct the data, or the row of the source"),
        _ => None,
    }
}

/// The pass that warned, and the row that it went by.
fn rule_of(warning: &Warning, rules: &Ruleset) -> String {
    let pass = format!("pass `{}`", warning.pass);
    let Some((table, name)) = warning.row.as_deref().and_then(|row| row.split_once('/')) else { return pass };
    let row = rules.pack().tables.get(table).and_then(|rows| rows.get(name));
    let place = row.and_then(|row| rules.pack().sources.place(*row.patched.last().unwrap_or(&row.span)));
    let place = place.map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
    format!("{pass}, by {table} `{name}`{place}")
}

/// `file:line` of a pass; nothing for a pass that the pack does not have.
pub(super) fn place_of(rules: &Ruleset, pass: &str) -> Option<String> {
    let place = rules.pack().sources.place(pass_span(rules, pass)?)?;
    Some(format!("{}:{}", place.file, place.line))
}

impl<'a, 'io> Show<'a, 'io> {
    pub(super) fn new(io: &'a mut Io<'io>, globals: &Globals, paint: bool) -> Self {
        Self { io, format: globals.format, errors: globals.error_format, paint, failed: None }
    }

    /// Whether results are asked for as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Results are JSON from here on, as a verb's own flag says.
    pub(super) fn set_json(&mut self) {
        self.format = Format::Json;
    }

    /// A result. What cannot be written is told once, at the end.
    pub(super) fn result(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.io.out.write_all(text.as_bytes()).err();
        }
    }

    /// A result as indented JSON.
    pub(super) fn json(&mut self, value: &Json) {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        self.result(&text);
        self.result("\n");
    }

    /// Complaints of the library.
    pub(super) fn report(&mut self, report: &Report, sources: &Sources) {
        let text = match self.errors {
            ErrorFormat::Human => render::human(report, sources, self.paint),
            ErrorFormat::Plain => render::plain(report, sources),
            ErrorFormat::Json => {
                let all = render::json(report, sources);
                all.as_array().into_iter().flatten().map(|d| format!("{d}\n")).collect()
            }
        };
        self.complain(&text);
    }

    /// What a build warns of; the same warning once, with how often it came.
    pub(super) fn warnings(&mut self, warnings: &[Warning], rules: &Ruleset) {
        let mut counted: IndexMap<&Warning, usize> = IndexMap::new();
        for warning in warnings {
            *counted.entry(warning).or_default() += 1;
        }
        for (warning, times) in counted {
            let mut note = Note::of_warning(warning, rules);
            if times > 1 {
                note.message.push_str(&format!(" ({times} times)"));
            }
            self.note(&note);
        }
    }

    /// A complaint of a build.
    pub(super) fn note(&mut self, note: &Note) {
        let text = match self.errors {
            ErrorFormat::Human => note.text(true, self.paint),
            ErrorFormat::Plain => note.text(false, false),
            ErrorFormat::Json => format!("{}\n", note.json()),
        };
        self.complain(&text);
    }

    fn complain(&mut self, text: &str) {
        // a closed stream has no one left to tell
        let _ = self.io.err.write_all(text.as_bytes());
    }

    /// Flushes. A reader that went away (`| head`) is no failure; a full disk is.
    pub(super) fn finish(mut self, exit: Exit) -> Exit {
        let failed = self.failed.take().or_else(|| self.io.out.flush().err());
        match failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.complain(&format!("error: the result cannot be written: {error}\n"));
                Exit::CouldNot
            }
            _ => exit,
        }
    }
}

/// Rows under each other in columns; the last column is as wide as it likes.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |n: usize| rows.iter().filter_map(|r| r.get(n)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!(" {cell:width$} "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A text on one line, without anything that a terminal would obey.
pub(super) fn one_line(text: &str) -> String {
    let tame = |c: char| match c {
        '\n' => '⏎',
        c if c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') => ' ',
        c => c,
    };
    text.chars().map(tame).collect()
}

/// The first `most` characters of a text, on one line.
pub(super) fn head(text: &str, most: usize) -> String {
    let mut out: String = one_line(&text.chars().take(most).collect::<String>());
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

/// Writes a file whole or not at all.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Stop> {
    let beside = path.with_extension("tmp~");
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", path.display());
        Stop::could_not(crate::diag::Code::FileMissing, message, "check the folder and its permissions")
    })
}
