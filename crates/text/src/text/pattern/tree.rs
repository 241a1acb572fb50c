//! A pattern as a tree: its structure, independent of the spelling.

use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;

/// The flags of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "six independent flags, as written")]
pub struct PatternFlags {
    /// `g`: all matches, not only the first.
    pub global: bool,
    /// `i`: without regard to letter case.
    pub ignore_case: bool,
    /// `m`: `^` and `$` at line ends.
    pub multiline: bool,
    /// `s`: `.` also matches line ends.
    pub dot_all: bool,
    /// `u`: the strict grammar, properties, case folding by Unicode.
    pub unicode: bool,
    /// `y`: matches follow each other without a gap, from the start.
    pub sticky: bool,
}

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct PatternTree {
    pub root: PatternNode,
    /// Names of the capturing groups, from group 1 on.
    pub names: Vec<Option<Arc<str>>>,
}

#[derive(Debug, Clone)]
pub(super) enum PatternNode {
    Set(CharSet),
    Concat(Vec<PatternNode>),
    Alt(Vec<PatternNode>),
    Capture(usize, Box<PatternNode>),
    Repeat {
        node: Box<PatternNode>,
        min: u32,
        max: Option<u32>,
        lazy: bool,
    },
    Start,
    End,
    /// `\b` (true) or `\B`.
    Boundary(bool),
    Look {
        ahead: bool,
        negative: bool,
        node: Box<PatternNode>,
    },
    Backref(usize),
}

/// One code point out of a set.
#[derive(Debug, Clone, Default)]
pub(super) struct CharSet {
    /// Sorted, without overlap; surrogates may be among them, and match nothing in UTF-8.
    pub ranges: Vec<(u32, u32)>,
    /// Unicode properties, as `\p{…}` or `\P{…}`.
    pub props: Vec<String>,
    pub negated: bool,
}

pub(super) const LAST: u32 = 0x0010_FFFF;
const DIGIT: &[(u32, u32)] = &[(0x30, 0x39)];
const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
// with the flags i and u together, two letters fold into the alphabet
const WORD_FOLDED: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a), (0x17f, 0x17f), (0x212a, 0x212a)];
const SPACE: &[(u32, u32)] = &[
    (0x9, 0xd),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];
const LINE_ENDS: &[(u32, u32)] = &[(0xa, 0xa), (0xd, 0xd), (0x2028, 0x2029)];

impl CharSet {
    pub(super) fn one(c: u32) -> Self {
        Self { ranges: vec![(c, c)], ..Self::default() }
    }

    /// `\d \D \s \S \w \W`, or nothing for another letter.
    pub(super) fn shorthand(letter: char, flags: PatternFlags) -> Option<Self> {
        let ranges = match letter.to_ascii_lowercase() {
            'd' => DIGIT,
            's' => SPACE,
            'w' => word(flags),
            _ => return None,
        };
        let ranges = if letter.is_ascii_uppercase() { complement(ranges) } else { ranges.to_vec() };
        Some(Self { ranges, ..Self::default() })
    }

    /// What `.` matches.
    pub(super) fn dot(flags: PatternFlags) -> Self {
        Self { ranges: if flags.dot_all { vec![(0, LAST)] } else { complement(LINE_ENDS) }, ..Self::default() }
    }

    pub(super) fn add(&mut self, other: &CharSet) {
        self.ranges.extend(&other.ranges);
        self.props.extend(other.props.iter().cloned());
    }

    /// Sorts and merges the ranges and adds what the flags make equal.
    pub(super) fn finish(mut self, flags: PatternFlags) -> Self {
        self.ranges = merged(std::mem::take(&mut self.ranges));
        if !flags.unicode {
            if flags.ignore_case {
                self.ranges = folded(&self.ranges);
            }
            // `[\0-\uffff]` matches both halves of a pair, so in whole characters it matches those too
            if contains(&self.ranges, 0xd800, 0xdfff) {
                self.ranges.push((0x1_0000, LAST));
                self.ranges = merged(std::mem::take(&mut self.ranges));
            }
        }
        self
    }

    /// The ranges of characters that it matches; nothing where properties decide.
    pub(super) fn characters(&self) -> Option<Vec<(u32, u32)>> {
        if !self.props.is_empty() {
            return None;
        }
        let mut ranges = if self.negated { complement(&self.ranges) } else { self.ranges.clone() };
        without_surrogates(&mut ranges);
        Some(ranges)
    }

    /// Whether it matches half of a surrogate pair.
    pub(super) fn has_halves(&self) -> bool {
        if self.negated { !contains(&self.ranges, 0xd800, 0xdfff) } else { overlap(&self.ranges, &[(0xd800, 0xdfff)]) }
    }

    /// Whether it is one half of a surrogate pair; `high` says which.
    fn is_half(&self, high: bool) -> bool {
        let (low, top) = if high { (0xd800, 0xdbff) } else { (0xdc00, 0xdfff) };
        self.props.is_empty() && !self.negated && !self.ranges.is_empty() && self.ranges.iter().all(|(a, b)| *a >= low && *b <= top)
    }

