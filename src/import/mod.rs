//! Foreign files as containers: a picture, an archive, JSON, a chat in lines or plain text goes in, JSON documents come out.
//!
//! What a field of such a document means is data (the `foreign` rule files), not code: nothing here looks inside a
//! document. Nothing here opens a file either; every byte it is given is taken to be hostile.

mod charx;
mod chunks;
mod json;
mod jsonl;
mod payload;
mod png;
mod sniff;

pub use png::write_card;

use crate::diag::short::{listed, word as shown};
use crate::diag::{Code, Diagnostic, Report, Severity};

/// Largest file that is looked at, in bytes.
pub const MAX_FILE: usize = 512 << 20;

/// What kind of file the bytes are, found by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// A PNG picture with a card in its text chunks.
    Png,
    /// A ZIP archive with a `card.json`, by itself or behind a JPEG picture.
    Charx,
    /// One JSON object or list.
    Json,
    /// One JSON object a line.
    Jsonl,
    /// Any other UTF-8 text.
    Text,
}

/// One JSON document found in a container.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Where it was: `ccv3`, `chara`, `card.json`, `json`, `line 3` or `text`.
    pub label: String,
    /// The document as written; for a plain text, the text.
    pub json: serde_json::Value,
    /// The foreign format; always `None` here, filled in by whoever has the rules to recognise it.
    pub format: Option<String>,
}

impl Document {
    fn new(label: impl Into<String>, json: serde_json::Value) -> Self {
        Self { label: label.into(), json, format: None }
    }
}

/// Something in a container that is no card: an archive member, or a text chunk under another keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// The member's path, or the chunk's keyword.
    pub name: String,
    /// Its length in bytes as the container declares it; archive members are not unpacked to check.
    pub bytes_len: u64,
}

/// What a file held.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The kind of file.
    pub container: Container,
    /// The documents in file order; at least one.
    pub documents: Vec<Document>,
    /// What else the container holds.
    pub assets: Vec<Asset>,
    /// Documents (for a chat: lines) that were read.
    pub kept: usize,
    /// Documents (for a chat: lines) that could not be read; each has a warning, or is counted in one.
    pub skipped: usize,
    /// Warnings only; errors come back as `Err`.
    pub report: Report,
}

impl Contents {
    fn new(container: Container, documents: Vec<Document>, report: Report) -> Self {
        let kept = documents.len();
        Self { container, documents, assets: Vec::new(), kept, skipped: 0, report }
    }

    /// The document that counts: `ccv3` before `chara`, else the first.
    #[must_use]
    pub fn main(&self) -> Option<&Document> {
        let labelled = |label: &str| self.documents.iter().find(|d| d.label == label);
        labelled(chunks::CCV3).or_else(|| labelled(chunks::CHARA)).or_else(|| self.documents.first())
    }
}

/// Reads a foreign file. `name` is used in messages; of its extension only `.jsonl` counts, and only to tell
/// a chat of one line from a JSON file.
///
/// # Errors
/// When no document can be had: an unknown or damaged format, or a limit passed. The report says what was
/// found and what to do.
pub fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    if bytes.len() > MAX_FILE {
        return Err(failed(too_large(name, "is", MAX_FILE)));
    }
    match sniff::container(name, bytes).map_err(failed)? {
        Container::Png => png::read(name, bytes),
        Container::Charx => charx::read(name, bytes),
        Container::Json => json::read(name, bytes),
        Container::Jsonl => jsonl::read(name, bytes),
        Container::Text => json::read_text(name, bytes),
    }
}

/// Why a part of a file cannot be had; boxed, since it is the rare way out of functions that are called often.
type Fault = Box<Diagnostic>;

/// A report of one error.
fn failed(fault: impl Into<Fault>) -> Report {
    let mut report = Report::default();
    report.push(*fault.into());
    report
}

/// A complaint about the container `name`.
fn container(name: &str, message: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(Code::ImportContainer, format!("`{name}` {message}"))
}

/// A complaint that something in `name` passes a size limit.
fn too_large(name: &str, what: &str, limit: usize) -> Diagnostic {
    Diagnostic::new(Code::FileTooLarge, format!("`{name}` {what} larger than the limit of {} MiB", limit >> 20))
        .help("import a smaller file; one that was made by a program in the usual way is far below the limit")
}

/// The same complaint about something that could be read all the same.
fn tolerated(diagnostic: Diagnostic) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, ..diagnostic }
}
