//! Places inside a text value: from an offset in the decoded text to the characters of the file, through escapes.
//!
//! A `calc`, a regex or a `{{…}}` is parsed from the decoded text of a [`DocumentNode`], but its errors should point at the
//! characters that the author typed. The raw text is therefore walked again and checked against the decoded text. Where
//! the two do not agree, because no file holds the text as such, the place is the whole value.

use std::ops::Range;

use super::{DocumentNode, Sources, Span};

/// The span of the characters in the file that stand for byte `offset` of the text of `node`. An offset at the end of
/// the text gives the closing quote; a node that is not a text of a file gives the span of the node.
#[must_use]
pub fn place_in_text(sources: &Sources, node: &DocumentNode, offset: usize) -> Span {
    range_in_text(sources, node, offset..offset)
}

/// Like [`place_in_text`] for a range of the decoded text. An empty range gives the character at its start.
#[must_use]
pub fn range_in_text(sources: &Sources, node: &DocumentNode, range: Range<usize>) -> Span {
    let found = node.as_text().and_then(|text| raw_range(sources.snippet(node.span), text, &range));
    let Some(raw) = found else { return node.span };
    let base = node.span.start as usize;
    Span::new(node.span.source, base + raw.start, base + raw.end)
}

/// Finds places in texts and remembers the last one: the places of one text are mostly asked for from front to back, and
/// a long text with many of them is then walked only once.
#[derive(Debug, Default)]
pub struct PlaceFinder {
    /// The text of the last place.
    of: Option<Span>,
    /// The last place in it.
    seen: WalkPosition,
}

/// A place that a walk has reached: bytes of the raw text, and bytes of the decoded one.
#[derive(Debug, Default, Clone, Copy)]
struct WalkPosition {
    raw: usize,
    decoded: usize,
}

impl PlaceFinder {
    /// As [`place_in_text`].
    pub fn place(&mut self, sources: &Sources, node: &DocumentNode, offset: usize) -> Span {
        if self.of != Some(node.span) || self.seen.decoded > offset {
            *self = Self { of: Some(node.span), seen: WalkPosition::default() };
        }
        let raw = sources.snippet(node.span);
        let found = node.as_text().and_then(|text| walked(raw, text, &(offset..offset), &mut self.seen));
        let Some(raw) = found else { return node.span };
        let base = node.span.start as usize;
        Span::new(node.span.source, base + raw.start, base + raw.end)
    }
}

fn raw_range(raw: &str, text: &str, wanted: &Range<usize>) -> Option<Range<usize>> {
    walked(raw, text, wanted, &mut WalkPosition::default())
}

/// Walks the raw text `raw`, which includes its quotes, in step with the decoded `text`, from the place `seen` on, which is
/// set to that of the start of the range. Returns bytes relative to the start of `raw`.
fn walked(raw: &str, text: &str, wanted: &Range<usize>, seen: &mut WalkPosition) -> Option<Range<usize>> {
    let quotes = QuoteStyle::of(raw)?;
    let (mut at, end) = (quotes.open.max(seen.raw), raw.len().checked_sub(quotes.close)?);
    let mut decoded = seen.decoded;
    let mut start = None;
    while at < end {
        let rest = raw.get(at..end)?;
        let unit = unit(rest, text.get(decoded..)?, &quotes)?;
        let after = decoded + unit.decoded;
        if after > wanted.start && start.is_none() && unit.decoded > 0 {
            start = Some(at);
            *seen = WalkPosition { raw: at, decoded };
        }
        if start.is_some() && after >= wanted.end.max(wanted.start + 1) {
            return Some(start?..at + unit.raw);
        }
        at += unit.raw;
        decoded = after;
    }
    if decoded != text.len() {
        return None;
    }
    // at or past the end of the text: the closing quote, or from the start found to the last character
    Some(start.map_or(end..end + 1, |s| s..end))
}

/// How a text is quoted.
struct QuoteStyle {
    /// Bytes before the first character of the text.
    open: usize,
    /// Bytes after the last.
    close: usize,
    /// Whether a backslash begins an escape.
    escapes: bool,
}

impl QuoteStyle {
    fn of(raw: &str) -> Option<Self> {
        for (mark, escapes) in [("\"\"\"", true), ("'''", false)] {
            if raw.len() >= 6 && raw.starts_with(mark) {
                // the line break right after the opening quotes is not part of the text
                let body = raw.get(3..)?;
                let open = if body.starts_with("\r\n") { 5 } else { 3 + usize::from(body.starts_with('\n')) };
                return Some(QuoteStyle { open, close: 3, escapes });
            }
        }
        let escapes = match raw.chars().next()? {
            '"' => true,
            '\'' => false,
            _ => return None,
        };
        (raw.len() >= 2).then_some(QuoteStyle { open: 1, close: 1, escapes })
    }
}

/// One step of the walk: `raw` bytes of the file stand for `decoded` bytes of the text.
struct DecodedUnit {
    raw: usize,
    decoded: usize,
}

/// The unit at the start of `rest`; `None` if it does not stand for the start of `text`.
fn unit(rest: &str, text: &str, quotes: &QuoteStyle) -> Option<DecodedUnit> {
    let first = rest.chars().next()?;
    if first == '\\' && quotes.escapes {
        return escape(rest, text);
    }
    if first == '\r' && !text.starts_with('\r') && text.starts_with('\n') {
        return Some(DecodedUnit { raw: 2, decoded: 1 });
    }
    text.starts_with(first).then_some(DecodedUnit { raw: first.len_utf8(), decoded: first.len_utf8() })
}

/// An escape of TOML or JSON. What it stands for is taken from the decoded text.
fn escape(rest: &str, text: &str) -> Option<DecodedUnit> {
    let mark = rest.chars().nth(1)?;
    if mark.is_whitespace() {
        // a backslash at the end of a line removes the white space up to the next character
        let swallowed = rest.get(1..)?.chars().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum::<usize>();
        return Some(DecodedUnit { raw: 1 + swallowed, decoded: 0 });
    }
    let digits = match mark {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    let decoded = text.chars().next()?.len_utf8();
    let mut raw = 1 + mark.len_utf8() + digits;
    let pair = mark == 'u' && decoded == 4 && rest.get(raw..).is_some_and(|r| r.starts_with("\\u"));
    if pair {
        raw += 6;
    }
    rest.get(..raw)?;
    Some(DecodedUnit { raw, decoded })
}
