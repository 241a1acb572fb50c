//! What overlays decide about rows, so that rules can tell where data has the last word: `$table.overlaid`.

use std::sync::Arc;

use indexmap::IndexMap;

use super::extends::LayerDocs;
use super::rows;
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Report, limits};
use crate::model::pack::{OverlayDecision, PackRows};

/// The key of a decision about the place of a row.
const PLACE: &str = "place";
/// The key of a decision that a row exists.
const ROW: &str = "row";

/// What the overlays among the layers decide about the rows that are left, lowest first.
pub(super) fn collect(layers: &[LayerDocs], tables: &IndexMap<Arc<str>, PackRows>, report: &mut Report) -> Vec<OverlayDecision> {
    let mut out = Vec::new();
    for layer in layers.iter().filter(|layer| layer.overlay) {
        let by: Arc<str> = layer.name.as_str().into();
        for doc in &layer.docs {
            let Some(table) = doc.table() else { continue };
            out.extend(arranged(table, tables).map(|(table, row)| OverlayDecision { table, row, key: PLACE.into(), by: by.clone() }));
            let mut incoming = Vec::new();
            // mistakes have been reported when the layers were merged
            rows::collect(table, &doc.kind, doc.root.span, &mut incoming, &mut |_| {});
            for row in incoming {
                if out.len() > limits::RECORDED {
                    let message = format!(
                        "rules see the first {} decisions of overlays in `$table.overlaid`, and not those from here on",
                        limits::RECORDED
                    );
                    let complaint = Diagnostic::warning(Code::BoundExceeded, message).at(row.name_span);
                    report.push(complaint.help("make a pack of the overlay: a pack has no such limit"));
                    out.truncate(limits::RECORDED);
                    return out;
                }
                let Some(merged) = tables.get(&row.table).and_then(|rows| rows.get(&row.name)) else { continue };
                let is_new = merged.span == row.span;
                let keys = row.fields.keys().cloned().chain(row.place.map(|_| PLACE.into())).chain(is_new.then(|| ROW.into()));
                out.extend(keys.map(|key| OverlayDecision { table: row.table.clone(), row: row.name.clone(), key, by: by.clone() }));
            }
        }
    }
    out
}

/// The rows that `[arrange]` of a file puts into another order.
fn arranged<'a>(doc: &'a FieldMap, tables: &'a IndexMap<Arc<str>, PackRows>) -> impl Iterator<Item = (Arc<str>, Arc<str>)> + 'a {
    let arrange = doc.get("arrange").and_then(|field| field.node.as_table()).into_iter().flatten();
    arrange.flat_map(move |(table, field)| {
        let listed = field.node.as_list().into_iter().flatten().filter_map(DocumentNode::as_text).map(str::to_owned);
        let within = field.node.as_table().into_iter().flatten().flat_map(|(program, order)| {
            let names = order.node.as_list().into_iter().flatten().filter_map(DocumentNode::as_text);
            names.map(move |name| format!("{program}/{name}"))
        });
        let known = move |name: String| tables.get(table)?.get_key_value(name.as_str()).map(|(name, _)| name.clone());
        listed.chain(within).filter_map(known).map(|name| (table.clone(), name)).collect::<Vec<_>>()
    })
}
