//! JSON Pointers (RFC 6901): the way to a value in a document, as a text and as a fragment of an address.
//!
//! `serde_json` follows pointers too, but says only that there is nothing; here a caller is told why, and where in the
//! pointer. No document is copied, and no input can make this more than one pass over the pointer.

use percent_encoding::AsciiSet;
use serde_json::Value as Json;

use super::percent::{all_but, decode, encode};

/// What a fragment may not hold.
const FRAGMENT: &AsciiSet = &all_but(b"-._~!$&'()*+,;=:@/?");

/// Why a pointer leads nowhere, or is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointerError {
    /// A pointer is empty or begins with `/`.
    #[error("a JSON Pointer is empty or begins with `/`")]
    NoLeadingSlash,
    /// A `~` without `0` or `1` behind it; where, in bytes.
    #[error("`~` at byte {0} is followed by neither `0` nor `1`")]
    BadEscape(usize),
    /// There is no such key or element; which token failed, from 0.
    #[error("token {0} leads to nothing")]
    NotFound(usize),
    /// The token is no index of a list: not a number, with a sign, or with a zero in front.
    #[error("token {0} is no index of a list")]
    InvalidIndex(usize),
    /// The token is `-`, which is the place behind the last element.
    #[error("token {0} means the place behind the last element, where nothing is")]
    PastEnd(usize),
    /// The token leads into a value that is neither a table nor a list.
    #[error("token {0} leads into a value that holds no others")]
    NotAContainer(usize),
    /// A fragment begins with `#`.
    #[error("a fragment begins with `#`")]
    NoLeadingHash,
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8; where, in bytes.
    #[error("the percent-encoding at byte {0} cannot be read")]
    BadPercentEncoding(usize),
}

impl PointerError {
    /// The kind in a word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NoLeadingSlash => "no_leading_slash",
            Self::BadEscape(_) => "bad_escape",
            Self::NotFound(_) => "not_found",
            Self::InvalidIndex(_) => "invalid_index",
            Self::PastEnd(_) => "past_end",
            Self::NotAContainer(_) => "not_a_container",
            Self::NoLeadingHash => "no_leading_hash",
            Self::BadPercentEncoding(_) => "bad_percent_encoding",
        }
    }

    /// Where in the text it is, in bytes, if it is a mistake of the text.
    #[must_use]
    pub fn offset(self) -> Option<usize> {
        match self {
            Self::NoLeadingSlash | Self::NoLeadingHash => Some(0),
            Self::BadEscape(at) | Self::BadPercentEncoding(at) => Some(at),
            _ => None,
        }
    }

    /// Which token failed, from 0, if the pointer itself is well-formed.
    #[must_use]
    pub fn depth(self) -> Option<usize> {
        match self {
            Self::NotFound(at) | Self::InvalidIndex(at) | Self::PastEnd(at) | Self::NotAContainer(at) => Some(at),
            _ => None,
        }
    }
}

/// A way to a value in a document: its tokens, from the outside inwards. The empty one leads to the document itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct JsonPointer {
    tokens: Vec<String>,
}

impl JsonPointer {
    /// Reads a pointer such as `/a~1b/0`.
    ///
    /// # Errors
    /// [`PointerError::NoLeadingSlash`], [`PointerError::BadEscape`].
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let Some(rest) = text.strip_prefix('/') else { return Err(PointerError::NoLeadingSlash) };
        let mut tokens = Vec::new();
        let mut at = 1;
        for part in rest.split('/') {
            tokens.push(unescape(part).map_err(|within| PointerError::BadEscape(at + within))?);
            at += part.len() + 1;
        }
        Ok(Self { tokens })
    }

    /// A pointer of tokens as they are, without escapes.
    #[must_use]
    pub fn of(tokens: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tokens: tokens.into_iter().map(Into::into).collect() }
    }

    /// Reads a pointer in the form of a fragment, such as `#/a%20b`.
    ///
    /// # Errors
    /// [`PointerError::NoLeadingHash`], [`PointerError::BadPercentEncoding`], and those of [`JsonPointer::parse`], whose
    /// offsets count in the decoded text.
    pub fn from_fragment(fragment: &str) -> Result<Self, PointerError> {
        let Some(encoded) = fragment.strip_prefix('#') else { return Err(PointerError::NoLeadingHash) };
        let is_byte = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let mut percents = encoded.match_indices('%').map(|(at, _)| at);
        if let Some(at) = percents.find(|at| !encoded.get(at + 1..at + 3).is_some_and(is_byte)) {
            return Err(PointerError::BadPercentEncoding(at + 1));
        }
        let text = decode(encoded).decode_utf8().map_err(|e| {
            let width = |at: usize| if encoded.as_bytes().get(at) == Some(&b'%') { 3 } else { 1 };
            PointerError::BadPercentEncoding((0..e.valid_up_to()).fold(1, |at, _| at + width(at - 1)))
        })?;
        Self::parse(&text)
    }

    /// The pointer in the form of a fragment: everything that a fragment may not hold is percent-encoded.
    #[must_use]
    pub fn to_fragment(&self) -> String {
        format!("#{}", encode(&self.to_string(), FRAGMENT))
    }

    /// The tokens, without escapes.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// The value that the pointer leads to.
    ///
    /// # Errors
    /// [`PointerError::NotFound`], [`PointerError::InvalidIndex`], [`PointerError::PastEnd`],
    /// [`PointerError::NotAContainer`].
    pub fn get<'a>(&self, document: &'a Json) -> Result<&'a Json, PointerError> {
        let mut value = document;
        for (depth, token) in self.tokens.iter().enumerate() {
            let found = match value {
                Json::Object(map) => map.get(token),
                Json::Array(list) => element(list, token, depth)?,
                _ => return Err(PointerError::NotAContainer(depth)),
            };
            value = found.ok_or(PointerError::NotFound(depth))?;
        }
        Ok(value)
    }
}

impl std::fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", escape(token)))
    }
}

impl std::str::FromStr for JsonPointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        Self::parse(text)
    }
}

/// A token as it stands in a pointer: `~` is `~0` and `/` is `~1`.
#[must_use]
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// The token that is written so; an error says where in it the bad `~` is.
fn unescape(part: &str) -> Result<String, usize> {
    let mut out = String::with_capacity(part.len());
    let mut chars = part.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '~' => match chars.next() {
                Some((_, '0')) => out.push('~'),
                Some((_, '1')) => out.push('/'),
                _ => return Err(at),
            },
            other => out.push(other),
        }
    }
    Ok(out)
}

fn element<'a>(list: &'a [Json], token: &str, depth: usize) -> Result<Option<&'a Json>, PointerError> {
    if token == "-" {
        return Err(PointerError::PastEnd(depth));
    }
    let digits = !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit());
    if !digits || (token.len() > 1 && token.starts_with('0')) {
        return Err(PointerError::InvalidIndex(depth));
    }
    // an index that is too large for a number is one of a list that nobody has
    Ok(token.parse::<usize>().ok().and_then(|n| list.get(n)))
}
