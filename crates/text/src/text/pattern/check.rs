//! Determines which engine gives the same results as JavaScript for a tree, and the cost of it.
//!
//! All checks err on the side of "no": a pattern that cannot be shown equal or cheap goes to the next engine.

use super::size;
use super::tree::{LAST, PatternFlags, PatternNode, PatternTree, merged, overlap};

/// The result of checking a tree.
#[derive(Debug, Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, each asked for by name")]
pub(super) struct TreeFacts {
    /// Look-around, back reference, `\B` or too many states for an automaton: needs a backtracking engine.
    pub needs_backtracking: bool,
    /// The meaning needs JavaScript's own rules for groups in loops, empty loops or look-behind.
    pub javascript_only: bool,
    /// An automaton of it may come to have very many states.
    pub wide: bool,
    /// A look-behind of varying and long reach.
    pub far_behind: bool,
    /// A back reference.
    pub backref: bool,
}

/// From so many rounds on, a repeat reads far.
const FAR: u32 = 64;

pub(super) fn facts(tree: &PatternTree, flags: PatternFlags, wide: bool) -> TreeFacts {
    let PatternFlags { ignore_case, unicode, .. } = flags;
    let mut facts = TreeFacts { wide, needs_backtracking: wide, ..TreeFacts::default() };
    facts.javascript_only = !backrefs_certain(&tree.root, &mut Vec::new());
    look_over(&tree.root, &mut facts);
    facts.javascript_only |= facts.backref && ignore_case;
    // with both flags `\P{Lu}` means something odd: any character with an equal that is no upper case letter
    facts.javascript_only |= ignore_case && unicode && has(&tree.root, &|n| matches!(n, PatternNode::Set(s) if !s.props.is_empty()));
    // words have two letters more with both flags
    facts.needs_backtracking |= ignore_case && unicode && has(&tree.root, &|n| matches!(n, PatternNode::Boundary(_)));
    facts
}

fn look_over(node: &PatternNode, facts: &mut TreeFacts) {
    match node {
        PatternNode::Backref(_) => (facts.needs_backtracking, facts.backref) = (true, true),
        PatternNode::Boundary(false) => facts.needs_backtracking = true,
        PatternNode::Look { ahead, negative, node } => {
            facts.needs_backtracking = true;
            facts.javascript_only |= has_capture(node) && (!ahead || *negative);
            // look-behind of varying length is not reliable there when it holds other assertions
            facts.javascript_only |= !ahead && has(node, &is_assertion);
            facts.far_behind |= !ahead && has(node, &|n| matches!(n, PatternNode::Repeat { max, .. } if max.is_none_or(|max| max > FAR)));
        }
        PatternNode::Repeat { node, min, max, .. } => {
            let looped = max.is_none_or(|max| max > 1);
            facts.javascript_only |= looped && may_skip_capture(node);
            facts.javascript_only |= (looped || *min == 0) && nullable(node) && (has_capture(node) || !empty_comes_last(node));
            facts.javascript_only |= matches!(**node, PatternNode::Look { .. });
        }
        _ => {}
    }
    for child in children(node) {
        look_over(child, facts);
    }
}

/// Whether an automaton may read on behind a match, for a part that it prefers and that may still match: `[ab]*x|a`.
pub(super) fn reads_on(node: &PatternNode) -> bool {
    let preferred = match node {
        PatternNode::Alt(branches) => branches.split_last().is_some_and(|(_, before)| before.iter().any(fails_late)),
        PatternNode::Repeat { node, min, max, .. } => Some(*min) != *max && fails_late(node),
        _ => false,
    };
    preferred || children(node).iter().any(reads_on)
}

/// Whether a node may read far before it shows that it does not match.
fn fails_late(node: &PatternNode) -> bool {
    let far = |n: &PatternNode| matches!(n, PatternNode::Repeat { max, .. } if max.is_none_or(|max| max > FAR));
    let late = match node {
        PatternNode::Concat(items) => items.split_last().is_some_and(|(_, before)| before.iter().any(|item| has(item, &far))),
        PatternNode::Repeat { min, .. } => *min > FAR,
        _ => false,
    };
    late || children(node).iter().any(fails_late)
}

