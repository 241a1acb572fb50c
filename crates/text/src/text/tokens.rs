//! Token counts: the length of a text for a model, exact or estimated, and counted once for each content.
//!
//! An [`Estimator`] is named in a rule file; a [`TokenCounter`] is an estimator with a cache, shared by all threads of a
//! build. A counter charges the budget with what counting takes, because a long text without blanks costs much more than its
//! length.

use std::cell::RefCell;
use std::mem::Discriminant;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::js;
use super::work::{self, BudgetExceeded};
use crate::diag::limits;

/// The estimators a rule file may name.
pub const KNOWN: &str = "`cl100k`, `o200k`, `claude`, `words`, `chars/N`, `bytes/N`, `estimate/N/W`";

/// A way to measure a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimator {
    /// The byte-pair encoding of GPT-4.
    Cl100k,
    /// The byte-pair encoding of GPT-4o.
    O200k,
    /// The byte-pair encoding that was published for Claude 2.
    Claude,
    /// UTF-16 length divided by a number, rounded up.
    CharsPer(f64),
    /// UTF-8 length divided by a number, rounded up.
    BytesPer(f64),
    /// Runs of anything but JavaScript's white space.
    Words,
    /// Tokens for each character, and for each character of Chinese, Japanese and Korean, rounded up. For models whose own
    /// table cannot be shipped; its name says that it is an estimate.
    Estimate {
        /// Tokens for each other character.
        narrow: f64,
        /// Tokens for each character of Chinese, Japanese and Korean.
        wide: f64,
    },
}

impl Estimator {
    /// Reads an estimator's name: one of [`KNOWN`], where N and W are numbers above 0 (`chars/3.35`).
    ///
    /// # Errors
    /// A sentence that says what is wrong, also when the exact encodings are not compiled in.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "cl100k" => exact(Estimator::Cl100k, name),
            "o200k" => exact(Estimator::O200k, name),
            "claude" => exact(Estimator::Claude, name),
            "words" => Ok(Estimator::Words),
            "chars" => Ok(Estimator::CharsPer(1.0)),
            "bytes" => Ok(Estimator::BytesPer(1.0)),
            _ => {
                if let Some(n) = name.strip_prefix("chars/") {
                    divisor(n).map(Estimator::CharsPer)
                } else if let Some(n) = name.strip_prefix("bytes/") {
                    divisor(n).map(Estimator::BytesPer)
                } else if let Some((narrow, wide)) = name.strip_prefix("estimate/").and_then(|rest| rest.split_once('/')) {
                    Ok(Estimator::Estimate { narrow: divisor(narrow)?, wide: divisor(wide)? })
                } else {
                    Err(format!("no estimator is named `{name}`; there are {KNOWN}"))
                }
            }
        }
    }

    /// The size of `text` in this estimator's tokens. Nothing is charged for it; a [`TokenCounter`] charges.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        if self.is_exact() { parts(text).map(|part| encoded(self, part).0).sum() } else { self.estimate(text) }
    }

    /// The size of a text without a table of tokens.
    fn estimate(self, text: &str) -> usize {
        match self {
            Estimator::CharsPer(n) => divided(js::length(text), n),
            Estimator::BytesPer(n) => divided(text.len(), n),
            Estimator::Words => text.split(js::is_space).filter(|w| !w.is_empty()).count(),
            Estimator::Estimate { narrow, wide } => estimated(text, narrow, wide),
            Estimator::Cl100k | Estimator::O200k | Estimator::Claude => text.len(),
        }
    }

    /// Whether counting uses a large table, so that caching a count is worthwhile.
    fn is_exact(self) -> bool {
        matches!(self, Estimator::Cl100k | Estimator::O200k | Estimator::Claude)
    }
}

fn divisor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err(format!("`{text}` is not a number above 0")),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "texts are far below 2^52 units; the cast saturates"
)]
fn divided(units: usize, n: f64) -> usize {
    (units as f64 / n).ceil() as usize
}

