//! A table of tokens that is searched as it lies in the program: reading it at the start would take longer than most builds.
//!
//! All numbers have four bytes, little-endian. First the number of buckets (a power of two), then for each bucket where it
//! ends, in bytes behind these numbers, then the tokens by bucket: `rank << 12 | length`, and the bytes. A test writes the
//! tables from what was published (`tests/all/token_tables.rs`).

/// The bits of the number in front of a token that are its length.
const LENGTH_BITS: u32 = 12;

/// Tokens with their ranks.
pub(crate) struct TokenTable {
    /// Where each bucket ends; in front of the first, where it begins.
    ends: &'static [u8],
    tokens: &'static [u8],
    /// The number of buckets less one.
    mask: u64,
}

impl TokenTable {
    /// The table in these bytes. One that has less than it says finds fewer tokens.
    pub(crate) fn new(bytes: &'static [u8]) -> Self {
        let buckets = number(bytes, 0).unwrap_or(1).max(1);
        let (ends, tokens) = bytes.split_at_checked(4 + 4 * buckets as usize).unwrap_or_default();
        Self { ends, tokens, mask: u64::from(buckets - 1) }
    }

    /// The rank of a token; `None` if there is no such token.
    pub(crate) fn rank(&self, token: &[u8]) -> Option<u32> {
        let bucket = 4 * usize::try_from(hash(token) & self.mask).ok()?;
        let start = if bucket == 0 { 0 } else { number(self.ends, bucket)? };
        let mut bucket = self.tokens.get(start as usize..number(self.ends, bucket + 4)? as usize)?;
        while let Some((head, rest)) = bucket.split_first_chunk() {
            let head = u32::from_le_bytes(*head);
            let (known, rest) = rest.split_at_checked((head & ((1 << LENGTH_BITS) - 1)) as usize)?;
            if known == token {
                return Some(head >> LENGTH_BITS);
            }
            bucket = rest;
        }
        None
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

/// The hash whose low bits are the number of the bucket: of eight bytes at a time, the last of them filled up with zeros.
fn hash(token: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    };
    let (words, rest) = token.as_chunks();
    let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let whole = words.iter().fold(token.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(whole, last)
}