/// How many parts of a node the bounded engine can take in a row without an attempt that it counts.
pub(super) fn longest_path(node: &PatternNode) -> usize {
    match node {
        PatternNode::Set(_) => 1,
        PatternNode::Concat(items) => items.iter().map(longest_path).fold(0, usize::saturating_add),
        PatternNode::Alt(branches) => branches.iter().map(longest_path).max().unwrap_or(0),
        PatternNode::Capture(_, node) | PatternNode::Repeat { node, .. } | PatternNode::Look { ahead: true, node, .. } => {
            longest_path(node).saturating_add(2)
        }
        // an automaton reads it backwards
        PatternNode::Look { node, .. } => usize::try_from(size::parts(node)).unwrap_or(usize::MAX),
        PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) | PatternNode::Backref(_) => 4,
    }
}

fn children(node: &PatternNode) -> &[PatternNode] {
    match node {
        PatternNode::Concat(items) | PatternNode::Alt(items) => items,
        PatternNode::Capture(_, node) | PatternNode::Repeat { node, .. } | PatternNode::Look { node, .. } => std::slice::from_ref(node),
        _ => &[],
    }
}

pub(super) fn has(node: &PatternNode, test: &dyn Fn(&PatternNode) -> bool) -> bool {
    test(node) || children(node).iter().any(|n| has(n, test))
}

fn is_assertion(node: &PatternNode) -> bool {
    matches!(node, PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) | PatternNode::Look { .. })
}

fn has_capture(node: &PatternNode) -> bool {
    has(node, &|n| matches!(n, PatternNode::Capture(..)))
}

/// Whether the node can match the empty text.
pub(super) fn nullable(node: &PatternNode) -> bool {
    match node {
        PatternNode::Set(_) => false,
        PatternNode::Concat(items) => items.iter().all(nullable),
        PatternNode::Alt(branches) => branches.iter().any(nullable),
        PatternNode::Capture(_, node) => nullable(node),
        PatternNode::Repeat { node, min, .. } => *min == 0 || nullable(node),
        PatternNode::Backref(_) => true,
        _ => is_assertion(node),
    }
}

/// Whether an iteration over this node may leave one of its groups unmatched; JavaScript then resets the group.
fn may_skip_capture(node: &PatternNode) -> bool {
    match node {
        PatternNode::Alt(branches) => branches.iter().any(has_capture),
        PatternNode::Repeat { node, min, .. } => (*min == 0 && has_capture(node)) || may_skip_capture(node),
        PatternNode::Look { negative: true, node, .. } => has_capture(node),
        _ => children(node).iter().any(may_skip_capture),
    }
}

/// Whether a node without groups tries everything else before the empty text, so that refusing empty rounds
/// (JavaScript) and ending the loop at them (the automaton) come to the same.
fn empty_comes_last(node: &PatternNode) -> bool {
    match node {
        PatternNode::Set(_) => true,
        PatternNode::Concat(items) => !nullable(node) || items.iter().all(|n| nullable(n) && empty_comes_last(n)),
        PatternNode::Alt(branches) => match branches.split_last() {
            Some((last, rest)) => !rest.iter().any(nullable) && empty_comes_last(last),
            None => true,
        },
        PatternNode::Repeat { node, lazy, .. } => !lazy && (!nullable(node) || empty_comes_last(node)),
        _ => false,
    }
}

/// Whether every back reference follows a group that has certainly matched; `done` are those groups so far.
fn backrefs_certain(node: &PatternNode, done: &mut Vec<usize>) -> bool {
    match node {
        PatternNode::Backref(n) => done.contains(n),
        PatternNode::Capture(n, node) => {
            let certain = backrefs_certain(node, done);
            done.push(*n);
            certain
        }
        PatternNode::Concat(items) => items.iter().all(|item| backrefs_certain(item, done)),
        PatternNode::Alt(branches) => branches.iter().all(|branch| backrefs_certain(branch, &mut done.clone())),
        PatternNode::Repeat { node, min, .. } if *min > 0 => backrefs_certain(node, done),
        PatternNode::Look { ahead: true, negative: false, node } => backrefs_certain(node, done),
        PatternNode::Repeat { node, .. } => backrefs_certain(node, &mut done.clone()),
        // a look-behind is matched from its end
        PatternNode::Look { node, .. } => !has(node, &|n| matches!(n, PatternNode::Backref(_))),
        _ => true,
    }
}

/// The longest texts for patterns whose time grows with the square and with the cube of the length of the text.
const SQUARE: usize = 8_000;
const CUBE: usize = 250;

