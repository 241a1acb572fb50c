//! How much of a text a search may read more than once.
//!
//! An engine tells what it has found, and not how far it has read: `[ab]*x|a` reads a text of `a` to its end for each of its
//! matches, which are one letter long. So the bytes are counted on the text itself, as an upper bound: behind a place where
//! a repeat may begin, an engine reads on at most as long as the characters are such that the repeat can match.

use super::check::{anywhere, children, first, first_of, has, nullable};
use super::tree::{Flags, LAST, Node, merged, overlap};

/// From so many rounds on, a repeat reads far.
const FAR: u32 = 64;

/// A set of characters that is asked for each character of a text.
#[derive(Debug)]
pub(super) struct Chars {
    ascii: u128,
    ranges: Vec<(u32, u32)>,
}

impl Chars {
    fn of(ranges: Vec<(u32, u32)>, flags: Flags) -> Self {
        // with these flags, the engine looks for the other cases of the characters, and a tree does not hold them
        let ranges = if flags.ignore_case && flags.unicode { vec![(0, LAST)] } else { merged(ranges) };
        let in_ranges = |c: u32| ranges.iter().any(|(first, last)| *first <= c && c <= *last);
        let ascii = (0..128).filter(|c| in_ranges(*c)).fold(0, |bits, c| bits | (1_u128 << c));
        Self { ascii, ranges }
    }

    fn contains(&self, c: char) -> bool {
        let c = u32::from(c);
        if c < 128 {
            return self.ascii >> c & 1 == 1;
        }
        let at = self.ranges.partition_point(|(_, last)| *last < c);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= c)
    }

    /// The end of the characters of this set that stand at `at`, one behind another.
    fn run(&self, text: &str, at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        at + rest.find(|c| !self.contains(c)).unwrap_or(rest.len())
    }
}

/// What an automaton may read behind the end of a match, because a part that it prefers may still match.
#[derive(Debug)]
pub(super) struct Behind {
    /// What such parts begin with.
    begins: Chars,
    /// All that they may hold.
    holds: Chars,
}

impl Behind {
    /// Whether such a part may have begun in a match, or right behind it.
    pub(super) fn begins(&self, text: &str, start: usize, end: usize) -> bool {
        let next = text.get(end..).and_then(|rest| rest.chars().next());
        text.get(start..end).unwrap_or_default().chars().chain(next).any(|c| self.begins.contains(c))
    }

    /// How far the text is read from `at` on.
    pub(super) fn run(&self, text: &str, at: usize) -> usize {
        self.holds.run(text, at)
    }
}

/// The parts that an automaton prefers and that may fail late; nothing if it stops at each match.
pub(super) fn behind_matches(root: &Node, flags: Flags) -> Option<Behind> {
    let (mut begins, mut holds) = (Vec::new(), Vec::new());
    preferred(root, &mut |part| {
        begins.extend(if nullable(part) { vec![(0, LAST)] } else { first(part) });
        holds.extend(anywhere(part));
    });
    (!holds.is_empty()).then(|| Behind { begins: Chars::of(begins, flags), holds: Chars::of(holds, flags) })
}

/// Calls `found` with the parts that may read far and fail, and that a match can do without.
fn preferred(node: &Node, found: &mut impl FnMut(&Node)) {
    match node {
        Node::Alt(branches) => {
            for (n, branch) in branches.iter().enumerate().filter(|(_, branch)| fails_late(branch)) {
                let later = branches.get(n + 1..).unwrap_or_default();
                // of two branches that begin differently, one fails at once
                if later.iter().any(|later| !apart(branch, later)) {
                    found(branch);
                }
            }
        }
        Node::Repeat { node, min, max, .. } if Some(*min) != *max && fails_late(node) => found(node),
        _ => {}
    }
    children(node).iter().for_each(|child| preferred(child, found));
}

/// Whether no text can begin with both nodes, by the single characters that they begin with.
fn apart(one: &Node, other: &Node) -> bool {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    leading(one, &mut a);
    leading(other, &mut b);
    a.iter().zip(&b).any(|(a, b)| !overlap(a, b))
}

/// The sets of single characters that a node begins with. False if what comes next is no single character.
fn leading(node: &Node, sets: &mut Vec<Vec<(u32, u32)>>) -> bool {
    match node {
        Node::Set(_) => {
            sets.push(anywhere(node));
            true
        }
        Node::Concat(items) => items.iter().all(|item| leading(item, sets)),
        Node::Capture(_, node) => leading(node, sets),
        Node::Start | Node::End | Node::Boundary(_) => true,
        Node::Repeat { node, min, .. } if *min > 0 => {
            leading(node, sets);
            false
        }
        _ => false,
    }
}

/// Whether the node may read far before it shows that it does not match.
fn fails_late(node: &Node) -> bool {
    let late = match node {
        Node::Concat(items) => items.split_last().is_some_and(|(_, before)| before.iter().any(is_far)),
        _ => false,
    };
    late || least(node) > FAR || children(node).iter().any(fails_late)
}

