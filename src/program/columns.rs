//! Extra columns: keys of rows beside those that the schema of their table knows, each declared by a row `[[column]]`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, Data, Node, suggest};
use crate::model::Value;
use crate::model::pack::Row;
use crate::syntax::CompileContext;
use crate::terms::names::{self, TABLES, is_form};

use super::cells;

/// The most columns of one table.
const MAX_COLUMNS: usize = 100;
/// The most characters of a text that a message shows.
const MAX_SHOWN: usize = 60;

/// The defaults of columns, by their table.
pub(super) fn defaults(cx: &mut CompileContext<'_>) -> FxHashMap<Arc<str>, Vec<(Arc<str>, Value)>> {
    let pack = cx.pack;
    let mut all: FxHashMap<Arc<str>, Vec<(Arc<str>, Value)>> = FxHashMap::default();
    for column in pack.tables.get("column").into_iter().flat_map(|rows| rows.values()) {
        let Some((table, key)) = column.name.split_once('/') else { continue };
        let Some(default) = column.fields.get("default") else { continue };
        let of_table = all.entry(table.into()).or_default();
        if of_table.len() < MAX_COLUMNS {
            cx.rule = format!("column {}", column.name);
            of_table.push((key.into(), cells::whole(cx, &default.node)));
        }
    }
    all
}

/// Checks the columns that a pack declares, and that literals in them are of their type. No pass can read `engine_tables`.
pub(super) fn check(cx: &mut CompileContext<'_>, engine_tables: &[&str]) {
    let pack = cx.pack;
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    for column in pack.tables.get("column").into_iter().flat_map(|rows| rows.values()) {
        // the schema says how a column is named
        let Some((table, key)) = column.name.split_once('/') else { continue };
        cx.rule = format!("column {}", column.name);
        let number = counts.entry(table).or_default();
        *number += 1;
        if *number > MAX_COLUMNS {
            if *number == MAX_COLUMNS + 1 {
                let message = format!("table `{table}` has more than {MAX_COLUMNS} columns of its own");
                cx.fail(Code::BoundExceeded, column.name_span, message, Some("put several of them into one of type `table`".into()));
            }
            continue;
        }
        if let Some(default) = column.fields.get("default") {
            value(cx, column, "the default", &default.node);
        }
        if engine_tables.contains(&table) {
            let message = format!("no pass can read a column of table `{table}`, which the engine reads itself");
            let help = "give the key to a table that passes read as `$table.NAME`";
            cx.fail(Code::SchemaValue, column.name_span, message, Some(help.into()));
        } else if !names::is_table(pack, table) {
            let known = pack.tables.keys().map(AsRef::as_ref).chain(TABLES.iter().copied()).chain(names::own_tables(pack));
            let near = suggest::nearest(table, known).map(|near| format!("did you mean `{near}`?"));
            let help = near.unwrap_or_else(|| format!("declare it: `[[table]]` with `name = \"{table}\"`"));
            let message = format!("there is no table `{table}`");
            cx.fail_for_row((&["table"], table), Code::NameUnknown, column.name_span, message, Some(help));
        }
        for row in pack.tables.get(table).into_iter().flat_map(|rows| rows.values()) {
            cell(cx, column, row, key);
        }
    }
}

fn cell(cx: &mut CompileContext<'_>, column: &Row, row: &Row, key: &str) {
    if let Some(field) = row.fields.get(key) {
        value(cx, column, &format!("`{key}` of `{}`", row.name), &field.node);
    }
}

/// Checks that a literal is of the type of a column, and one of its words if it has some.
fn value(cx: &mut CompileContext<'_>, column: &Row, what: &str, node: &Node) {
    let wanted = column.fields.get("type").and_then(|field| field.node.as_text()).unwrap_or("any");
    if !fits(&node.data, wanted) {
        let message = format!("{what} must be of type `{wanted}`, but is {}", node.kind());
        let help = format!("change the value, or the type of column `{}`", column.name);
        cx.fail(Code::SchemaType, node.span, message, Some(help));
        return;
    }
    let words = column.fields.get("values").and_then(|field| field.node.as_list()).unwrap_or(&[]);
    let words: Vec<&str> = words.iter().filter_map(Node::as_text).collect();
    let Some(word) = node.as_text().filter(|word| !words.is_empty() && !words.contains(word)) else { return };
    if !refers(word) && cx.may_look(words.len(), node.span) {
        let shown: String = word.chars().take(MAX_SHOWN).collect();
        let help =
            suggest::help(word, words.iter().copied()).or_else(|| Some(format!("use one of the `values` of column `{}`", column.name)));
        cx.fail(Code::SchemaValue, node.span, format!("{what} cannot be `{shown}`"), help);
    }
}

/// Whether a text is evaluated, so that it may be of any type.
fn refers(text: &str) -> bool {
    text.starts_with(['$', '@']) || text.contains("{{")
}

/// Whether a cell may be of a type: a reference, and a value that is evaluated, may be of any.
fn fits(data: &Data, wanted: &str) -> bool {
    match data {
        Data::Text(text) => matches!(wanted, "text" | "any") || refers(text),
        Data::Int(_) => matches!(wanted, "integer" | "number" | "any"),
        Data::Float(_) => matches!(wanted, "number" | "any"),
        Data::Bool(_) => matches!(wanted, "boolean" | "any"),
        Data::List(_) => matches!(wanted, "list" | "any"),
        Data::Table(table) => matches!(wanted, "table" | "any") || is_form(table),
        Data::Null => true,
    }
}
