//! Mutations of seeds, drawn and made smaller by `proptest`: changes of the bytes, or of the tree of a JSON or TOML document.

use std::cell::Cell;
use std::ops::Range;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use serde_json::Value as Json;

use crate::{Target, Verdict, seeds};

/// Words of the formats by the names of their targets, and what all formats share, in brackets.
static WORDS: LazyLock<Json> = LazyLock::new(|| seeds::json("fuzz/words.json"));
static MARKS: LazyLock<Vec<String>> = LazyLock::new(|| words("(marks)"));
static NUMBERS: LazyLock<Vec<String>> = LazyLock::new(|| words("(numbers)"));
static PAIRS: LazyLock<Vec<String>> = LazyLock::new(|| words("(pairs)"));

fn words(name: &str) -> Vec<String> {
    let lists = WORDS.as_object().into_iter().flatten().filter(|(names, _)| names.split(' ').any(|one| one == name));
    lists.filter_map(|(_, words)| words.as_array()).flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

/// Gives `count` mutations of the seeds of a target to `run`, the same ones for the same `seed`: how many were taken.
///
/// # Errors
/// The first input that is wrong or panics, made as small as `proptest` can, and why.
pub fn run_mutations(target: &Target, seed: u64, count: u32, run: impl Fn(&[u8]) -> Verdict) -> Result<u32, (Vec<u8>, String)> {
    let material = Material::of(target);
    let name = target.name.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &[seed.to_le_bytes(), name.to_le_bytes()].concat());
    let config = Config { cases: count, failure_persistence: None, max_shrink_iters: 1_000, ..Config::default() };
    let taken = Cell::new(0);
    let ran = TestRunner::new_with_rng(config, rng).run(&mutations(), |mutation| {
        let took = run(&mutation.input(&material)).map_err(TestCaseError::fail)?;
        taken.set(taken.get() + u32::from(took));
        Ok(())
    });
    match ran {
        Ok(()) => Ok(taken.get()),
        Err(TestError::Fail(why, mutation)) => Err((mutation.input(&material), why.to_string())),
        Err(TestError::Abort(why)) => Err((Vec::new(), why.to_string())),
    }
}

/// What mutations of a target are made of.
struct Material {
    seeds: Vec<(Vec<u8>, Option<Document>)>,
    words: Vec<String>,
    longest: usize,
}

/// A tree, and how trees of its kind are written.
type Document = (Json, fn(&Json) -> Option<Vec<u8>>);

impl Material {
    fn of(target: &Target) -> Self {
        let fit = seeds::of(target).into_iter().filter(|seed| seed.len() <= target.longest);
        let mut seeds: Vec<_> = fit.map(|seed| (tree(&seed), seed)).map(|(tree, seed)| (seed, tree)).collect();
        if seeds.is_empty() {
            seeds.push((Vec::new(), None));
        }
        Self { seeds, words: words(target.name), longest: target.longest }
    }
}

fn tree(seed: &[u8]) -> Option<Document> {
    if let Ok(tree @ (Json::Array(_) | Json::Object(_))) = serde_json::from_slice(seed) {
        return Some((tree, |tree| serde_json::to_vec(tree).ok()));
    }
    let tree: Json = toml::from_str(std::str::from_utf8(seed).ok()?).ok()?;
    Some((tree, |tree| {
        let mut tree = tree.clone();
        without_null(&mut tree);
        toml::to_string(&tree).ok().map(String::into_bytes)
    }))
}

/// TOML has no null.
fn without_null(tree: &mut Json) {
    match tree {
        Json::Null => *tree = Json::from(""),
        Json::Array(list) => list.iter_mut().for_each(without_null),
        Json::Object(map) => map.values_mut().for_each(without_null),
        _ => {}
    }
}

/// Some changes of one seed.
#[derive(Debug, Clone)]
struct Mutation {
    seed: Index,
    other: Index,
    /// Whether the tree of a document is changed, not its bytes.
    in_tree: bool,
    /// Whether a part of the seed is left first: more inputs are tried in the same time, and a change meets more often what matters.
    short: Option<Index>,
    changes: Vec<Change>,
}

