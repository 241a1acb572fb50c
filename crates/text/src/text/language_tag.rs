//! Language tags by their syntax (RFC 5646): upper and lower case as the standard recommends, the parts by name.
//!
//! No registry is asked: a well-formed tag of a language that nobody speaks is a tag. Grandfathered tags stay as they
//! are, and extensions keep their order. The crate `oxilangtag` reads the tag; what it leaves out (duplicates, which
//! the standard forbids) and what it tells less precisely (which kind of mistake it was) is added here.

use std::fmt;

use crate::diag::limits;

/// A well-formed language tag, normalised.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct LanguageTag {
    /// The whole tag.
    pub tag: String,
    /// The language; none for a grandfathered tag and for private use alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Extended languages, at most three.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extlang: Vec<String>,
    /// The script, such as `Latn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The region, such as `US` or `419`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Variants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Extensions with their letter, such as `u-co-phonebk`, in the order of the tag.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// What stands behind `x-`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private_use: Vec<String>,
    /// Whether it is one of the tags that are registered as a whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub grandfathered: bool,
}

/// Why a text is no language tag; the first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LanguageTagError {
    /// The text is empty.
    #[error("a language tag is not empty")]
    Empty,
    /// It holds something else than ASCII letters, digits and hyphens.
    #[error("a language tag holds ASCII letters, digits and hyphens alone")]
    InvalidCharacter,
    /// Two hyphens in a row, or a hyphen at an end.
    #[error("nothing stands between two hyphens, or before or after a hyphen")]
    EmptySubtag,
    /// A part is longer than eight characters.
    #[error("a part of a language tag has at most eight characters")]
    SubtagTooLong,
    /// Its parts do not stand as the grammar says, or it is longer than 1,000 bytes.
    #[error("the parts of a language tag are language, script, region, variants, extensions, private use")]
    Malformed,
    /// A variant stands twice.
    #[error("a variant may stand in a language tag once")]
    DuplicateVariant,
    /// Two extensions have one letter.
    #[error("the letter of an extension may stand in a language tag once")]
    DuplicateSingleton,
}

impl LanguageTagError {
    /// The kind in a word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::InvalidCharacter => "invalid_character",
            Self::EmptySubtag => "empty_subtag",
            Self::SubtagTooLong => "subtag_too_long",
            Self::Malformed => "malformed",
            Self::DuplicateVariant => "duplicate_variant",
            Self::DuplicateSingleton => "duplicate_singleton",
        }
    }
}

impl LanguageTag {
    /// Reads a tag.
    ///
    /// # Errors
    /// The first kind of mistake that applies.
    pub fn parse(text: &str) -> Result<Self, LanguageTagError> {
        if text.is_empty() {
            return Err(LanguageTagError::Empty);
        }
        if text.len() > limits::NAME_BYTES {
            return Err(LanguageTagError::Malformed);
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(LanguageTagError::InvalidCharacter);
        }
        if text.split('-').any(str::is_empty) {
            return Err(LanguageTagError::EmptySubtag);
        }
        if text.split('-').any(|part| part.len() > 8) {
            return Err(LanguageTagError::SubtagTooLong);
        }
        let read = oxilangtag::LanguageTag::parse_and_normalize(text).map_err(|_| LanguageTagError::Malformed)?;
        let tag = read.as_str().to_owned();
        if let Some(private) = tag.strip_prefix("x-") {
            return Ok(Self { private_use: owned(private.split('-')), tag, ..Self::default() });
        }
        if read.primary_language().contains('-') {
            return Ok(Self { tag, grandfathered: true, ..Self::default() });
        }
        let some = |part: Option<&str>| part.map(str::to_owned);
        let found = Self {
            language: Some(read.primary_language().to_owned()),
            extlang: owned(read.extended_language_subtags()),
            script: some(read.script()),
            region: some(read.region()),
            variants: owned(read.variant_subtags()),
            extensions: read.extension().map(extensions).unwrap_or_default(),
            private_use: owned(read.private_use_subtags()),
            tag,
            grandfathered: false,
        };
        if repeats(&found.variants, |variant| variant) {
            return Err(LanguageTagError::DuplicateVariant);
        }
        if repeats(&found.extensions, |extension| extension.get(..1).unwrap_or_default()) {
            return Err(LanguageTagError::DuplicateSingleton);
        }
        Ok(found)
    }

    /// Reads a tag as people and programs write it: white space around it is dropped, and `_` is a hyphen.
    ///
    /// # Errors
    /// As for [`LanguageTag::parse`].
    pub fn parse_lenient(text: &str) -> Result<Self, LanguageTagError> {
        Self::parse(&text.trim().replace('_', "-"))
    }
}

impl fmt::Display for LanguageTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tag)
    }
}

fn owned<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<String> {
    parts.map(str::to_owned).collect()
}

/// The extensions of `a-bbb-ccc-d-eee`: a part of one character begins the next one.
fn extensions(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in text.split('-') {
        match all.last_mut() {
            Some(last) if part.len() > 1 => {
                last.push('-');
                last.push_str(part);
            }
            _ => all.push(part.to_owned()),
        }
    }
    all
}

fn repeats(list: &[String], key: impl Fn(&str) -> &str) -> bool {
    let mut seen = std::collections::HashSet::new();
    !list.iter().all(|part| seen.insert(key(part)))
}
