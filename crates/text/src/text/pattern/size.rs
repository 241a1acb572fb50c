//! How large a pattern is once all its counts are written out, which is what an engine compiles.

use super::PatternError;
use super::tree::{CharSet, LAST, PatternFlags, PatternNode, PatternTree, caseless_gaps};
use crate::text::work::{self, BudgetExceeded};

/// The most parts.
pub(super) const MOST_PARTS: u64 = 50_000;
/// What a Unicode property adds to a set: its ranges, as sequences of bytes.
const PROPERTY: u64 = 700;
/// From so many written-out sets on, each of several characters, an automaton may come to have as many states as there
/// are combinations of them.
const WIDE: u64 = 12;
/// Characters of sets, whose other cases an engine looks for: a set of all of them takes some 10 ms.
const FOLDED: u64 = 35_000_000;

/// The size of a pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatternSize {
    /// Its parts, with counts written out.
    pub parts: u64,
    /// The characters whose other cases an engine looks for when it is compiled.
    pub folded: u64,
    /// An automaton may come to have very many states.
    pub wide: bool,
}

impl PatternSize {
    /// Pays for compiling it.
    ///
    /// # Errors
    /// A bound of the work is reached.
    pub(super) fn pay(self) -> Result<(), BudgetExceeded> {
        work::compile(self.parts)?;
        work::spend(self.folded / work::BYTES_PER_STEP as u64)
    }
}

/// Measures a tree.
///
/// # Errors
/// It is too large for every engine.
pub(super) fn of(tree: &PatternTree, flags: PatternFlags) -> Result<PatternSize, PatternError> {
    let parts = parts(&tree.root);
    check_parts(parts)?;
    Ok(PatternSize { parts, folded: check_folded(tree, flags)?, wide: is_wide(&tree.root, flags.ignore_case) })
}

/// How many characters an engine looks for the other case of.
///
/// # Errors
/// There are too many of them.
fn check_folded(tree: &PatternTree, flags: PatternFlags) -> Result<u64, PatternError> {
    if !flags.ignore_case || !flags.unicode {
        return Ok(0);
    }
    match count_folded(&tree.root) {
        folded if folded <= FOLDED => Ok(folded),
        _ => Err(PatternError::too_costly(0, format!("with the flags i and u, its sets hold more than {FOLDED} characters"))),
    }
}

/// Whether an automaton for a node may come to have very many states.
pub(super) fn is_wide(node: &PatternNode, ignore_case: bool) -> bool {
    count_wide_sets(node, ignore_case) > WIDE
}

fn check_parts(parts: u64) -> Result<(), PatternError> {
    if parts <= MOST_PARTS {
        return Ok(());
    }
    Err(PatternError::too_costly(0, format!("the pattern is too large: with its counts written out it has more than {MOST_PARTS} parts")))
}

/// How often an engine writes a repeated part out.
fn copies(min: u32, max: Option<u32>) -> u64 {
    u64::from(max.unwrap_or(min.saturating_add(1)).max(1))
}

/// The parts of a pattern, with counts written out.
pub(super) fn parts(node: &PatternNode) -> u64 {
    let sum = |items: &[PatternNode]| items.iter().fold(1_u64, |sum, item| sum.saturating_add(parts(item)));
    match node {
        PatternNode::Set(set) => count_set_parts(set),
        PatternNode::Concat(items) | PatternNode::Alt(items) => sum(items),
        PatternNode::Capture(_, node) | PatternNode::Look { node, .. } => parts(node).saturating_add(2),
        PatternNode::Repeat { node, min, max, .. } => parts(node).saturating_mul(copies(*min, *max)).saturating_add(1),
        PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) | PatternNode::Backref(_) => 2,
    }
}

fn count_set_parts(set: &CharSet) -> u64 {
    // a range beyond ASCII is several sequences of bytes
    let beyond = set.ranges.iter().filter(|(_, last)| *last >= 0x80).count() as u64;
    beyond.saturating_mul(4).saturating_add(PROPERTY.saturating_mul(set.props.len() as u64)).saturating_add(1)
}

/// How many sets of several characters there are with counts written out; a loop without an end counts once.
fn count_wide_sets(node: &PatternNode, ignore_case: bool) -> u64 {
    let sum = |items: &[PatternNode]| items.iter().fold(0_u64, |sum, item| sum.saturating_add(count_wide_sets(item, ignore_case)));
    match node {
        PatternNode::Set(set) => u64::from(set.characters().is_none_or(|ranges| !is_one_letter(&ranges, ignore_case))),
        PatternNode::Concat(items) | PatternNode::Alt(items) => sum(items),
        PatternNode::Capture(_, node) | PatternNode::Look { node, .. } => count_wide_sets(node, ignore_case),
        PatternNode::Repeat { node, min, max, .. } => count_wide_sets(node, ignore_case).saturating_mul(copies(*min, *max)),
        PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) | PatternNode::Backref(_) => 0,
    }
}

/// The characters of the sets whose other cases are looked for, which happens before counts are written out.
fn count_folded(node: &PatternNode) -> u64 {
    match node {
        PatternNode::Set(set) if set.props.is_empty() && !set.negated && caseless_gaps(&set.ranges).is_some() => 0,
        PatternNode::Set(set) => {
            let own = set.ranges.iter().map(|(first, last)| u64::from(last - first) + 1).fold(0, u64::saturating_add);
            // a property may hold all characters
            u64::try_from(set.props.len()).unwrap_or(u64::MAX).saturating_mul(LAST.into()).saturating_add(own)
        }
        PatternNode::Concat(items) | PatternNode::Alt(items) => {
            items.iter().fold(0_u64, |sum, item| sum.saturating_add(count_folded(item)))
        }
        PatternNode::Capture(_, node) | PatternNode::Look { node, .. } | PatternNode::Repeat { node, .. } => count_folded(node),
        PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) | PatternNode::Backref(_) => 0,
    }
}

/// Whether a set holds one character, or one letter in both cases where case does not matter.
fn is_one_letter(ranges: &[(u32, u32)], ignore_case: bool) -> bool {
    let folded = |c: u32| char::from_u32(c).map(|c| c.to_uppercase().flat_map(char::to_lowercase).collect::<String>());
    match ranges {
        [] => true,
        [(first, last)] => first == last,
        [(one, _), ..] => ignore_case && ranges.iter().all(|(first, last)| first == last && folded(*first) == folded(*one)),
    }
}
