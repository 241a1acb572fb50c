//! Extra columns: keys of rows beside those that the schema of their table knows. A pack declares each of them with a row
//! `[[column]]`, so that a misspelt key stays an error.

use crate::diag::{Code, Node, Report};

use super::layer::Merged;

/// Withdraws that keys are unknown which a pack declares as columns.
pub(super) fn settle(merged: &Merged, report: &mut Report) {
    let columns = merged.tables.get("column").into_iter().flat_map(|rows| rows.keys());
    let declared: Vec<_> = columns.filter_map(|name| name.split_once('/')).collect();
    excuse(&declared, report);
}

/// The columns that a file declares: table and key.
pub(super) fn written(root: &Node) -> Vec<(&str, &str)> {
    let rows = root.get("column").and_then(Node::as_list).unwrap_or_default();
    rows.iter().filter_map(|row| row.get("name")?.as_text()?.split_once('/')).collect()
}

/// Withdraws that keys are unknown which these columns declare.
pub(super) fn excuse(columns: &[(&str, &str)], report: &mut Report) {
    report.retain(|complaint| {
        let key = complaint.details.get("key").and_then(serde_json::Value::as_str);
        let table = complaint.rule.as_deref().and_then(|rule| rule.split_once(' ')).map(|(table, _)| table);
        complaint.code != Code::SchemaUnknownKey || !columns.iter().any(|(of, column)| table == Some(of) && key == Some(column))
    });
}
