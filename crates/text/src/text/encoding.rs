//! Byte-pair encodings by their published tables: each token with its rank. A text is cut into pieces by a pattern, and in
//! each piece the pair of neighbours with the lowest rank is merged until no pair is a token.
//!
//! A piece costs its length times the logarithm of it, whatever it holds.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::token_table::TokenTable;
use super::work;

/// The rank of a pair that is not a token.
const NONE: u32 = u32::MAX;

/// Words and the sentences of most languages that are written without blanks are no longer. What they cost is in the step
/// for each byte of a text.
const SHORT: usize = 128;

/// No token has more bytes. A longer piece is not looked up.
const LONGEST: usize = 1024;

/// A table of tokens and the pattern of pieces.
pub(crate) struct Encoding {
    table: TokenTable,
    pieces: Regex,
    /// Blank space that ends in a line break is one piece; other blank space leaves its last character to the next piece.
    lines: bool,
}

impl Encoding {
    /// An encoding of a table that lies as [`TokenTable`] says; `None` if the pattern cannot be read.
    fn new(table: &'static [u8], pieces: &str, lines: bool) -> Option<Self> {
        Some(Self { table: TokenTable::new(table), pieces: Regex::new(pieces).ok()?, lines })
    }

    /// The number of tokens of a text, and the steps that counting long pieces takes besides one for each byte.
    pub(crate) fn count(&self, text: &str) -> (usize, u64) {
        self.pieces(text).fold((0, 0), |(sum, steps), piece| (sum + self.tokens(piece.as_bytes()), steps + steps_of(piece.len())))
    }

    fn pieces<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = self.pieces.find_at(text, at)?;
            let piece = self.without_lead(found.as_str(), found.end() == text.len());
            at = found.start() + piece.len();
            Some(piece)
        })
    }

    /// Blank space in front of a word gives its last character to the word.
    fn without_lead<'t>(&self, piece: &'t str, ends: bool) -> &'t str {
        let mut characters = piece.chars();
        match characters.next_back() {
            Some(last) if !ends && last.is_whitespace() && !(self.lines && matches!(last, '\r' | '\n')) => {
                let rest = characters.as_str();
                if !rest.is_empty() && rest.chars().all(char::is_whitespace) { rest } else { piece }
            }
            _ => piece,
        }
    }

    fn rank(&self, bytes: Option<&[u8]>) -> u32 {
        bytes.and_then(|bytes| self.table.rank(bytes)).unwrap_or(NONE)
    }

    /// The number of tokens of one piece.
    fn tokens(&self, piece: &[u8]) -> usize {
        if piece.len() < 2 || piece.len() <= LONGEST && self.table.rank(piece).is_some() {
            return piece.len().min(1);
        }
        // no text is so long; without its pairs every byte would count
        let Ok(length) = u32::try_from(piece.len()) else { return piece.len() };
        // of the part that begins at an index: where it ends (0 if no part begins there), and where the part before begins
        let mut ends: Vec<u32> = (1..=length).collect();
        let mut before: Vec<u32> = (0..=length).map(|n| n.saturating_sub(1)).collect();
        // equal pairs have one rank and one length, so that a pair needs no middle to have its place in the order
        let mut pairs: BinaryHeap<Reverse<(u32, u32, u32)>> = BinaryHeap::with_capacity(piece.len());
        let offer = |pairs: &mut BinaryHeap<Reverse<(u32, u32, u32)>>, start: u32, end: u32| {
            let rank = self.rank(piece.get(start as usize..end as usize));
            if rank != NONE {
                pairs.push(Reverse((rank, start, end)));
            }
        };
        for start in 0..length - 1 {
            offer(&mut pairs, start, start + 2);
        }
        let mut count = piece.len();
        while let Some(Reverse((_, start, end))) = pairs.pop() {
            // one of the two may have become part of another token, or both may be one token already
            let Some(middle) = at(&ends, start).filter(|middle| start < *middle && *middle < end) else { continue };
            if at(&ends, middle) != Some(end) {
                continue;
            }
            count -= 1;
            set(&mut ends, start, end);
            set(&mut ends, middle, 0);
            set(&mut before, end, start);
            if let Some(next) = at(&ends, end) {
                offer(&mut pairs, start, next);
            }
            if start > 0 {
                let first = at(&before, start).unwrap_or(0);
                offer(&mut pairs, first, end);
            }
        }
        count
    }
}

