//! Compares what came out with what is expected.
//!
//! The rule: a table is compared by the keys that are written; a list must have the same number of elements, in the same
//! order; anything else must be equal. A table with a single key of `MATCHERS` asks for
//! something else, unless what came out is a table that has this key itself.
//!
//! A pattern may be given up on a text, and the work of a case is bounded, so there is a third answer: it is not known. A
//! test without an answer fails, also where the value is only one of many that a list is searched for: otherwise
//! `{ excludes = [ … ] }` would hold because nothing was looked at.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use crate::diag::{Suggestion, short, suggest};
use crate::model::WorkLimits;
use crate::text::pattern::{MatchBound, Pattern};
use crate::text::work;
use crate::text::work::BudgetScope;

/// One step to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueStep {
    /// The field of a table.
    Key(String),
    /// The element of a list.
    Index(usize),
}

/// Something that is not as expected.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Where, from the expectation: `lists`, `blocks`, 0, `text`.
    pub steps: Vec<ValueStep>,
    /// What is written.
    pub wanted: Json,
    /// What came out.
    pub got: Json,
    /// What is wrong, where the two values do not say it.
    pub problem: Option<String>,
}

impl Difference {
    /// The place in words: `lists.blocks[0].text`.
    #[must_use]
    pub fn place(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step {
                ValueStep::Key(key) if out.is_empty() => out.push_str(key),
                ValueStep::Key(key) => {
                    out.push('.');
                    out.push_str(key);
                }
                ValueStep::Index(n) => out.push_str(&format!("[{n}]")),
            }
        }
        out
    }
}

/// Holds what came out of one case against what is expected of it. All tests of the case share one bound of work.
pub(super) struct CaseComparison {
    /// The steps of work that are left.
    left: Cell<u64>,
    fitting: ValueMatcher,
}

impl CaseComparison {
    /// For a case.
    pub(super) fn new() -> Self {
        Self { left: Cell::new(WorkLimits::default().steps), fitting: ValueMatcher::default() }
    }

    /// Finds the differences between what is written and what came out.
    pub(super) fn compare(&self, steps: &mut Vec<ValueStep>, wanted: &Json, got: &Json, out: &mut Vec<Difference>) {
        let door = BudgetScope::open(WorkLimits { steps: self.left.get(), ..WorkLimits::default() });
        self.differences(steps, wanted, got, out);
        let (spent, _) = door.spent();
        self.left.set(self.left.get().saturating_sub(spent));
    }

    fn differences(&self, steps: &mut Vec<ValueStep>, wanted: &Json, got: &Json, out: &mut Vec<Difference>) {
        let mut differs =
            |problem: Option<String>| out.push(Difference { steps: steps.clone(), wanted: wanted.clone(), got: got.clone(), problem });
        match (wanted, got) {
            (Json::Object(table), _) if matcher(table, got).is_some() => {
                let Some((word, value)) = matcher(table, got) else { return };
                if let Some(wrong) = self.fitting.test(word, value, got) {
                    differs(Some(wrong.to_string()));
                }
            }
            (Json::Object(table), Json::Object(found)) => {
                for (key, value) in table {
                    steps.push(ValueStep::Key(key.clone()));
                    self.differences(steps, value, found.get(key).unwrap_or(&Json::Null), out);
                    steps.pop();
                }
            }
            (Json::Array(list), Json::Array(found)) if list.len() == found.len() => {
                for (n, (wanted, got)) in list.iter().zip(found).enumerate() {
                    steps.push(ValueStep::Index(n));
                    self.differences(steps, wanted, got, out);
                    steps.pop();
                }
            }
            (Json::Array(list), Json::Array(found)) => differs(Some(rows(found.len(), list.len()))),
            _ if equal(wanted, got) => {}
            (Json::Object(table), _) if table.len() == 1 => {
                let near = table.keys().find_map(|word| Some((word, similar_matcher(word)?)));
                differs(near.map(|(word, near)| format!("`{word}` is no test; {}", Suggestion::possible(word, near))));
            }
            _ => differs(None),
        }
    }
}

