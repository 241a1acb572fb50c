//! Other spellings of the keys and words of a template, which a revision lists: each is read as the word that it stands
//! for. Values that belong to the author, such as arguments and payloads, keep theirs.

use std::sync::Arc;

use super::conditions;
use super::revision::Revision;
use crate::diag::{DocumentNode, FieldMap, NodeValue, TableField, limits};

/// Keys whose values are data.
const DATA: &[&str] = &["args", "value", "payload", "meta"];
/// Keys whose values are words of the language.
const WORDS: &[&str] = &["kind", "type", "order", "fillDir"];
/// The parts of a file that are read.
const PARTS: &[&str] = &["layout", "slots", "attachments"];

/// The file with all words as the language has them.
pub(super) fn known(root: &DocumentNode, revision: &Revision) -> DocumentNode {
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
                    NodeValue::Text(word) if WORDS.contains(&&**key) => {
                        if let Some(known) = revision.spellings.get(word) {
                            node.data = NodeValue::Text(known.clone());
                        }
                    }
                    _ if DATA.contains(&&**key) => {}
                    _ if &**key == "when" => when(node, revision, depth),
                    _ => respell(node, revision, depth + 1),
                }
            }
        }
        _ => {}
    }
}

/// Conditions: those of the rule language have no words of templates.
fn when(node: &mut DocumentNode, revision: &Revision, depth: usize) {
    match &mut node.data {
        NodeValue::List(list) if depth < limits::NESTING => list.iter_mut().for_each(|node| when(node, revision, depth + 1)),
        NodeValue::Table(table) => {
            let typed = DocumentNode { span: node.span, data: NodeValue::Table(renamed(table, revision)) };
            if !conditions::is_rule(&typed) {
                respell(node, revision, depth + 1);
            }
        }
        _ => {}
    }
}
