//! How the words of keys are looked up, cached across items, rounds and builds: the matcher for a word is determined
//! once, as long as it depends on the word alone.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::diag::limits;
use crate::text::keys::SearchKey;
use crate::text::work;

use super::{MatchProfile, SearchedTexts};

/// How a word is looked up.
#[derive(Debug, Clone)]
pub(super) enum LookupMethod {
    /// In every text.
    Any,
    /// In no text.
    Never,
    /// As a key, in the texts of the lookup of that number.
    Key(usize, SearchKey, SearchedTexts),
}

/// What is remembered: for each profile, by word.
#[derive(Debug, Default)]
pub(super) struct WordCache {
    known: Mutex<CachedWords>,
}

/// How a word is looked up, and the work of finding that out.
type KnownLookup = (LookupMethod, (u64, u64));

#[derive(Debug, Default)]
struct CachedWords {
    ways: FxHashMap<MatchProfile, FxHashMap<Arc<str>, KnownLookup>>,
    bytes: usize,
}

impl WordCache {
    /// How a word is looked up, and the work of finding that out, which a build pays whether it is known or not.
    pub(super) fn get(&self, profile: &MatchProfile, word: &str) -> Option<KnownLookup> {
        // a poisoned lock only means that another build panicked; each entry is complete
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.ways.get(profile)?.get(word).cloned()
    }

    pub(super) fn put(&self, profile: &MatchProfile, word: Arc<str>, way: LookupMethod, cost: (u64, u64)) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = 2 * word.len() + work::BYTES_PER_VALUE;
        if known.bytes + bytes > limits::CACHE_BYTES {
            *known = CachedWords::default();
        }
        if bytes <= limits::CACHE_BYTES {
            known.bytes += bytes;
            known.ways.entry(profile.clone()).or_default().insert(word, (way, cost));
        }
    }
}
