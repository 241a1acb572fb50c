//! How large a pattern is once all its counts are written out, which is what an engine compiles; and how far its
//! look-behinds reach.

use super::PatternError;
use super::check::nullable;
use super::tree::{Flags, Node, Set, Tree, caseless_gaps};

/// Parts of an automaton, whose engine takes linear time.
const AUTOMATON: u64 = 50_000;
/// Parts for the engines that backtrack.
const BACKTRACKING: u64 = 10_000;
/// Characters that a look-behind may reach back, if that is bounded at all.
const BEHIND: u64 = 1_000;
/// What a Unicode property adds to a set: its ranges, as sequences of bytes.
const PROPERTY: u64 = 700;
/// From so many written-out sets on, each of several characters, an automaton may come to have as many states as there
/// are combinations of them.
const WIDE: u64 = 24;

/// Characters of sets, whose other cases an engine looks for: a set of all of them takes some 10 ms.
const FOLDED: u64 = 35_000_000;
/// The characters of a set of all letters.
const ALL: u64 = 0x11_0000;

/// The size of a pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Its parts, with counts written out.
    pub parts: u64,
    /// An automaton may come to have very many states.
    pub wary: bool,
}

/// Measures a tree.
///
/// # Errors
/// It is too large for every engine.
pub(super) fn of(tree: &Tree, flags: Flags) -> Result<Size, PatternError> {
    let parts = parts(&tree.root);
    within(parts, AUTOMATON)?;
    folds(tree, flags)?;
    Ok(Size { parts, wary: wide(&tree.root, flags.ignore_case) > WIDE })
}

/// How many characters an engine looks for the other case of.
///
/// # Errors
/// There are too many of them.
pub(super) fn folds(tree: &Tree, flags: Flags) -> Result<u64, PatternError> {
    match folded(&tree.root) {
        _ if !flags.ignore_case || !flags.unicode => Ok(0),
        folded if folded <= FOLDED => Ok(folded),
        _ => Err(PatternError::too_costly(0, format!("with the flags i and u, its sets hold more than {FOLDED} characters"))),
    }
}

/// Checks a tree for the engines that backtrack.
///
/// # Errors
/// It is too large for them.
pub(super) fn backtracks(tree: &Tree, size: Size) -> Result<(), PatternError> {
    within(size.parts, BACKTRACKING)?;
    if reaches_far(&tree.root) {
        return Err(PatternError::too_costly(0, format!("a look-behind reaches back more than {BEHIND} characters")));
    }
    Ok(())
}

/// The places at which a pattern reads a character, with counts written out: an automaton may be at all of them at once.
pub(super) fn places(node: &Node) -> u64 {
    match node {
        Node::Set(_) => 1,
        Node::Concat(items) | Node::Alt(items) => items.iter().fold(0_u64, |sum, item| sum.saturating_add(places(item))),
        Node::Capture(_, node) | Node::Look { node, .. } => places(node),
        Node::Repeat { node, min, max, .. } => places(node).saturating_mul(copies(*min, *max)),
        Node::Start | Node::End | Node::Boundary(_) | Node::Backref(_) => 1,
    }
}

/// Whether a loop holds a loop: a backtracking engine may try each way of sharing a text between them.
pub(super) fn nests(node: &Node, in_loop: bool) -> bool {
    match node {
        Node::Repeat { node, max, .. } => {
            let looped = max.is_none_or(|max| max > 1);
            (in_loop && looped) || nests(node, in_loop || looped)
        }
        Node::Concat(items) | Node::Alt(items) => items.iter().any(|item| nests(item, in_loop)),
        Node::Capture(_, node) | Node::Look { node, .. } => nests(node, in_loop),
        _ => false,
    }
}

pub(super) fn within(parts: u64, most: u64) -> Result<(), PatternError> {
    if parts <= most {
        return Ok(());
    }
    Err(PatternError::too_costly(0, format!("the pattern is too large: with its counts written out it has more than {most} parts")))
}

/// How often an engine writes a repeated part out.
fn copies(min: u32, max: Option<u32>) -> u64 {
    u64::from(max.unwrap_or(min.saturating_add(1)).max(1))
}

