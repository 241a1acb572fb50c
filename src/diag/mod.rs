//! What can be wrong, said in four answers: what, where, which rule, what to do.
//!
//! A [`Diagnostic`] is a value; nothing here prints. [`Report`] collects them, so that an author sees
//! every mistake of a pack in one run. `render` turns them into text for people or JSON for programs.

pub mod codes;
pub mod inside;
pub mod render;
pub mod short;
pub mod source;
pub mod suggest;

use std::collections::HashSet;

pub use codes::Code;
pub use source::{Data, Field, Node, Place, Source, SourceId, Sources, Span, Table};

/// How bad a complaint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the result stands.
    Warning,
    /// The pack or the input cannot be used as it is.
    Error,
}

/// One complaint. Its texts are bounded: of an overlong one the middle is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// The stable code.
    pub code: Code,
    /// What is wrong: one line, lower case, no full stop.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// What stands under the carets.
    pub label: Option<String>,
    /// The rule concerned, as `pass lore/print, from layer base`.
    pub rule: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Other places that belong to it.
    pub related: Vec<(Span, String)>,
    /// The name that nothing defines, where that is the complaint.
    pub missing: Option<String>,
}

impl Diagnostic {
    /// A complaint of the code's usual severity.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: code.severity(),
            code,
            message: short::cut(message),
            span: None,
            label: None,
            rule: None,
            help: None,
            related: Vec::new(),
            missing: None,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// What stands under the carets.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(short::cut(text));
        self
    }

    /// The rule concerned.
    #[must_use]
    pub fn rule(mut self, text: impl Into<String>) -> Self {
        self.rule = Some(short::cut(text));
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(short::cut(text));
        self
    }

    /// The name that nothing defines.
    #[must_use]
    pub fn missing(mut self, name: impl Into<String>) -> Self {
        self.missing = Some(name.into());
        self
    }

    /// Another place that belongs to it.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, short::cut(text)));
        self
    }
}

/// A list of complaints, in the order found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    list: Vec<Diagnostic>,
    /// What was said where, so that a long list is not searched for every new complaint.
    said: HashSet<(Code, Option<Span>)>,
}

impl Report {
    /// Adds a complaint; the same one at the same place is kept once.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.said.insert((diagnostic.code, diagnostic.span)) || !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Takes over all complaints of another report.
    pub fn extend(&mut self, other: Report) {
        for d in other.list {
            self.push(d);
        }
    }

    /// Keeps the complaints that `wanted` holds for.
    pub fn retain(&mut self, wanted: impl FnMut(&Diagnostic) -> bool) {
        self.list.retain(wanted);
    }

    /// Whether any complaint is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All complaints.
    #[must_use]
    pub fn items(&self) -> &[Diagnostic] {
        &self.list
    }

    /// How many errors and how many warnings.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let errors = self.list.iter().filter(|d| d.severity == Severity::Error).count();
        (errors, self.list.len() - errors)
    }

    /// Sorts by file and place, so that a report reads from top to bottom.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|d| d.span.unwrap_or(Span { source: SourceId(u32::MAX), start: 0, end: 0 }));
    }
}