fn is_far(node: &Node) -> bool {
    has(node, &is_far_repeat)
}

fn is_far_repeat(node: &Node) -> bool {
    matches!(node, Node::Repeat { max, .. } if max.is_none_or(|max| max > FAR))
}

/// The fewest characters that a match of the node has.
fn least(node: &Node) -> u32 {
    match node {
        Node::Set(_) => 1,
        Node::Concat(items) => items.iter().map(least).fold(0, u32::saturating_add),
        Node::Alt(branches) => branches.iter().map(least).min().unwrap_or(0),
        Node::Capture(_, node) => least(node),
        Node::Repeat { node, min, .. } => least(node).saturating_mul(*min),
        _ => 0,
    }
}

/// What an engine that begins anew at each place may read of a text: the repeats of one branch.
#[derive(Debug)]
pub(super) struct Scan {
    chars: Chars,
    entry: Entry,
    repeats: u64,
}

/// Where a branch may begin.
#[derive(Debug)]
enum Entry {
    Anywhere,
    /// At the beginning of the text.
    Start,
    /// At one of these characters.
    At(Chars),
    /// Behind one of these characters.
    After(Chars),
}

/// The scans of all branches that hold repeats which read far.
pub(super) fn scans(root: &Node, flags: Flags) -> Vec<Scan> {
    match root {
        Node::Alt(branches) => branches.iter().flat_map(|branch| scans(branch, flags)).collect(),
        Node::Capture(_, node) => scans(node, flags),
        node => {
            let (mut ranges, mut repeats) = (Vec::new(), 0);
            repeated(node, &mut ranges, &mut repeats);
            let entry = || entry(if let Node::Concat(items) = node { items } else { std::slice::from_ref(node) }, flags);
            if repeats > 0 { vec![Scan { chars: Chars::of(ranges, flags), entry: entry(), repeats }] } else { Vec::new() }
        }
    }
}

fn repeated(node: &Node, ranges: &mut Vec<(u32, u32)>, repeats: &mut u64) {
    if is_far_repeat(node) {
        ranges.extend(anywhere(node));
        *repeats += 1;
    }
    children(node).iter().for_each(|child| repeated(child, ranges, repeats));
}

fn entry(items: &[Node], flags: Flags) -> Entry {
    for (n, item) in items.iter().enumerate() {
        match item {
            Node::Start if !flags.multiline => return Entry::Start,
            Node::Look { node, .. } if is_far(node) => return Entry::Anywhere,
            Node::Look { ahead: true, negative: false, node } if !nullable(node) => return Entry::At(Chars::of(first(node), flags)),
            Node::Look { ahead: false, negative: false, node } if !nullable(node) => return Entry::After(Chars::of(last(node), flags)),
            Node::Look { .. } | Node::Boundary(_) | Node::Start | Node::End => {}
            _ => {
                let rest = items.get(n..).unwrap_or_default();
                return if rest.iter().all(nullable) || has_look(rest) {
                    Entry::Anywhere
                } else {
                    Entry::At(Chars::of(first_of(rest), flags))
                };
            }
        }
    }
    Entry::Anywhere
}

/// Whether something is looked for before the first character must match.
fn has_look(items: &[Node]) -> bool {
    let first = items.iter().position(|item| !nullable(item)).map_or(items.len(), |n| n + 1);
    items.iter().take(first).any(|item| has(item, &|node| matches!(node, Node::Look { .. } | Node::Backref(_))))
}

/// The characters that a match of the node may end with.
fn last(node: &Node) -> Vec<(u32, u32)> {
    match node {
        Node::Set(_) | Node::Backref(_) => anywhere(node),
        Node::Concat(items) => {
            let mut out = Vec::new();
            for item in items.iter().rev() {
                out.extend(last(item));
                if !nullable(item) {
                    break;
                }
            }
            out
        }
        Node::Look { .. } => Vec::new(),
        _ => children(node).iter().flat_map(last).collect(),
    }
}

impl Scan {
    /// The bytes of the text that are read, those that are read many times counted each time.
    pub(super) fn bytes(&self, text: &str) -> u64 {
        // the text is walked from its end: `run` is what is read from the place behind `c` on
        let (mut run, mut sum) = (0_u64, 0_u64);
        for c in text.chars().rev() {
            let behind = run;
            run = if self.chars.contains(c) { run.saturating_add(c.len_utf8() as u64) } else { 0 };
            let read = match &self.entry {
                Entry::Anywhere => run,
                Entry::Start => 0,
                // the repeat may begin behind the character
                Entry::At(first) if first.contains(c) => run.max(behind),
                Entry::After(last) if last.contains(c) => behind,
                Entry::At(_) | Entry::After(_) => 0,
            };
            sum = sum.saturating_add(read);
        }
        if matches!(self.entry, Entry::Start) {
            sum = text.len() as u64;
        }
        sum.saturating_mul(self.repeats)
    }
}
