//! Reading files of other programs: a picture, an archive, JSON, a chat of JSON lines or plain text becomes JSON
//! documents.
//!
//! What a field of such a document means is data (the `foreign` rule files of a pack, see
//! `tapster::import_document`), so nothing here looks inside a document. Nothing here opens a file
//! either, and every byte is treated as hostile.

mod charx;
mod chunks;
mod json;
mod jsonl;
mod payload;
mod png;
mod risu;
mod sniff;
mod written;

pub use png::write_card;
pub use risu::write_module;
#[cfg(feature = "packed")]
pub use risu::write_preset;
pub use written::{WRITTEN, needs_picture, write};

use crate::diag::short::{listed, word as shown};
use crate::diag::{Code, Diagnostic, Report, Severity};
use crate::model::Value;

/// The largest file that is read, in bytes (128 MiB): it is in memory as a whole.
pub const MAX_FILE: usize = 128 << 20;

/// The kind of a file, recognised by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// A PNG picture with a card in its text chunks.
    Png,
    /// A ZIP archive with a `card.json`, on its own or appended to a JPEG picture.
    Charx,
    /// One JSON object or list.
    Json,
    /// One JSON object per line.
    Jsonl,
    /// A module of RisuAI (`.risum`): JSON and assets.
    Risum,
    /// A preset of RisuAI (`.risup`, `.risupreset`). Reading it needs the feature `packed`.
    Risup,
    /// Any other UTF-8 text.
    Text,
}

/// One JSON document found in a container.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Where it was found: `ccv3`, `chara`, `card.json`, `module.risum`, `json`, `line 3`, `module`, `preset` or `text`.
    pub label: String,
    /// The document as written; for plain text, one text.
    pub value: Value,
    /// The name of the document's format. [`read`] leaves it `None`; callers that have recognised the format fill it
    /// in.
    pub format: Option<String>,
}

impl Document {
    fn new(label: impl Into<String>, value: Value) -> Self {
        Self { label: label.into(), value, format: None }
    }

    /// The document as JSON, which takes more memory than [`value`](Self::value).
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        self.value.to_json()
    }
}

/// A part of a container that is not a card: an archive member, or a text chunk with another keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// The path of the member, or the keyword of the chunk.
    pub name: String,
    /// Its length in bytes as the container declares it; archive members are not unpacked to check this.
    pub bytes_len: u64,
}

/// The content of a file.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The kind of file.
    pub container: Container,
    /// The documents in file order; at least one.
    pub documents: Vec<Document>,
    /// The other parts of the container.
    pub assets: Vec<Asset>,
    /// The number of documents (of a chat: lines) that were read.
    pub kept: usize,
    /// The number of documents (of a chat: lines) that could not be read. Each has a warning or is counted in one.
    pub skipped: usize,
    /// Warnings, without places: the files are not rule files. Errors are returned as `Err` by [`read`].
    pub report: Report,
}

impl Contents {
    fn new(container: Container, documents: Vec<Document>, report: Report) -> Self {
        let kept = documents.len();
        Self { container, documents, assets: Vec::new(), kept, skipped: 0, report }
    }

    /// The main document where no pack says which one it is ([`main_of`](Self::main_of)): `ccv3` if there is one, else
    /// `chara`, else the first. `None` only for a value without documents.
    #[must_use]
    pub fn main(&self) -> Option<&Document> {
        let labelled = |label: &str| self.documents.iter().find(|d| d.label == label);
        labelled(chunks::CCV3).or_else(|| labelled(chunks::CHARA)).or_else(|| self.documents.first())
    }

    /// The document of the whole file: of a chat `{ lines }`, of other files the [`main_of`](Self::main_of); in a card of an
    /// archive, `module` is the module that lies beside it.
    #[must_use]
    pub fn whole<'a>(&self, chunks: impl IntoIterator<Item = &'a str>) -> Value {
        if self.container == Container::Jsonl {
            let lines = self.documents.iter().map(|document| document.value.clone()).collect();
            return Value::map([("lines".into(), Value::list(lines))].into_iter().collect());
        }
        let main = self.main_of(chunks).map(|document| document.value.clone()).unwrap_or_default();
        let module = self.documents.iter().find(|document| document.label == charx::MODULE);
        match (module, main.as_map()) {
            (Some(module), Some(card)) if !card.contains_key("module") => {
                let mut card = card.clone();
                card.insert("module".into(), module.value.clone());
                Value::map(card)
            }
            _ => main,
        }
    }

    /// The main document where a picture may hold a card more than once: the first of these chunks that it has, such as
    /// the `card_chunks` of a pack, else [`main`](Self::main).
    pub fn main_of<'a>(&self, chunks: impl IntoIterator<Item = &'a str>) -> Option<&Document> {
        let mut chunks = chunks.into_iter();
        let preferred = chunks.find_map(|chunk| self.documents.iter().find(|document| document.label == chunk));
        preferred.or_else(|| self.main())
    }
}

/// Reads a file of another program from its bytes. `name` is used in messages; its extension matters only for a file
/// with one line of JSON, which is a chat if the extension is `.jsonl` or `.ndjson`.
///
/// # Errors
/// No document can be read: the format is unknown, the file is damaged, or it exceeds a limit. The report says what was
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
        Container::Risum => risu::read_module(name, bytes),
        Container::Risup => risu::read_preset(name, bytes),
        Container::Text => json::read_text(name, bytes),
    }
}

/// Why a part of a file cannot be read. Boxed, because it is the rare result of functions that are called often.
type ImportFault = Box<Diagnostic>;

/// A report of one error.
fn failed(fault: impl Into<ImportFault>) -> Report {
    let mut report = Report::default();
    report.push(*fault.into());
    report
}

/// A diagnostic about the container `name`.
fn container(name: &str, message: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(Code::ImportContainer, format!("`{name}` {message}"))
}

/// A diagnostic that something in `name` exceeds a size limit.
fn too_large(name: &str, what: &str, limit: usize) -> Diagnostic {
    Diagnostic::new(Code::FileTooLarge, format!("`{name}` {what} larger than the limit of {} MiB", limit >> 20))
        .help("import a smaller file; one that was made by a program in the usual way is far below the limit")
}

/// The same diagnostic as a warning, because the rest could be read.
fn tolerated(diagnostic: Diagnostic) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, ..diagnostic }
}
