//! "Did you mean": the nearest known word, if it is near enough to be likely.
//!
//! A rule file may hold thousands of unknown words, each of which is compared with thousands of known ones. So the work of
//! all comparisons of one load is bounded; words beyond it are reported without a suggestion.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::MEANT;

/// The most pairs of letters that the suggestions of one load may compare.
pub const MOST_LETTERS: u64 = 50_000_000;

thread_local! {
    /// How many pairs of letters may still be compared; `None` outside of [`bounded`], where each word is counted alone.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Counts the work of all suggestions together until it is dropped.
#[must_use]
pub struct SuggestionBudget(Option<u64>);

/// Begins to count the work of suggestions; inside of another such scope, that one goes on.
pub fn bounded() -> SuggestionBudget {
    let before = LEFT.get();
    LEFT.set(Some(before.unwrap_or(MOST_LETTERS)));
    SuggestionBudget(before)
}

impl Drop for SuggestionBudget {
    fn drop(&mut self) {
        LEFT.set(self.0.and(LEFT.get()));
    }
}

/// Pays for comparing two words of so many letters; false if the bound has been reached.
fn pay(a: usize, b: usize) -> bool {
    let Some(left) = LEFT.get() else { return true };
    // a word that is refused by its length alone costs something too
    let rest = left.checked_sub((a as u64).saturating_mul(b as u64).max(1));
    LEFT.set(Some(rest.unwrap_or(0)));
    rest.is_some()
}

/// Whether the bound has been reached, so that nothing more is compared.
fn is_spent() -> bool {
    LEFT.get() == Some(0)
}

/// The candidate nearest to `word`; `None` if its edit distance is more than a third of the word's length (at least 1).
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if is_spent() {
        return None;
    }
    let length = word.chars().count();
    let limit = (length / 3).max(1);
    let near: Vec<(usize, &str)> = candidates
        .into_iter()
        // words whose lengths differ by more letters are at least as many edits apart
        .filter(|c| {
            pay(1, 1)
                && c.len() >= length.saturating_sub(limit)
                && (length >= LETTERS || c.chars().take(length + limit + 1).count() <= length + limit)
        })
        .map(|c| (distance(word, c), c))
        .filter(|(d, _)| *d <= limit)
        .collect();
    // another word, which was not compared, may be as near
    if is_spent() {
        return None;
    }
    super::certain::remember(word, &near);
    // of two that are as near, the one that goes on as the word begins
    let begins = |c: &str| word.chars().zip(c.chars()).take_while(|(a, b)| a == b).count();
    near.into_iter().min_by(|a, b| a.0.cmp(&b.0).then_with(|| begins(b.1).cmp(&begins(a.1))).then_with(|| a.1.cmp(b.1))).map(|(_, c)| c)
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

/// The first of the known names that a name is with a slip, as [`is_misspelt_key`] says; none beyond the bound of a load,
/// which each name spends.
#[must_use]
pub fn misspelt_key<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().take_while(|_| pay(1, 1)).find(|known| is_misspelt_key(written, known))
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
    may_be_near(written, known, 1) && distance(written, known) == 1
}

/// The most candidates that are listed.
const MOST_LISTED: usize = 8;

/// What to do about an unknown word: the nearest candidate, or all candidates if there are few.
#[must_use]
pub fn help<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if is_spent() {
        return None;
    }
    let all: Vec<&str> = candidates.into_iter().collect();
    if let Some(near) = nearest(word, all.iter().copied()) {
        return Some(format!("{MEANT}{near}`?"));
    }
    let mut few: BTreeSet<&str> = BTreeSet::new();
    let is_few = all.into_iter().all(|word| {
        few.insert(word);
        few.len() <= MOST_LISTED
    });
    (is_few && !few.is_empty()).then(|| format!("known here: {}", few.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")))
}

/// How many letters of two words are compared.
const LETTERS: usize = 64;

/// The edit distance, where swapping two neighbours counts as one edit (optimal string alignment); beyond the bound of a
/// load, all words are far from each other.
fn distance(a: &str, b: &str) -> usize {
    if is_spent() {
        return usize::MAX;
    }
    let letters = |word: &str| word.chars().flat_map(char::to_lowercase).take(LETTERS).collect::<String>();
    let (a, b) = (letters(a), letters(b));
    if pay(a.len(), b.len()) { strsim::osa_distance(&a, &b) } else { usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::super::certain::{named, recorded};
    use super::{help, is_slip_of_one, nearest};

    #[test]
    fn a_word_is_certain_if_no_other_is_near() {
        let (told, seen) = recorded(|| {
            let _ = nearest("scenaro", ["scenario", "system"]);
            let _ = nearest("slot_c", ["slot_a", "slot_b"]);
            let _ = nearest("history", ["histories"]);
            let _ = nearest("history", ["historic"]);
            help("dpeth", ["depth", "role"])
        });
        assert_eq!(seen.sole("scenaro"), Some("scenario"));
        assert_eq!(seen.sole("slot_c"), None, "two words are near");
        assert_eq!(seen.sole("history"), None, "two places give two answers");
        assert_eq!(seen.sole("unheard"), None);
        assert_eq!(told.as_deref().and_then(named), seen.sole("dpeth"));
        assert_eq!(seen.sole("dpeth"), Some("depth"));
        assert_eq!(named("one of `a`, `b`"), None);
    }

    #[test]
    fn a_last_letter_is_lost_where_no_other_word_is_likely() {
        for (written, known) in [("conten", "content"), ("messag", "message"), ("descriptio", "description")] {
            assert!(is_slip_of_one(written, known), "{written}");
        }
        for (written, known) in [("slot", "slots"), ("place", "placed"), ("throw", "thrown"), ("local", "locale"), ("rol", "role")] {
            assert!(!is_slip_of_one(written, known), "{written}");
        }
        assert!(!is_slip_of_one("content", "conten"), "the longer one is no slip");
    }
}
