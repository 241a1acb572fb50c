//! What may be written under a key of a rule file. A term is declared once, beside the code that reads it: schemas, pages,
//! `tapster ops` and the checks for unknown keys are made from the declarations.

/// A key, what it takes, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The key.
    pub name: &'static str,
    /// What may be written under it.
    pub kind: TermType,
    /// What it means, in sentences; editors show it.
    pub doc: &'static str,
}

/// What may be written under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermType {
    /// `true` or `false`.
    Flag,
    /// A text, which is taken as it is written.
    Text,
    /// One of some words.
    Word {
        /// The words.
        of: &'static [&'static str],
        /// The word that is meant where none is written.
        default: &'static str,
    },
    /// What a definition of `schemas/terms.v1.json` describes: `value`, `condition`, `place` …
    Defined(&'static str),
    /// What this JSON Schema describes, in which `#/definitions/` are those of `schemas/terms.v1.json`.
    Json(&'static str),
}

/// The keys of terms, in their order.
pub fn names(terms: &'static [Term]) -> impl Iterator<Item = &'static str> + Clone {
    terms.iter().map(|term| term.name)
}