/// What holding one value against another takes, in steps of work.
const STEPS_PER_COMPARISON: u64 = 30;
/// So many patterns are kept compiled.
const MOST_PATTERNS: usize = 64;

/// Whether a value is as written.
enum MatchResult<'v> {
    Yes,
    No,
    Unknown(MatchDoubt<'v>),
}

/// Why it is not known whether a value is as written.
#[derive(Debug, Clone)]
enum MatchDoubt<'v> {
    /// A pattern was given up.
    GivenUp(&'v str, MatchBound),
    /// A pattern cannot be used.
    Unusable(String),
    /// No work is left for this case.
    Work,
}

/// What is wrong with a value by a test.
#[derive(Debug)]
enum ValueMismatch<'v> {
    /// These words say all.
    Words(&'static str),
    /// A part of the test, between words.
    Part(&'static str, &'v Json, &'static str),
    /// So many rows came out, and so many are written.
    Rows(usize, usize),
    /// So many elements or characters came out, and this number is written.
    Number(usize, &'v Json),
    /// Nobody knows.
    Unknown(MatchDoubt<'v>),
}

impl fmt::Display for ValueMismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueMismatch::Words(words) => f.write_str(words),
            ValueMismatch::Part(before, part, behind) => write!(f, "{before} {part}{behind}"),
            ValueMismatch::Rows(got, wanted) => f.write_str(&rows(*got, *wanted)),
            ValueMismatch::Number(got, wanted) => write!(f, "{got} instead of {wanted}"),
            ValueMismatch::Unknown(doubt) => doubt.fmt(f),
        }
    }
}

impl fmt::Display for MatchDoubt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchDoubt::GivenUp(pattern, bound) => {
                let pattern = short::word(pattern);
                write!(
                    f,
                    "is not known to hold: the pattern `{pattern}` was given up, because {bound}; write one that reads each \
                     character once, or test a shorter text"
                )
            }
            MatchDoubt::Unusable(why) => f.write_str(why),
            MatchDoubt::Work => {
                let most = WorkLimits::default().steps / STEPS_PER_COMPARISON;
                write!(
                    f,
                    "is not known to hold: the tests of this case take more work than {most} comparisons; expect plain values \
                     where a list is searched, or write several cases"
                )
            }
        }
    }
}

/// How many rows came out instead of those that are written.
pub(super) fn rows(got: usize, wanted: usize) -> String {
    format!("{got} {} instead of {wanted}", if got == 1 { "row" } else { "rows" })
}

/// Holds values against what is written. All work is paid to the counter that is open.
#[derive(Debug, Default)]
struct ValueMatcher {
    patterns: RefCell<FxHashMap<String, Result<Pattern, String>>>,
}

