//! Strict JSON from strangers: bounded in size, depth and in the memory that its values take; a key that is written twice
//! is reported.
//!
//! The text becomes a [`Value`] at once, and the memory is counted while it is read ([`JsonReader`]).
//!
//! There is one tolerance: half of a surrogate pair (`\ud83d` alone), which JavaScript programs write when they cut a
//! text inside an emoji, becomes U+FFFD with a warning; a strict reader would refuse the whole file for it.
//!
//! A chat has one JSON object per line. A broken line is skipped with a warning; the rest of the chat is read.

use std::fmt;

use super::{Container, Contents, Document, ImportFault, container, failed, listed, tolerated, too_large};
use crate::diag::{Code, Diagnostic, Report};
use crate::model::Value;
use crate::model::json_reader::JsonReader;

/// The longest JSON document, in bytes (96 MiB): a lorebook of 50,000 entries has some 50 MB.
pub(super) const MAX_JSON: usize = 96 << 20;
/// The most memory that the values of one file may take, in bytes (256 MiB).
pub(super) const MAX_MEMORY: usize = 256 << 20;
/// The memory of a line of a chat beside its values.
const LINE: usize = 112;
/// The most that the compressed texts of one file unpack to, in bytes (64 MiB).
pub(super) const MAX_UNPACKED: usize = 64 << 20;

const BOM: &str = "\u{feff}";

/// Reads a file that is one JSON object or list.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    let text = utf8(name, bytes, &mut report).map_err(failed)?;
    let json = document(name, name, text, &mut JsonScanner::default(), &mut report).map_err(failed)?;
    Ok(Contents::new(Container::Json, vec![Document::new("json", json)], report))
}

/// Reads a file that is plain text: one document, the text itself.
pub(super) fn read_text(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    let text = utf8(name, bytes, &mut report).map_err(failed)?;
    if text.len() > MAX_JSON {
        return Err(failed(too_large(name, "is", MAX_JSON)));
    }
    Ok(Contents::new(Container::Text, vec![Document::new("text", Value::text(text))], report))
}

/// The bytes as text, without a byte order mark.
pub(super) fn utf8<'a>(name: &str, bytes: &'a [u8], report: &mut Report) -> Result<&'a str, ImportFault> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        Diagnostic::new(Code::FileEncoding, format!("`{name}` is not valid UTF-8: byte {} begins no character", e.valid_up_to()))
            .help("save it again with the encoding UTF-8")
    })?;
    let Some(rest) = text.strip_prefix(BOM) else { return Ok(text) };
    report.push(
        Diagnostic::new(Code::FileBom, format!("`{name}` begins with a byte order mark, which is ignored"))
            .help("save it as UTF-8 without a byte order mark"),
    );
    Ok(rest)
}

/// The JSON document `what` in the file `name`; both are used in messages and may be the same. All documents of a file
/// are read by one reader.
pub(super) fn document(name: &str, what: &str, text: &str, reader: &mut JsonScanner, report: &mut Report) -> Result<Value, ImportFault> {
    let result = reader.parse(text);
    reader.notes(name, report);
    result.map_err(|reject| reject.explain(what).into())
}

/// The document in the file `name` that another deserializer reads, such as that of `MessagePack`.
#[cfg(feature = "packed")]
pub(super) fn document_from<'de, D: serde::Deserializer<'de>>(name: &str, from: D, report: &mut Report) -> Result<Value, ImportFault> {
    let mut scanner = JsonScanner::default();
    let result = scanner.reader.read_from(from);
    scanner.notes(name, report);
    let damaged = |error: D::Error| container(name, format!("cannot be read: {error}")).help("export it again; the file is damaged");
    result.map_err(|error| if scanner.reader.is_full() { JsonRejection::TooMuch.explain(name) } else { damaged(error) }.into())
}

/// Why a text is not a usable JSON document.
#[derive(Debug, PartialEq)]
enum JsonRejection {
    /// Longer than [`MAX_JSON`].
    TooLong,
    /// Its values take more than [`MAX_MEMORY`].
    TooMuch,
    /// Nested deeper than serde_json's own 128 levels.
    TooDeep,
    /// The text ends in the middle of a value.
    Cut { line: usize, column: usize },
    /// The text breaks JSON's grammar.
    Syntax { reason: String, line: usize, column: usize },
}

impl fmt::Display for JsonRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonRejection::TooLong => write!(f, "longer than {} MiB", MAX_JSON >> 20),
            JsonRejection::TooMuch => write!(f, "its values take more than {} MiB of memory", MAX_MEMORY >> 20),
            JsonRejection::TooDeep => write!(f, "nested deeper than 128 levels"),
            JsonRejection::Cut { line, column } => write!(f, "it ends too early, at line {line} column {column}"),
            JsonRejection::Syntax { reason, line, column } => write!(f, "{reason} at line {line} column {column}"),
        }
    }
}

