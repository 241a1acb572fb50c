//! The byte-pair encoding that Anthropic has published for Claude (`@anthropic-ai/tokenizer`, MIT, licence beside the
//! table). It is the one of Claude 2; for later models no table is published, and they count somewhat more tokens.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::encoding::Encoding;

/// One token on each line in base64, in the order of their ranks.
const RANKS: &[u8] = include_bytes!("tables/claude.ranks.gz");
/// What a piece of a text is.
const PIECES: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
/// Texts that are one token each, wherever they stand. None begins with another one.
const SPECIAL: &[&str] = &["<EOT>", "<META>", "<META_START>", "<META_END>", "<SOS>"];

static ENCODING: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::read(RANKS, PIECES, false));

/// The number of tokens of a text, and the steps as for [`Encoding::count`].
pub(crate) fn count(text: &str) -> (usize, u64) {
    // the table is part of the program and a test counts with it; without it every byte would count
    let Some(encoding) = ENCODING.as_ref() else { return (text.len(), 0) };
    let whole = composed(text);
    let (mut total, mut steps, mut rest) = (0, whole.len().saturating_sub(text.len()) as u64, &*whole);
    loop {
        let (before, after) =
            next(rest).map_or((rest, None), |(at, special)| (rest.get(..at).unwrap_or(rest), rest.get(at + special.len()..)));
        let (tokens, more) = encoding.count(before);
        (total, steps) = (total + tokens + usize::from(after.is_some()), steps + more);
        match after {
            Some(after) => rest = after,
            None => return (total, steps),
        }
    }
}

/// The text with its compatibility characters replaced (NFKC), as which it is counted.
fn composed(text: &str) -> Cow<'_, str> {
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

/// The first special token of a text, and where it stands. All of them begin with `<`, so that nothing after the token
/// that is found is looked at, and a text full of them takes one walk.
fn next(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        SPECIAL.iter().find(|special| rest.starts_with(**special)).map(|special| (at, *special))
    })
}
