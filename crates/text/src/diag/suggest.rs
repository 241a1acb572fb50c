//! "Did you mean": the nearest known word, if it is near enough to be likely.
//!
//! A rule file may hold thousands of unknown words, each of which is compared with thousands of known ones. So the work of
//! all searches of one report is bounded; words beyond it are reported without a suggestion.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Span, limits};

/// The most pairs of characters that the searches of one report may compare.
pub const MOST_LETTERS: u64 = 50_000_000;
/// The most edits between a word and the one that it certainly was meant to be.
const CERTAIN_EDITS: usize = 2;

/// How certain it is that the replacement of a [`Suggestion`] was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Another known word is as near, or the word may be declared instead.
    Possible,
    /// No other known word is near. Where more than the word is written, something else may be meant.
    Alone,
    /// No other known word is near.
    Certain,
}

/// A change that is probably the remedy of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The word that is replaced; empty for a change that is no word.
    pub word: String,
    /// Where it is written, if the change is certain.
    pub span: Option<Span>,
    /// What takes its place.
    pub replacement: String,
    /// How certain it is.
    pub certainty: Certainty,
}

impl Suggestion {
    /// A word that was possibly meant.
    #[must_use]
    pub fn possible(word: &str, replacement: &str) -> Self {
        Self { word: word.to_owned(), span: None, replacement: replacement.to_owned(), certainty: Certainty::Possible }
    }
}

/// The question whether the replacement was meant.
impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "did you mean `{}`?", self.replacement)
    }
}

/// What to do about a diagnostic: a text, and the word that was probably meant, if one is near.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Help {
    /// What is shown.
    pub text: String,
    /// The word that was probably meant. In a box, because few mistakes have one and all carry the help.
    pub suggestion: Option<Box<Suggestion>>,
}

impl Help {
    /// A word that was possibly meant.
    #[must_use]
    pub fn possible(word: &str, replacement: &str) -> Self {
        Suggestion::possible(word, replacement).into()
    }

    /// The same with another text.
    #[must_use]
    pub fn reworded(self, text: impl FnOnce(&str) -> String) -> Self {
        Self { text: text(&self.text), ..self }
    }

    /// The same with what else may have been meant.
    #[must_use]
    pub fn or_else_do(mut self, otherwise: &str) -> Self {
        if let Some(suggestion) = self.suggestion.as_mut().filter(|suggestion| suggestion.certainty == Certainty::Certain) {
            suggestion.certainty = Certainty::Alone;
        }
        self.reworded(|text| format!("{text} {otherwise}"))
    }
}

impl From<Suggestion> for Help {
    fn from(suggestion: Suggestion) -> Self {
        Self { text: suggestion.to_string(), suggestion: Some(Box::new(suggestion)) }
    }
}

impl From<String> for Help {
    fn from(text: String) -> Self {
        Self { text, suggestion: None }
    }
}

impl From<&str> for Help {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Searches known words for those that other words misspell. Clones share the bound of their work.
#[derive(Debug, Clone, Default)]
pub struct WordSearch {
    /// Pairs of characters that have been compared.
    compared: Arc<AtomicU64>,
}

impl WordSearch {
    /// Counts the comparison of two words of so many characters; false if the bound has been reached.
    fn pay(&self, a: usize, b: usize) -> bool {
        // a word that is refused by its length alone costs something too
        let pairs = (a as u64).saturating_mul(b as u64).max(1);
        self.compared.fetch_add(pairs, Ordering::Relaxed).saturating_add(pairs) <= MOST_LETTERS
    }

    /// Whether the bound has been reached, so that nothing more is compared.
    fn is_spent(&self) -> bool {
        self.compared.load(Ordering::Relaxed) >= MOST_LETTERS
    }

