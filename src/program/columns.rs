//! Extra columns: keys of rows beside those that the schema of their table knows, each declared by a row `[[column]]`.

use crate::diag::{Code, Data};
use crate::model::pack::Row;
use crate::syntax::CompileContext;
use crate::terms::names::TABLES;

/// Checks the columns that a pack declares, and that literals in them are of their type. No pass can read `engine_tables`.
pub(super) fn check(cx: &mut CompileContext<'_>, engine_tables: &[&str]) {
    let pack = cx.pack;
    for column in pack.tables.get("column").into_iter().flat_map(|rows| rows.values()) {
        // the schema says how a column is named
        let Some((table, key)) = column.name.split_once('/') else { continue };
        cx.rule = format!("column {}", column.name);
        if engine_tables.contains(&table) {
            let message = format!("no pass can read a column of table `{table}`, which the engine reads itself");
            let help = "give the key to a table that passes read as `$table.NAME`";
            cx.fail(Code::SchemaValue, column.name_span, message, Some(help.into()));
        } else if !pack.tables.contains_key(table) && !TABLES.contains(&table) {
            let known: Vec<&str> = pack.tables.keys().map(AsRef::as_ref).chain(TABLES.iter().copied()).collect();
            cx.unknown("table", table, column.name_span, known);
        }
        for row in pack.tables.get(table).into_iter().flat_map(|rows| rows.values()) {
            cell(cx, column, row, key);
        }
    }
}

fn cell(cx: &mut CompileContext<'_>, column: &Row, row: &Row, key: &str) {
    let wanted = column.fields.get("type").and_then(|field| field.node.as_text()).unwrap_or("any");
    let Some(field) = row.fields.get(key).filter(|field| !fits(&field.node.data, wanted)) else { return };
    let message = format!("`{key}` of `{}` must be of type `{wanted}`, but is {}", row.name, field.node.kind());
    let help = format!("change the value, or the type of column `{}`", column.name);
    cx.fail(Code::SchemaType, field.node.span, message, Some(help));
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
