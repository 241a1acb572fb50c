//! Many keys, looked up in growing texts: which key stands in which of the texts of a source, and where first.
//!
//! Plain keys go into one automaton for each way of reading letter case; the edges of a word are checked at each match,
//! so that overlapping keys never hide each other. A text is read once, whatever the number of keys is, and only when
//! it is new: later searches of a source only read what has been added. A key without a line break cannot span two
//! texts, since texts follow each other on lines of their own; other keys and patterns are left to the caller.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::work;
use crate::diag::limits;

/// What must stand on both sides of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyEdge {
    /// Anything.
    None,
    /// Anything but an ASCII letter, a digit or `_`; or an end of the text.
    NonWord,
    /// Anything but a letter or digit of any script or `_`; or an end of the text.
    Letter,
    /// `\b` at both ends.
    Boundary,
    /// A blank, or an end of the text.
    Space,
}

/// A key to search for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SearchKey {
    /// The text to search for.
    pub text: Arc<str>,
    /// Upper and lower case differ.
    pub case: bool,
    /// What must stand on both sides.
    pub edge: KeyEdge,
}

/// Where a key was found: which text of the source, and the bytes in it (of its lower-case form if case does not
/// matter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHit {
    /// The index of the text.
    pub text: usize,
    /// First byte.
    pub start: usize,
    /// The end, exclusive.
    pub end: usize,
}

/// The most overlapping finds per byte of a text; more end the search of that text.
const MOST_FINDS: usize = 64;

impl SearchKey {
    /// Whether the text contains the key, searched for alone; for keys that the automata cannot hold.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        if self.case {
            return stands(text, &self.text, self.edge);
        }
        stands(&text.to_lowercase(), &self.text.to_lowercase(), self.edge)
    }
}

fn stands(text: &str, key: &str, edge: KeyEdge) -> bool {
    // occurrences may overlap: of `}}}` in `r}}}}`, only the second is no part of a word
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(key)).map(|at| from + at) {
        if edge.fits(text, at, at + key.len()) {
            return true;
        }
        from = at + key.chars().next().map_or(1, char::len_utf8);
    }
    false
}

impl KeyEdge {
    /// Whether the characters beside `text[start..end]` are as the edge requires.
    #[must_use]
    pub fn fits(self, text: &str, start: usize, end: usize) -> bool {
        if self == KeyEdge::None {
            return true;
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = text.get(..start).and_then(|t| t.chars().next_back());
        let after = text.get(end..).and_then(|t| t.chars().next());
        match self {
            KeyEdge::None => true,
            KeyEdge::NonWord => before.is_none_or(|c| !word(c)) && after.is_none_or(|c| !word(c)),
            KeyEdge::Letter => {
                let letter = |c: char| c.is_alphanumeric() || c == '_';
                before.is_none_or(|c| !letter(c)) && after.is_none_or(|c| !letter(c))
            }
            KeyEdge::Space => before.is_none_or(|c| c == ' ') && after.is_none_or(|c| c == ' '),
            KeyEdge::Boundary => {
                let key = text.get(start..end).unwrap_or("");
                let first = key.chars().next().is_some_and(word);
                let last = key.chars().next_back().is_some_and(word);
                before.is_some_and(word) != first && after.is_some_and(word) != last
            }
        }
    }
}

/// Compiled keys. Numbers are indexes of the list that it was made from.
#[derive(Debug)]
pub struct KeySet {
    folded: Option<KeyClass>,
    exact: Option<KeyClass>,
}

#[derive(Debug)]
struct KeyClass {
    automaton: AhoCorasick,
    keys: Vec<(u32, KeyEdge)>,
    /// The texts of the keys, as they are searched for.
    texts: Vec<String>,
}

impl KeySet {
    /// Compiles keys; empty ones are never found.
    ///
    /// # Errors
    /// Keys that are too long together for an automaton.
    pub fn new(keys: &[SearchKey]) -> Result<Self, String> {
        Ok(Self { folded: KeyClass::new(keys, false)?, exact: KeyClass::new(keys, true)? })
    }

    /// The first find of each key in a text.
    fn first(&self, text: &str) -> KeyOccurrences {
        let mut first = Vec::new();
        let mut seen = FxHashSet::default();
        let mut finds = 0_u64;
        let whole = self.search(text, |key, start, end| {
            finds += 1;
            if seen.insert(key) {
                first.push(KeyOccurrence { key, start, end });
            }
        });
        let steps = finds / work::READ_PER_STEP as u64 + (text.len() / work::BYTES_PER_STEP) as u64 + 1;
        KeyOccurrences { first: first.into(), whole, steps }
    }

