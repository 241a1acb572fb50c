//! Diagnostics as text for people ([`human`]), as lines for editors ([`plain`]) or as JSON for programs ([`json`]).
//!
//! The text has a fixed order: what, where, which rule, what to do; the carets stand under the exact characters. Texts
//! of files and messages come from strangers, so control characters never reach a terminal.

use std::fmt::Write;

use super::short::is_unseen;
use super::{Diagnostic, Report, Severity, Source, Sources, Span};

/// The widest part of a source line that is shown, in columns; a longer line is cut around the span.
const WINDOW: usize = 160;
/// Columns kept before the span when a line is cut.
const LEAD: usize = 40;
/// What a tab is shown as.
const TAB: &str = "    ";

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
///  ┌─ lore.toml:1:9
/// 1│ depth = \"two\"
///  │         ^^^^^ a text
/// ");
/// ```
#[must_use]
pub fn human(report: &Report, sources: &Sources, color: bool) -> String {
    let paint = Paint { on: color };
    let blocks: Vec<String> = report.items().iter().map(|d| block(d, sources, paint)).collect();
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

fn block(d: &Diagnostic, sources: &Sources, paint: Paint) -> String {
    let mut out = String::new();
    let head = format!("{}[{}]", d.severity.as_str(), d.code.as_str());
    let _ = writeln!(out, "{}{}", paint.severity(d.severity, &head), paint.bold(&format!(": {}", tame(&d.message))));
    let mut gutter = 1;
    if let Some((span, place)) = d.span.and_then(|s| Some((s, sources.place(s)?))) {
        gutter = place.line.to_string().len();
        let _ = writeln!(out, "{:gutter$}{} {}", "", paint.edge("┌─"), tame(&place.to_string()));
        if let Some(source) = sources.get(span.source) {
            snippet(&mut out, d, span, source, place.line, paint);
        }
    }
    let mut note = |name: &str, text: &str| {
        let _ = writeln!(out, "{:gutter$}{} {text}", "", paint.edge(&format!("= {name}:")));
    };
    for (span, text) in &d.related {
        let place = sources.place(*span).map(|p| format!(" ({})", tame(&p.to_string()))).unwrap_or_default();
        note("see", &format!("{}{place}", tame(text)));
    }
    if let Some(rule) = &d.rule {
        note("rule", &tame(rule));
    }
    if let Some(help) = &d.help {
        note("help", &tame(help));
    }
    out
}

/// The source line and the carets. An empty line without a label (the span of a whole file) shows nothing.
fn snippet(out: &mut String, d: &Diagnostic, span: Span, source: &Source, line_number: usize, paint: Paint) {
    let (line, from, to) = line_of(source, span);
    if line.trim().is_empty() && d.label.is_none() {
        return;
    }
    let shown = RenderedLine::cut(line, from, to);
    let gutter = line_number.to_string().len();
    let _ = writeln!(out, "{} {}", paint.edge(&format!("{line_number}│")), shown.text.trim_end());
    let carets = "^".repeat(shown.width.max(1));
    let label = d.label.as_ref().map(|l| format!(" {}", tame(l))).unwrap_or_default();
    let marks = paint.severity(d.severity, &format!("{carets}{label}"));
    let _ = writeln!(out, "{:gutter$}{} {:indent$}{marks}", "", paint.edge("│"), "", indent = shown.indent);
}

/// The line in which a span begins, without its line break, and the part of it that the span covers (bytes).
fn line_of(source: &Source, span: Span) -> (&str, usize, usize) {
    let text: &str = &source.text;
    let start = span.start as usize;
    let begin = text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    let rest = text.get(begin..).unwrap_or("");
    let line = rest.split('\n').next().unwrap_or("").trim_end_matches('\r');
    let from = start.saturating_sub(begin).min(line.len());
    let to = (span.end as usize).saturating_sub(begin).clamp(from, line.len());
    (line, from, to)
}

/// A line as it is shown: tabs widened, control characters replaced, cut around the span.
struct RenderedLine {
    text: String,
    /// Columns before the carets.
    indent: usize,
    /// Columns under which the carets stand.
    width: usize,
}

impl RenderedLine {
    /// What stands far from the span is not looked at: a line may be as long as a file, and each of its words wrong.
    fn cut(line: &str, from: usize, to: usize) -> Self {
        let mut used = 0;
        let is_wide = line.chars().any(|c| {
            used += width(c);
            used > WINDOW
        });
        let begin = if is_wide { lead(line.get(..from).unwrap_or("")) } else { 0 };
        let mut shown = RenderedLine { text: String::new(), indent: 0, width: 0 };
        if begin > 0 {
            shown.text.push('…');
            shown.indent = 1;
        }
        used = 0;
        for (at, c) in line.get(begin..).unwrap_or("").char_indices() {
            let (at, wide) = (begin + at, width(c));
            if used + wide > WINDOW {
                shown.text.push('…');
                break;
            }
            used += wide;
            if at < from {
                shown.indent += wide;
            } else if at < to {
                shown.width += wide;
            }
            push_tame(&mut shown.text, c);
        }
        shown
    }
}

/// Where the last columns of a text begin that are kept before a span.
fn lead(before: &str) -> usize {
    let mut kept = 0;
    let starts = before.char_indices().rev().take_while(|(_, c)| {
        let is_kept = kept < LEAD;
        kept += width(*c);
        is_kept
    });
    starts.last().map_or(before.len(), |(at, _)| at)
}

/// How many columns a character takes, precise enough for carets: East Asian characters and emoji 2, combining marks 0.
fn width(c: char) -> usize {
    match u32::from(c) {
        9 => TAB.len(),
        0x0300..=0x036F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// A text on one line, without anything that a terminal would obey.
fn tame(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_tame(&mut out, c));
    out
}

fn push_tame(out: &mut String, c: char) {
    match c {
        '\t' => out.push_str(TAB),
        '\n' => out.push('⏎'),
        c if is_unseen(c) => out.push('\u{FFFD}'),
        c => out.push(c),
    }
}

/// ANSI colours, or none.
#[derive(Clone, Copy)]
struct Paint {
    on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        let code = match severity {
            Severity::Note => "1;36",
            Severity::Warning => "1;33",
            Severity::Error => "1;31",
        };
        self.with(code, text)
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn edge(self, text: &str) -> String {
        self.with("1;34", text)
    }
}
