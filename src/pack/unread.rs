//! Files that could not be read, and what they might have defined.
//!
//! A syntax error in one file must not hide the mistakes of the others, and it must not cause an error about every name
//! that the broken file defines. The rest of the pack is therefore checked as usual, and a diagnostic about a missing
//! name is held back if the text of an unreadable file mentions that name.

use std::collections::HashMap;

use crate::diag::{Diagnostic, Report, limits};

/// The texts of files that could not be read.
#[derive(Debug, Default)]
pub struct UnreadTexts(Vec<String>);

impl UnreadTexts {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.push(String::from_utf8_lossy(bytes).into_owned());
    }

    /// Whether every file could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the diagnostics from a report that an unreadable file may have caused.
    pub fn excuse(&self, report: &mut Report) {
        if !self.is_empty() {
            let mut search = NameSearch { texts: &self.0, known: HashMap::new(), read: 0 };
            report.retain(|complaint| !search.explains(complaint));
        }
    }
}

/// A search for many names.
struct NameSearch<'t> {
    texts: &'t [String],
    known: HashMap<String, bool>,
    /// The bytes that were searched.
    read: usize,
}

impl NameSearch<'_> {
    /// Whether one of the texts holds the missing name, or its last part, as a word. Once too much has been read, any
    /// name may stand there: the diagnostics of the unreadable files remain, and the others come once these can be read.
    fn explains(&mut self, complaint: &Diagnostic) -> bool {
        let Some(name) = complaint.missing.as_deref().filter(|n| !n.is_empty()) else { return false };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let last = name.rsplit(['/', '.']).next().unwrap_or(name);
        self.read = self.read.saturating_add(self.texts.iter().map(String::len).sum());
        let found = self.read > limits::RULES_MEMORY || self.texts.iter().any(|text| mentions(text, name) || mentions(text, last));
        self.known.insert(name.to_owned(), found);
        found
    }
}

fn mentions(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|t| t.chars().next());
        !word.is_empty() && !inside(before) && !inside(after)
    })
}