impl ValueMatcher {
    fn fit<'v>(&self, wanted: &'v Json, got: &Json) -> MatchResult<'v> {
        if let Err(doubt) = charge_comparison(got) {
            return MatchResult::Unknown(doubt);
        }
        if let Json::Object(table) = wanted
            && let Some((word, value)) = matcher(table, got)
        {
            return match self.test(word, value, got) {
                None => MatchResult::Yes,
                Some(ValueMismatch::Unknown(doubt)) => MatchResult::Unknown(doubt),
                Some(_) => MatchResult::No,
            };
        }
        match (wanted, got) {
            (Json::Object(table), Json::Object(found)) => {
                all(table.iter().map(|(key, value)| self.fit(value, found.get(key).unwrap_or(&Json::Null))))
            }
            (Json::Array(list), Json::Array(found)) if list.len() == found.len() => {
                all(list.iter().zip(found).map(|(wanted, got)| self.fit(wanted, got)))
            }
            (Json::Array(_), Json::Array(_)) => MatchResult::No,
            _ if equal(wanted, got) => MatchResult::Yes,
            _ => MatchResult::No,
        }
    }

    /// What is wrong with a value by a test; `None` if nothing is.
    pub(super) fn test<'v>(&self, word: &str, value: &'v Json, got: &Json) -> Option<ValueMismatch<'v>> {
        if let Err(doubt) = charge_comparison(got) {
            return Some(ValueMismatch::Unknown(doubt));
        }
        let parts: &'v [Json] = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        match word {
            "missing" => (!got.is_null()).then_some(ValueMismatch::Words("should be missing")),
            "contains" => match got {
                Json::String(text) => within(parts, got, text),
                Json::Array(found) => self.lacks(parts, found),
                _ => parts.first().map(|part| ValueMismatch::Part("does not contain", part, "")),
            },
            "matches" => {
                self.matches(value, got).map(|wrong| if work::is_over() { ValueMismatch::Unknown(MatchDoubt::Work) } else { wrong })
            }
            "includes" | "excludes" | "any_order" => {
                let Some(found) = got.as_array() else { return Some(ValueMismatch::Words("is not a list")) };
                match word {
                    "includes" => self.includes(parts, found),
                    "excludes" => self.excludes(parts, found),
                    _ => self.any_order(parts, found),
                }
            }
            "count" => {
                let count = match got {
                    Json::Array(found) => found.len(),
                    Json::Null => 0,
                    Json::String(text) => text.chars().count(),
                    _ => return Some(ValueMismatch::Words("is neither a list nor a text")),
                };
                (value.as_u64() != Some(count as u64)).then_some(ValueMismatch::Number(count, value))
            }
            _ => match same(value, got) {
                MatchResult::Yes => None,
                MatchResult::No => Some(ValueMismatch::Words("differs")),
                MatchResult::Unknown(doubt) => Some(ValueMismatch::Unknown(doubt)),
            },
        }
    }

    fn matches<'v>(&self, value: &'v Json, got: &Json) -> Option<ValueMismatch<'v>> {
        let unusable = |why: String| Some(ValueMismatch::Unknown(MatchDoubt::Unusable(why)));
        let Some(source) = value.as_str() else { return unusable("the pattern is not a text".to_owned()) };
        let pattern = match self.pattern(source) {
            Ok(pattern) => pattern,
            Err(reason) => return unusable(format!("the pattern cannot be used: {reason}")),
        };
        let Some(text) = got.as_str() else { return Some(ValueMismatch::Words("is not a text")) };
        match pattern.is_match(text) {
            Ok(true) => None,
            Ok(false) => Some(ValueMismatch::Words("does not match the pattern")),
            Err(bound) => Some(ValueMismatch::Unknown(MatchDoubt::GivenUp(source, bound))),
        }
    }

    /// A pattern, compiled; those that were used last are kept.
    fn pattern(&self, source: &str) -> Result<Pattern, String> {
        if let Some(known) = self.patterns.borrow().get(source) {
            return known.clone();
        }
        let made = Pattern::new(source, "").map_err(|error| error.reason);
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() >= MOST_PATTERNS {
            patterns.clear();
        }
        patterns.insert(source.to_owned(), made.clone());
        made
    }

    /// The first of some values that fits, by its number among them. Where it is not known of one, that is kept in `doubt`.
    fn first<'v, 'g>(&self, wanted: &'v Json, among: impl Iterator<Item = &'g Json>, doubt: &mut Option<MatchDoubt<'v>>) -> Option<usize> {
        for (n, one) in among.enumerate() {
            match self.fit(wanted, one) {
                MatchResult::Yes => return Some(n),
                MatchResult::No => {}
                MatchResult::Unknown(MatchDoubt::Work) => {
                    *doubt = Some(MatchDoubt::Work);
                    return None;
                }
                MatchResult::Unknown(own) if doubt.is_none() => *doubt = Some(own),
                MatchResult::Unknown(_) => {}
            }
        }
        None
    }

    /// The first element that a list has not.
    fn lacks<'v>(&self, parts: &'v [Json], found: &[Json]) -> Option<ValueMismatch<'v>> {
        let known = plain(found);
        for part in parts {
            let mut doubt = None;
            let has = match plain_key(part) {
                Some(key) => known.contains_key(&key),
                None => self.first(part, found.iter(), &mut doubt).is_some(),
            };
            if !has {
                return Some(doubt.map_or(ValueMismatch::Part("does not contain", part, ""), ValueMismatch::Unknown));
            }
        }
        None
    }

    fn includes<'v>(&self, parts: &'v [Json], found: &[Json]) -> Option<ValueMismatch<'v>> {
        let (mut rest, mut doubt) = (found.iter(), None);
        for part in parts {
            if self.first(part, rest.by_ref(), &mut doubt).is_none() {
                return Some(
                    doubt.map_or(ValueMismatch::Part("does not include", part, " behind those before it"), ValueMismatch::Unknown),
                );
            }
        }
        None
    }

    fn excludes<'v>(&self, parts: &'v [Json], found: &[Json]) -> Option<ValueMismatch<'v>> {
        let known = plain(found);
        let mut doubt = None;
        for part in parts {
            let has = match plain_key(part) {
                Some(key) => known.contains_key(&key),
                None => self.first(part, found.iter(), &mut doubt).is_some(),
            };
            if has {
                return Some(ValueMismatch::Part("includes", part, ""));
            }
            if matches!(doubt, Some(MatchDoubt::Work)) {
                break;
            }
        }
        doubt.map(ValueMismatch::Unknown)
    }

    /// Plain elements are taken first: only an equal one is as good for them.
    fn any_order<'v>(&self, parts: &'v [Json], found: &[Json]) -> Option<ValueMismatch<'v>> {
        let mut known = plain(found);
        let (mut taken, mut others) = (vec![false; found.len()], Vec::new());
        for part in parts {
            let Some(key) = plain_key(part) else {
                others.push(part);
                continue;
            };
            let at = known.get_mut(&key).and_then(Vec::pop);
            let Some(free) = at.and_then(|at| taken.get_mut(at)) else { return Some(ValueMismatch::Part("has no", part, "")) };
            *free = true;
        }
        // the first one stands last, so that what is taken out is near the end
        let mut left: Vec<&Json> = found.iter().zip(&taken).rev().filter(|(_, taken)| !**taken).map(|(one, _)| one).collect();
        let mut doubt = None;
        for part in others {
            let at = self.first(part, left.iter().rev().copied(), &mut doubt);
            let Some(at) = at.and_then(|n| left.len().checked_sub(n + 1)) else {
                // of lists that are not equally long, no more needs to be known
                let doubt = doubt.filter(|_| parts.len() == found.len());
                return Some(doubt.map_or(ValueMismatch::Part("has no", part, ""), ValueMismatch::Unknown));
            };
            left.remove(at);
        }
        (!left.is_empty()).then_some(ValueMismatch::Rows(found.len(), parts.len()))
    }
}