impl JsonRejection {
    fn explain(&self, what: &str) -> Diagnostic {
        let what = super::shown(what);
        match self {
            JsonRejection::TooLong | JsonRejection::TooMuch => {
                Diagnostic::new(Code::FileTooLarge, format!("`{what}` is too large: {self}")).help("import it in smaller parts")
            }
            JsonRejection::TooDeep => Diagnostic::new(Code::FileTooDeep, format!("`{what}` is {self}"))
                .help("no card, preset or lorebook is nested like this; export the file again"),
            JsonRejection::Cut { .. } => Diagnostic::new(Code::SyntaxJson, format!("`{what}` is not valid JSON: {self}"))
                .help("the file was cut off; download or export it again"),
            JsonRejection::Syntax { .. } => Diagnostic::new(Code::SyntaxJson, format!("`{what}` is not valid JSON: {self}"))
                .help("correct the place named, or export the file again"),
        }
    }

    fn of(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        if error.is_eof() {
            return JsonRejection::Cut { line, column };
        }
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        if reason == "recursion limit exceeded" {
            return JsonRejection::TooDeep;
        }
        JsonRejection::Syntax { reason: reason.to_owned(), line, column }
    }
}

/// Reads the JSON texts of one file, and counts what is limited or reported once per file.
pub(super) struct JsonScanner {
    reader: JsonReader,
    /// Bytes that the compressed texts of the file may still unpack to.
    pub(super) unpacked: usize,
    mended: usize,
}

impl Default for JsonScanner {
    fn default() -> Self {
        Self { reader: JsonReader::new(MAX_MEMORY), unpacked: MAX_UNPACKED, mended: 0 }
    }
}

impl JsonScanner {
    /// One JSON value and nothing after it.
    fn parse(&mut self, text: &str) -> Result<Value, JsonRejection> {
        if text.len() > MAX_JSON {
            return Err(JsonRejection::TooLong);
        }
        let before = self.reader.counted();
        match self.strict(text) {
            Err(JsonRejection::Syntax { reason, line, column }) => match mend_surrogates(text) {
                Some((mended, halves)) => {
                    // what was read of the text is no longer there
                    self.reader.reset(before);
                    let value = self.strict(&mended)?;
                    self.mended += halves;
                    Ok(value)
                }
                None => Err(JsonRejection::Syntax { reason, line, column }),
            },
            other => other,
        }
    }

    fn strict(&mut self, text: &str) -> Result<Value, JsonRejection> {
        self.reader.read(text).map_err(|e| if self.reader.is_full() { JsonRejection::TooMuch } else { JsonRejection::of(&e) })
    }

    /// Counts bytes of memory; whether there are so many.
    fn pay(&mut self, bytes: usize) -> bool {
        self.reader.pay(bytes)
    }

    /// Reports what was tolerated since the last time.
    fn notes(&mut self, name: &str, report: &mut Report) {
        let twice = self.reader.take_twice();
        if !twice.is_empty() {
            let keys = listed(twice.iter().map(String::as_str));
            report.push(
                Diagnostic::new(Code::ImportValue, format!("`{name}` writes a key twice in one object: {keys}; the last value is used"))
                    .help("remove the value that is not meant"),
            );
        }
        let (rounded, mended) = (self.reader.take_rounded(), std::mem::take(&mut self.mended));
        if rounded > 0 {
            let message = format!("`{name}` holds whole numbers above {}, which are rounded: {rounded}", i64::MAX);
            report.push(Diagnostic::new(Code::ImportValue, message).help("write what is no quantity, such as an id, as a text"));
        }
        let converted = self.reader.take_converted();
        if converted > 0 {
            let message = format!("holds {converted} values that JSON cannot express; bytes became base64, others null");
            report.push(tolerated(container(name, message).help("check the fields that are null in the output of `tapster import`")));
        }
        if mended > 0 {
            let message = format!("`{name}` holds {mended} half characters (lone surrogates), replaced by U+FFFD");
            report.push(tolerated(
                Diagnostic::new(Code::ImportValue, message).help("a text was cut inside an emoji; write the character again"),
            ));
        }
    }
}