    /// The characters that a high half followed by a low half stand for.
    pub(super) fn pair(high: &CharSet, low: &CharSet) -> Option<CharSet> {
        if !high.is_half(true) || !low.is_half(false) {
            return None;
        }
        let mut ranges = Vec::new();
        for h in high.ranges.iter().flat_map(|(a, b)| *a..=*b) {
            let base = 0x1_0000 + ((h - 0xd800) << 10);
            ranges.extend(low.ranges.iter().map(|(a, b)| (base + (a - 0xdc00), base + (b - 0xdc00))));
        }
        Some(CharSet { ranges: merged(ranges), ..CharSet::default() })
    }
}

/// The characters of `\w`.
pub(super) fn word(flags: PatternFlags) -> &'static [(u32, u32)] {
    if flags.unicode && flags.ignore_case { WORD_FOLDED } else { WORD }
}

pub(super) fn without_surrogates(ranges: &mut Vec<(u32, u32)>) {
    let outside = [(0, 0xd7ff), (0xe000, LAST)];
    *ranges = ranges.iter().flat_map(|(a, b)| outside.iter().map(move |(x, y)| (*a.max(x), *b.min(y)))).filter(|(a, b)| a <= b).collect();
}

/// The characters that a set leaves out, if they are few and no letters: then it has all letters in all cases, and the
/// reader, which takes long to find the cases of many letters, need not look for them.
pub(super) fn caseless_gaps(ranges: &[(u32, u32)]) -> Option<Vec<(u32, u32)>> {
    const MOST: u32 = 64;
    let mut gaps = complement(&merged(ranges.to_vec()));
    without_surrogates(&mut gaps);
    let few = gaps.iter().try_fold(0_u32, |sum, (a, b)| sum.checked_add(b - a + 1).filter(|sum| *sum <= MOST)).is_some();
    let caseless = |c: u32| char::from_u32(c).is_none_or(|c| !c.is_alphabetic());
    (few && gaps.iter().all(|(a, b)| (*a..=*b).all(caseless))).then_some(gaps)
}

/// Whether two lists of ranges share a character.
pub(super) fn overlap(a: &[(u32, u32)], b: &[(u32, u32)]) -> bool {
    a.iter().any(|(x, y)| b.iter().any(|(p, q)| x <= q && p <= y))
}

fn contains(ranges: &[(u32, u32)], low: u32, high: u32) -> bool {
    ranges.iter().any(|(a, b)| *a <= low && *b >= high)
}

pub(super) fn merged(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut out: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (a, b) in ranges {
        match out.last_mut() {
            Some(last) if a <= last.1.saturating_add(1) => last.1 = last.1.max(b),
            _ => out.push((a, b)),
        }
    }
    out
}

fn complement(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut out = Vec::with_capacity(ranges.len() + 1);
    let mut next = 0;
    for (a, b) in ranges {
        if *a > next {
            out.push((next, a - 1));
        }
        next = b + 1;
    }
    if next <= LAST {
        out.push((next, LAST));
    }
    out
}

/// Adds every character that the flag `i` (without `u`) makes equal to one of `ranges`.
fn folded(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let cases = &*CASES;
    let mut out = ranges.to_vec();
    for (first, last) in ranges {
        let from = cases.letters.partition_point(|(letter, _)| letter < first);
        for (_, family) in cases.letters.iter().skip(from).take_while(|(letter, _)| letter <= last) {
            out.extend(cases.families.get(*family).into_iter().flatten().map(|c| (*c, *c)));
        }
    }
    merged(out)
}

/// Letters that JavaScript's `Canonicalize` makes equal without the flag `u`: those with one upper case form
/// of one code unit, where a non-ASCII letter never becomes an ASCII one.
struct CaseTable {
    families: Vec<Vec<u32>>,
    /// The letters that are in a family, sorted, each with the index of its family.
    letters: Vec<(u32, usize)>,
}

static CASES: LazyLock<CaseTable> = LazyLock::new(|| {
    let mut families: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    // kana, ideographs, hangul and what is for private use have no cases
    let with_cases = [0..0x3000, 0xA000..0xAC00, 0xF900..0x1_0000];
    for c in with_cases.into_iter().flatten().filter_map(char::from_u32) {
        let first = canonical(c);
        // a letter is in the family of itself; most are alone there
        if first != u32::from(c) {
            families.entry(first).or_insert_with(|| vec![first]).push(u32::from(c));
        }
    }
    let families: Vec<Vec<u32>> = families.into_values().collect();
    let mut letters: Vec<(u32, usize)> =
        families.iter().enumerate().flat_map(|(n, family)| family.iter().map(move |letter| (*letter, n))).collect();
    letters.sort_unstable();
    CaseTable { families, letters }
});

fn canonical(c: char) -> u32 {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(u), None) if u32::from(u) < 0x1_0000 && (c.is_ascii() || !u.is_ascii()) => u32::from(u),
        _ => u32::from(c),
    }
}