    /// The candidate nearest to `word`; `None` if its edit distance is more than a third of the word's length (at least 1).
    #[must_use]
    pub fn nearest<'a>(&self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Suggestion> {
        if self.is_spent() {
            return None;
        }
        let length = word.chars().count();
        let limit = (length / 3).max(1);
        let near: Vec<(usize, &str)> = candidates
            .into_iter()
            .filter_map(|c| {
                // words whose lengths differ by more letters are at least as many edits apart
                let may_be = self.pay(1, 1)
                    && c.len() >= length.saturating_sub(limit)
                    && (length >= limits::QUOTED || c.chars().take(length + limit + 1).count() <= length + limit)
                    && self.pay(length.min(limits::QUOTED), c.len().min(limits::QUOTED));
                let edits = if may_be { distance(word, c) } else { usize::MAX };
                (edits <= limit).then_some((edits, c))
            })
            .collect();
        // another word, which was not compared, may be as near
        if self.is_spent() {
            return None;
        }
        let close: BTreeSet<&str> = near.iter().filter(|(edits, _)| (1..=CERTAIN_EDITS).contains(edits)).map(|(_, known)| *known).collect();
        // of two that are as near, the one that goes on as the word begins
        let begins = |c: &str| word.chars().zip(c.chars()).take_while(|(a, b)| a == b).count();
        let (_, known) = near.iter().min_by(|a, b| a.0.cmp(&b.0).then_with(|| begins(b.1).cmp(&begins(a.1))).then_with(|| a.1.cmp(b.1)))?;
        let is_sole = close.len() == 1 && close.contains(known);
        let certainty = if is_sole { Certainty::Certain } else { Certainty::Possible };
        Some(Suggestion { certainty, ..Suggestion::possible(word, known) })
    }

    /// What to do about an unknown word: the nearest candidate, or all candidates if there are few.
    #[must_use]
    pub fn help<'a>(&self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Help> {
        if self.is_spent() {
            return None;
        }
        let all: Vec<&str> = candidates.into_iter().collect();
        if let Some(near) = self.nearest(word, all.iter().copied()) {
            return Some(near.into());
        }
        let mut few: BTreeSet<&str> = BTreeSet::new();
        let is_few = all.into_iter().all(|word| {
            few.insert(word);
            few.len() <= limits::FEW
        });
        let known = || few.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        (is_few && !few.is_empty()).then(|| format!("known here: {}", known()).into())
    }

    /// The first of the known names that a name misspells, as [`is_misspelt_key`] says.
    #[must_use]
    pub fn misspelt_key<'a>(&self, written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let pays = |known: &&str| self.pay(1, 1) && (!may_be_near(written, known, 2) || self.pay(written.len(), known.len()));
        known.into_iter().take_while(pays).find(|known| is_misspelt_key(written, known))
    }
}

/// As [`WordSearch::nearest`], of one word alone.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Suggestion> {
    WordSearch::default().nearest(word, candidates)
}

/// As [`WordSearch::help`], of one word alone.
#[must_use]
pub fn help<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Help> {
    WordSearch::default().help(word, candidates)
}

/// The shortest name for which [`is_slip`] compares names: shorter ones are often one letter apart on purpose.
const SHORTEST: usize = 6;

/// Whether a name is another one with a slip of the pen: not equal, at most two edits apart, of six letters or more
/// (the slip may have lost one of them), and not only differing in digits or in an ending `s`.
#[must_use]
pub fn is_slip(written: &str, known: &str) -> bool {
    if !may_be_near(written, known, 2) {
        return false;
    }
    // a letter may be lost
    let long = |name: &str, least: usize| name.chars().count() >= least;
    let stem = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let numbered = stem(written) != written || stem(known) != known;
    written != known
        && long(written, SHORTEST - 1)
        && long(known, SHORTEST)
        && !(numbered && stem(written) == stem(known))
        && !differ_in_s(written, known)
        && distance(written, known) <= 2
}

/// Whether a word is another one with one letter lost, doubled, changed, or in the place of its neighbour. The last
/// letter must be the same, because words end differently on purpose, unless it was lost; nor may they differ
/// in letter case or `_` alone.
#[must_use]
pub fn is_slip_of_one(written: &str, known: &str) -> bool {
    if !may_be_near(written, known, 1) {
        return false;
    }
    let bare = |word: &str| word.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect::<String>();
    let same_length = written.chars().count() == known.chars().count();
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let swapped = same_length && sorted(written) == sorted(known);
    let capital = |word: &str| word.starts_with(|c: char| c.is_uppercase());
    let ends = written.chars().last() == known.chars().last()
        && capital(written) == capital(known)
        && !written.starts_with(known)
        && !known.starts_with(written);
    let long = written.chars().count() >= SHORTEST;
    let slipped = swapped || (ends && (!same_length || long)) || lost_last(written, known);
    distance(written, known) == 1 && bare(written) != bare(known) && slipped
}

