//! The conditions of the rule language in the templates of a pack, for the compiler of the pack.

use std::sync::Arc;

use crate::diag::DocumentNode;
use crate::model::Pack;

use super::revision::Revisions;
use super::walk::{PartKind, walk};
use super::{KIND, RESERVED, rows, shape, spelling};

/// A condition of a pack's template.
#[derive(Debug)]
pub struct WrittenCondition {
    /// The condition.
    pub node: DocumentNode,
    /// The names that it may read; `None` if they are not known.
    pub names: Option<Arc<[Arc<str>]>>,
    /// The row that it stands in, for messages.
    pub rule: String,
}

/// The conditions of the rule language in all templates of a pack.
#[must_use]
pub fn conditions(pack: &Pack, revisions: &Revisions) -> Vec<WrittenCondition> {
    let mut all = Vec::new();
    for row in pack.rows(KIND) {
        let root = rows::whole(row);
        let Ok(revision) = revisions.of_file(&root, None) else { continue };
        let root = shape::known(&spelling::known(&root, revision), revision);
        let offers = root.get("task").and_then(DocumentNode::as_text).and_then(|task| rows::offers(pack, task, &revision.name));
        let reserved = RESERVED.iter().map(|name| name.trim_start_matches('$'));
        let names = offers.map(|offers| reserved.chain(offers.iter().map(|offer| offer.name)).map(Arc::from).collect::<Arc<[_]>>());
        walk(&root, revision, &mut |sort, node, _| {
            if matches!(sort, PartKind::Rule) {
                all.push(WrittenCondition { node: node.clone(), names: names.clone(), rule: format!("{KIND} {}", row.name) });
            }
        });
    }
    all
}
