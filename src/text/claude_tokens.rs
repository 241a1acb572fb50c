//! The byte-pair encoding that Anthropic has published for Claude (`@anthropic-ai/tokenizer`, MIT, licence beside the
//! table). It is the one of Claude 2; for later models no table is published, and they count somewhat more tokens.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;

use super::encoding::Encoding;

/// One token on each line in base64, in the order of their ranks.
const RANKS: &[u8] = include_bytes!("tables/claude.ranks.gz");
/// What a piece of a text is.
const PIECES: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
/// Texts that are one token each, wherever they stand. None begins with another one.
const SPECIAL: &[&str] = &["<EOT>", "<META>", "<META_START>", "<META_END>", "<SOS>"];

static ENCODING: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::read(RANKS, PIECES, false));

/// The number of tokens of a text.
pub(crate) fn count(text: &str) -> usize {
    // the table is part of the program and a test counts with it; without it every byte would count
    let Some(encoding) = ENCODING.as_ref() else { return text.len() };
    let text: String = text.nfkc().collect();
    let (mut total, mut rest) = (0, text.as_str());
    while let Some((at, special)) = next(rest) {
        let (before, after) = rest.split_at(at);
        total += encoding.count(before) + 1;
        rest = after.strip_prefix(special).unwrap_or("");
    }
    total + encoding.count(rest)
}

/// The first special token of a text, and where it stands. All of them begin with `<`, so that nothing after the token
/// that is found is looked at, and a text full of them takes one walk.
fn next(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        SPECIAL.iter().find(|special| rest.starts_with(**special)).map(|special| (at, *special))
    })
}
