//! What was compiled from a text and is likely to be asked for again.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// How much is kept; then it begins anew.
const MOST: usize = 64;

/// Compiled things by the text that they were made of.
pub(crate) struct Kept<T>(Mutex<FxHashMap<Box<str>, Arc<T>>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// What was made of `text`, or what `make` makes of it now. A failure is not kept.
    pub(crate) fn get<E>(&self, text: &str, make: impl FnOnce(&str) -> Result<T, E>) -> Result<Arc<T>, E> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let made = Arc::new(make(text)?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(text.into(), made.clone());
        Ok(made)
    }
}