/// One change; `kind` says what the other numbers mean.
#[derive(Debug, Clone)]
struct Change {
    kind: usize,
    at: Index,
    end: Index,
    with: Index,
    /// The longest range.
    most: usize,
    times: usize,
}

fn mutations() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    let (most, times) = (select(&[2, 8, 64, usize::MAX][..]), select(&[1, 1, 2, 3, 10, 70, 100, 500, 1_000][..]));
    let change = (0..720_usize, index(), index(), index(), most, times);
    let change = change.prop_map(|(kind, at, end, with, most, times)| Change { kind, at, end, with, most, times });
    let changes = prop::collection::vec(change, 1..5);
    (index(), index(), prop::bool::weighted(0.8), prop::option::weighted(0.75, index()), changes)
        .prop_map(|(seed, other, in_tree, short, changes)| Mutation { seed, other, in_tree, short, changes })
}

impl Mutation {
    fn input(&self, of: &Material) -> Vec<u8> {
        let ((seed, document), (other, document_of_other)) = (self.seed.get(&of.seeds), self.other.get(&of.seeds));
        if let (true, Some((tree, write))) = (self.in_tree, document) {
            let mut tree = tree.clone();
            if let Some(left) = self.short {
                thin(&mut tree, left);
            }
            let other = document_of_other.as_ref().map_or(&Json::Null, |(tree, _)| tree);
            self.changes.iter().for_each(|change| change.tree(&mut tree, other, of));
            if let Some(made) = write(&tree).filter(|made| made.len() <= of.longest) {
                return made;
            }
        }
        let mut input = seed.clone();
        if let Some(left) = self.short {
            shorten(&mut input, left);
        }
        self.changes.iter().for_each(|change| change.bytes(&mut input, other, of));
        input.truncate(of.longest);
        input
    }
}

/// Leaves the lines around one place, of a few hundred bytes, or as many bytes without lines.
fn shorten(input: &mut Vec<u8>, left: Index) {
    let most = [32, 128, 512][left.index(3)];
    if input.len() > most {
        let line = |from: usize| input[from..].iter().take(3 * most).position(|byte| *byte == b'\n').map(|n| from + n + 1);
        let at = left.index(input.len());
        let from = line(at).filter(|from| *from < input.len()).unwrap_or(at);
        let end = line((from + most).min(input.len())).unwrap_or_else(|| (from + most).min(input.len()));
        input.truncate(end);
        input.drain(..from);
    }
}

/// Leaves a few elements of each list.
fn thin(tree: &mut Json, left: Index) {
    match tree {
        Json::Array(list) => {
            list.drain(..left.index(list.len() + 1).min(list.len().saturating_sub(1)));
            list.truncate(1 + left.index(4));
            list.iter_mut().for_each(|value| thin(value, left));
        }
        Json::Object(map) => map.values_mut().for_each(|value| thin(value, left)),
        _ => {}
    }
}

impl Change {
    /// A range of something of this length.
    fn range(&self, len: usize) -> Range<usize> {
        let from = self.at.index(len + 1);
        from..from + self.end.index((len - from).min(self.most) + 1)
    }

