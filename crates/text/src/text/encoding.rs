//! Byte-pair encodings by their published tables: each token with its rank. A text is cut into pieces by a pattern, and in
//! each piece the pair of neighbours with the lowest rank is merged until no pair is a token.
//!
//! A piece costs its length times the logarithm of it, whatever it holds.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::OnceLock;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::Pool;
use regex_automata::{Anchored, Input};
use sha2::{Digest as _, Sha256};
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

/// What the automaton of pieces has found out about texts so far, for each thread that counts.
type PieceCaches = Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>;

/// A table of tokens and the pattern of pieces.
pub(crate) struct Encoding {
    table: TokenTable,
    /// Every character begins a piece, so that a piece begins where the last one ends: one walk forward finds its end.
    pieces: DFA,
    caches: PieceCaches,
    /// Blank space that ends in a line break is one piece; other blank space leaves its last character to the next piece.
    lines: bool,
}

impl Encoding {
    /// An encoding of a table that lies as [`TokenTable`] says; `None` if the pattern cannot be read.
    fn new(table: &'static [u8], pieces: &str, lines: bool) -> Option<Self> {
        let pieces = DFA::new(pieces).ok()?;
        let automaton = pieces.clone();
        let caches: PieceCaches = Pool::new(Box::new(move || automaton.create_cache()));
        Some(Self { table: TokenTable::new(table), pieces, caches, lines })
    }

    /// The number of tokens of a text, and the steps that counting long pieces takes besides one for each byte.
    pub(crate) fn count(&self, text: &str) -> (usize, u64) {
        self.pieces(text).fold((0, 0), |(sum, steps), piece| (sum + self.tokens(piece.as_bytes()), steps + steps_of(piece.len())))
    }

    fn pieces<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let (mut at, mut cache) = (0, self.caches.get());
        std::iter::from_fn(move || {
            let rest = Input::new(text).range(at..).anchored(Anchored::Yes);
            let end = self.pieces.try_search_fwd(&mut cache, &rest).ok()??.offset();
            let piece = self.without_lead(text.get(at..end)?, end == text.len());
            at += piece.len();
            Some(piece).filter(|piece| !piece.is_empty())
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

/// What a piece of a text is, in the encoding of GPT-4 …
const CL100K_PIECES: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
/// … and in that of GPT-4o.
const O200K_PIECES: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
);

/// What a piece of a text is for Claude.
const CLAUDE_PIECES: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";

/// An encoding whose table is part of the program (feature `tokens`), or given by it once.
pub(crate) struct KnownEncoding {
    /// What rule files call it.
    name: &'static str,
    embedded: Option<&'static [u8]>,
    /// The SHA-256 of the table: no other is taken.
    digest: &'static str,
    pieces: &'static str,
    lines: bool,
    ready: OnceLock<Encoding>,
}

/// The file of a table, if it is part of the program.
macro_rules! embedded {
    ($file:literal) => {{
        #[cfg(feature = "tokens")]
        let table: Option<&'static [u8]> = Some(include_bytes!($file));
        #[cfg(not(feature = "tokens"))]
        let table: Option<&'static [u8]> = None;
        table
    }};
}

/// The byte-pair encoding of GPT-4, by the table of tiktoken (MIT, licence beside the tables).
pub(crate) static CL100K: KnownEncoding = KnownEncoding {
    name: "cl100k",
    embedded: embedded!("tables/cl100k.tokens"),
    digest: "33fc8c2eb67b12a01a5b9de4c54247e7ccb4f6d15ee64ede245999a5b39bc36b",
    pieces: CL100K_PIECES,
    lines: true,
    ready: OnceLock::new(),
};

/// The byte-pair encoding of GPT-4o, as above.
pub(crate) static O200K: KnownEncoding = KnownEncoding {
    name: "o200k",
    embedded: embedded!("tables/o200k.tokens"),
    digest: "4e47f776dff22342fba09bbe533206aed00c59a2b081972f7d56635b89eba923",
    pieces: O200K_PIECES,
    lines: true,
    ready: OnceLock::new(),
};

/// The byte-pair encoding that Anthropic has published for Claude (`@anthropic-ai/tokenizer`, MIT, licence beside the table). It is the
/// one of Claude 2; for later models no table is published, and they count somewhat more tokens.
pub(crate) static CLAUDE: KnownEncoding = KnownEncoding {
    name: "claude",
    embedded: embedded!("tables/claude.tokens"),
    digest: "4585cc5b98bd38da36fda110ec34ef9f288ba50ad4dcf5d7a626097531b9fc34",
    pieces: CLAUDE_PIECES,
    lines: false,
    ready: OnceLock::new(),
};

impl KnownEncoding {
    /// Whether texts can be counted.
    pub(crate) fn has_table(&self) -> bool {
        self.embedded.is_some() || self.ready.get().is_some()
    }

    /// The encoding, if it has its table.
    pub(crate) fn get(&self) -> Option<&Encoding> {
        match (self.ready.get(), self.embedded) {
            (None, Some(table)) => self.fill(table),
            (ready, _) => ready,
        }
    }

    fn fill(&self, table: &'static [u8]) -> Option<&Encoding> {
        let made = Encoding::new(table, self.pieces, self.lines)?;
        Some(self.ready.get_or_init(|| made))
    }
}

/// Keeps a table until the program ends, and gives the name of its encoding; `None` if there is no such table.
pub(crate) fn give_table(table: &[u8]) -> Option<&'static str> {
    let digest: String = Sha256::digest(table).iter().map(|byte| format!("{byte:02x}")).collect();
    let known = [&CL100K, &O200K, &CLAUDE].into_iter().find(|known| known.digest == digest)?;
    if !known.has_table() {
        known.fill(Box::leak(Box::from(table)))?;
    }
    Some(known.name)
}

/// Texts that are one token each, wherever they stand. None begins with another one.
const CLAUDE_SPECIAL: &[&str] = &["<EOT>", "<META>", "<META_START>", "<META_END>", "<SOS>"];

/// The number of tokens of a text, and the steps as for [`Encoding::count`].
pub(crate) fn claude_tokens(text: &str) -> (usize, u64) {
    // nobody counts without it; every byte would count
    let Some(encoding) = CLAUDE.get() else { return (text.len(), 0) };
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
