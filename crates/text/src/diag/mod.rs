//! Diagnostics: what is wrong, where, which rule is concerned, and what to do about it.
//!
//! A [`Diagnostic`] is a value; nothing here prints. Mistakes of packs and files, warnings of builds and errors of builds
//! are all diagnostics. A [`Report`] collects them, so that an author sees every mistake of a pack in one run, and
//! [`render`] turns a report into text for people or JSON for programs. Places point into texts that a [`Sources`] holds.

pub mod codes;
pub mod depth;
pub mod file;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod memory;
pub mod render;
pub mod sarif;
#[doc(hidden)]
pub mod short;
pub mod source;
#[doc(hidden)]
pub mod suggest;

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

pub use codes::{Code, CodeOrigin, DiagnosticCode};
pub use source::{DocumentNode, FieldMap, NodeValue, Source, SourceId, SourcePlace, Sources, Span, TableField};
pub use suggest::{Certainty, Help, Suggestion, WordSearch};

/// How bad a diagnostic is, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information: nothing is wrong.
    Note,
    /// Worth knowing; the result can be used.
    Warning,
    /// The pack or the input cannot be used as it is.
    Error,
}

impl Severity {
    /// The severity as users see it: `note`, `warning` or `error`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One diagnostic. Its texts are bounded: the middle of an overlong text is left out.
///
/// Serialised it is what a plan holds of a warning: `severity`, `code`, `message`, `pass`, and `rule`, `help` and `row`
/// where they are known. [`render::json`] adds the place in a file.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The stable code.
    pub code: DiagnosticCode,
    /// What is wrong: one line, lower case, without a full stop.
    pub message: String,
    /// Where it is, in a text of the [`Sources`] that belong to the diagnostic; `None` where no file is concerned. For
    /// warnings and errors of a build: the pass that raised them, in `Ruleset::sources`.
    #[serde(skip)]
    pub span: Option<Span>,
    /// The text under the carets.
    #[serde(skip)]
    pub label: Option<String>,
    /// The rule concerned, such as `pass lore/print, from layer base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The change that is probably the remedy; it has a place where it certainly is.
    #[serde(skip)]
    pub suggestion: Option<Suggestion>,
    /// Other places that belong to it, each with a text that says why.
    #[serde(skip)]
    pub related: Vec<(Span, String)>,
    /// The name that is defined nowhere, if that is the mistake.
    #[serde(skip)]
    pub missing: Option<String>,
    /// The tables of which one would have a row of that name; empty where the name is none of a row.
    #[serde(skip)]
    pub missing_in: Vec<&'static str>,
    /// The pass that was running, as `program/pass`; empty outside of a build.
    pub pass: String,
    /// The row of a table of the pack that it follows from, as `table/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Where in a script it was raised: the file, the line and the column, from 1. A warning of a build is placed there.
    #[serde(skip)]
    pub script: Option<(std::sync::Arc<str>, usize, usize)>,
    /// Further fields for programs, which [`render::json`] adds under their names.
    #[serde(skip)]
    pub details: serde_json::Map<String, serde_json::Value>,
}

impl Diagnostic {
    /// A diagnostic of the code's usual severity, without a place.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::with(code.severity(), code.into(), message)
    }

    /// A warning, whatever the usual severity of the code.
    #[must_use]
    pub fn warning(code: impl Into<DiagnosticCode>, message: impl Into<String>) -> Self {
        Self::with(Severity::Warning, code.into(), message)
    }

    /// An error, whatever the usual severity of the code.
    #[must_use]
    pub fn error(code: impl Into<DiagnosticCode>, message: impl Into<String>) -> Self {
        Self::with(Severity::Error, code.into(), message)
    }

    /// A note, whatever the usual severity of the code.
    #[must_use]
    pub fn note(code: impl Into<DiagnosticCode>, message: impl Into<String>) -> Self {
        Self::with(Severity::Note, code.into(), message)
    }

    fn with(severity: Severity, code: DiagnosticCode, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: short::cut(message),
            span: None,
            label: None,
            rule: None,
            help: None,
            suggestion: None,
            related: Vec::new(),
            missing: None,
            missing_in: Vec::new(),
            pass: String::new(),
            row: None,
            script: None,
            details: serde_json::Map::new(),
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Moves it from the pass that it stands at to a place in a script that the pass ran.
    pub fn move_into_script(&mut self, place: Span) {
        if let Some(pass) = self.span.replace(place) {
            self.related.push((pass, "run by this pass".to_owned()));
        }
    }

    /// Sets the text under the carets.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(short::cut(text));
        self
    }

    /// Sets the rule concerned.
    #[must_use]
    pub fn rule(mut self, text: impl Into<String>) -> Self {
        self.rule = Some(short::cut(text));
        self
    }

    /// Sets what to do about it, and the word that was probably meant.
    #[must_use]
    pub fn help(mut self, help: impl Into<Help>) -> Self {
        let Help { text, suggestion } = help.into();
        self.help = Some(short::cut(text));
        self.suggestion = suggestion.map(|suggestion| *suggestion).or(self.suggestion);
        self
    }

    /// Sets the change that certainly is the remedy.
    #[must_use]
    pub fn fix(mut self, span: Span, replacement: impl Into<String>) -> Self {
        let (word, replacement) = (String::new(), replacement.into());
        self.suggestion = Some(Suggestion { word, span: Some(span), replacement, certainty: Certainty::Certain });
        self
    }

    /// The change that certainly is the remedy: what is replaced, and what takes its place.
    #[must_use]
    pub fn certain_fix(&self) -> Option<(Span, &str)> {
        self.suggestion.as_ref().and_then(|suggestion| Some((suggestion.span?, suggestion.replacement.as_str())))
    }

    /// Sets the name that is defined nowhere.
    #[must_use]
    pub fn missing(mut self, name: impl Into<String>) -> Self {
        self.missing = Some(name.into());
        self
    }

    /// Sets the name that is defined nowhere, and the tables of which one would have a row of that name.
    #[must_use]
    pub fn missing_row(mut self, tables: &[&'static str], name: impl Into<String>) -> Self {
        self.missing_in = tables.to_vec();
        self.missing(name)
    }

    /// Adds another place that belongs to it.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, short::cut(text)));
        self
    }
}