/// Whether most tokenizers know a character as a token of its own or split it: ideographs, kana, hangul, full-width forms.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{A4CF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "texts are far below 2^52 characters; the cast saturates"
)]
fn estimated(text: &str, narrow: f64, wide: f64) -> usize {
    let (mut narrows, mut wides) = (0usize, 0usize);
    text.chars().for_each(|c| if is_wide(c) { wides += 1 } else { narrows += 1 });
    (narrows as f64 * narrow + wides as f64 * wide).ceil() as usize
}

#[cfg(feature = "tokens-given")]
fn exact(estimator: Estimator, name: &str) -> Result<Estimator, String> {
    let complaint = || format!("`{name}` needs its table of tokens, which this program was not given; use `chars/N`, `bytes/N` or `words`");
    encoding(estimator).has_table().then_some(estimator).ok_or_else(complaint)
}

#[cfg(not(feature = "tokens-given"))]
fn exact(_estimator: Estimator, name: &str) -> Result<Estimator, String> {
    Err(format!("`{name}` needs the feature `tokens`, which this build lacks; use `chars/N`, `bytes/N` or `words`"))
}

/// Keeps a table of tokens (a file of `crates/text/src/text/tables`) until the program ends, for a build that does not embed
/// it, and gives the name of its encoding; `None` if it is not one that this version counts with.
#[cfg(feature = "tokens-given")]
#[must_use]
pub fn give_table(table: &[u8]) -> Option<&'static str> {
    super::encoding::give_table(table)
}

#[cfg(feature = "tokens-given")]
fn encoding(estimator: Estimator) -> &'static super::encoding::KnownEncoding {
    match estimator {
        Estimator::Cl100k => &super::encoding::CL100K,
        Estimator::Claude => &super::encoding::CLAUDE,
        _ => &super::encoding::O200K,
    }
}

/// The tokens of a part of a text, and the steps that counting it takes.
#[cfg(feature = "tokens-given")]
fn encoded(estimator: Estimator, text: &str) -> (usize, u64) {
    let (count, more) = if estimator == Estimator::Claude {
        super::encoding::claude_tokens(text)
    } else {
        // without its table every byte would count
        encoding(estimator).get().map_or((text.len(), 0), |encoding| encoding.count(text))
    };
    (count, more.saturating_add(text.len() as u64))
}

#[cfg(not(feature = "tokens-given"))]
fn encoded(_estimator: Estimator, text: &str) -> (usize, u64) {
    // only reached by a program that constructs the variant itself
    (divided(text.len(), 4.0), text.len() as u64)
}

/// The longest text that is counted at once: what counting takes in memory is a multiple of it.
const LONGEST: usize = 1 << 20;

/// A text in parts that are counted one after another. A part ends in front of a blank behind which a word begins, where
/// tokens end too; only a text of that length without one may count a token more.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, more) = if rest.len() <= LONGEST {
            (rest, "")
        } else {
            let most = rest.get(..rest.floor_char_boundary(LONGEST)).unwrap_or(rest);
            let bytes = rest.as_bytes();
            let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
            let end = most.rmatch_indices(' ').map(|(at, _)| at).find(|at| is_word(at + 1) && is_word(at.wrapping_sub(1)));
            rest.split_at_checked(end.unwrap_or(most.len())).unwrap_or((rest, ""))
        };
        rest = more;
        (!part.is_empty()).then_some(part)
    })
}

/// Texts shorter than this are counted faster than they are looked up.
const SHORT: usize = 32;
/// The most tokens for a byte of a text: for Claude, a character of three bytes may count as one of 33.
const MOST_FOR_A_BYTE: usize = 11;

/// The place of a text in memory, and which table counted it.
type TextPlace = (usize, Discriminant<Estimator>);
/// A text, its size, and what counting it costs.
type CountedText = (Arc<str>, usize, u64);

