//! Byte-pair encodings by their published tables: each token with its rank. A text is cut into pieces by a pattern, and in
//! each piece the pair of neighbours with the lowest rank is merged until no pair is a token.
//!
//! The tables are compressed and are read on first use. A piece costs its length times the logarithm of it, whatever it
//! holds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use rustc_hash::FxHashMap;

/// The length of a table that is read, in bytes.
const MAX_TABLE: u64 = 16 << 20;
/// The rank of a pair that is not a token.
const NONE: u32 = u32::MAX;

/// A table of tokens and the pattern of pieces.
pub(crate) struct Encoding {
    ranks: FxHashMap<Vec<u8>, u32>,
    pieces: Regex,
    /// Blank space that ends in a line break is one piece; other blank space leaves its last character to the next piece.
    lines: bool,
}

impl Encoding {
    /// Reads a table: on each line a token in base64, and its rank if the lines are not in the order of ranks. `None` if it
    /// cannot be read.
    pub(crate) fn read(table: &[u8], pieces: &str, lines: bool) -> Option<Self> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(table).take(MAX_TABLE).read_to_string(&mut text).ok()?;
        let mut ranks = FxHashMap::default();
        ranks.reserve(text.len() / 16);
        for (n, line) in text.lines().enumerate() {
            let (token, rank) = line.split_once(' ').map_or((line, None), |(token, rank)| (token, Some(rank)));
            let rank = rank.map_or_else(|| u32::try_from(n).ok(), |rank| rank.parse().ok())?;
            ranks.insert(STANDARD.decode(token).ok()?, rank);
        }
        Some(Self { ranks, pieces: Regex::new(pieces).ok()?, lines })
    }

    /// The number of tokens of a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.pieces(text).map(|piece| self.tokens(piece.as_bytes())).sum()
    }

    /// The number of tokens, if it is at most `limit`.
    pub(crate) fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        self.pieces(text).try_fold(0usize, |sum, piece| Some(sum + self.tokens(piece.as_bytes())).filter(|sum| *sum <= limit))
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
        bytes.and_then(|bytes| self.ranks.get(bytes)).copied().unwrap_or(NONE)
    }

    /// The number of tokens of one piece.
    fn tokens(&self, piece: &[u8]) -> usize {
        if piece.len() < 2 || self.ranks.contains_key(piece) {
            return piece.len().min(1);
        }
        // of the part that begins at an index: where it ends (0 if no part begins there), and where the part before begins
        let mut ends: Vec<usize> = (1..=piece.len()).collect();
        let mut before: Vec<usize> = (0..=piece.len()).map(|n| n.saturating_sub(1)).collect();
        let mut pairs: BinaryHeap<Reverse<(u32, usize, usize, usize)>> = BinaryHeap::with_capacity(piece.len());
        let offer = |pairs: &mut BinaryHeap<_>, start: usize, middle: usize, end: usize| {
            let rank = self.rank(piece.get(start..end));
            if rank != NONE {
                pairs.push(Reverse((rank, start, middle, end)));
            }
        };
        for start in 0..piece.len() - 1 {
            offer(&mut pairs, start, start + 1, start + 2);
        }
        let mut count = piece.len();
        while let Some(Reverse((_, start, middle, end))) = pairs.pop() {
            // one of the two may have become part of another token
            if ends.get(start) != Some(&middle) || ends.get(middle) != Some(&end) {
                continue;
            }
            count -= 1;
            set(&mut ends, start, end);
            set(&mut ends, middle, 0);
            set(&mut before, end, start);
            if let Some(next) = ends.get(end).copied() {
                offer(&mut pairs, start, end, next);
            }
            if start > 0 {
                let first = before.get(start).copied().unwrap_or(0);
                offer(&mut pairs, first, start, end);
            }
        }
        count
    }
}

fn set(list: &mut [usize], at: usize, value: usize) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}
