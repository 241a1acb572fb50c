//! The byte-pair encoding that Anthropic has published for Claude (`@anthropic-ai/tokenizer`, MIT, licence beside the
//! table). It is the one of Claude 2; for later models no table is published, and they count somewhat more tokens.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::encoding::Encoding;
use super::meter::Meter;
use super::work::Exceeded;

/// One token on each line in base64, in the order of their ranks.
const RANKS: &[u8] = include_bytes!("tables/claude.ranks.gz");
/// What a piece of a text is.
const PIECES: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
/// Texts that are one token each, wherever they stand. None begins with another one.
const SPECIAL: &[&str] = &["<EOT>", "<META>", "<META_START>", "<META_END>", "<SOS>"];

/// The memory for each byte of a text while its compatibility characters are replaced: up to four times as much text, in a
/// buffer that doubles, and marks behind a letter, which are put in order.
const HELD: usize = 16;
/// The same for a text that grows by more: three bytes become at most 33.
const HELD_BY_MOST: usize = 40;
/// The steps of each byte that is added.
const STEPS: u64 = 3;
/// So many added bytes are paid at once.
const PAID_AT_ONCE: usize = 64;

static ENCODING: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::read(RANKS, PIECES, false));

/// The number of tokens of a text.
///
/// # Errors
/// The text costs more than may still be spent.
pub(crate) fn count(text: &str, meter: &mut Meter) -> Result<usize, Exceeded> {
    // the table is part of the program and a test counts with it; without it every byte would count
    let Some(encoding) = ENCODING.as_ref() else { return Ok(text.len()) };
    let text = composed(text, meter)?;
    let (mut total, mut rest) = (0usize, &*text);
    while let Some((at, special)) = next(rest) {
        let (before, after) = rest.split_at(at);
        total = total.saturating_add(encoding.count(before, meter)?).saturating_add(1);
        rest = after.strip_prefix(special).unwrap_or("");
    }
    Ok(total.saturating_add(encoding.count(rest, meter)?))
}

/// The text with its compatibility characters replaced (NFKC), as which it is counted. A short text can become a long one: `㌖`
/// has three bytes and becomes 18. What is added is paid as it is added.
///
/// # Errors
/// The text becomes so long that it costs more than may still be spent.
fn composed<'t>(text: &'t str, meter: &mut Meter) -> Result<Cow<'t, str>, Exceeded> {
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Ok(Cow::Borrowed(text));
    }
    meter.pay(0, text.len().saturating_mul(HELD))?;
    let mut made = String::with_capacity(text.len());
    let (mut paid, mut grows) = (text.len(), false);
    for c in text.nfkc() {
        if made.len() > paid {
            meter.pay(STEPS.saturating_mul(PAID_AT_ONCE as u64), 0)?;
            paid = paid.saturating_add(PAID_AT_ONCE);
        }
        if !grows && made.len() / 4 > text.len() {
            meter.pay(0, text.len().saturating_mul(HELD_BY_MOST))?;
            grows = true;
        }
        made.push(c);
    }
    Ok(Cow::Owned(made))
}

/// The first special token of a text, and where it stands. All of them begin with `<`, so that nothing after the token
/// that is found is looked at, and a text full of them takes one walk.
fn next(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        SPECIAL.iter().find(|special| rest.starts_with(**special)).map(|special| (at, *special))
    })
}
