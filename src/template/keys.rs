//! The keys that each part of a template can have, in each revision. All other keys are ignored.

use super::revision::Revision;
use super::walk::PartKind;
use super::words::{ANCHOR, COMPARISON, EACH, FRAME, GROUP, IF, LANE, LAYOUT_MESSAGE, LAYOUT_SLOT, MESSAGE, REF, SLOT, TEST};
use crate::diag::DocumentNode;

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
pub(super) fn of(sort: PartKind, node: &DocumentNode, revision: &Revision) -> Vec<&'static str> {
    let all: &[&str] = match sort {
        PartKind::LayoutMessage => LAYOUT_MESSAGE,
        PartKind::Frame => FRAME,
        PartKind::Message => MESSAGE,
        PartKind::LayoutSlot => LAYOUT_SLOT,
        PartKind::Anchor => ANCHOR,
        PartKind::Slot => SLOT,
        PartKind::Each => EACH,
        PartKind::If => IF,
        PartKind::Condition => match node.get("type").and_then(DocumentNode::as_text) {
            Some("exists" | "nonEmpty") => TEST,
            _ => COMPARISON,
        },
        PartKind::Ref(_) => REF,
        PartKind::Lane => LANE,
        PartKind::Unknown(_) | PartKind::Rule => &[],
        PartKind::Group => GROUP,
    };
    let list = (revision.knows_conditions && (sort.is_block() || sort == PartKind::Anchor)).then_some("when");
    all.iter().copied().filter(|key| revision.knows_flags || !FLAGS.contains(key)).chain(list).collect()
}
