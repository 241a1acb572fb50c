//! A cache of what sets of keys found in texts, by content: in a chat that is built repeatedly, only the new messages
//! are searched.
//!
//! It has two halves. Entries in use are in the young half; when that is full, it becomes the old half, and the
//! previous old half is dropped. So memory is bounded, and entries that every build uses stay.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::text::shortcuts;

/// Bytes that each half may hold.
const MOST: usize = 32 << 20;
/// The approximate overhead of one text, in bytes.
const OVERHEAD: usize = 128;

/// The first occurrence of a key in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyOccurrence {
    /// The number of the key in its set.
    pub(super) key: u32,
    /// First byte.
    pub(super) start: usize,
    /// The end, exclusive.
    pub(super) end: usize,
}

/// What a set of keys found in a text.
#[derive(Debug, Default)]
pub(super) struct KeyOccurrences {
    /// The first find of each key.
    pub(super) first: Box<[KeyOccurrence]>,
    /// The text was searched to its end.
    pub(super) whole: bool,
    /// What the search took, in steps of the work of a build: a build pays it also if the search was made before.
    pub(super) steps: u64,
}

/// The cache, shared by the builds of a ruleset.
#[derive(Debug, Default)]
pub(super) struct OccurrenceCache {
    halves: Mutex<CacheHalves>,
}

#[derive(Debug, Default)]
struct CacheHalves {
    young: CacheHalf,
    old: CacheHalf,
}

/// By the number of the set, then by text; hashed with a secret, since texts come from outside.
#[derive(Debug, Default)]
struct CacheHalf {
    sets: FxHashMap<u64, HashMap<Arc<str>, Arc<KeyOccurrences>>>,
    bytes: usize,
}

impl OccurrenceCache {
    /// The finds of the set in each of the texts; `search` is called for those that are not cached.
    pub(super) fn get(&self, set: u64, texts: &[Arc<str>], search: impl Fn(&str) -> KeyOccurrences) -> Vec<Arc<KeyOccurrences>> {
        // a poisoned lock only means that another build stopped; each entry is whole
        let known: Vec<_> = {
            let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
            texts.iter().map(|text| halves.get(set, text).filter(|_| shortcuts::are_on())).collect()
        };
        // the lock is free while texts are searched
        let mut new = Vec::new();
        let mut all = Vec::with_capacity(texts.len());
        for (text, known) in texts.iter().zip(known) {
            all.push(known.unwrap_or_else(|| {
                let made = Arc::new(search(text));
                new.push((text, made.clone()));
                made
            }));
        }
        if !new.is_empty() {
            let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
            for (text, made) in new {
                halves.put(set, text.clone(), made);
            }
        }
        all
    }
}

impl CacheHalves {
    fn get(&mut self, set: u64, text: &Arc<str>) -> Option<Arc<KeyOccurrences>> {
        if let Some(found) = self.young.sets.get(&set).and_then(|texts| texts.get(text)) {
            return Some(found.clone());
        }
        let (text, found) = self.old.sets.get_mut(&set)?.remove_entry(text)?;
        self.put(set, text, found.clone());
        Some(found)
    }

    fn put(&mut self, set: u64, text: Arc<str>, found: Arc<KeyOccurrences>) {
        let bytes = text.len() + found.first.len() * size_of::<KeyOccurrence>() + OVERHEAD;
        if bytes > MOST {
            return;
        }
        if self.young.bytes + bytes > MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += bytes;
        self.young.sets.entry(set).or_default().insert(text, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(memory: &OccurrenceCache, text: &str) -> bool {
        let searched = std::cell::Cell::new(false);
        memory.get(1, &[text.into()], |_| {
            searched.set(true);
            KeyOccurrences::default()
        });
        !searched.get()
    }

    #[test]
    fn a_text_is_searched_once_for_each_set() {
        let memory = OccurrenceCache::default();
        assert!(!found(&memory, "a"));
        assert!(found(&memory, "a"));
        let searched = std::cell::Cell::new(0);
        memory.get(2, &["a".into(), "b".into()], |_| {
            searched.set(searched.get() + 1);
            KeyOccurrences::default()
        });
        assert_eq!(searched.get(), 2);
    }

    #[test]
    fn what_is_asked_for_stays_and_the_rest_is_forgotten() {
        let memory = OccurrenceCache::default();
        let large = |letter: &str| letter.repeat(MOST / 2);
        assert!(!found(&memory, "kept"));
        for letter in ["a", "b", "c", "d", "e", "f"] {
            assert!(!found(&memory, &large(letter)));
            assert!(found(&memory, "kept"));
        }
        assert!(!found(&memory, &large("a")));
        let halves = memory.halves.lock().unwrap();
        assert!(halves.young.bytes <= MOST && halves.old.bytes <= MOST);
    }
}
