//! What the schema cannot check, because it depends on the revision: which parts there are, and which roles.
//!
//! The schema describes what any revision can know. Before the check, everything that the file's own revision ignores
//! is taken out, so that ignored values may be of any kind.

use std::sync::Arc;

use super::parts;
use super::revision::{ANCHOR, COMPARISON, EACH, FRAME, GROUP, IF, LANE, LAYOUT_MESSAGE, LAYOUT_SLOT, MESSAGE, REF, Revision, SLOT, TEST};
use super::walk::{PartKind, walk};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, TableField, limits, short, suggest};

/// The file without what its revision ignores.
pub(super) fn known(root: &DocumentNode, revision: &Revision) -> DocumentNode {
    let mut root = root.clone();
    let NodeValue::Table(table) = &mut root.data else { return root };
    if !revision.knows_anchors {
        table.shift_remove("attachments");
    }
    let known = RevisionShape { revision };
    each(table, "layout", |node| known.layout(node));
    if let Some(NodeValue::Table(slots)) = table.get_mut("slots").map(|field| &mut field.node.data) {
        for (_, slot) in slots.iter_mut() {
            known.inside(&mut slot.node, &["plan"], 0);
        }
    }
    root
}

/// Visits the elements of a list, or the one element that stands in its place.
fn each(table: &mut FieldMap, key: &str, mut visit: impl FnMut(&mut DocumentNode)) {
    match table.get_mut(key).map(|field| &mut field.node) {
        Some(DocumentNode { data: NodeValue::List(list), .. }) => list.iter_mut().for_each(visit),
        Some(node) => visit(node),
        None => {}
    }
}

struct RevisionShape<'r> {
    revision: &'r Revision,
}

impl RevisionShape<'_> {
    fn layout(&self, node: &mut DocumentNode) {
        self.block(node);
        self.anchor(node);
        let NodeValue::Table(table) = &mut node.data else { return };
        for key in ["header", "footer"] {
            each(table, key, |frame| {
                // without anchors every frame is a message
                if let (false, NodeValue::Table(table)) = (self.revision.knows_anchors, &mut frame.data) {
                    table.shift_remove("kind");
                }
                self.block(frame);
            });
        }
    }

    fn block(&self, node: &mut DocumentNode) {
        let NodeValue::Table(table) = &mut node.data else { return };
        if !self.revision.knows_flags {
            table.shift_remove("prefix");
            table.shift_remove("skipIfEmptyInterpolation");
        }
        if !self.revision.knows_conditions {
            table.shift_remove("when");
        }
    }

    /// Where there are no anchors, [`check`] reports one, and the schema need not.
    fn anchor(&self, node: &mut DocumentNode) {
        if self.revision.knows_anchors || node.get("kind").and_then(DocumentNode::as_text) != Some("anchor") {
            return;
        }
        let node_of_key = DocumentNode { span: node.span, data: NodeValue::Text(Arc::default()) };
        if let NodeValue::Table(table) = &mut node.data {
            table.insert(Arc::from("key"), TableField { key: node.span, node: node_of_key });
        }
    }

    fn step(&self, node: &mut DocumentNode, depth: usize) {
        match node.get("kind").and_then(DocumentNode::as_text) {
            Some("forEach") => {
                if let (false, NodeValue::Table(table)) = (self.revision.knows_flags, &mut node.data) {
                    table.shift_remove("interleave");
                    table.shift_remove("stopWhenOutOfBudget");
                }
                self.inside(node, &["map"], depth);
            }
            Some("if") => self.inside(node, &["then", "else"], depth),
            _ => {
                self.block(node);
                self.anchor(node);
            }
        }
    }

    fn inside(&self, node: &mut DocumentNode, keys: &[&str], depth: usize) {
        let NodeValue::Table(table) = &mut node.data else { return };
        for key in keys.iter().filter(|_| depth < limits::NESTING) {
            each(table, key, |node| self.step(node, depth + 1));
        }
    }
}

/// Reports anchors where the revision has none, and roles that it does not have.
pub(super) fn check(root: &DocumentNode, revision: &Revision, report: &mut Report) {
    let mut said = 0;
    walk(root, revision, &mut |sort, node, at| {
        if said >= limits::REPORTED {
            return;
        }
        let role = node.get("role").filter(|_| sort.is_block() || matches!(sort, PartKind::Lane | PartKind::Group));
        if let Some((name, role)) = role.and_then(|role| Some((role.as_text()?, role)))
            && revision.role(name).is_none()
        {
            said += 1;
            report.push(not_allowed(&at.key("role"), name, role, &revision.role_names().collect::<Vec<_>>()));
        }
        if let (PartKind::Unknown(allowed), Some(kind)) = (sort, node.get("kind"))
            && kind.as_text() == Some("anchor")
        {
            said += 1;
            report.push(not_allowed(&at.key("kind"), "anchor", kind, allowed));
        }
    });
}

