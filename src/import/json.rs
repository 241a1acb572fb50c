//! Strict JSON from strangers: bounded in size, depth and in the memory that its values take; a key that is written twice
//! is reported.
//!
//! The text becomes a [`Value`] at once, and the memory is counted while it is read: a value of two bytes of text takes
//! twenty times as much, and a few MB of them would take more than a machine has. Each name of a field is kept once.
//!
//! There is one tolerance: half of a surrogate pair (`\ud83d` alone), which JavaScript programs write when they cut a
//! text inside an emoji, becomes U+FFFD with a warning; a strict reader would refuse the whole file for it.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use super::{Container, Contents, Document, Fault, failed, listed, tolerated, too_large};
use crate::diag::{Code, Diagnostic, Report};
use crate::model::{Map, Value};

/// The longest JSON document, in bytes (32 MiB).
pub(super) const MAX_JSON: usize = 32 << 20;
/// The most memory that the values of one file may take, in bytes (96 MiB).
pub(super) const MAX_MEMORY: usize = 96 << 20;
/// The memory of a text, a list and a table without what is in it, with the space that the allocator adds.
const TEXT: usize = 32;
const LIST: usize = 64;
const TABLE: usize = 144;
/// The memory of one element of a list while the list grows, and of one field of a table without its name.
const ELEMENT: usize = 40;
const FIELD: usize = 64;
/// The memory of a name of fields, which is kept once for a file.
const NAME: usize = 64;
/// The memory of a line of a chat beside its values.
pub(super) const LINE: usize = 112;
/// The most that the compressed texts of one file unpack to, in bytes (64 MiB).
pub(super) const MAX_UNPACKED: usize = 64 << 20;
/// How many different duplicate keys are named in the warning.
const MAX_TWICE: usize = 9;

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
pub(super) fn utf8<'a>(name: &str, bytes: &'a [u8], report: &mut Report) -> Result<&'a str, Fault> {
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
pub(super) fn document(name: &str, what: &str, text: &str, reader: &mut JsonScanner, report: &mut Report) -> Result<Value, Fault> {
    let result = reader.parse(text);
    reader.notes(name, report);
    result.map_err(|reject| reject.explain(what).into())
}

/// Why a text is not a usable JSON document.
#[derive(Debug, PartialEq)]
pub(super) enum Reject {
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

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reject::TooLong => write!(f, "longer than {} MiB", MAX_JSON >> 20),
            Reject::TooMuch => write!(f, "its values take more than {} MiB of memory", MAX_MEMORY >> 20),
            Reject::TooDeep => write!(f, "nested deeper than 128 levels"),
            Reject::Cut { line, column } => write!(f, "it ends too early, at line {line} column {column}"),
            Reject::Syntax { reason, line, column } => write!(f, "{reason} at line {line} column {column}"),
        }
    }
}

impl Reject {
    fn explain(&self, what: &str) -> Diagnostic {
        let what = super::shown(what);
        match self {
            Reject::TooLong | Reject::TooMuch => {
                Diagnostic::new(Code::FileTooLarge, format!("`{what}` is too large: {self}")).help("import it in smaller parts")
            }
            Reject::TooDeep => Diagnostic::new(Code::FileTooDeep, format!("`{what}` is {self}"))
                .help("no card, preset or lorebook is nested like this; export the file again"),
            Reject::Cut { .. } => Diagnostic::new(Code::SyntaxJson, format!("`{what}` is not valid JSON: {self}"))
                .help("the file was cut off; download or export it again"),
            Reject::Syntax { .. } => Diagnostic::new(Code::SyntaxJson, format!("`{what}` is not valid JSON: {self}"))
                .help("correct the place named, or export the file again"),
        }
    }

    fn of(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        if error.is_eof() {
            return Reject::Cut { line, column };
        }
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        if reason == "recursion limit exceeded" {
            return Reject::TooDeep;
        }
        Reject::Syntax { reason: reason.to_owned(), line, column }
    }
}

/// Reads the JSON texts of one file, and counts what is limited or reported once per file.
pub(super) struct JsonScanner {
    /// Bytes of memory that further values may take.
    left: usize,
    /// Whether they did not suffice.
    full: bool,
    /// Bytes that the compressed texts of the file may still unpack to.
    pub(super) unpacked: usize,
    names: FxHashSet<Arc<str>>,
    twice: Vec<String>,
    mended: usize,
    rounded: usize,
}

