//! How much of a text a search may read more than once.
//!
//! An engine tells what it has found, and not how far it has read: `[ab]*x|a` reads a text of `a` to its end for each of its
//! matches, which are one letter long. So the bytes are counted on the text itself, as an upper bound: behind a place where
//! a repeat may begin, an engine reads on at most as long as the characters are such that the repeat can match.

use super::check::{anywhere, children, first, first_of, has, nullable};
use super::tree::{Flags, LAST, Node, merged};

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
    pub(super) fn run(&self, text: &str, at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        at + rest.find(|c| !self.contains(c)).unwrap_or(rest.len())
    }
}

/// What an automaton may read behind the end of a match, because a part that it prefers may still match: nothing if it
/// stops at the match.
pub(super) fn behind_matches(root: &Node, flags: Flags) -> Option<Chars> {
    let mut ranges = Vec::new();
    preferred(root, &mut ranges);
    (!ranges.is_empty()).then(|| Chars::of(ranges, flags))
}

/// The characters of parts that may read far and fail, and that a match can do without.
fn preferred(node: &Node, ranges: &mut Vec<(u32, u32)>) {
    match node {
        Node::Alt(branches) => {
            let earlier = branches.split_last().map(|(_, earlier)| earlier).unwrap_or_default();
            earlier.iter().filter(|branch| fails_late(branch)).for_each(|branch| ranges.extend(anywhere(branch)));
        }
        Node::Repeat { node, min, max, .. } if Some(*min) != *max && fails_late(node) => ranges.extend(anywhere(node)),
        _ => {}
    }
    children(node).iter().for_each(|child| preferred(child, ranges));
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