    /// Calls `found` for every key in the text. False if there were so many finds that the rest was left out.
    pub fn search(&self, text: &str, mut found: impl FnMut(u32, usize, usize)) -> bool {
        let folded = self.folded.as_ref().is_none_or(|class| class.search(&text.to_lowercase(), &mut found));
        let exact = self.exact.as_ref().is_none_or(|class| class.search(text, &mut found));
        folded && exact
    }
}

/// The most bytes of texts for which a table of all transitions is built: it takes some 2 kB and 0.1 ms a byte.
const LONGEST_TABLE: usize = 2_000;

/// Finds texts, in any letter case of ASCII if `any_case` says so.
///
/// # Errors
/// They are too long.
pub fn finder(texts: &[String], any_case: bool) -> Result<AhoCorasick, BuildError> {
    let length = texts.iter().map(String::len).fold(0, usize::saturating_add);
    // otherwise the kind is chosen by the number of texts, however long they are
    let kind = (length > LONGEST_TABLE).then_some(AhoCorasickKind::ContiguousNFA);
    let build = |kind| AhoCorasick::builder().ascii_case_insensitive(any_case).kind(kind).build(texts);
    // the numbers of its states run out later
    build(kind).or_else(|_| build(Some(AhoCorasickKind::NoncontiguousNFA)))
}

impl KeyClass {
    fn new(keys: &[SearchKey], case: bool) -> Result<Option<Self>, String> {
        let mut texts = Vec::new();
        let mut numbers = Vec::new();
        for (n, key) in keys.iter().enumerate().filter(|(_, k)| k.case == case && !k.text.is_empty()) {
            texts.push(if case { key.text.to_string() } else { key.text.to_lowercase() });
            numbers.push((u32::try_from(n).unwrap_or(u32::MAX), key.edge));
        }
        if texts.is_empty() {
            return Ok(None);
        }
        let automaton = finder(&texts, false).map_err(|e| e.to_string())?;
        Ok(Some(Self { automaton, keys: numbers, texts }))
    }

    fn search(&self, text: &str, found: &mut impl FnMut(u32, usize, usize)) -> bool {
        if !work::takes_shortcuts() {
            self.search_one_by_one(text, found);
            return true;
        }
        let most = text.len().saturating_mul(MOST_FINDS).max(1 << 20);
        for (n, hit) in self.automaton.find_overlapping_iter(text).enumerate() {
            if n >= most {
                return false;
            }
            if let Some((number, edge)) = self.keys.get(hit.pattern().as_usize())
                && edge.fits(text, hit.start(), hit.end())
            {
                found(*number, hit.start(), hit.end());
            }
        }
        true
    }

    /// The same, each key for itself.
    fn search_one_by_one(&self, text: &str, found: &mut impl FnMut(u32, usize, usize)) {
        for ((number, edge), key) in self.keys.iter().zip(&self.texts) {
            let starts = (0..text.len()).filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(&**key)));
            for at in starts.filter(|at| edge.fits(text, *at, at + key.len())) {
                found(*number, at, at + key.len());
            }
        }
    }
}

/// Compiled sets by their keys, and what they found in texts, shared by the builds of a ruleset: a book is compiled
/// once, and a message searched once.
#[derive(Debug, Default)]
pub struct KeySets {
    made: Mutex<CompiledSets>,
    memory: OccurrenceCache,
}

#[derive(Debug, Default)]
struct CompiledSets {
    sets: FxHashMap<[u8; 32], NumberedSet>,
    /// The number of sets made so far, which is the number of the next one.
    count: u64,
}

/// A compiled set, and the number under which its finds are remembered.
#[derive(Debug, Clone)]
struct NumberedSet {
    number: u64,
    set: Arc<KeySet>,
}

impl KeySets {
    /// The set of these keys.
    ///
    /// # Errors
    /// As [`KeySet::new`].
    fn get(&self, keys: &[SearchKey]) -> Result<NumberedSet, String> {
        let mut hash = blake3::Hasher::new();
        for key in keys {
            hash.update(&(key.text.len() as u64).to_le_bytes());
            hash.update(key.text.as_bytes());
            hash.update(&[u8::from(key.case), key.edge as u8]);
        }
        let name = *hash.finalize().as_bytes();
        // a poisoned lock only means that another build stopped while compiling; the map is whole
        if let Some(set) = self.made.lock().unwrap_or_else(PoisonError::into_inner).sets.get(&name) {
            return Ok(set.clone());
        }
        let set = Arc::new(KeySet::new(keys)?);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.sets.len() >= limits::CACHE_ENTRIES {
            made.sets.clear();
        }
        made.count += 1;
        let numbered = NumberedSet { number: made.count, set };
        made.sets.insert(name, numbered.clone());
        Ok(numbered)
    }
}

