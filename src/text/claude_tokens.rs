//! The byte-pair encoding that Anthropic has published for Claude (`@anthropic-ai/tokenizer`, MIT, licence beside the
//! table). It is the one of Claude 2; for later models no table is published, and they count somewhat more tokens.

use std::io::Read;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bpe_openai::Tokenizer;
use bpe_openai::byte_pair_encoding::BytePairEncoding;
use unicode_normalization::UnicodeNormalization as _;

/// One token on each line in base64, in the order of their ranks.
const RANKS: &[u8] = include_bytes!("tables/claude.ranks.gz");
/// Keeps the hashes of all tokens of the table apart.
const HASH_FACTOR: u64 = 17_846_336_922_010_275_747;
/// Texts that are one token each, wherever they stand.
const SPECIAL: &[&str] = &["<EOT>", "<META>", "<META_START>", "<META_END>", "<SOS>"];

static TOKENIZER: LazyLock<Option<Tokenizer>> = LazyLock::new(|| {
    let mut lines = String::new();
    flate2::read::GzDecoder::new(RANKS).read_to_string(&mut lines).ok()?;
    let tokens = lines.lines().map(|line| STANDARD.decode(line)).collect::<Result<Vec<_>, _>>().ok()?;
    let words = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+$";
    let table = BytePairEncoding::from_dictionary(tokens, Some(HASH_FACTOR));
    Tokenizer::new_lookahead(table, &[(words, false), (r"\s+\s", true), (r"\s+", false)], false).ok()
});

/// The number of tokens of a text.
pub(crate) fn count(text: &str) -> usize {
    // the table is part of the program and a test counts with it; without it every byte would count
    let Some(tokenizer) = TOKENIZER.as_ref() else { return text.len() };
    let text: String = text.nfkc().collect();
    let (mut total, mut rest) = (0, text.as_str());
    while let Some((at, special)) = next(rest) {
        let (before, after) = rest.split_at(at);
        total += tokenizer.count(before) + 1;
        rest = after.strip_prefix(special).unwrap_or("");
    }
    total + tokenizer.count(rest)
}

/// The first special token of a text, and where it stands.
fn next(text: &str) -> Option<(usize, &'static str)> {
    SPECIAL.iter().filter_map(|special| text.find(special).map(|at| (at, *special))).min()
}
