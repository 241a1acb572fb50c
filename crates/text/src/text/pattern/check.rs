//! Determines which engine gives the same results as JavaScript for a tree, and the cost of it.
//!
//! All checks err on the side of "no": a pattern that cannot be shown equal or cheap goes to the next engine.

use super::size;
use super::tree::{Flags, LAST, Node, Tree, merged, overlap};

/// The result of checking a tree.
#[derive(Debug, Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, each asked for by name")]
pub(super) struct Facts {
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

pub(super) fn facts(tree: &Tree, flags: Flags, wide: bool) -> Facts {
    let Flags { ignore_case, unicode, .. } = flags;
    let mut facts = Facts { wide, needs_backtracking: wide, ..Facts::default() };
    facts.javascript_only = !backrefs_certain(&tree.root, &mut Vec::new());
    look_over(&tree.root, &mut facts);
    facts.javascript_only |= facts.backref && ignore_case;
    // with both flags `\P{Lu}` means something odd: any character with an equal that is no upper case letter
    facts.javascript_only |= ignore_case && unicode && has(&tree.root, &|n| matches!(n, Node::Set(s) if !s.props.is_empty()));
    // words have two letters more with both flags
    facts.needs_backtracking |= ignore_case && unicode && has(&tree.root, &|n| matches!(n, Node::Boundary(_)));
    facts
}

fn look_over(node: &Node, facts: &mut Facts) {
    match node {
        Node::Backref(_) => (facts.needs_backtracking, facts.backref) = (true, true),
        Node::Boundary(false) => facts.needs_backtracking = true,
        Node::Look { ahead, negative, node } => {
            facts.needs_backtracking = true;
            facts.javascript_only |= has_capture(node) && (!ahead || *negative);
            // look-behind of varying length is not reliable there when it holds other assertions
            facts.javascript_only |= !ahead && has(node, &is_assertion);
            facts.far_behind |= !ahead && has(node, &|n| matches!(n, Node::Repeat { max, .. } if max.is_none_or(|max| max > FAR)));
        }
        Node::Repeat { node, min, max, .. } => {
            let looped = max.is_none_or(|max| max > 1);
            facts.javascript_only |= looped && may_skip_capture(node);
            facts.javascript_only |= (looped || *min == 0) && nullable(node) && (has_capture(node) || !empty_comes_last(node));
            facts.javascript_only |= matches!(**node, Node::Look { .. });
        }
        _ => {}
    }
    for child in children(node) {
        look_over(child, facts);
    }
}

/// Whether an automaton may read on behind a match, for a part that it prefers and that may still match: `[ab]*x|a`.
pub(super) fn reads_on(node: &Node) -> bool {
    let preferred = match node {
        Node::Alt(branches) => branches.split_last().is_some_and(|(_, before)| before.iter().any(fails_late)),
        Node::Repeat { node, min, max, .. } => Some(*min) != *max && fails_late(node),
        _ => false,
    };
    preferred || children(node).iter().any(reads_on)
}

/// Whether a node may read far before it shows that it does not match.
fn fails_late(node: &Node) -> bool {
    let far = |n: &Node| matches!(n, Node::Repeat { max, .. } if max.is_none_or(|max| max > FAR));
    let late = match node {
        Node::Concat(items) => items.split_last().is_some_and(|(_, before)| before.iter().any(|item| has(item, &far))),
        Node::Repeat { min, .. } => *min > FAR,
        _ => false,
    };
    late || children(node).iter().any(fails_late)
}

/// How many parts of a node the bounded engine can take in a row without an attempt that it counts.
pub(super) fn longest_path(node: &Node) -> usize {
    match node {
        Node::Set(_) => 1,
        Node::Concat(items) => items.iter().map(longest_path).fold(0, usize::saturating_add),
        Node::Alt(branches) => branches.iter().map(longest_path).max().unwrap_or(0),
        Node::Capture(_, node) | Node::Repeat { node, .. } | Node::Look { ahead: true, node, .. } => longest_path(node).saturating_add(2),
        // an automaton reads it backwards
        Node::Look { node, .. } => usize::try_from(size::parts(node)).unwrap_or(usize::MAX),
        Node::Start | Node::End | Node::Boundary(_) | Node::Backref(_) => 4,
    }
}

fn children(node: &Node) -> &[Node] {
    match node {
        Node::Concat(items) | Node::Alt(items) => items,
        Node::Capture(_, node) | Node::Repeat { node, .. } | Node::Look { node, .. } => std::slice::from_ref(node),
        _ => &[],
    }
}

pub(super) fn has(node: &Node, test: &dyn Fn(&Node) -> bool) -> bool {
    test(node) || children(node).iter().any(|n| has(n, test))
}

fn is_assertion(node: &Node) -> bool {
    matches!(node, Node::Start | Node::End | Node::Boundary(_) | Node::Look { .. })
}

fn has_capture(node: &Node) -> bool {
    has(node, &|n| matches!(n, Node::Capture(..)))
}

/// Whether the node can match the empty text.
pub(super) fn nullable(node: &Node) -> bool {
    match node {
        Node::Set(_) => false,
        Node::Concat(items) => items.iter().all(nullable),
        Node::Alt(branches) => branches.iter().any(nullable),
        Node::Capture(_, node) => nullable(node),
        Node::Repeat { node, min, .. } => *min == 0 || nullable(node),
        Node::Backref(_) => true,
        _ => is_assertion(node),
    }
}

/// Whether an iteration over this node may leave one of its groups unmatched; JavaScript then resets the group.
fn may_skip_capture(node: &Node) -> bool {
    match node {
        Node::Alt(branches) => branches.iter().any(has_capture),
        Node::Repeat { node, min, .. } => (*min == 0 && has_capture(node)) || may_skip_capture(node),
        Node::Look { negative: true, node, .. } => has_capture(node),
        _ => children(node).iter().any(may_skip_capture),
    }
}

/// Whether a node without groups tries everything else before the empty text, so that refusing empty rounds
/// (JavaScript) and ending the loop at them (the automaton) come to the same.
fn empty_comes_last(node: &Node) -> bool {
    match node {
        Node::Set(_) => true,
        Node::Concat(items) => !nullable(node) || items.iter().all(|n| nullable(n) && empty_comes_last(n)),
        Node::Alt(branches) => match branches.split_last() {
            Some((last, rest)) => !rest.iter().any(nullable) && empty_comes_last(last),
            None => true,
        },
        Node::Repeat { node, lazy, .. } => !lazy && (!nullable(node) || empty_comes_last(node)),
        _ => false,
    }
}

/// Whether every back reference follows a group that has certainly matched; `done` are those groups so far.
fn backrefs_certain(node: &Node, done: &mut Vec<usize>) -> bool {
    match node {
        Node::Backref(n) => done.contains(n),
        Node::Capture(n, node) => {
            let certain = backrefs_certain(node, done);
            done.push(*n);
            certain
        }
        Node::Concat(items) => items.iter().all(|item| backrefs_certain(item, done)),
        Node::Alt(branches) => branches.iter().all(|branch| backrefs_certain(branch, &mut done.clone())),
        Node::Repeat { node, min, .. } if *min > 0 => backrefs_certain(node, done),
        Node::Look { ahead: true, negative: false, node } => backrefs_certain(node, done),
        Node::Repeat { node, .. } => backrefs_certain(node, &mut done.clone()),
        // a look-behind is matched from its end
        Node::Look { node, .. } => !has(node, &|n| matches!(n, Node::Backref(_))),
        _ => true,
    }
}

/// The longest texts for patterns whose time grows with the length of the text, with its square and with its cube.
const LINEAR: usize = 1 << 20;
const SQUARE: usize = 8_000;
const CUBE: usize = 250;

/// What a search may take in the engine without any bound of its own, in steps of the work of a build: a part of the
/// worst case, which few texts come near to, and all of it where that grows with the third power, because one of two nested
/// look-behinds comes near to it. `limit` is what [`bounded_length`] gave.
pub(super) fn steps(length: usize, limit: usize) -> u64 {
    let length = length as u64;
    match limit {
        LINEAR => length / 8,
        SQUARE => length.saturating_mul(length) / 2,
        _ => length.saturating_mul(length).saturating_mul(length),
    }
}

/// How many characters of text the pattern may be given in an engine without any bound of its own, so that a
/// search stays below about 10^8 steps, and below about 2·10^7 where it grows with the third power; or why it may be given none.
pub(super) fn bounded_length(tree: &Tree) -> Result<usize, &'static str> {
    if nested(&tree.root, false) {
        return Err("a repeated part can itself match in several ways");
    }
    match degree(&tree.root) {
        Degree { overlapping: 0, scans: false } => Ok(LINEAR),
        Degree { overlapping: 0 | 1, .. } => Ok(SQUARE),
        Degree { overlapping: 2, .. } => Ok(CUBE),
        _ => Err("several repeated parts can match the same text"),
    }
}