/// Keys and the texts that they are looked up in, source by source; it remembers what it has read.
///
/// Another build may go on with it ([`KeyLookup::begin_build`]): as long as it asks for the same keys in the same order, they
/// have the same numbers, and nothing of them is hashed or compiled.
#[derive(Debug, Default)]
pub struct KeyLookup {
    numbers: FxHashMap<SearchKey, u32>,
    keys: Vec<SearchKey>,
    /// How many of the keys this build has asked for. Those behind them are what the last build asked for next.
    asked: usize,
    /// Compiled sets; the last may still be missing.
    sets: Vec<PlacedSet>,
    /// The sets of the last build, as long as their keys have not been forgotten.
    last_sets: Vec<PlacedSet>,
    sources: Vec<ScannedSource>,
    /// By number: the key was found in some text.
    anywhere: Vec<bool>,
    /// A text was not searched to its end.
    pub cut_short: bool,
}

/// A compiled set, and the numbers of its keys.
type PlacedSet = (Range<usize>, NumberedSet);

/// What has been read of a source.
#[derive(Debug, Default)]
struct ScannedSource {
    texts: Vec<Arc<str>>,
    first: FxHashMap<u32, KeyHit>,
}

impl KeyLookup {
    /// Begins another build, which has asked for no key and read no text. What the last one did not ask for is forgotten.
    pub fn begin_build(&mut self) {
        self.forget_unasked();
        self.asked = 0;
        self.last_sets = std::mem::take(&mut self.sets);
        self.sources.clear();
        self.anywhere.clear();
        self.cut_short = false;
    }

    /// The number of a key, and whether the keys of the last build still have the numbers that they had there.
    pub fn key(&mut self, key: SearchKey) -> (u32, bool) {
        if let Some(n) = self.numbers.get(&key).copied()
            && self.ask_again(n)
        {
            return (n, true);
        }
        let was_next = self.forget_unasked();
        let n = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(key.clone());
        self.numbers.insert(key, n);
        self.asked = self.keys.len();
        (n, !was_next)
    }

    /// Asks for a key by the number that it had in the last build. False if that build asked for others before it, which this
    /// one has not asked for. Once [`KeyLookup::key`] has said that numbers changed, those of the last build mean nothing.
    pub fn ask_again(&mut self, number: u32) -> bool {
        let n = number as usize;
        if n == self.asked && n < self.keys.len() {
            self.asked += 1;
        }
        n < self.asked
    }

    /// Forgets the keys that this build has not asked for; whether there were any.
    fn forget_unasked(&mut self) -> bool {
        if self.asked == self.keys.len() {
            return false;
        }
        for key in self.keys.drain(self.asked..) {
            self.numbers.remove(&key);
        }
        self.last_sets.retain(|(numbers, _)| numbers.end <= self.asked);
        true
    }

    /// The key of a number.
    #[must_use]
    pub fn key_of(&self, number: u32) -> Option<&SearchKey> {
        self.keys.get(number as usize)
    }

    /// Compiles the keys that were added since the last call, and searches for them in the texts that have been read.
    ///
    /// # Errors
    /// As [`KeySet::new`].
    pub fn compile(&mut self, sets: &KeySets) -> Result<(), String> {
        let numbers = self.sets.last().map_or(0, |(numbers, _)| numbers.end)..self.asked;
        let new = self.keys.get(numbers.clone()).unwrap_or(&[]);
        if new.is_empty() {
            return Ok(());
        }
        // also if another build has compiled them before, so that every build takes the same work
        let bytes: usize = new.iter().map(|key| key.text.len() + 16).sum();
        work::spend((bytes as u64).saturating_mul(work::STEPS_PER_COMPILED))?;
        let known = self.last_sets.iter().find(|(known, _)| *known == numbers).map(|(_, set)| set.clone());
        let set = (numbers, known.map_or_else(|| sets.get(new), Ok)?);
        self.anywhere.resize(self.asked, false);
        for read in &mut self.sources {
            self.cut_short |= !read.search(0, std::slice::from_ref(&set), sets, &mut self.anywhere);
        }
        self.sets.push(set);
        Ok(())
    }

