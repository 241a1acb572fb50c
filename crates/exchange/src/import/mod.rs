//! Reading and writing files of other programs: a picture, an archive, JSON, a chat of JSON lines or plain text becomes JSON
//! documents.
//!
//! The kind of container is recognised by content; the format of the JSON inside is recognised by rules. What a field of such
//! a document means is data (the `foreign` rule files of a pack, see `tapster::import_document`), so nothing here looks inside
//! a document. Nothing here opens a file either, and every byte is treated as hostile.

mod charx;
mod json;
mod png;
mod risu;

use serde_json::Value as Json;

use crate::diag::depth::nests_deeper;
use crate::diag::short::{listed, word as shown};
use crate::diag::{Code, Diagnostic, Report, Severity, limits};
use crate::model::Value;

pub use png::write_card;
pub use risu::write_module;

#[cfg(feature = "packed")]
pub use risu::write_preset;

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
        labelled(png::CCV3).or_else(|| labelled(png::CHARA)).or_else(|| self.documents.first())
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
    match recognize(name, bytes).map_err(failed)? {
        Container::Png => png::read(name, bytes),
        Container::Charx => charx::read(name, bytes),
        Container::Json => json::read(name, bytes),
        Container::Jsonl => json::read_lines(name, bytes),
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

/// The endings of file names that [`write()`] knows, each with what such a file holds.
pub const WRITTEN: &[(&str, &str)] = &[
    ("json", "any document"),
    ("png", "a card in a picture"),
    #[cfg(feature = "packed")]
    ("risup", "a packed preset"),
    ("risum", "a packed module"),
];

/// Whether a file with this ending is a picture, which [`write()`] needs to be given.
#[must_use]
pub fn needs_picture(ending: &str) -> bool {
    ending == "png"
}

/// The bytes of a file that holds `document`, for the ending of its name in lower case. `picture` is the PNG file that a
/// card is written to; other endings ignore it.
///
/// # Errors
/// No file with this ending can be written, the picture is missing or damaged, or the document is too large or nested too
/// deeply for its file.
pub fn write(ending: &str, document: &Json, picture: Option<&[u8]>) -> Result<Vec<u8>, Report> {
    let (document, deepest) = match ending {
        // readers of JSON take a level less than values have; a packed module stands inside of another table
        "risum" => (document.get("module").unwrap_or(document), limits::NESTING - 2),
        _ => (document, limits::NESTING - 1),
    };
    if nests_deeper(document, deepest) {
        let message = format!("the document is nested deeper than {deepest} levels, so that nothing could read its `.{ending}` file");
        return Err(failed(Diagnostic::new(Code::FileTooDeep, message).help("make it flatter")));
    }
    match ending {
        "json" => Ok(format!("{document:#}\n").into_bytes()),
        "png" => {
            let picture =
                picture.ok_or_else(|| failed(container("the card", "needs a picture to be written to").help("give a PNG file")))?;
            let third = document.get("spec").and_then(Json::as_str) == Some("chara_card_v3");
            write_card(picture, &[(if third { "ccv3" } else { "chara" }, document)])
        }
        #[cfg(feature = "packed")]
        "risup" => write_preset(document),
        "risum" => write_module(document),
        other => {
            let known = listed(WRITTEN.iter().map(|(ending, _)| *ending));
            let message = format!("there is no way to write a `.{other}` file");
            Err(failed(Diagnostic::new(Code::ImportContainer, message).help(format!("use one of the endings {known}"))))
        }
    }
}

/// The first bytes of files that people mistake for cards, and what such a file is.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\xFF\xD8\xFF", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a WebP picture or a sound"),
    (b"BM", "a BMP picture"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "a database"),
    (b"\xFF\xFE", "a UTF-16 text"),
    (b"\xFE\xFF", "a UTF-16 text"),
];

/// The end-of-directory signature of a ZIP archive, and how far from the end of the file it can be.
const ZIP_END: &[u8] = b"PK\x05\x06";
const ZIP_END_REACH: usize = 22 + 65_535;