fn not_allowed(path: &str, written: &str, at: &DocumentNode, allowed: &[&str]) -> Diagnostic {
    let complaint = Diagnostic::new(Code::SchemaValue, format!("`{path}` cannot be `{}`", short::word(written))).at(at.span);
    let list = || format!("one of {}", allowed.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")).into();
    let help = suggest::help(written, allowed.iter().copied());
    complaint.label("not one of the allowed values").help(help.unwrap_or_else(list))
}

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
pub(super) fn file_keys(revision: &Revision) -> Vec<&'static str> {
    let lanes = revision.knows_anchors.then_some("attachments");
    FILE.iter().copied().chain(lanes).collect()
}

/// Keys of a part; all others are ignored.
pub(super) fn part_keys(sort: PartKind, node: &DocumentNode, revision: &Revision) -> Vec<&'static str> {
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

/// Keys whose values are data.
const DATA_KEYS: &[&str] = &["args", "value", "payload", "meta"];
/// Keys whose values are words of the language.
const WORD_KEYS: &[&str] = &["kind", "type", "order", "fillDir"];
/// The parts of a file that are read.
const PARTS: &[&str] = &["layout", "slots", "attachments"];

/// The file with all words as the language has them: a revision lists other spellings. Values that belong to the author,
/// such as arguments and payloads, keep theirs.
pub(super) fn respelled(root: &DocumentNode, revision: &Revision) -> DocumentNode {
    let NodeValue::Table(table) = &root.data else { return root.clone() };
    if revision.spellings.is_empty() {
        return root.clone();
    }
    let mut table = renamed(table, revision);
    for (key, field) in &mut table {
        match &mut field.node.data {
            // the keys of this table are names
            NodeValue::Table(slots) if &**key == "slots" => slots.values_mut().for_each(|slot| respell(&mut slot.node, revision, 0)),
            _ if PARTS.contains(&&**key) => respell(&mut field.node, revision, 0),
            _ => {}
        }
    }
    DocumentNode { span: root.span, data: NodeValue::Table(table) }
}

/// A table with its keys renamed. Where the known key is there too, the other one stays and is reported as unknown.
fn renamed(table: &FieldMap, revision: &Revision) -> FieldMap {
    let known = |key: &Arc<str>| revision.spellings.get(key).filter(|known| !table.contains_key(*known)).unwrap_or(key).clone();
    let mut made = FieldMap::default();
    for (key, field) in table {
        // two spellings of one key: the first one counts
        let key = Some(known(key)).filter(|known| !made.contains_key(known)).unwrap_or_else(|| key.clone());
        made.insert(key, field.clone());
    }
    made
}

fn respell(node: &mut DocumentNode, revision: &Revision, depth: usize) {
    if depth > limits::NESTING {
        return;
    }
    match &mut node.data {
        NodeValue::List(list) => list.iter_mut().for_each(|node| respell(node, revision, depth + 1)),
        NodeValue::Table(table) => {
            *table = renamed(table, revision);
            for (key, TableField { node, .. }) in table.iter_mut() {
                match &node.data {
                    NodeValue::Text(word) if WORD_KEYS.contains(&&**key) => {
                        if let Some(known) = revision.spellings.get(word) {
                            node.data = NodeValue::Text(known.clone());
                        }
                    }
                    _ if DATA_KEYS.contains(&&**key) => {}
                    _ if &**key == "when" => respell_condition(node, revision, depth),
                    _ => respell(node, revision, depth + 1),
                }
            }
        }
        _ => {}
    }
}

/// Conditions: those of the rule language have no words of templates.
fn respell_condition(node: &mut DocumentNode, revision: &Revision, depth: usize) {
    match &mut node.data {
        NodeValue::List(list) if depth < limits::NESTING => list.iter_mut().for_each(|node| respell_condition(node, revision, depth + 1)),
        NodeValue::Table(table) => {
            let typed = DocumentNode { span: node.span, data: NodeValue::Table(renamed(table, revision)) };
            if !parts::is_rule_condition(&typed) {
                respell(node, revision, depth + 1);
            }
        }
        _ => {}
    }
}
