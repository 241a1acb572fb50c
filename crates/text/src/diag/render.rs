//! Diagnostics as text for people ([`human`]), as lines for editors ([`plain`]) or as JSON for programs ([`json`]).
//!
//! The text has a fixed order: what, where, which rule, what to do; the carets stand under the exact characters. Texts
//! of files and messages come from strangers, so control characters never reach a terminal.

use std::fmt::Write;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::short::{first, is_unseen};
use super::{Diagnostic, Report, Severity, Source, Sources, Span};

/// The widest line that is drawn, in columns; a longer line of a file is cut around the span.
const WIDTH: usize = 160;
/// Stands where the place is drawn; no text that is drawn holds it.
const MARK: &str = "\0";

/// All diagnostics as text for people, with the source line and carets below the place; `color` adds ANSI colours. The text
/// ends with a line break; it is empty for an empty report.
///
/// ```
/// use tapster_text::diag::{Code, Diagnostic, Report, Sources, Span, render};
/// let mut sources = Sources::default();
/// let file = sources.add("lore.toml", "acme", "depth = \"two\"\n");
/// let mut report = Report::default();
/// report.push(Diagnostic::new(Code::SchemaType, "`depth` must be a whole number").at(Span::new(file, 8, 13)).label("a text"));
/// assert_eq!(render::human(&report, &sources, false), "\
/// error[schema.type]: `depth` must be a whole number
///  --> lore.toml:1:9
///   |
/// 1 | depth = \"two\"
///   |         ^^^^^ a text
/// ");
/// ```
#[must_use]
pub fn human(report: &Report, sources: &Sources, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() }.term_width(WIDTH);
    let blocks: Vec<String> = report.items().iter().map(|d| block(d, sources, &renderer)).collect();
    blocks.join("\n")
}

/// One line per diagnostic, for editors: `file:line:column: error[code]: message`, or without the place if there is none.
#[must_use]
pub fn plain(report: &Report, sources: &Sources) -> String {
    let mut out = String::new();
    for d in report.items() {
        if let Some(place) = d.span.and_then(|s| sources.place(s)) {
            out.push_str(&tame(&place.to_string()));
            out.push_str(": ");
        }
        let _ = writeln!(out, "{}[{}]: {}", d.severity.as_str(), d.code.as_str(), tame(&d.message));
    }
    out
}

/// One workflow command of GitHub Actions per diagnostic: `::error file=…,line=…,col=…,title=…::message`.
#[must_use]
pub fn github(report: &Report, sources: &Sources) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for d in report.items() {
        // a note is called a notice there
        let word = if d.severity == Severity::Note { "notice" } else { d.severity.as_str() };
        let place = d.span.and_then(|s| sources.place(s));
        let place = place.map(|p| format!("file={},line={},col={},", property(&tame(&p.file)), p.line, p.column)).unwrap_or_default();
        let help = d.help.as_ref().map(|help| format!(" ({})", tame(help))).unwrap_or_default();
        let _ = writeln!(out, "::{word} {place}title={}::{}", property(d.code.as_str()), data(&format!("{}{help}", tame(&d.message))));
    }
    out
}

/// All diagnostics as a JSON array, one object for each: `severity`, `code`, `message`, `place` (`file:line:column`), the
/// parts of the place (`file`, `line`, `column`, and `end_line` and `end_column`, one past the last character), `label`,
/// `rule`, `help`, `related`; `fix` where one change is the remedy for certain (the part of the file that `text` replaces);
/// `pass` and `row` for warnings of a build; then the diagnostic's own `details`. The place and
/// its parts are `null` for a diagnostic without a place, and so are `label`, `rule` and `help` where there is none.
#[must_use]
pub fn json(report: &Report, sources: &Sources) -> serde_json::Value {
    report.items().iter().map(|d| json_one(d, sources)).collect()
}