/// The reader that the bytes are for.
fn recognize(name: &str, bytes: &[u8]) -> Result<Container, ImportFault> {
    if bytes.starts_with(b"\x89PNG") {
        return Ok(Container::Png);
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(ZIP_END) || (bytes.starts_with(b"\xFF\xD8\xFF") && ends_as_zip(bytes)) {
        return Ok(Container::Charx);
    }
    if let Some(container) = risu::sniffed(bytes) {
        return Ok(container);
    }
    let body = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    match body.first() {
        None => Err(unknown(name, "is empty", "export the file again; nothing was written to it")),
        Some(b'{' | b'[') if is_text(name, body) => text_or_unknown(name, bytes),
        Some(b'{') if is_jsonl(name, body) => Ok(Container::Jsonl),
        Some(b'{' | b'[') => Ok(Container::Json),
        Some(_) => text_or_unknown(name, bytes),
    }
}

/// Whether the archive's directory is at the end of the bytes.
fn ends_as_zip(bytes: &[u8]) -> bool {
    let tail = bytes.get(bytes.len().saturating_sub(ZIP_END_REACH)..).unwrap_or(bytes);
    tail.windows(ZIP_END.len()).any(|w| w == ZIP_END)
}

fn text_or_unknown(name: &str, bytes: &[u8]) -> Result<Container, ImportFault> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains('\0')
    {
        return Ok(Container::Text);
    }
    let help = "a card is the original PNG or CHARX file, or JSON in UTF-8; sites and chat programs that convert pictures remove the card";
    match OTHERS.iter().find(|(start, _)| bytes.starts_with(start)) {
        Some((_, what)) => Err(unknown(name, &format!("is {what}, which cannot be imported"), help)),
        None if is_text_but_for_a_few_bytes(bytes) => Ok(Container::Text),
        None => Err(unknown(name, "is of no known format: neither PNG, CHARX, JSON, JSONL nor UTF-8 text", help)),
    }
}

/// Whether this is text in an old 8-bit encoding; the text reader can then say at which byte it is invalid.
fn is_text_but_for_a_few_bytes(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    let odd = head.iter().filter(|b| !b.is_ascii() || (b.is_ascii_control() && !b.is_ascii_whitespace())).count();
    !head.contains(&0) && odd * 10 < head.len()
}

/// Whether `body`, which begins with `{` or `[`, is a text and no JSON, because nothing in JSON goes on like that:
/// `{{user}} is …`, `[A note]`. A file that is named as JSON is meant to be JSON.
fn is_text(name: &str, body: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".json") || named_jsonl(name) {
        return false;
    }
    // a file that is named as a text is JSON only if it can be read as that
    if [".txt", ".md"].iter().any(|end| lower.ends_with(end)) && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
        return !is_jsonl(name, body);
    }
    let (open, rest) = body.split_first().map_or((0, body), |(open, rest)| (*open, rest.trim_ascii_start()));
    let literal = ["true", "false", "null"].iter().any(|word| rest.starts_with(word.as_bytes()));
    match rest.first() {
        None => false,
        Some(b'"') => false,
        Some(b'}') => open != b'{',
        Some(b'{' | b'[' | b']' | b'-' | b'0'..=b'9') => open != b'[',
        Some(_) => open == b'{' || !literal,
    }
}

/// Whether `body`, which begins with `{`, has one object per line. The first line decides; if it is broken, the
/// majority of the other lines does. A single line is a chat only if the name of the file says so.
fn is_jsonl(name: &str, body: &[u8]) -> bool {
    let mut lines = body.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|l| !l.is_empty());
    let Some(first) = lines.next() else { return false };
    let whole = |line: &[u8]| line.starts_with(b"{") && line.ends_with(b"}");
    let rest = lines.clone().count();
    if rest == 0 {
        return named_jsonl(name);
    }
    if whole(first) && serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok() {
        return true;
    }
    lines.filter(|l| whole(l)).count() * 2 > rest
}

fn named_jsonl(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".jsonl") || lower.ends_with(".ndjson")
}

fn unknown(name: &str, message: &str, help: &str) -> ImportFault {
    Diagnostic::new(Code::ImportFormat, format!("`{name}` {message}")).help(help).into()
}
