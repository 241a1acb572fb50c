//! The options of a manifest: they merge key by key over those of the packs below, and `remove = true` takes one away.

use std::sync::Arc;

use super::{LayerMerger, RemovedRow, over};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, TableField};
use crate::model::pack::ShadowedValue;

/// The table of a manifest that declares options.
pub(in crate::pack) const TABLE: &str = "options";

impl LayerMerger<'_> {
    pub(super) fn options(&mut self, key: &Arc<str>, field: &TableField) {
        // anything but a table is reported by the schema
        let Some(table) = field.node.as_table() else { return };
        let removed = |field: &TableField| field.node.get("remove").and_then(DocumentNode::as_bool) == Some(true);
        let kept: FieldMap = table.iter().filter(|(_, field)| !removed(field)).map(|(name, field)| (name.clone(), field.clone())).collect();
        let kept = TableField { key: field.key, node: DocumentNode { span: field.node.span, data: NodeValue::Table(kept) } };
        let (mut hidden, mut leaves) = (Vec::new(), Vec::new());
        over(&mut self.merged.values, key, &kept, &mut hidden, &mut leaves, key);
        self.merged.shadowed.append(&mut hidden);
        for (name, field) in table.iter().filter(|(_, field)| removed(field)) {
            self.remove_option(name, field);
        }
    }

    fn remove_option(&mut self, name: &Arc<str>, field: &TableField) {
        if let Some((word, other)) = field.node.as_table().and_then(|table| table.iter().find(|(key, _)| &***key != "remove")) {
            let message = format!("option `{name}` is removed, and yet `{word}` of it is set");
            self.complain(
                Diagnostic::new(Code::SchemaValue, message).at(other.key).help(format!("keep one of them: `remove` or `{word}`")),
            );
        }
        let below = self.merged.values.get_mut(TABLE).map(|field| &mut field.node.data);
        let Some(NodeValue::Table(below)) = below else { return };
        if let Some(old) = below.shift_remove(name) {
            self.merged.shadowed.push(ShadowedValue { by: field.node.span, old: old.node.span, edited: false });
            self.merged.removed.push(RemovedRow { table: TABLE.into(), name: name.clone(), by: field.key });
        } else if self.complete {
            let near = self.report.words.help(name, below.keys().map(AsRef::as_ref));
            let complaint = Diagnostic::new(Code::RemoveUnknown, format!("option `{name}` is removed, but no lower pack declares it"));
            let help = near.unwrap_or_else(|| "nothing is to be removed; take this table away".into());
            self.complain(complaint.at(field.key).label("no such option below").help(help));
        }
    }
}