fn json_one(d: &Diagnostic, sources: &Sources) -> serde_json::Value {
    let place = d.span.and_then(|s| sources.place(s));
    let end = d.span.and_then(|s| sources.place(Span { start: s.end, ..s }));
    let related: Vec<serde_json::Value> = d
        .related
        .iter()
        .map(|(span, text)| {
            let place = sources.place(*span);
            serde_json::json!({
                "file": place.as_ref().map(|p| p.file.to_string()),
                "line": place.as_ref().map(|p| p.line),
                "column": place.as_ref().map(|p| p.column),
                "message": text,
            })
        })
        .collect();
    let mut out = serde_json::json!({
        "severity": d.severity.as_str(),
        "code": d.code.as_str(),
        "message": d.message,
        "place": place.as_ref().map(ToString::to_string),
        "file": place.as_ref().map(|p| p.file.to_string()),
        "line": place.as_ref().map(|p| p.line),
        "column": place.as_ref().map(|p| p.column),
        "end_line": end.as_ref().map(|p| p.line),
        "end_column": end.as_ref().map(|p| p.column),
        "label": d.label,
        "rule": d.rule,
        "help": d.help,
        "related": related,
    });
    if let (Some((span, text)), serde_json::Value::Object(out)) = (d.certain_fix(), &mut out) {
        let (from, to) = (sources.place(span), sources.place(Span { start: span.end, ..span }));
        let fix = serde_json::json!({
            "line": from.as_ref().map(|p| p.line),
            "column": from.as_ref().map(|p| p.column),
            "end_line": to.as_ref().map(|p| p.line),
            "end_column": to.as_ref().map(|p| p.column),
            "text": text,
        });
        out.insert("fix".to_owned(), fix);
    }
    if let serde_json::Value::Object(out) = &mut out {
        if !d.pass.is_empty() {
            out.insert("pass".to_owned(), d.pass.as_str().into());
        }
        if let Some(row) = &d.row {
            out.insert("row".to_owned(), row.as_str().into());
        }
        for (name, value) in &d.details {
            out.entry(name.as_str()).or_insert_with(|| value.clone());
        }
    }
    out
}

fn block(d: &Diagnostic, sources: &Sources, renderer: &Renderer) -> String {
    let level = match d.severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let mut group = Group::with_title(level.primary_title(tame(&d.message)).id(d.code.as_str()));
    let mut drawn_place = None;
    let place = d.span.and_then(|span| Some((span, sources.place(span)?)));
    let is_placed = place.is_some();
    if let Some((span, at)) = place {
        let excerpt = sources.get(span.source).map(|source| Excerpt::of(source, span)).unwrap_or_default();
        // an empty line without a label is that of a whole file
        group = if excerpt.text.trim().is_empty() && d.label.is_none() {
            group.element(Origin::path(tame(&at.file)).line(at.line).char_column(at.column))
        } else {
            // the library counts columns in the excerpt
            drawn_place = Some((format!("{MARK}:{}:{}", at.line, excerpt.column), tame(&at.to_string())));
            let carets = AnnotationKind::Primary.span(excerpt.marked).label(d.label.as_deref().map(tame));
            group.element(Snippet::source(excerpt.text).path(MARK).line_start(at.line).annotation(carets))
        };
    }
    let note = |name: &'static str, text: String| Level::NOTE.with_name(name).message(text);
    let related = d.related.iter().map(|(span, text)| {
        let place = sources.place(*span).map(|p| format!(" ({})", tame(&p.to_string()))).unwrap_or_default();
        note("see", format!("{}{place}", tame(text)))
    });
    let rule = d.rule.as_deref().map(|rule| note("rule", tame(rule)));
    let notes = related.chain(rule).chain(d.help.as_deref().map(|help| note("help", tame(help))));
    // in a group of their own the notes follow a message without a place at once, without an empty line
    let groups = match is_placed {
        true => vec![group.elements(notes)],
        false => vec![group, Group::with_level(Level::NOTE).elements(notes)],
    };
    let mut drawn = String::new();
    for group in groups.iter().filter(|group| !group.is_empty()) {
        drawn.push_str(&renderer.render(std::slice::from_ref(group)));
        drawn.push('\n');
    }
    if let Some((mark, place)) = drawn_place {
        drawn = drawn.replacen(&mark, &place, 1);
    }
    drawn
}

/// The part of a line around a span that may be drawn: a line may be as long as a file, and each of its words wrong.
#[derive(Default)]
struct Excerpt {
    text: String,
    /// The bytes under which the carets stand.
    marked: Range<usize>,
    /// The column of the span in the excerpt, from 1.
    column: usize,
}

impl Excerpt {
    fn of(source: &Source, span: Span) -> Self {
        let (before, rest) = source.text.split_at_checked(span.start as usize).unwrap_or_default();
        let before = before.rsplit('\n').next().unwrap_or_default();
        let begin = before.char_indices().rev().take(WIDTH).last().map_or(before.len(), |(at, _)| at);
        let mut text = tame(before.get(begin..).unwrap_or_default());
        let (from, column) = (text.len(), text.chars().count() + 1);
        let rest = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let marked = rest.get(..(span.end - span.start) as usize).unwrap_or(rest);
        let marked = first(marked, WIDTH);
        text.push_str(&tame(marked));
        let end = text.len();
        text.push_str(&tame(first(rest.get(marked.len()..).unwrap_or_default(), WIDTH)));
        Self { text, marked: from..end, column }
    }
}

/// A text on one line, without anything that a terminal would obey.
fn tame(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\n' => out.push('⏎'),
            c if is_unseen(c) => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