/// Pays for looking at a value, but not for its elements one by one.
fn charge_comparison(got: &Json) -> Result<(), MatchDoubt<'static>> {
    let size = match got {
        Json::String(text) => text.len() / 32,
        Json::Array(list) => list.len(),
        _ => 0,
    };
    work::spend(STEPS_PER_COMPARISON + size as u64).map_err(|_| MatchDoubt::Work)
}

/// The plain elements of a list, with their places, the first of them last.
fn plain(found: &[Json]) -> HashMap<PlainKey<'_>, Vec<usize>> {
    let mut known: HashMap<PlainKey<'_>, Vec<usize>> = HashMap::new();
    for (n, one) in found.iter().enumerate().rev() {
        if let Some(key) = plain_key(one) {
            known.entry(key).or_default().push(n);
        }
    }
    known
}

/// The first part that is not in a text.
fn within<'v>(parts: &'v [Json], got: &Json, text: &str) -> Option<ValueMismatch<'v>> {
    for part in parts {
        if let Err(doubt) = charge_comparison(got) {
            return Some(ValueMismatch::Unknown(doubt));
        }
        if part.as_str().is_none_or(|part| !text.contains(part)) {
            return Some(ValueMismatch::Part("does not contain", part, ""));
        }
    }
    None
}

/// Whether all of them fit.
fn all<'v>(fits: impl Iterator<Item = MatchResult<'v>>) -> MatchResult<'v> {
    let mut whole = MatchResult::Yes;
    for fit in fits {
        match fit {
            MatchResult::Yes => {}
            MatchResult::No => return MatchResult::No,
            MatchResult::Unknown(MatchDoubt::Work) => return fit,
            MatchResult::Unknown(_) => whole = fit,
        }
    }
    whole
}

