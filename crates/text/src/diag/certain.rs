//! Which words were certainly meant: what [`suggest`](super::suggest) found for each word, while something is recorded.
//!
//! A suggestion may be one of several near words. A change is made without asking only where there was no other one.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::MEANT;

thread_local! {
    /// What is known of the words that were looked up; `None` outside of [`recorded`].
    static SEEN: RefCell<Option<WordLookups>> = const { RefCell::new(None) };
}

/// The most words of which [`recorded`] remembers what they were taken for.
const MOST: usize = 10_000;
/// The most edits between a word and the one that it certainly was meant to be.
const EDITS: usize = 2;

/// Words that were looked up while something ran, with all answers that they got.
#[derive(Debug, Default)]
pub struct WordLookups(HashMap<String, BTreeSet<Option<String>>>);

impl WordLookups {
    /// What a word was certainly meant to be: every time that it was looked up, one and the same known word was at most two
    /// edits away, and no other one.
    pub fn sole(&self, word: &str) -> Option<&str> {
        let answers = self.0.get(word)?;
        if answers.len() > 1 {
            return None;
        }
        answers.first()?.as_deref()
    }
}

/// Remembers what is near to a word, with the numbers of edits.
pub(super) fn remember(word: &str, near: &[(usize, &str)]) {
    SEEN.with_borrow_mut(|seen| {
        let Some(WordLookups(seen)) = seen else { return };
        if seen.len() >= MOST && !seen.contains_key(word) {
            return;
        }
        let close: BTreeSet<&str> = near.iter().filter(|(edits, _)| (1..=EDITS).contains(edits)).map(|(_, known)| *known).collect();
        let sole = close.first().filter(|_| close.len() == 1).map(|known| (*known).to_owned());
        seen.entry(word.to_owned()).or_default().insert(sole);
    });
}

/// Remembers, while `run` runs, what each word was nearest to.
pub fn recorded<T>(run: impl FnOnce() -> T) -> (T, WordLookups) {
    let outer = SEEN.replace(Some(WordLookups::default()));
    let result = run();
    let seen = SEEN.replace(outer).unwrap_or_default();
    (result, seen)
}

/// The word that a remedy names as the one that was probably meant.
pub fn named(help: &str) -> Option<&str> {
    let (word, _) = help.split_once(MEANT)?.1.split_once("`?")?;
    Some(word)
}
