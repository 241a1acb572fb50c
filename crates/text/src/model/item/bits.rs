//! A small set of field numbers, stored in the item itself. It answers most questions about an item without following a
//! pointer, and a pass over many items asks many of them.

use super::FieldId;

const WORDS: usize = 4;

/// A set of field numbers below 256. For larger numbers it answers that it does not know.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FieldBits([u64; WORDS]);

impl FieldBits {
    /// Whether the number is in the set; `None` if that is not known.
    pub(super) fn has(&self, id: FieldId) -> Option<bool> {
        self.0.get(usize::from(id.0 / 64)).map(|word| word & (1 << (id.0 % 64)) != 0)
    }

    pub(super) fn put(&mut self, id: FieldId, is_in: bool) {
        if let Some(word) = self.0.get_mut(usize::from(id.0 / 64)) {
            let bit = 1 << (id.0 % 64);
            *word = if is_in { *word | bit } else { *word & !bit };
        }
    }

    /// Whether all numbers of `of` are in the set.
    pub(super) fn has_all(&self, of: &Self) -> bool {
        self.0.iter().zip(&of.0).all(|(have, want)| have & want == *want)
    }

    /// Whether any number of `of` is in the set but not in `other`.
    pub(super) fn has_some_without(&self, of: &Self, other: &Self) -> bool {
        self.0.iter().zip(&of.0).zip(&other.0).any(|((have, want), other)| have & want & !other != 0)
    }
}