/// What a search may take in the engine without any bound of its own, in steps of the work of a build: a part of the
/// worst case, which few texts come near to, and all of it where that grows with the third power, because one of two nested
/// look-behinds comes near to it. `limit` is what [`bounded_length`] gave.
pub(super) fn steps(length: usize, limit: usize) -> u64 {
    let length = length as u64;
    match limit {
        usize::MAX => length / 8,
        SQUARE => length.saturating_mul(length) / 2,
        _ => length.saturating_mul(length).saturating_mul(length),
    }
}

/// How many characters of text the pattern may be given in an engine without any bound of its own, so that a
/// search stays below about 10^8 steps, and below about 2·10^7 where it grows with the third power; or why it may be given none.
pub(super) fn bounded_length(tree: &PatternTree) -> Result<usize, &'static str> {
    if nested(&tree.root, false) {
        return Err("a repeated part can itself match in several ways");
    }
    match degree(&tree.root) {
        RepeatDegree { overlapping: 0, scans: false } => Ok(usize::MAX),
        RepeatDegree { overlapping: 0 | 1, .. } => Ok(SQUARE),
        RepeatDegree { overlapping: 2, .. } => Ok(CUBE),
        _ => Err("several repeated parts can match the same text"),
    }
}

/// Whether a loop holds something that can match in more than one way.
fn nested(node: &PatternNode, in_loop: bool) -> bool {
    match node {
        PatternNode::Repeat { min, max, .. } if in_loop && Some(*min) != *max => return true,
        PatternNode::Alt(branches) if in_loop && !disjoint(branches) => return true,
        PatternNode::Backref(_) | PatternNode::Look { .. } if in_loop => return true,
        _ => {}
    }
    let in_loop = in_loop || matches!(node, PatternNode::Repeat { max, .. } if max.is_none_or(|max| max > 1));
    children(node).iter().any(|child| nested(child, in_loop))
}

fn disjoint(branches: &[PatternNode]) -> bool {
    let firsts: Vec<_> = branches.iter().map(first).collect();
    firsts.iter().enumerate().all(|(n, a)| firsts.iter().skip(n + 1).all(|b| !overlap(a, b))) && !branches.iter().any(nullable)
}

#[derive(Default)]
struct RepeatDegree {
    /// Repeats that share text with what follows them.
    overlapping: usize,
    /// Whether anything is repeated at all.
    scans: bool,
}

fn degree(node: &PatternNode) -> RepeatDegree {
    match node {
        PatternNode::Repeat { node, min, max, .. } => {
            let mut sum = degree(node);
            let long = Some(*min) != *max && max.is_none_or(|max| max > 20);
            sum.scans |= max.is_none_or(|max| max > 20);
            sum.overlapping += usize::from(long);
            sum
        }
        PatternNode::Alt(branches) => branches.iter().map(degree).fold(RepeatDegree::default(), |a, b| RepeatDegree {
            overlapping: a.overlapping.max(b.overlapping),
            scans: a.scans || b.scans,
        }),
        PatternNode::Concat(items) => {
            let mut sum = RepeatDegree::default();
            for (n, item) in items.iter().enumerate() {
                let mut part = degree(item);
                let rest = items.get(n + 1..).unwrap_or_default();
                if part.overlapping == 1 && !rest.iter().all(nullable) && !overlap(&anywhere(item), &first_of(rest)) {
                    part.overlapping = 0;
                }
                sum.overlapping += part.overlapping;
                sum.scans |= part.scans;
            }
            sum
        }
        _ => children(node).iter().map(degree).next().unwrap_or_default(),
    }
}

/// All characters that may occur in a match of the node.
fn anywhere(node: &PatternNode) -> Vec<(u32, u32)> {
    match node {
        PatternNode::Set(set) => set.characters().unwrap_or_else(|| vec![(0, LAST)]),
        PatternNode::Backref(_) => vec![(0, LAST)],
        _ => merged(children(node).iter().flat_map(anywhere).collect()),
    }
}

/// The characters that a match of the node may begin with.
fn first(node: &PatternNode) -> Vec<(u32, u32)> {
    match node {
        PatternNode::Set(_) | PatternNode::Backref(_) => anywhere(node),
        PatternNode::Concat(items) => first_of(items),
        PatternNode::Look { .. } | PatternNode::Start | PatternNode::End | PatternNode::Boundary(_) => Vec::new(),
        _ => merged(children(node).iter().flat_map(first).collect()),
    }
}

fn first_of(items: &[PatternNode]) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    for item in items {
        out.extend(first(item));
        if !nullable(item) {
            break;
        }
    }
    merged(out)
}