/// Whether a word of five letters or more is another one without its last letter, and is not likely a word of its own, as
/// those are to which a letter was added: `place` and `places`, `placed`, `placer`; `show` and `shown`; `local` and `locale`.
fn lost_last(written: &str, known: &str) -> bool {
    let mut rest = known.strip_prefix(written).unwrap_or_default().chars();
    let (Some(last), None) = (rest.next(), rest.next()) else { return false };
    let is_added = match last {
        'd' | 'n' | 'r' => written.ends_with(['e', 'w']),
        'e' => written.ends_with("al"),
        _ => matches!(last, 's' | 'y') || !last.is_lowercase(),
    };
    !is_added && written.chars().count() >= SHORTEST - 1
}

/// As [`is_slip`] says for long names, or [`is_slip_of_one`] for those of three letters and more.
fn is_misspelt(written: &str, known: &str) -> bool {
    let long = |name: &str| name.chars().count() >= 3;
    let digits = |name: &str| name.chars().any(|c| c.is_ascii_digit());
    is_slip(written, known) || (long(written) && long(known) && !digits(written) && !digits(known) && is_slip_of_one(written, known))
}

/// Whether a name that is defined nowhere is a known one with a slip: two edits in a long name, one in a name of three
/// letters and more, or one changed letter of four and more.
#[must_use]
pub fn is_misspelt_key(written: &str, known: &str) -> bool {
    if !may_be_near(written, known, 2) {
        return false;
    }
    let fits = |name: &str| name.chars().count() >= 4 && !name.chars().any(|c| c.is_ascii_digit());
    let ends = written.chars().count() != known.chars().count() || written.chars().last() == known.chars().last();
    is_misspelt(written, known) || (fits(written) && fits(known) && ends && !differ_in_s(written, known) && distance(written, known) == 1)
}

/// Whether one word is the other one with an `s` behind it.
#[must_use]
pub fn differ_in_s(a: &str, b: &str) -> bool {
    a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a)
}

/// Whether the lengths of two words allow so many edits between them.
fn may_be_near(a: &str, b: &str, edits: usize) -> bool {
    // a letter takes up to four bytes
    a.len().abs_diff(b.len()) <= edits * 4 && a.chars().count().abs_diff(b.chars().count()) <= edits
}

/// Whether a word is one edit away from another one.
#[must_use]
pub fn is_one_off(written: &str, known: &str) -> bool {
    // the letters between the ends that both have in common: of neither more than two in each other's place, or one
    let (a, b) = (written.as_bytes(), known.as_bytes());
    if a.is_ascii() && b.is_ascii() && a.len().max(b.len()) <= limits::QUOTED {
        let same = |(a, b): &(&u8, &u8)| a.eq_ignore_ascii_case(b);
        let start = a.iter().zip(b).take_while(same).count();
        let end = a.iter().rev().zip(b.iter().rev()).take_while(same).count().min(a.len().min(b.len()) - start);
        let rest = (a.get(start..a.len() - end), b.get(start..b.len() - end));
        return match rest {
            (Some([_]), Some([] | [_])) | (Some([]), Some([_])) => true,
            (Some([a, b]), Some([c, d])) => a.eq_ignore_ascii_case(d) && b.eq_ignore_ascii_case(c),
            _ => false,
        };
    }
    may_be_near(written, known, 1) && distance(written, known) == 1
}

/// The edit distance of the letters that messages quote, where swapping two neighbours counts as one edit (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let letters = |word: &str| word.chars().flat_map(char::to_lowercase).take(limits::QUOTED).collect::<String>();
    strsim::osa_distance(&letters(a), &letters(b))
}
