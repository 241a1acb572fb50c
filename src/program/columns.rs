//! What rows declare of values: extra columns, which are keys of rows beside those that the schema of their table knows, each
//! declared by a row `[[column]]`, and the defaults of columns, of paths and of fields of items.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, DocumentNode, suggest};
use crate::model::Value;
use crate::model::pack::PackRow;
use crate::syntax::CompileContext;
use crate::terms::names::{self, TABLES, ValueType};

use super::cells;
use super::functions::origin;

/// The most columns of one table.
const MAX_COLUMNS: usize = 100;
/// The tables whose rows declare values.
const COLUMN: &str = "column";
const PATH: &str = "path";
const FIELD: &str = "field";
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
            value(cx, COLUMN, column, "the default", &default.node);
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

fn cell(cx: &mut CompileContext<'_>, column: &PackRow, row: &PackRow, key: &str) {
    if let Some(field) = row.fields.get(key) {
        value(cx, COLUMN, column, &format!("`{key}` of `{}`", row.name), &field.node);
    }
}

/// Checks that the defaults of paths and of fields of items are what their rows declare.
pub(super) fn check_defaults(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for table in [PATH, FIELD] {
        for row in pack.tables.get(table).into_iter().flat_map(|rows| rows.values()) {
            let Some(default) = row.fields.get("default") else { continue };
            cx.rule = origin(cx, table, row);
            value(cx, table, row, "the default", &default.node);
        }
    }
}

/// Checks that a literal is of the type that a row of `table` declares, and one of its words if it has some.
fn value(cx: &mut CompileContext<'_>, table: &str, row: &PackRow, what: &str, node: &DocumentNode) {
    let wanted = row.fields.get("type").and_then(|field| field.node.as_text()).unwrap_or("any");
    let kind = ValueType::parse(wanted);
    // the text of a message may be a list of parts, a cell may not
    let is_parts = table == COLUMN && kind == ValueType::Text && node.as_list().is_some();
    // a single value of a scene counts as a list of one
    let is_single = table != COLUMN && kind == ValueType::List;
    if is_parts || !(is_single || kind.accepts(&node.data)) {
        let message = format!("{what} must be of type `{wanted}`, but is {}", node.kind());
        let help = format!("change the value, or the type of {table} `{}`", row.name);
        cx.fail(Code::SchemaType, node.span, message, Some(help));
        return;
    }
    let Some(values) = row.fields.get("values").map(|field| &field.node) else { return };
    let Some(word) = node.as_text().filter(|word| !refers(word)) else { return };
    match table {
        COLUMN => {
            let words: Vec<&str> = values.as_list().unwrap_or(&[]).iter().filter_map(DocumentNode::as_text).collect();
            one_of(cx, (table, row), what, &words, node, word);
        }
        // an item may have other words in a field than the usual ones, so that only a slip is told
        FIELD => {
            if let Some((_, field)) = row.name.split_once('/') {
                cx.check_words(field, node);
            }
        }
        // an empty text says that nobody has given a word
        _ if word.is_empty() => {}
        _ => {
            let known = cx.names.words.get(&row.name).cloned().unwrap_or_default();
            let words: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            // a layer may have taken the row away that a default names
            let may_lack = |node: &DocumentNode| node.as_text().is_some_and(|text| text.starts_with("$table."));
            let open = may_lack(values) || values.as_list().unwrap_or(&[]).iter().any(may_lack);
            if !open || (cx.may_look(words.len(), node.span) && cx.names.near_path_word(&row.name, word).is_some()) {
                one_of(cx, (table, row), what, &words, node, word);
            }
        }
    }
}

/// Checks that a text is one of the words that a row of a table declares, if it declares some.
fn one_of(cx: &mut CompileContext<'_>, (table, row): (&str, &PackRow), what: &str, words: &[&str], node: &DocumentNode, word: &str) {
    if words.is_empty() || words.contains(&word) || !cx.may_look(words.len(), node.span) {
        return;
    }
    let shown: String = word.chars().take(MAX_SHOWN).collect();
    let help = suggest::help(word, words.iter().copied());
    let help = help.unwrap_or_else(|| format!("use one of the `values` of {table} `{}`", row.name));
    cx.fail(Code::SchemaValue, node.span, format!("{what} cannot be `{shown}`"), Some(help));
}

/// Whether a text is evaluated, so that it may be of any type.
fn refers(text: &str) -> bool {
    text.starts_with(['$', '@']) || text.contains("{{")
}