    /// Sets the texts of a source, and reads those that are new.
    pub fn read(&mut self, source: usize, texts: &[Arc<str>], sets: &KeySets) {
        if self.sources.len() <= source {
            self.sources.resize_with(source + 1, ScannedSource::default);
        }
        let Some(read) = self.sources.get_mut(source) else { return };
        let known = read.texts.len().min(texts.len());
        if read.texts.get(..known) != texts.get(..known) {
            *read = ScannedSource::default();
        }
        let from = read.texts.len();
        read.texts.extend(texts.iter().skip(from).cloned());
        self.cut_short |= !read.search(from, &self.sets, sets, &mut self.anywhere);
    }

    /// Adds one text to a source, and reads it.
    pub fn add(&mut self, source: usize, text: Arc<str>, sets: &KeySets) {
        if self.sources.len() <= source {
            self.sources.resize_with(source + 1, ScannedSource::default);
        }
        let Some(read) = self.sources.get_mut(source) else { return };
        let from = read.texts.len();
        read.texts.push(text);
        self.cut_short |= !read.search(from, &self.sets, sets, &mut self.anywhere);
    }

    /// Forgets the texts of a source.
    pub fn forget(&mut self, source: usize) {
        if let Some(read) = self.sources.get_mut(source) {
            *read = ScannedSource::default();
        }
    }

    /// Whether any text of any source contains a key. It may also return true for a text that has been removed.
    #[must_use]
    pub fn stands(&self, key: u32) -> bool {
        self.anywhere.get(key as usize).copied().unwrap_or(false)
    }

    /// The first occurrence of a key in the first `count` texts of a source.
    #[must_use]
    pub fn found(&self, key: u32, source: usize, count: usize) -> Option<KeyHit> {
        self.sources.get(source)?.first.get(&key).filter(|hit| hit.text < count).copied()
    }
}

impl ScannedSource {
    fn search(&mut self, from: usize, sets: &[PlacedSet], all: &KeySets, anywhere: &mut [bool]) -> bool {
        let mut whole = true;
        let texts = self.texts.get(from..).unwrap_or_default();
        for (numbers, NumberedSet { number, set }) in sets {
            let base = u32::try_from(numbers.start).unwrap_or(u32::MAX);
            for (n, finds) in all.memory.get(*number, texts, |text| set.first(text)).iter().enumerate() {
                whole &= finds.whole && work::spend(finds.steps).is_ok();
                for KeyOccurrence { key, start, end } in finds.first.iter().copied() {
                    self.first.entry(base + key).or_insert(KeyHit { text: from + n, start, end });
                    if let Some(found) = anywhere.get_mut((base + key) as usize) {
                        *found = true;
                    }
                }
            }
        }
        whole
    }
}

// A cache of what sets of keys found in texts, by content: in a chat that is built repeatedly, only the new messages
// are searched.
//
// It has two halves. Entries in use are in the young half; when that is full, it becomes the old half, and the
// previous old half is dropped. So memory is bounded, and entries that every build uses stay.

/// The first occurrence of a key in a text.
#[derive(Debug, Clone, Copy)]
struct KeyOccurrence {
    /// The number of the key in its set.
    key: u32,
    /// First byte.
    start: usize,
    /// The end, exclusive.
    end: usize,
}

/// What a set of keys found in a text.
#[derive(Debug, Default)]
struct KeyOccurrences {
    /// The first find of each key.
    first: Box<[KeyOccurrence]>,
    /// The text was searched to its end.
    whole: bool,
    /// What the search took, in steps of the work of a build: a build pays it also if the search was made before.
    steps: u64,
}

/// The cache, shared by the builds of a ruleset.
#[derive(Debug, Default)]
struct OccurrenceCache {
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
    fn get(&self, set: u64, texts: &[Arc<str>], search: impl Fn(&str) -> KeyOccurrences) -> Vec<Arc<KeyOccurrences>> {
        // a poisoned lock only means that another build stopped; each entry is whole
        let known: Vec<_> = {
            let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
            texts.iter().map(|text| halves.get(set, text).filter(|_| work::takes_shortcuts())).collect()
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
        let bytes = text.len() + found.first.len() * size_of::<KeyOccurrence>() + work::BYTES_PER_VALUE;
        if bytes > limits::CACHE_BYTES {
            return;
        }
        if self.young.bytes + bytes > limits::CACHE_BYTES {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += bytes;
        self.young.sets.entry(set).or_default().insert(text, found);
    }
}
