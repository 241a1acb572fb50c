//! The keys that each part of a template can have, in each revision. All other keys are ignored.

use super::revision::Revision;
use super::walk::Sort;
use crate::diag::Node;

/// Keys that only a revision with flags knows.
const FLAGS: &[&str] = &["prefix", "skipIfEmptyInterpolation", "interleave", "stopWhenOutOfBudget"];
/// Keys of the file itself, including those of layers.
const FILE: &[&str] = &[
    "$schema",
    "kind",
    "version",
    "revision",
    "about",
    "id",
    "task",
    "name",
    "description",
    "layout",
    "slots",
    "remove",
    "replace",
    "expects",
    "before",
    "after",
];

/// Keys of the file itself.
pub(super) fn of_file(revision: &Revision) -> Vec<&'static str> {
    let lanes = revision.knows_anchors.then_some("attachments");
    FILE.iter().copied().chain(lanes).collect()
}

/// Keys of a part.
pub(super) fn of(sort: Sort, node: &Node, revision: &Revision) -> Vec<&'static str> {
    let all: &[&str] = match sort {
        Sort::LayoutMessage => &["kind", "name", "role", "content", "from", "prefix", "skipIfEmptyInterpolation"],
        Sort::Frame => &["kind", "role", "content", "from", "prefix", "skipIfEmptyInterpolation"],
        Sort::Message => &["kind", "role", "content", "from", "prefix", "skipIfEmptyInterpolation", "budget"],
        Sort::LayoutSlot => &["kind", "name", "header", "footer", "omitIfEmpty"],
        Sort::Anchor => &["kind", "key"],
        Sort::Slot => &["priority", "when", "budget", "plan", "meta"],
        Sort::Each => &["kind", "source", "map", "order", "fillDir", "limit", "interleave", "budget", "stopWhenOutOfBudget"],
        Sort::If => &["kind", "when", "then", "else"],
        Sort::Condition => match node.get("type").and_then(Node::as_text) {
            Some("exists" | "nonEmpty") => &["type", "ref"],
            _ => &["type", "ref", "value"],
        },
        Sort::Ref(_) => &["source", "args"],
        Sort::Lane => &["id", "enabled", "role", "template", "order", "reserveTokens", "budget", "payload", "groups"],
        Sort::Unknown(_) | Sort::Rule => &[],
        Sort::Group => &["id", "match", "template", "openTemplate", "closeTemplate", "role", "order", "payload"],
    };
    let list = (revision.knows_conditions && (sort.is_block() || sort == Sort::Anchor)).then_some("when");
    all.iter().copied().filter(|key| revision.knows_flags || !FLAGS.contains(key)).chain(list).collect()
}

/// The tables inside of a part that have keys of their own.
pub(super) const INNER: [(&str, &[&str]); 2] = [("budget", &["maxTokens"]), ("interleave", &["kind", "text"])];
