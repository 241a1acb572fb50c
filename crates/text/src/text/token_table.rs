//! A table of tokens: in the program lie the tokens in the order of their ranks, which packages hold compressed; where each
//! of them is found is worked out at its first use.
//!
//! First the number of tokens, in four bytes, little-endian, then the length of each (seven bits in a byte, the lowest first;
//! all but the last byte have the eighth bit), then their bytes. A test writes the tables from what was published
//! (`tests/all/token_tables.rs`).

/// The bits of a slot that are the rank; the others are those of the hash.
const RANK_BITS: u32 = 18;
const RANK: u32 = (1 << RANK_BITS) - 1;
const EMPTY: u32 = u32::MAX;

/// Tokens with their ranks.
pub(crate) struct TokenTable {
    tokens: &'static [u8],
    /// Where each token begins, by rank, and where the last one ends.
    starts: Vec<u32>,
    /// Each rank in the first slot that was empty from that of its token's hash on. One in five at least stays empty.
    slots: Vec<u32>,
}

impl TokenTable {
    /// The table in these bytes. One that has less than it says has fewer tokens.
    pub(crate) fn new(bytes: &'static [u8]) -> Self {
        let (count, mut rest) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let count = u32::from_le_bytes(*count).min(RANK) as usize;
        let mut starts = Vec::with_capacity(count + 1);
        let mut end = 0;
        starts.push(end);
        for _ in 0..count {
            let Some(length) = read_length(&mut rest) else { break };
            end += length;
            starts.push(end);
        }
        let slots = vec![EMPTY; (count + count / 4 + 1).next_power_of_two()];
        let mut table = Self { tokens: rest, starts, slots };
        for rank in 0..RANK {
            let Some(token) = table.token(rank) else { break };
            let hash = hash(token);
            let slot = table.slots_from(hash).find(|(_, held)| *held == EMPTY).map(|(slot, _)| slot);
            if let Some(slot) = slot.and_then(|slot| table.slots.get_mut(slot)) {
                *slot = tag(hash) | rank;
            }
        }
        table
    }

    /// The rank of a token; `None` if there is no such token.
    pub(crate) fn rank(&self, token: &[u8]) -> Option<u32> {
        let hash = hash(token);
        self.slots_from(hash)
            .map(|(_, held)| held)
            .take_while(|held| *held != EMPTY)
            .filter(|held| held & !RANK == tag(hash))
            .map(|held| held & RANK)
            .find(|rank| self.token(*rank) == Some(token))
    }

    fn token(&self, rank: u32) -> Option<&'static [u8]> {
        let (start, end) = (self.starts.get(rank as usize)?, self.starts.get(rank as usize + 1)?);
        self.tokens.get(*start as usize..*end as usize)
    }

    /// All slots with what they hold, in the order in which a token with this hash looks at them.
    fn slots_from(&self, hash: u64) -> impl Iterator<Item = (usize, u32)> {
        let (mask, first) = (self.slots.len() as u64 - 1, hash);
        (0..=mask).filter_map(move |n| {
            let slot = usize::try_from(first.wrapping_add(n) & mask).ok()?;
            Some((slot, *self.slots.get(slot)?))
        })
    }
}

/// The bits of a hash that stand in a slot.
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !RANK
}

fn read_length(bytes: &mut &[u8]) -> Option<u32> {
    let (mut length, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        length |= u32::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if *byte < 0x80 {
            return Some(length);
        }
    }
}

/// The hash of a token: of eight bytes at a time, the last of them filled up with zeros.
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