    fn bytes(&self, input: &mut Vec<u8>, other: &[u8], of: &Material) {
        let insert = |input: &mut Vec<u8>, at: usize, part: &[u8], times: usize| {
            if input.len() + part.len() * times <= of.longest {
                input.splice(at..at, part.repeat(times));
            }
        };
        let (at, range) = (self.at.index(input.len() + 1), self.range(input.len()));
        match self.kind % 10 {
            0 if at < input.len() => input[at] ^= 1 << self.with.index(8),
            1 => drop(input.drain(range)),
            2 => insert(input, at, self.with.get(&MARKS).as_bytes(), 1),
            3 => drop(input.splice(range, self.with.get(&MARKS).bytes())),
            4 | 5 if !of.words.is_empty() => insert(input, at, self.with.get(&of.words).as_bytes(), 1),
            6 => {
                // a range many times over, which finds what is not linear
                let part = input[range].to_vec();
                let to = self.with.index(input.len() + 1);
                insert(input, to, &part, self.times.min((of.longest - input.len().min(of.longest)) / part.len().max(1)));
            }
            7 => {
                let digits = input[at..].iter().position(u8::is_ascii_digit).map(|n| at + n);
                let from = digits.unwrap_or(at);
                let len = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                input.splice(from..from + len, self.with.get(&NUMBERS).bytes());
            }
            8 => {
                let pair = self.with.index(PAIRS.len() / 2) * 2;
                insert(input, range.end, PAIRS[pair + 1].as_bytes(), self.times);
                insert(input, range.start, PAIRS[pair].as_bytes(), self.times);
            }
            _ if self.most > 64 => {
                input.truncate(at);
                input.extend_from_slice(&other[self.with.index(other.len() + 1)..]);
            }
            _ => insert(input, at, &other[self.range(other.len())], 1),
        }
    }

    fn tree(&self, tree: &mut Json, other: &Json, of: &Material) {
        let new = match self.kind / 10 % 3 {
            0 => nth(&mut tree.clone(), &mut self.with.index(count(tree))).cloned().unwrap_or_default(),
            1 => nth(&mut other.clone(), &mut self.with.index(count(other))).cloned().unwrap_or_default(),
            _ => self.value(),
        };
        let nodes = count(tree);
        let Some(node) = nth(tree, &mut self.at.index(nodes)) else { return };
        let name = || if of.words.is_empty() { "key".to_owned() } else { self.with.get(&of.words).clone() };
        match (self.kind / 30 % 6, node) {
            (0 | 1, node) => *node = new,
            (2, Json::Array(list)) => drop(list.drain(self.range(list.len()))),
            (3 | 4, Json::Array(list)) if !list.is_empty() => {
                // rows like this one, many times over
                let row = self.end.get(list).clone();
                list.extend(std::iter::repeat_n(row, self.times.min(100)));
            }
            (_, Json::Array(list)) => list.insert(self.end.index(list.len() + 1), new),
            (kind, Json::Object(map)) if kind < 5 && !map.is_empty() => {
                let from = map.keys().nth(self.end.index(map.len())).cloned().unwrap_or_default();
                let value = if kind == 4 { map.get(&from).cloned() } else { map.shift_remove(&from) };
                match kind {
                    2 => {}
                    3 => drop(map.insert(name(), value.unwrap_or_default())),
                    _ => drop(map.insert(map.keys().nth(self.with.index(map.len())).cloned().unwrap_or_default(), new)),
                }
            }
            (_, Json::Object(map)) => drop(map.insert(name(), new)),
            (_, Json::String(text)) => {
                let mut inside = std::mem::take(text).into_bytes();
                self.bytes(&mut inside, new.as_str().unwrap_or_default().as_bytes(), of);
                *text = String::from_utf8_lossy(&inside).into_owned();
            }
            (2, node @ Json::Number(_)) => *node = self.with.get(&NUMBERS).as_str().into(),
            (_, node) => *node = new,
        }
    }

    /// A value that nobody expects.
    fn value(&self) -> Json {
        let values = WORDS["(values)"].as_array().map_or(&[][..], Vec::as_slice);
        match self.with.get(values) {
            Json::String(text) => text.repeat(self.times).into(),
            Json::Array(_) => (0..self.times.min(100)).fold(Json::Null, |inner, _| Json::Array(vec![inner])),
            value => value.clone(),
        }
    }
}

fn count(tree: &Json) -> usize {
    1 + match tree {
        Json::Array(list) => list.iter().map(count).sum(),
        Json::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// The value of this number in the order of the text.
fn nth<'a>(tree: &'a mut Json, n: &mut usize) -> Option<&'a mut Json> {
    if *n == 0 {
        return Some(tree);
    }
    *n -= 1;
    match tree {
        Json::Array(list) => list.iter_mut().find_map(|value| nth(value, n)),
        Json::Object(map) => map.values_mut().find_map(|value| nth(value, n)),
        _ => None,
    }
}