/// One line: the code and the message, and the remedy if there is one.
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.as_str(), self.code, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for Diagnostic {}

/// A list of diagnostics, in the order found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    list: Vec<Diagnostic>,
    /// Finds what unknown words were meant to be.
    pub words: WordSearch,
    /// The hash of every diagnostic, so that a long list is not searched for every new one.
    said: HashSet<u64>,
}

/// Hashes diagnostics; no file can choose its hashes.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The most errors of one run that are shown, and the most others; nobody would read more.
const MOST_SHOWN: usize = 300;

impl Report {
    /// Adds a diagnostic unless the report holds the same one for the same place.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.said.insert(Self::hash(&diagnostic)) {
            self.list.push(diagnostic);
        }
    }

    /// The hash of all that a reader sees.
    fn hash(diagnostic: &Diagnostic) -> u64 {
        let Diagnostic { severity, code, message, span, label, rule, help, related, missing, pass, row, script, .. } = diagnostic;
        HASHER.hash_one((severity, code, message, span, label, (rule, help, related, missing, pass, row, script)))
    }

    /// Moves all diagnostics of another report into this one.
    pub fn extend(&mut self, other: Report) {
        for d in other.list {
            self.push(d);
        }
    }

    /// Keeps only the diagnostics for which `wanted` returns true.
    pub fn retain(&mut self, wanted: impl FnMut(&Diagnostic) -> bool) {
        self.list.retain(wanted);
        self.said = self.list.iter().map(Self::hash).collect();
    }

    /// Keeps the first 300 errors and the first 300 others, and says how many more there are: a hostile file has a mistake
    /// for every few bytes. A report that was shortened stays as it is.
    pub fn shorten(&mut self) {
        let errors = self.counts().0;
        let others = self.list.len() - errors;
        // one more says how many were left out
        let is_long = |count: usize| count > MOST_SHOWN + 1;
        if !is_long(errors) && !is_long(others) {
            return;
        }
        let mut kept = [0; 2];
        self.retain(|d| {
            let [kept_errors, kept_others] = &mut kept;
            let (kept, count) = if d.severity == Severity::Error { (kept_errors, errors) } else { (kept_others, others) };
            *kept += 1;
            !is_long(count) || *kept <= MOST_SHOWN
        });
        for (count, what, severity) in [(errors, "errors", Severity::Error), (others, "warnings", Severity::Warning)] {
            if is_long(count) {
                let message = format!("{} more {what} are not shown", count - MOST_SHOWN);
                let more = Diagnostic::with(severity, Code::BoundExceeded.into(), message);
                self.push(more.help("correct the others first"));
            }
        }
    }

    /// Changes each diagnostic in a way that leaves its code and place.
    pub fn each(&mut self, change: impl FnMut(&mut Diagnostic)) {
        self.list.iter_mut().for_each(change);
    }

    /// Whether any diagnostic is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether the report holds no diagnostic.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All diagnostics.
    #[must_use]
    pub fn items(&self) -> &[Diagnostic] {
        &self.list
    }

    /// The number of errors and the number of warnings; notes are neither.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let of = |severity| self.list.iter().filter(|d| d.severity == severity).count();
        (of(Severity::Error), of(Severity::Warning))
    }

    /// Sorts by the phase of each code, and those of one phase by file and place.
    pub fn sort_by_phase(&mut self, phase: impl Fn(&str) -> u8) {
        self.sort();
        self.list.sort_by_key(|d| phase(d.code.as_str()));
    }

    /// Sorts by file and place, so that a report reads from top to bottom; diagnostics without a place come last.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|d| d.span.unwrap_or(Span { source: SourceId(u32::MAX), start: 0, end: 0 }));
    }
}

impl FromIterator<Diagnostic> for Report {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        let mut report = Self::default();
        diagnostics.into_iter().for_each(|d| report.push(d));
        report
    }
}

impl From<Diagnostic> for Report {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::from_iter([diagnostic])
    }
}