/// The steps of a piece of this length, besides the one for each of its bytes.
fn steps_of(length: usize) -> u64 {
    (length.saturating_sub(SHORT) as u64).saturating_mul(work::STEPS_PER_COMPILED)
}

fn at(list: &[u32], at: u32) -> Option<u32> {
    list.get(at as usize).copied()
}

fn set(list: &mut [u32], at: u32, value: u32) {
    if let Some(slot) = list.get_mut(at as usize) {
        *slot = value;
    }
}

/// The byte-pair encodings of OpenAI's models, by the tables of tiktoken (MIT, licence beside the tables).
const CL100K: &[u8] = include_bytes!("tables/cl100k.tokens");
const O200K: &[u8] = include_bytes!("tables/o200k.tokens");

/// What a piece of a text is, in the encoding of GPT-4 …
const CL100K_PIECES: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
/// … and in that of GPT-4o.
const O200K_PIECES: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
);

static OF_CL100K: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::new(CL100K, CL100K_PIECES, true));
static OF_O200K: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::new(O200K, O200K_PIECES, true));

/// The encoding of GPT-4. A test counts with it, so it can be read.
pub(crate) fn cl100k() -> Option<&'static Encoding> {
    OF_CL100K.as_ref()
}

/// The encoding of GPT-4o. A test counts with it, so it can be read.
pub(crate) fn o200k() -> Option<&'static Encoding> {
    OF_O200K.as_ref()
}

/// The byte-pair encoding that Anthropic has published for Claude (`@anthropic-ai/tokenizer`, MIT, licence beside the table). It is the
/// one of Claude 2; for later models no table is published, and they count somewhat more tokens.
const CLAUDE_TOKENS: &[u8] = include_bytes!("tables/claude.tokens");
/// What a piece of a text is.
const CLAUDE_PIECES: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
/// Texts that are one token each, wherever they stand. None begins with another one.
const CLAUDE_SPECIAL: &[&str] = &["<EOT>", "<META>", "<META_START>", "<META_END>", "<SOS>"];

static CLAUDE: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::new(CLAUDE_TOKENS, CLAUDE_PIECES, false));

/// The number of tokens of a text, and the steps as for [`Encoding::count`].
pub(crate) fn claude_tokens(text: &str) -> (usize, u64) {
    // the table is part of the program and a test counts with it; without it every byte would count
    let Some(encoding) = CLAUDE.as_ref() else { return (text.len(), 0) };
    let whole = normalize(text);
    let (mut total, mut steps, mut rest) = (0, whole.len().saturating_sub(text.len()) as u64, &*whole);
    loop {
        let (before, after) =
            find_special(rest).map_or((rest, None), |(at, special)| (rest.get(..at).unwrap_or(rest), rest.get(at + special.len()..)));
        let (tokens, more) = encoding.count(before);
        (total, steps) = (total + tokens + usize::from(after.is_some()), steps + more);
        match after {
            Some(after) => rest = after,
            None => return (total, steps),
        }
    }
}

/// The text with its compatibility characters replaced (NFKC), as which it is counted.
fn normalize(text: &str) -> Cow<'_, str> {
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

/// The first special token of a text, and where it stands. All of them begin with `<`, so that nothing after the token
/// that is found is looked at, and a text full of them takes one walk.
fn find_special(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        CLAUDE_SPECIAL.iter().find(|special| rest.starts_with(**special)).map(|special| (at, *special))
    })
}