/// Counts of one build by the places of their texts, which are kept so that no other text takes their place: several passes
/// ask for the cost of the same message.
#[derive(Debug, Default)]
pub struct PlaceCounts(RefCell<FxHashMap<TextPlace, CountedText>>);

/// A count, when what counting takes has been charged, in steps.
fn charged(count: usize, steps: u64) -> Result<(usize, u64), BudgetExceeded> {
    work::spend(steps)?;
    Ok((count, steps))
}

/// An estimator that caches its counts by content.
#[derive(Debug)]
pub struct TokenCounter {
    estimator: Estimator,
    /// The counts of texts and what they cost, by the hash of the text.
    known: Mutex<FxHashMap<[u8; 16], (usize, u64)>>,
}

impl TokenCounter {
    /// A counter with an empty cache.
    #[must_use]
    pub fn new(estimator: Estimator) -> Self {
        Self { estimator, known: Mutex::default() }
    }

    /// Its estimator.
    #[must_use]
    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// The size of `text`; the largest size that a text of its length may have, if counting it would exceed a bound of the
    /// work. Then the next step of the call fails too. Whoever can fail uses [`TokenCounter::counted`].
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        self.counted(text).unwrap_or_else(|_| text.len().saturating_mul(MOST_FOR_A_BYTE))
    }

    /// The size of `text`. It costs the same whether it is known from an earlier time or not.
    ///
    /// # Errors
    /// A bound of the work is reached. The text is not counted to its end.
    pub fn counted(&self, text: &str) -> Result<usize, BudgetExceeded> {
        self.measured(text).map(|(count, _)| count)
    }

    /// The same for a text that a build may ask for again, which is not even hashed then.
    ///
    /// # Errors
    /// As for [`TokenCounter::counted`].
    pub fn counted_again(&self, text: &Arc<str>, counts: &PlaceCounts) -> Result<usize, BudgetExceeded> {
        if !self.remembers(text) {
            return self.counted(text);
        }
        let place = (Arc::as_ptr(text).cast::<u8>().addr(), std::mem::discriminant(&self.estimator));
        if let Some((_, count, cost)) = counts.0.borrow().get(&place) {
            return charged(*count, *cost).map(|(count, _)| count);
        }
        let (count, cost) = self.measured(text)?;
        let mut known = counts.0.borrow_mut();
        // passes walk the same list in the same order: emptied, it would never hold the text that is asked for next
        if known.len() < limits::RECORDED {
            known.insert(place, (text.clone(), count, cost));
        }
        Ok(count)
    }

    /// The size of a text, and the steps that counting it takes, which are charged.
    fn measured(&self, text: &str) -> Result<(usize, u64), BudgetExceeded> {
        let key = self.remembers(text).then(|| key_of(text));
        if let Some((count, steps)) = key.as_ref().and_then(|key| self.recall(key)) {
            return charged(count, steps);
        }
        if !self.estimator.is_exact() {
            return charged(self.estimator.estimate(text), text.len() as u64 / 8);
        }
        let (mut count, mut steps) = (0, 0);
        for part in parts(text) {
            let (tokens, more) = encoded(self.estimator, part);
            charged(tokens, more)?;
            (count, steps) = (count + tokens, steps + more);
        }
        if let Some(key) = key {
            self.remember(key, count, steps);
        }
        Ok((count, steps))
    }

    fn remembers(&self, text: &str) -> bool {
        text.len() >= SHORT && self.estimator.is_exact()
    }

    fn recall(&self, key: &[u8; 16]) -> Option<(usize, u64)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn remember(&self, key: [u8; 16], count: usize, cost: u64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= limits::ELEMENTS {
            known.clear();
        }
        known.insert(key, (count, cost));
    }
}

/// The first half of the content's blake3 hash, for which nobody can construct two texts with the same value.
fn key_of(text: &str) -> [u8; 16] {
    let mut key = [0; 16];
    for (to, from) in key.iter_mut().zip(blake3::hash(text.as_bytes()).as_bytes()) {
        *to = *from;
    }
    key
}
