//! Extra columns: keys of rows beside those that the schema of their table knows. A pack declares each of them with a row
//! `[[column]]`, so that a misspelt key stays an error.

use crate::diag::{Code, Data, Diagnostic, Node, Report, suggest};
use crate::model::pack::Row;
use crate::program::compile::ENGINE_TABLES;
use crate::terms::names::TABLES;

use super::layer::Merged;

/// Checks the columns that a pack declares and their values, and withdraws what was said about these keys.
pub(super) fn settle(merged: &Merged, report: &mut Report) {
    let Some(columns) = merged.tables.get("column") else { return };
    let mut declared = Vec::with_capacity(columns.len());
    for row in columns.values() {
        match place(merged, row) {
            Ok((table, key)) => {
                check(merged, row, table, key, report);
                declared.push((table, key));
            }
            Err(complaint) => report.push(*complaint),
        }
    }
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

/// The table and the key of a column.
fn place<'r>(merged: &Merged, row: &'r Row) -> Result<(&'r str, &'r str), Box<Diagnostic>> {
    let wrong = |code: Code, message: String| Diagnostic::error(code, message).at(row.name_span);
    let Some((table, key)) = row.name.split_once('/').filter(|(table, key)| !table.is_empty() && !key.is_empty()) else {
        let complaint = wrong(Code::SchemaValue, format!("`{}` is not the name of a column", row.name));
        return Err(Box::new(complaint.help("write the table, `/` and the key: `mode/keeps_names`")));
    };
    if ENGINE_TABLES.contains(&table) {
        let complaint = wrong(Code::SchemaValue, format!("no pass can read a column of table `{table}`, which the engine reads itself"));
        return Err(Box::new(complaint.help("give the key to a table that passes read as `$table.NAME`")));
    }
    if !merged.tables.contains_key(table) && !TABLES.contains(&table) {
        let known = merged.tables.keys().map(AsRef::as_ref).chain(TABLES.iter().copied());
        let help = suggest::help(table, known).unwrap_or_else(|| "`tapster ops --scene` lists the tables of a pack".to_owned());
        return Err(Box::new(wrong(Code::NameUnknown, format!("there is no table `{table}`")).help(help)));
    }
    Ok((table, key))
}

/// Checks that literals in a column are of its type.
fn check(merged: &Merged, column: &Row, table: &str, key: &str, report: &mut Report) {
    let wanted = column.fields.get("type").and_then(|field| field.node.as_text()).unwrap_or("any");
    for row in merged.tables.get(table).into_iter().flat_map(|rows| rows.values()) {
        let Some(field) = row.fields.get(key) else { continue };
        if !fits(&field.node.data, wanted) {
            let message = format!("`{key}` of `{}` must be of type `{wanted}`, but is {}", row.name, field.node.kind());
            let complaint = Diagnostic::error(Code::SchemaType, message).at(field.node.span);
            report.push(complaint.help(format!("change the value, or the type of column `{}`", column.name)));
        }
    }
}

/// Whether a cell may be of a type: a reference, and a value that is evaluated, may be of any.
fn fits(data: &Data, wanted: &str) -> bool {
    match data {
        Data::Text(text) => matches!(wanted, "text" | "any") || text.starts_with(['$', '@']) || text.contains("{{"),
        Data::Int(_) => matches!(wanted, "integer" | "number" | "any"),
        Data::Float(_) => matches!(wanted, "number" | "any"),
        Data::Bool(_) => matches!(wanted, "boolean" | "any"),
        Data::List(_) => matches!(wanted, "list" | "any"),
        _ => true,
    }
}
