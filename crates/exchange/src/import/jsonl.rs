//! Chats of one JSON object per line. A broken line is skipped with a warning; the rest of the chat is read.

use super::json::{self, JsonScanner};
use super::{Container, Contents, Document, failed};
use crate::diag::{Code, Diagnostic, Report};
use crate::model::Value;

/// The longest line, in bytes.
const MAX_LINE: usize = 16 << 20;
/// The most lines that are read.
const MAX_LINES: usize = 250_000;
/// The number of broken lines that get their own warning; one more warning counts the rest.
const MAX_LISTED: usize = 50;

/// Reads a chat.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
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
        if !reader.pay(json::LINE) {
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
fn reason(reject: &json::JsonRejection) -> Option<String> {
    Some(match reject {
        json::JsonRejection::Cut { column, .. } => format!("it ends too early, at column {column}"),
        json::JsonRejection::Syntax { reason, column, .. } => format!("{reason} at column {column}"),
        json::JsonRejection::TooMuch => return None,
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
    let most = json::MAX_MEMORY >> 20;
    let message = format!("`{name}` is too large: its values take more than {most} MiB of memory, which line {number} exceeds");
    Diagnostic::new(Code::FileTooLarge, message).help("split the chat into smaller files")
}

fn too_many(name: &str) -> Diagnostic {
    Diagnostic::new(Code::FileTooLarge, format!("`{name}` has more than {MAX_LINES} lines")).help("split the chat into smaller files")
}