impl Default for JsonScanner {
    fn default() -> Self {
        Self {
            left: MAX_MEMORY,
            full: false,
            unpacked: MAX_UNPACKED,
            names: FxHashSet::default(),
            twice: Vec::new(),
            mended: 0,
            rounded: 0,
        }
    }
}

impl JsonScanner {
    /// One JSON value and nothing after it.
    pub(super) fn parse(&mut self, text: &str) -> Result<Value, Reject> {
        if text.len() > MAX_JSON {
            return Err(Reject::TooLong);
        }
        let (left, rounded) = (self.left, self.rounded);
        match self.strict(text) {
            Err(Reject::Syntax { reason, line, column }) => match mend_surrogates(text) {
                Some((mended, halves)) => {
                    // what was read of the text is no longer there
                    (self.left, self.rounded) = (left, rounded);
                    let value = self.strict(&mended)?;
                    self.mended += halves;
                    Ok(value)
                }
                None => Err(Reject::Syntax { reason, line, column }),
            },
            other => other,
        }
    }

    fn strict(&mut self, text: &str) -> Result<Value, Reject> {
        let mut from = serde_json::Deserializer::from_str(text);
        let value = Seed(self).deserialize(&mut from).and_then(|v| from.end().map(|()| v));
        value.map_err(|e| if self.full { Reject::TooMuch } else { Reject::of(&e) })
    }

    /// Counts bytes of memory; whether there are so many.
    pub(super) fn pay(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.full = true,
        }
        !self.full
    }

    fn take<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        if self.pay(bytes) { Ok(()) } else { Err(E::custom("too many values")) }
    }

    /// Reports what was tolerated since the last time.
    pub(super) fn notes(&mut self, name: &str, report: &mut Report) {
        if !self.twice.is_empty() {
            let keys = listed(std::mem::take(&mut self.twice).iter().map(String::as_str));
            report.push(
                Diagnostic::new(Code::ImportValue, format!("`{name}` writes a key twice in one object: {keys}; the last value is used"))
                    .help("remove the value that is not meant"),
            );
        }
        let (rounded, mended) = (std::mem::take(&mut self.rounded), std::mem::take(&mut self.mended));
        if rounded > 0 {
            let message = format!("`{name}` holds whole numbers above {}, which are rounded: {rounded}", i64::MAX);
            report.push(Diagnostic::new(Code::ImportValue, message).help("write what is no quantity, such as an id, as a text"));
        }
        if mended > 0 {
            let message = format!("`{name}` holds {mended} half characters (lone surrogates), replaced by U+FFFD");
            report.push(tolerated(
                Diagnostic::new(Code::ImportValue, message).help("a text was cut inside an emoji; write the character again"),
            ));
        }
    }
}

struct Seed<'r>(&'r mut JsonScanner);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Int(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        if let Ok(whole) = i64::try_from(n) {
            return Ok(Value::Int(whole));
        }
        self.0.rounded += 1;
        #[expect(clippy::cast_precision_loss, reason = "the warning about it is counted above")]
        Ok(Value::Num(n as f64))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Value, E> {
        Ok(Value::Num(n))
    }

    fn visit_str<E: Error>(self, s: &str) -> Result<Value, E> {
        self.0.take(TEXT + s.len())?;
        Ok(Value::text(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.take(LIST)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Seed(self.0))? {
            self.0.take(ELEMENT)?;
            list.push(item);
        }
        list.shrink_to_fit();
        Ok(Value::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.0.take(TABLE)?;
        let mut map = Map::default();
        while let Some(key) = fields.next_key_seed(Name(self.0))? {
            self.0.take(FIELD)?;
            let value = fields.next_value_seed(Seed(self.0))?;
            if map.contains_key(&key) && self.0.twice.len() < MAX_TWICE && !self.0.twice.iter().any(|known| **known == *key) {
                self.0.twice.push(key.to_string());
            }
            map.insert(key, value);
        }
        map.shrink_to_fit();
        Ok(Value::map(map))
    }
}

/// The name of a field.
struct Name<'r>(&'r mut JsonScanner);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Arc<str>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Arc<str>, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Arc<str>, E> {
        if let Some(known) = self.0.names.get(name) {
            return Ok(known.clone());
        }
        self.0.take(NAME + name.len())?;
        let name: Arc<str> = name.into();
        self.0.names.insert(name.clone());
        Ok(name)
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