/// The text with each half of a surrogate pair replaced by `\ufffd`, and their number; `None` if there are none.
fn mend_surrogates(text: &str) -> Option<(String, usize)> {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut halves) = (text, 0);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at_checked(at)?;
        out.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => 0,
            // `\` and the character after it, so that `\\u` is not taken for an escape
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, next) = if length == 0 { ("\\ufffd", escape.get(6..)?) } else { escape.split_at_checked(length)? };
        halves += usize::from(length == 0);
        out.push_str(kept);
        rest = next;
    }
    out.push_str(rest);
    (halves > 0).then_some((out, halves))
}

/// The code unit of a `\uXXXX` at the start of the text.
fn unit(text: &str) -> Option<u16> {
    let hex = text.strip_prefix("\\u")?.get(..4)?;
    hex.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(hex, 16).ok())?
}

/// The longest line, in bytes.
const MAX_LINE: usize = 16 << 20;
/// The most lines that are read.
const MAX_LINES: usize = 250_000;
/// The number of broken lines that get their own warning; one more warning counts the rest.
const MAX_LISTED: usize = 50;

/// Reads a chat.
pub(super) fn read_lines(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    let mut reader = JsonScanner::default();
    let (mut documents, mut skipped) = (Vec::new(), 0_usize);
    for (number, line) in (1..).zip(without_bom(name, bytes, &mut report).split(|b| *b == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if documents.len() >= MAX_LINES {
            return Err(failed(too_many(name)));
        }
        if !reader.pay(LINE) {
            return Err(failed(too_much(name, number)));
        }
        match object(line, &mut reader) {
            Ok(json) => documents.push(Document::new(format!("line {number}"), json)),
            Err(None) => return Err(failed(too_much(name, number))),
            Err(Some(reason)) => {
                skipped += 1;
                if skipped <= MAX_LISTED {
                    report.push(broken(name, number, &reason));
                }
            }
        }
    }
    count_the_rest(name, skipped, &mut report);
    reader.notes(name, &mut report);
    if documents.is_empty() {
        report.push(
            Diagnostic::new(Code::ImportFormat, format!("`{name}` has no line that can be read"))
                .help("a chat file is one JSON object a line; export it again"),
        );
        return Err(report);
    }
    let mut imported = Contents::new(Container::Jsonl, documents, report);
    imported.skipped = skipped;
    Ok(imported)
}

fn without_bom<'a>(name: &str, bytes: &'a [u8], report: &mut Report) -> &'a [u8] {
    let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") else { return bytes };
    report.push(
        Diagnostic::new(Code::FileBom, format!("`{name}` begins with a byte order mark, which is ignored"))
            .help("save it as UTF-8 without a byte order mark"),
    );
    rest
}

/// The object on the line, or why there is none; `None` if there is no memory left for it.
fn object(line: &[u8], reader: &mut JsonScanner) -> Result<Value, Option<String>> {
    if line.len() > MAX_LINE {
        return Err(Some(format!("longer than {} MiB", MAX_LINE >> 20)));
    }
    let text = std::str::from_utf8(line).map_err(|e| Some(format!("not valid UTF-8 at byte {} of the line", e.valid_up_to())))?;
    let value = reader.parse(text).map_err(|reject| reason(&reject))?;
    if value.as_map().is_some() { Ok(value) } else { Err(Some("not an object".to_owned())) }
}

/// The parser's reason without its line number, which is always 1 here.
fn reason(reject: &JsonRejection) -> Option<String> {
    Some(match reject {
        JsonRejection::Cut { column, .. } => format!("it ends too early, at column {column}"),
        JsonRejection::Syntax { reason, column, .. } => format!("{reason} at column {column}"),
        JsonRejection::TooMuch => return None,
        other => other.to_string(),
    })
}

fn broken(name: &str, number: usize, reason: &str) -> Diagnostic {
    Diagnostic::new(Code::ImportLine, format!("line {number} of `{name}` is skipped: {reason}"))
        .help("correct the line, or delete it to be rid of this warning")
}

fn count_the_rest(name: &str, skipped: usize, report: &mut Report) {
    if let Some(rest) = skipped.checked_sub(MAX_LISTED).filter(|n| *n > 0) {
        report.push(
            Diagnostic::new(Code::ImportLine, format!("{rest} more lines of `{name}` are skipped"))
                .help("so many broken lines point to a damaged file; export the chat again"),
        );
    }
}

fn too_much(name: &str, number: usize) -> Diagnostic {
    let most = MAX_MEMORY >> 20;
    let message = format!("`{name}` is too large: its values take more than {most} MiB of memory, which line {number} exceeds");
    Diagnostic::new(Code::FileTooLarge, message).help("split the chat into smaller files")
}

fn too_many(name: &str) -> Diagnostic {
    Diagnostic::new(Code::FileTooLarge, format!("`{name}` has more than {MAX_LINES} lines")).help("split the chat into smaller files")
}