/// Equality of values that are no tables or lists. Numbers are compared by their value.
pub(super) fn equal(wanted: &Json, got: &Json) -> bool {
    match (wanted, got) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => wanted == got,
    }
}

/// Equality in full: no key more, and none less.
fn same(wanted: &Json, got: &Json) -> MatchResult<'static> {
    if let Err(doubt) = charge_comparison(got) {
        return MatchResult::Unknown(doubt);
    }
    match (wanted, got) {
        (Json::Object(a), Json::Object(b)) if a.len() == b.len() => {
            all(a.iter().map(|(key, value)| b.get(key).map_or(MatchResult::No, |other| same(value, other))))
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => all(a.iter().zip(b).map(|(a, b)| same(a, b))),
        (Json::Object(_), Json::Object(_)) | (Json::Array(_), Json::Array(_)) => MatchResult::No,
        _ if equal(wanted, got) => MatchResult::Yes,
        _ => MatchResult::No,
    }
}

/// The words of tests, which stand alone in a table.
pub(super) const MATCHERS: [&str; 8] = ["missing", "contains", "matches", "includes", "excludes", "any_order", "count", "exactly"];

/// The test that a table of an expectation is.
pub(super) fn matcher<'t>(table: &'t serde_json::Map<String, Json>, got: &Json) -> Option<(&'static str, &'t Json)> {
    let (key, value) = table.iter().next().filter(|_| table.len() == 1)?;
    let word = MATCHERS.into_iter().find(|word| word == key)?;
    let is_own_key = got.as_object().is_some_and(|found| found.contains_key(word));
    (word == "missing" && value == &Json::Bool(true) || (word != "missing" && !is_own_key)).then_some((word, value))
}

/// The test that an unknown word nearly is.
pub(super) fn similar_matcher(word: &str) -> Option<&'static str> {
    let bare = |word: &str| word.chars().filter(|c| *c != '_').collect::<String>();
    let near = |test: &&'static str| {
        let ends = ["s", "es"].iter().any(|end| test.strip_suffix(end) == Some(word));
        ends || suggest::is_slip_of_one(word, test) || bare(word) == bare(test)
    };
    MATCHERS.into_iter().find(|test| *test == word).map_or_else(|| MATCHERS.into_iter().find(near), |_| None)
}

/// A plain value. Two of them are equal if the values are.
#[derive(Debug, PartialEq, Eq, Hash)]
enum PlainKey<'v> {
    Null,
    Bool(bool),
    /// A number, by the bits of its value.
    Number(u64),
    Text(&'v str),
    List(Vec<PlainKey<'v>>),
}

/// The plain value that a value is; `None` for one with a table in it, which may have more keys than are written.
fn plain_key(value: &Json) -> Option<PlainKey<'_>> {
    Some(match value {
        Json::Null => PlainKey::Null,
        Json::Bool(b) => PlainKey::Bool(*b),
        Json::Number(n) => {
            let n = n.as_f64()?;
            // the two zeros are equal
            PlainKey::Number(if n == 0.0 { 0 } else { n.to_bits() })
        }
        Json::String(text) => PlainKey::Text(text),
        Json::Array(list) => PlainKey::List(list.iter().map(plain_key).collect::<Option<_>>()?),
        Json::Object(_) => return None,
    })
}