/// Whether a loop holds something that can match in more than one way.
fn nested(node: &Node, in_loop: bool) -> bool {
    match node {
        Node::Repeat { min, max, .. } if in_loop && Some(*min) != *max => return true,
        Node::Alt(branches) if in_loop && !disjoint(branches) => return true,
        Node::Backref(_) | Node::Look { .. } if in_loop => return true,
        _ => {}
    }
    let in_loop = in_loop || matches!(node, Node::Repeat { max, .. } if max.is_none_or(|max| max > 1));
    children(node).iter().any(|child| nested(child, in_loop))
}

fn disjoint(branches: &[Node]) -> bool {
    let firsts: Vec<_> = branches.iter().map(first).collect();
    firsts.iter().enumerate().all(|(n, a)| firsts.iter().skip(n + 1).all(|b| !overlap(a, b))) && !branches.iter().any(nullable)
}

#[derive(Default)]
struct Degree {
    /// Repeats that share text with what follows them.
    overlapping: usize,
    /// Whether anything is repeated at all.
    scans: bool,
}

fn degree(node: &Node) -> Degree {
    match node {
        Node::Repeat { node, min, max, .. } => {
            let mut sum = degree(node);
            let long = Some(*min) != *max && max.is_none_or(|max| max > 20);
            sum.scans |= max.is_none_or(|max| max > 20);
            sum.overlapping += usize::from(long);
            sum
        }
        Node::Alt(branches) => branches
            .iter()
            .map(degree)
            .fold(Degree::default(), |a, b| Degree { overlapping: a.overlapping.max(b.overlapping), scans: a.scans || b.scans }),
        Node::Concat(items) => {
            let mut sum = Degree::default();
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
fn anywhere(node: &Node) -> Vec<(u32, u32)> {
    match node {
        Node::Set(set) => set.characters().unwrap_or_else(|| vec![(0, LAST)]),
        Node::Backref(_) => vec![(0, LAST)],
        _ => merged(children(node).iter().flat_map(anywhere).collect()),
    }
}

/// The characters that a match of the node may begin with.
fn first(node: &Node) -> Vec<(u32, u32)> {
    match node {
        Node::Set(_) | Node::Backref(_) => anywhere(node),
        Node::Concat(items) => first_of(items),
        Node::Look { .. } | Node::Start | Node::End | Node::Boundary(_) => Vec::new(),
        _ => merged(children(node).iter().flat_map(first).collect()),
    }
}

fn first_of(items: &[Node]) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    for item in items {
        out.extend(first(item));
        if !nullable(item) {
            break;
        }
    }
    merged(out)
}
