//! What may be written under a key of a rule file. A term is declared once, beside the code that reads it: schemas, pages,
//! `tapster ops` and the checks for unknown keys are made from the declarations.

use serde_json::{Value as Json, json};

/// Where the definitions stand that schemas of terms refer to.
pub const DEFINITIONS: &str = "https://tapster.dev/schemas/terms.v2.json#/definitions/";

/// A key, what it takes, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The key.
    pub name: &'static str,
    /// What may be written under it.
    pub kind: TermType,
    /// What holds where it is not written: one of the words of `kind`, or a description in Markdown. May be empty.
    pub default: &'static str,
    /// What it means, in Markdown: sentences without the last full stop.
    pub doc: &'static str,
}

impl Term {
    /// A term without a default that would be worth a word.
    #[must_use]
    pub const fn new(name: &'static str, kind: TermType, doc: &'static str) -> Self {
        Self { name, kind, default: "", doc }
    }

    /// A text.
    #[must_use]
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, TermType::Text, doc)
    }

    /// `true` or `false`.
    #[must_use]
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, TermType::Flag, doc)
    }

    /// One of some words.
    #[must_use]
    pub const fn word(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Self {
        Self::new(name, TermType::Word(words), doc)
    }

    /// What a definition describes.
    #[must_use]
    pub const fn defined(name: &'static str, definition: &'static str, doc: &'static str) -> Self {
        Self::new(name, TermType::Defined(definition), doc)
    }

    /// What a JSON Schema describes.
    #[must_use]
    pub const fn json(name: &'static str, schema: &'static str, doc: &'static str) -> Self {
        Self::new(name, TermType::Json(schema), doc)
    }

    /// The term with what holds where it is not written.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// What it means, as editors show it.
    #[must_use]
    pub fn description(&self) -> String {
        let mut letters = self.doc.chars();
        let Some(first) = letters.next() else { return String::new() };
        let default = match self.kind {
            _ if self.default.is_empty() => String::new(),
            TermType::Word(_) => format!(" Default: `{}`.", self.default),
            _ => format!(" Default: {}.", self.default),
        };
        format!("{}{}.{default}", first.to_uppercase(), letters.as_str())
    }

    /// What may be written under it, as a JSON Schema.
    #[must_use]
    pub fn schema(&self) -> Json {
        let mut schema = match self.kind {
            TermType::Flag => json!({ "type": "boolean", "default": false }),
            TermType::Text => json!({ "type": "string" }),
            TermType::Word(words) if self.default.is_empty() => json!({ "enum": words }),
            TermType::Word(words) => json!({ "enum": words, "default": self.default }),
            TermType::Defined(definition) => json!({ "$ref": format!("{DEFINITIONS}{definition}") }),
            TermType::Json(text) => {
                let complete = text.replace("\"#/definitions/", &format!("\"{DEFINITIONS}"));
                serde_json::from_str(&complete).unwrap_or_default()
            }
        };
        if let (Some(table), false) = (schema.as_object_mut(), self.doc.is_empty()) {
            table.insert("description".to_owned(), self.description().into());
        }
        schema
    }
}

/// The keys that the rows of a table may have, by the name of the table's definition in `schemas/`; several lists, where tables
/// share keys.
pub type RowTerms = (&'static str, &'static [&'static [Term]]);

/// A text that is not empty.
pub const NONEMPTY_TEXT: TermType = TermType::Json(r#"{ "type": "string", "minLength": 1 }"#);

/// A list of texts.
pub const TEXTS: TermType = TermType::Json(r#"{ "type": "array", "items": { "type": "string" } }"#);

/// When a row of any table counts.
pub const WHEN: Term = Term::defined("when", "gate", "when the row counts: a condition on the scene, or true or false");

/// What may be written under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermType {
    /// `true` or `false`.
    Flag,
    /// A text, which is taken as it is written.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// What a definition of `schemas/terms.v2.json` describes: `value`, `condition`, `place` …
    Defined(&'static str),
    /// What this JSON Schema describes, in which `#/definitions/` are those of `schemas/terms.v2.json`.
    Json(&'static str),
}

/// The keys of terms, in their order.
pub fn names(terms: &'static [Term]) -> impl Iterator<Item = &'static str> + Clone {
    terms.iter().map(|term| term.name)
}
