//! The kind of container that some bytes are, by their content. The format of the JSON inside is recognised by rules.

use super::{Container, ImportFault};
use crate::diag::{Code, Diagnostic};

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
pub(super) fn container(name: &str, bytes: &[u8]) -> Result<Container, ImportFault> {
    if bytes.starts_with(b"\x89PNG") {
        return Ok(Container::Png);
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(ZIP_END) || (bytes.starts_with(b"\xFF\xD8\xFF") && ends_as_zip(bytes)) {
        return Ok(Container::Charx);
    }
    if let Some(container) = super::risu::sniffed(bytes) {
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
