//! Cells of rows, as declarations read them.

use crate::diag::{Diagnostic, DocumentNode, NodeValue, Report, Span};
use crate::model::pack::PackRow;

/// The text in a cell.
pub(super) fn text<'a>(row: &'a PackRow, key: &str) -> Option<&'a str> {
    row.fields.get(key)?.node.as_text()
}

/// The texts of the list in a cell, each with its place.
pub(super) fn words<'a>(row: &'a PackRow, key: &str) -> impl Iterator<Item = (&'a str, Span)> + use<'a> {
    let list = row.fields.get(key).and_then(|field| field.node.as_list());
    list.into_iter().flatten().filter_map(|node| Some((node.as_text()?, node.span)))
}

/// Where the value of a key is written; where its row is, if the row does not have the key.
pub(super) fn place(row: &PackRow, key: &str) -> Span {
    row.fields.get(key).map_or(row.name_span, |field| field.node.span)
}

/// The whole number that a value is.
pub(super) fn number(node: Option<&DocumentNode>) -> Option<i64> {
    if let Some(NodeValue::Int(n)) = node.map(|node| &node.data) { Some(*n) } else { None }
}

/// Adds a complaint about a row, which programs find under `row`.
pub(super) fn push(found: &mut Report, row: &PackRow, mut complaint: Diagnostic) {
    complaint.details.insert("row".into(), row.name.as_ref().into());
    found.push(complaint);
}
