//! Presets, cards and lorebooks of other programs: what `tapster doctor` finds in them, at the places that it is about.

use std::ops::Range;

use lsp_types::{DiagnosticSeverity, NumberOrString, TextEdit};
use serde::de::IgnoredAny;
use serde_json::{Value as Json, json};
use tapster_door::Door;

use crate::diagnostics::SOURCE;
use crate::document::OpenDocument;
use crate::outline::{NodeContent, ROOT};

/// The most bytes of a file that is examined while it is edited.
const MOST_BYTES: usize = 1 << 20;

/// The code of macros that no rule knows.
const UNKNOWN_MACRO: &str = "macro.unknown";

/// What was found in a file.
#[derive(Default)]
pub(crate) struct FileExamination {
    pub(crate) diagnostics: Vec<lsp_types::Diagnostic>,
    /// The pack that reads the file, or has read it before it became unreadable; `None` if none does.
    pub(crate) pack: Option<String>,
    /// The text is no JSON yet.
    pub(crate) is_unread: bool,
    /// What is said of the texts of the file: where each part is, and what it costs.
    pub(crate) parts: Vec<(Range<usize>, String)>,
}

/// Whether a document may be such a file: a JSON table that is no rule file.
pub(crate) fn may_examine(document: &OpenDocument) -> bool {
    let is_json = document.path.as_deref().is_some_and(|path| path.extension().is_some_and(|ending| ending == "json"));
    let outline = document.outline();
    is_json && document.text.len() <= MOST_BYTES && !outline.entries(ROOT).is_empty() && outline.entry(ROOT, "kind").is_none()
}

/// Examines a file; nothing if it is of no format that a pack reads. `pack` is the one that has read it before.
pub(crate) fn examine(document: &OpenDocument, pack: Option<&str>, door: &Door) -> FileExamination {
    let name = document.path.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let file = json!({ "name": name.unwrap_or_default(), "text": &*document.text });
    let answer = door.call(&json!({ "call": "doctor", "file": file, "rules": pack }));
    let mut found = FileExamination::default();
    let Some(report) = answer.get("result") else {
        found.is_unread = serde_json::from_str::<IgnoredAny>(&document.text).is_err();
        found.pack = pack.filter(|_| found.is_unread).map(str::to_owned);
        return found;
    };
    found.pack = report.get("pack").and_then(Json::as_str).map(str::to_owned);
    let text = |value: &Json, key: &str| value.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let mut repairs: Vec<(String, lsp_types::Diagnostic)> = Vec::new();
    for change in list(report, "/repairs/changes") {
        let (was, is) = (text(change, "was"), text(change, "is"));
        for place in macro_places(&document.text, &was) {
            let edit = TextEdit::new(document.lines.range(&document.text, &place), is.clone());
            let data = json!({ "path": document.path, "edit": edit });
            let message = format!("`{was}` is no macro; `{is}` is");
            let told = diagnostic(document, place, DiagnosticSeverity::WARNING, UNKNOWN_MACRO, message, Some(data));
            repairs.push((was.clone(), told));
        }
    }
    for finding in list(report, "/findings") {
        // what has a repair is told with it
        let tag = text(finding, "message");
        let is_repaired = |was: &str| tag.split('`').nth(1).is_some_and(|tag| macro_places(tag, was).next().is_some());
        if text(finding, "code") == UNKNOWN_MACRO && repairs.iter().any(|(was, _)| is_repaired(was)) {
            continue;
        }
        let severity = match text(finding, "severity").as_str() {
            "error" => DiagnosticSeverity::ERROR,
            "warning" => DiagnosticSeverity::WARNING,
            _ => DiagnosticSeverity::INFORMATION,
        };
        let help = Some(text(finding, "help")).filter(|help| !help.is_empty()).map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        let message = text(finding, "message");
        let place = quoted_place(document, &message).unwrap_or(0..0);
        found.diagnostics.push(diagnostic(document, place, severity, &text(finding, "code"), format!("{message}{help}"), None));
    }
    for part in list(report, "/parts/list") {
        let name = text(part, "name");
        let Some(place) = named_place(document, &name) else { continue };
        let tokens = part.get("tokens").and_then(Json::as_u64).unwrap_or_default();
        let why = Some(text(part, "why")).filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
        let help = Some(text(part, "help")).filter(|help| !help.is_empty()).map(|help| format!("\n\n{help}")).unwrap_or_default();
        found.parts.push((place, format!("**{name}** ({}): {tokens} tokens, sent {}{why}{help}", text(part, "kind"), text(part, "sent"))));
    }
    found.diagnostics.extend(repairs.into_iter().map(|(_, told)| told));
    found
}

/// Where macros of just this name are written: behind `{{` and perhaps spaces, before `}}`, a colon or a space.
fn macro_places<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let places = text.match_indices(name).filter(|_| !name.is_empty()).map(|(at, _)| at..at + name.len());
    places.filter(|place| {
        let (before, behind) = (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default());
        let ends = behind.starts_with("}}") || behind.starts_with([':', ' ']);
        ends && before.trim_end_matches(' ').ends_with("{{")
    })
}

fn list<'j>(report: &'j Json, pointer: &str) -> impl Iterator<Item = &'j Json> {
    report.pointer(pointer).and_then(Json::as_array).into_iter().flatten()
}

fn diagnostic(
    document: &OpenDocument,
    place: Range<usize>,
    severity: DiagnosticSeverity,
    code: &str,
    message: String,
    data: Option<Json>,
) -> lsp_types::Diagnostic {
    lsp_types::Diagnostic {
        range: document.lines.range(&document.text, &place),
        severity: Some(severity),
        code: Some(NumberOrString::String(code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message,
        data,
        ..lsp_types::Diagnostic::default()
    }
}

/// Where the first text in backticks of a message is written that the document holds.
fn quoted_place(document: &OpenDocument, message: &str) -> Option<Range<usize>> {
    let quoted = message.split('`').skip(1).step_by(2).filter(|word| word.len() > 2);
    quoted.into_iter().find_map(|word| document.text.find(word).map(|at| at..at + word.len()))
}

/// Where a text of the document is just this name.
fn named_place(document: &OpenDocument, name: &str) -> Option<Range<usize>> {
    if name.is_empty() {
        return None;
    }
    let outline = document.outline();
    let found = outline.texts().find(|(_, inner)| document.text.get((*inner).clone()) == Some(name));
    found
        .filter(|(id, _)| matches!(outline.node(*id).map(|node| &node.content), Some(NodeContent::Text(_))))
        .map(|(_, inner)| inner.clone())
}