/// The parts of a pattern, with counts written out.
pub(super) fn parts(node: &Node) -> u64 {
    let sum = |items: &[Node]| items.iter().fold(1_u64, |sum, item| sum.saturating_add(parts(item)));
    match node {
        Node::Set(set) => of_set(set),
        Node::Concat(items) | Node::Alt(items) => sum(items),
        Node::Capture(_, node) | Node::Look { node, .. } => parts(node).saturating_add(2),
        Node::Repeat { node, min, max, .. } => parts(node).saturating_mul(copies(*min, *max)).saturating_add(1),
        Node::Start | Node::End | Node::Boundary(_) | Node::Backref(_) => 2,
    }
}

fn of_set(set: &Set) -> u64 {
    // a range beyond ASCII is several sequences of bytes
    let beyond = set.ranges.iter().filter(|(_, last)| *last >= 0x80).count() as u64;
    beyond.saturating_mul(4).saturating_add(PROPERTY.saturating_mul(set.props.len() as u64)).saturating_add(1)
}

/// How many sets of several characters there are with counts written out; a loop without an end counts once.
fn wide(node: &Node, ignore_case: bool) -> u64 {
    let sum = |items: &[Node]| items.iter().fold(0_u64, |sum, item| sum.saturating_add(wide(item, ignore_case)));
    match node {
        Node::Set(set) => u64::from(set.characters().is_none_or(|ranges| !alone(&ranges, ignore_case))),
        Node::Concat(items) | Node::Alt(items) => sum(items),
        Node::Capture(_, node) | Node::Look { node, .. } => wide(node, ignore_case),
        Node::Repeat { node, min, max, .. } => wide(node, ignore_case).saturating_mul(copies(*min, *max)),
        Node::Start | Node::End | Node::Boundary(_) | Node::Backref(_) => 0,
    }
}

/// The characters of the sets whose other cases are looked for, which happens before counts are written out.
fn folded(node: &Node) -> u64 {
    match node {
        Node::Set(set) if set.props.is_empty() && !set.negated && caseless_gaps(&set.ranges).is_some() => 0,
        Node::Set(set) => {
            let own = set.ranges.iter().map(|(first, last)| u64::from(last - first) + 1).fold(0, u64::saturating_add);
            // a property may hold all characters
            u64::try_from(set.props.len()).unwrap_or(u64::MAX).saturating_mul(ALL).saturating_add(own)
        }
        Node::Concat(items) | Node::Alt(items) => items.iter().fold(0_u64, |sum, item| sum.saturating_add(folded(item))),
        Node::Capture(_, node) | Node::Look { node, .. } | Node::Repeat { node, .. } => folded(node),
        Node::Start | Node::End | Node::Boundary(_) | Node::Backref(_) => 0,
    }
}

/// Whether a set holds one character, or one letter in both cases where case does not matter.
fn alone(ranges: &[(u32, u32)], ignore_case: bool) -> bool {
    let folded = |c: u32| char::from_u32(c).map(|c| c.to_uppercase().flat_map(char::to_lowercase).collect::<String>());
    match ranges {
        [] => true,
        [(first, last)] => first == last,
        [(one, _), ..] => ignore_case && ranges.iter().all(|(first, last)| first == last && folded(*first) == folded(*one)),
    }
}

/// Whether a look-behind of bounded width reaches back further than is allowed; one without bound is for another engine.
fn reaches_far(node: &Node) -> bool {
    match node {
        Node::Look { ahead: false, node, .. } => reach(node) > BEHIND || reaches_far(node),
        Node::Look { node, .. } | Node::Capture(_, node) | Node::Repeat { node, .. } => reaches_far(node),
        Node::Concat(items) | Node::Alt(items) => items.iter().any(reaches_far),
        _ => false,
    }
}

/// The most characters that a node matches, as far as its counts are bounded.
fn reach(node: &Node) -> u64 {
    match node {
        Node::Set(_) => 1,
        Node::Concat(items) => items.iter().fold(0_u64, |sum, item| sum.saturating_add(reach(item))),
        Node::Alt(items) => items.iter().map(reach).max().unwrap_or(0),
        Node::Capture(_, node) => reach(node),
        Node::Repeat { node, min, max, .. } if !nullable(node) || max.is_some() => {
            reach(node).saturating_mul(u64::from(max.unwrap_or(*min).max(1)))
        }
        Node::Repeat { node, .. } => reach(node),
        _ => 0,
    }
}
