//! UTF-16 halves as characters, for patterns that JavaScript matches by units of 16 bits (those without flag `u`).
//!
//! In JavaScript, a character beyond U+FFFF is two units, and a pattern can match one of them. Here each half is
//! replaced by a character of a private range that has no meaning to any engine; afterwards two halves are joined
//! again.

use std::borrow::Cow;

/// Stands for the half U+D800; the 2,048 halves follow each other, up to the last character there is.
const FIRST: u32 = 0x0010_F800;
const HALVES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// Whether a text has characters of two units.
#[must_use]
pub fn has_any(text: &str) -> bool {
    // such characters, and no others, begin with a byte from 0xF0 on in UTF-8
    text.bytes().any(|b| b >= 0xF0)
}

/// The text with each half as a character.
#[must_use]
pub fn apart(text: &str) -> Cow<'_, str> {
    if !has_any(text) {
        return Cow::Borrowed(text);
    }
    let mut units = [0; 2];
    let two = |part: &str, out: &mut String| {
        for c in part.chars() {
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| half(*unit).unwrap_or(c)));
        }
    };
    Cow::Owned(rewritten(text, two))
}

/// The text with each run of characters beyond U+FFFF rewritten; what is between them is copied as a whole, because
/// there may be one such character in a megabyte of others.
fn rewritten(text: &str, mut rewrite: impl FnMut(&str, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.bytes().position(|b| b >= 0xF0).and_then(|at| rest.split_at_checked(at)) {
        let end = from.find(|c: char| c <= '\u{FFFF}').unwrap_or(from.len());
        let Some((run, after)) = from.split_at_checked(end) else { break };
        out.push_str(before);
        rewrite(run, &mut out);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The source of a pattern for texts of halves: its own characters are split, and escapes such as `\uD83D` become
/// halves.
#[must_use]
pub fn pattern(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(&apart(before));
        let unit = escape.strip_prefix('u').and_then(|hex| hex.get(..4)).and_then(|hex| u16::from_str_radix(hex, 16).ok());
        if let Some(half) = unit.and_then(half) {
            out.push(half);
            rest = escape.get(5..).unwrap_or_default();
        } else {
            let end = escape.chars().next().map_or(0, char::len_utf8);
            out.push('\\');
            out.push_str(&apart(escape.get(..end).unwrap_or_default()));
            rest = escape.get(end..).unwrap_or_default();
        }
    }
    out.push_str(&apart(rest));
    out
}

/// The text with matching halves joined to one character; a lone half cannot be in a text and becomes U+FFFD.
#[must_use]
pub fn together(text: &str) -> String {
    let one = |run: &str, out: &mut String| {
        out.extend(char::decode_utf16(run.chars().flat_map(units)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    };
    rewritten(text, one)
}

/// The text with matching halves joined to one character; a lone half stays as it is, since the other one may follow.
#[must_use]
pub fn joined(text: &str) -> Cow<'_, str> {
    if !has_any(text) {
        return Cow::Borrowed(text);
    }
    let one = |run: &str, out: &mut String| {
        let units = char::decode_utf16(run.chars().flat_map(units));
        out.extend(units.filter_map(|c| c.map_or_else(|lone| half(lone.unpaired_surrogate()), Some)));
    };
    Cow::Owned(rewritten(text, one))
}

/// The character that represents a half; `None` for a unit that is a character by itself.
pub(super) fn half(unit: u16) -> Option<char> {
    let unit = u32::from(unit);
    HALVES.contains(&unit).then(|| char::from_u32(FIRST + (unit - HALVES.start()))).flatten()
}

/// The half that a character represents; `None` for all other characters.
pub(super) fn unit(c: char) -> Option<u16> {
    u32::from(c).checked_sub(FIRST).and_then(|n| u16::try_from(n + HALVES.start()).ok())
}

/// The units of a character; the half that it represents, if it is one of those.
pub(super) fn units(c: char) -> impl Iterator<Item = u16> {
    let mut buffer = [0; 2];
    let (buffer, count) = match unit(c) {
        Some(unit) => ([unit, 0], 1),
        None => {
            let count = c.encode_utf16(&mut buffer).len();
            (buffer, count)
        }
    };
    buffer.into_iter().take(count)
}
