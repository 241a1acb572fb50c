//! Finding the envelope in what a model wrote: alone, in a fence, or between sentences.
//!
//! The size of the text is bounded before anything is read, and so is the number of places that are tried, because
//! each of them may be read to the end of the text.

use serde_json::{Map, Value as Json};

/// Why a reply holds no directives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectiveReadError {
    /// The reply has more bytes than may be read.
    #[error("the reply is larger than {0} bytes")]
    TooLarge(usize),
    /// There is nothing in it.
    #[error("the reply is empty")]
    Empty,
    /// It is JSON, but no object.
    #[error("the reply is JSON, but no object")]
    NotAnObject,
    /// There is no JSON object in it.
    #[error("there is no JSON object in the reply")]
    NoJson,
    /// The object is not an envelope; the place as a JSON Pointer into it.
    #[error("the JSON object of the reply is not as it should be at `{0}`")]
    Envelope(String),
}

impl DirectiveReadError {
    /// The kind in a word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too_large",
            Self::Empty => "empty_reply",
            Self::NotAnObject => "not_an_object",
            Self::NoJson => "no_json",
            Self::Envelope(_) => "envelope_invalid",
        }
    }

    /// Where in the envelope, as a JSON Pointer.
    #[must_use]
    pub fn at(&self) -> Option<&str> {
        if let Self::Envelope(at) = self { Some(at) } else { None }
    }
}

/// An object that was found.
#[derive(Debug)]
pub(super) struct FoundObject {
    pub(super) object: Map<String, Json>,
    /// Whether commas behind last elements were left out to read it.
    pub(super) lenient: bool,
}

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadBounds {
    /// The most bytes of a reply.
    pub(super) bytes: usize,
    /// The most places that are tried.
    pub(super) places: usize,
}

/// The object of a reply that counts: the whole reply, or the first of its objects that has one of `keys`, or else
/// the first one. Closed fences come before objects in the text.
pub(super) fn extract(text: &str, keys: [&str; 2], bounds: ReadBounds) -> Result<FoundObject, DirectiveReadError> {
    if text.len() > bounds.bytes {
        return Err(DirectiveReadError::TooLarge(bounds.bytes));
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return Err(DirectiveReadError::Empty);
    }
    match read(text) {
        Some((Json::Object(object), lenient)) => return Ok(FoundObject { object, lenient }),
        Some(_) => return Err(DirectiveReadError::NotAnObject),
        None => {}
    }
    let mut first = None;
    let fenced = fences(text).filter_map(|inside| read(inside.trim())).filter_map(|(value, lenient)| match value {
        Json::Object(object) => Some(FoundObject { object, lenient }),
        _ => None,
    });
    for found in fenced.take(bounds.places).chain(JsonObjects { text, at: 0, left: bounds.places }) {
        if keys.iter().any(|key| found.object.contains_key(*key)) {
            return Ok(found);
        }
        first.get_or_insert(found);
    }
    first.ok_or(DirectiveReadError::NoJson)
}

/// The value of a JSON text, and whether it could only be read without commas behind last elements.
fn read(text: &str) -> Option<(Json, bool)> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some((value, false));
    }
    serde_json::from_str(&without_last_commas(text)?).ok().map(|value| (value, true))
}

/// The text without commas in front of `}` and `]`, outside of strings; nothing if there is no such comma.
fn without_last_commas(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped, mut changed) = (false, false, false);
    // where a comma stands in `out` that has nothing but white space behind it
    let mut comma = None;
    for c in text.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            match c {
                '"' => quoted = true,
                '}' | ']' => {
                    if let Some(at) = comma.take() {
                        // only white space stands behind the comma
                        let behind = out.split_off(at + 1);
                        out.truncate(at);
                        out.push_str(&behind);
                        changed = true;
                    }
                }
                _ => {}
            }
            if c == ',' {
                comma = Some(out.len());
            } else if !matches!(c, ' ' | '\t' | '\n' | '\r') {
                comma = None;
            }
        }
        out.push(c);
    }
    changed.then_some(out)
}

/// What stands inside closed fences, in order.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = text.split_inclusive('\n');
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut open: Option<(char, usize, usize)> = None;
        for line in lines.by_ref() {
            let start = at;
            at += line.len();
            let rest = line.trim();
            let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'));
            let run = mark.map_or(0, |mark| rest.chars().take_while(|c| *c == mark).count());
            match (open, mark) {
                (None, Some(mark)) if run >= 3 && (mark == '~' || !rest.get(run..).unwrap_or_default().contains('`')) => {
                    open = Some((mark, run, at));
                }
                (Some((opening, length, from)), Some(mark)) if mark == opening && run >= length && run == rest.len() => {
                    return text.get(from..start);
                }
                _ => {}
            }
        }
        None
    })
}

/// The JSON objects of a text from left to right; one inside another that can be read is not looked for.
struct JsonObjects<'a> {
    text: &'a str,
    at: usize,
    left: usize,
}

impl Iterator for JsonObjects<'_> {
    type Item = FoundObject;

    fn next(&mut self) -> Option<FoundObject> {
        loop {
            let start = self.at + self.text.get(self.at..)?.find('{')?;
            let rest = self.text.get(start..)?;
            self.at = start + 1;
            // anything that cannot be an object by its second character does not count as a place that was tried
            let second = rest.get(1..)?.trim_start().bytes().next();
            if !matches!(second, Some(b'"' | b'}' | b',')) {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            if let Some((found, length)) = object(rest) {
                self.at = start + length;
                return Some(found);
            }
        }
    }
}

/// The object that begins a text, and its length.
fn object(text: &str) -> Option<(FoundObject, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Json>>();
    if let Some(Ok(object)) = values.next() {
        return Some((FoundObject { object, lenient: false }, values.byte_offset()));
    }
    let length = span(text)?;
    match read(text.get(..length)?)? {
        (Json::Object(object), lenient) => Some((FoundObject { object, lenient }, length)),
        _ => None,
    }
}

/// The length of what stands between the first brace and its closing one, both included; braces in strings do not count.
fn span(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
