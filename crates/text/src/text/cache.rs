//! A cache of values that were compiled from texts.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::work;

/// The most entries, and the most bytes of their texts; the cache is emptied when either is exceeded.
const MOST: (usize, usize) = (64, 4 << 20);

/// Compiled values by their text.
pub(crate) struct Cache<T>(Mutex<CacheStore<T>>);

struct CacheStore<T> {
    made: FxHashMap<Box<str>, Arc<T>>,
    bytes: usize,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::new(CacheStore { made: FxHashMap::default(), bytes: 0 }))
    }
}

impl<T> Cache<T> {
    /// The value of `text` from the cache, or the result of `make`. A failure is not kept.
    pub(crate) fn get<E>(&self, text: &str, make: impl FnOnce(&str) -> Result<T, E>) -> Result<Arc<T>, E> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).made.get(text).cloned();
        if let Some(known) = known.filter(|_| work::takes_shortcuts()) {
            return Ok(known);
        }
        let made = Arc::new(make(text)?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.made.len() >= MOST.0 || kept.bytes + text.len() > MOST.1 {
            kept.made.clear();
            kept.bytes = 0;
        }
        if kept.made.insert(text.into(), made.clone()).is_none() {
            kept.bytes += text.len();
        }
        Ok(made)
    }
}
