//! What packs add to the language's tables, and tables of their own: a row `[[table]]` declares a table, and a row `[[column]]`
//! a key of the rows of any table. What nobody declares stays an error, so that a misspelt name does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Span, WordSearch, limits, short};
use crate::model::Pack;
use crate::model::pack::PackRow;
use crate::syntax::CompileContext;
use crate::terms::names::{self, TABLES, ValueType};

use super::CheckedRules;

/// The tables whose rows declare values.
const COLUMN: &str = "column";
const PATH: &str = "path";
const FIELD: &str = "field";

/// Names that mean something else behind `$table.`, or where rows stand.
const RESERVED: &[&str] = &["overlaid", "options", "limits"];

/// Checks the tables that a pack declares: their names, and which keys their rows have. The types of cells are checked where
/// they are compiled.
pub(super) fn check(rules: &CheckedRules<'_>, found: &mut Report) {
    let pack = rules.pack;
    let (mut told, words) = (0, found.words.clone());
    let mut tell = |complaint: Diagnostic| {
        told += 1;
        if told <= limits::REPORTED {
            found.push(complaint);
        }
    };
    changed_types(pack, &mut tell);
    let mut columns: HashMap<&str, Vec<(&str, &PackRow)>> = HashMap::new();
    for row in pack.rows("column") {
        if let Some((table, key)) = row.name.split_once('/') {
            if (rules.schema_has)(table, key) {
                let message = format!("rows of table `{table}` have a key `{key}` already, and a column is one beside those");
                tell(Diagnostic::new(Code::SchemaValue, message).at(row.name_span).help("choose another name for the key"));
                continue;
            }
            columns.entry(table).or_default().push((key, row));
        }
    }
    let own: HashSet<&str> = pack.rows("table").map(|row| &*row.name).collect();
    for (table, columns) in &columns {
        let required = |row: &PackRow| row.node("required").filter(|node| node.as_bool() == Some(true)).map(|node| node.span);
        for (key, span) in columns.iter().filter(|_| !own.contains(table)).filter_map(|(key, row)| Some((key, required(row)?))) {
            let message = format!("`{key}` cannot be required: rows of table `{table}` come from packs that do not know it");
            tell(Diagnostic::new(Code::SchemaValue, message).at(span).help("give it a `default`, or declare a table of your own"));
        }
    }
    for table in pack.rows("table") {
        if is_taken(&table.name, rules) {
            let message = format!("`{}` is a word of rule files already, and cannot be a table of your own", table.name);
            let help =
                format!("choose another name; a `[[column]]` such as `{}/mood` adds a key to rows of the language's tables", table.name);
            tell(Diagnostic::new(Code::SchemaValue, message).at(table.name_span).help(help));
            continue;
        }
        let columns = columns.get(&*table.name).map_or(&[][..], Vec::as_slice);
        pack.rows(&table.name).for_each(|row| cells(table, columns, row, &words, &mut tell));
    }
}

/// The keys of one row of a declared table.
fn cells(table: &PackRow, columns: &[(&str, &PackRow)], row: &PackRow, words: &WordSearch, tell: &mut dyn FnMut(Diagnostic)) {
    let rule = format!("{} {}", table.name, row.name);
    for (key, field) in row.fields.iter().filter(|(key, _)| &***key != "about" && !columns.iter().any(|(known, _)| *known == &***key)) {
        let near = words.nearest(key, columns.iter().map(|(known, _)| *known));
        let message = format!("table `{}` has no column `{key}`", table.name);
        let declare = format!("declare it: `[[column]]` with `name = \"{}/{key}\"`", table.name);
        let help = match near {
            Some(near) => Help::from(near).or_else_do(&format!("otherwise {declare}")),
            None => declare.into(),
        };
        tell(Diagnostic::new(Code::SchemaUnknownKey, message).at(field.key).rule(rule.clone()).help(help));
    }
    for (key, column) in columns.iter().filter(|(key, _)| !row.fields.contains_key(*key)) {
        let is_required = column.node("required").and_then(DocumentNode::as_bool) == Some(true);
        if is_required && !column.fields.contains_key("default") {
            let message = format!("`{}` has no `{key}`, which every row of table `{}` must have", row.name, table.name);
            let complaint = Diagnostic::new(Code::SchemaMissingKey, message).at(row.name_span).related(column.name_span, "declared here");
            tell(complaint.rule(rule.clone()).help(format!("add `{key} = …`")));
        }
    }
}

/// Whether rule files use a word at their top already.
fn is_taken(name: &str, rules: &CheckedRules<'_>) -> bool {
    RESERVED.contains(&name) || rules.schemas.iter().any(|schema| schema.get("properties").is_some_and(|known| known.get(name).is_some()))
}

/// Reports columns to which two layers give different types: rows of the lower one would be wrong for no fault of theirs.
fn changed_types(pack: &Pack, tell: &mut dyn FnMut(Diagnostic)) {
    let types: Vec<(&PackRow, &DocumentNode)> = pack.rows("column").filter_map(|row| Some((row, row.node("type")?))).collect();
    let by: HashSet<Span> = types.iter().map(|(_, node)| node.span).collect();
    let old: HashMap<Span, Span> = pack.shadowed.iter().filter(|value| by.contains(&value.by)).map(|value| (value.by, value.old)).collect();
    for (row, node) in types {
        let Some(old) = old.get(&node.span) else { continue };
        let before = Arc::<str>::from(pack.sources.snippet(*old).trim_matches(['"', '\'']));
        let now = node.as_text().unwrap_or_default();
        if *before != *now {
            let message = format!("column `{}` is of type `{now}` here, and of type `{before}` in a lower layer", row.name);
            let complaint = Diagnostic::new(Code::SchemaValue, message).at(node.span).related(*old, "declared here");
            tell(complaint.help("keep the type, or choose another name; `replace = true` says that the whole column is meant anew"));
        }
    }
}

/// Checks the columns that a pack declares, and that literals in them are of their type.
pub(super) fn check_cells(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for column in pack.rows(COLUMN) {
        // the schema says how a column is named
        let Some((table, key)) = column.name.split_once('/') else { continue };
        cx.rule = format!("column {}", column.name);
        let number = counts.entry(table).or_default();
        *number += 1;
        if *number > limits::FIELDS {
            if *number == limits::FIELDS + 1 {
                let message = format!("table `{table}` has more than {} columns of its own", limits::FIELDS);
                cx.fail(Code::BoundExceeded, column.name_span, message, Some("put several of them into one of type `table`".into()));
            }
            continue;
        }
        if let Some(default) = column.node("default") {
            value(cx, COLUMN, column, "the default", default);
        }
        if cx.engine_tables.contains(&table) {
            let message = format!("no pass can read a column of table `{table}`, which the engine reads itself");
            let help = "give the key to a table that passes read as `$table.NAME`";
            cx.fail(Code::SchemaValue, column.name_span, message, Some(help.into()));
        } else if !names::is_table(pack, table) {
            let known = pack.tables.keys().map(AsRef::as_ref).chain(TABLES.iter().copied()).chain(names::own_tables(pack));
            let near = cx.report.words.nearest(table, known).map(Help::from);
            let help = near.unwrap_or_else(|| format!("declare it: `[[table]]` with `name = \"{table}\"`").into());
            let message = format!("there is no table `{table}`");
            cx.fail_for_row((&["table"], table), Code::NameUnknown, column.name_span, message, Some(help));
        }
        for (row, node) in pack.rows(table).filter_map(|row| Some((row, row.node(key)?))) {
            value(cx, COLUMN, column, &format!("`{key}` of `{}`", row.name), node);
        }
    }
}

/// Checks that the defaults of paths and of fields of items are what their rows declare.
pub(super) fn check_defaults(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for table in [PATH, FIELD] {
        for row in pack.rows(table) {
            let Some(default) = row.node("default") else { continue };
            cx.enter_row(table, row);
            value(cx, table, row, "the default", default);
        }
    }
}

/// Checks that a literal is of the type that a row of `table` declares, and one of its words if it has some.
fn value(cx: &mut CompileContext<'_>, table: &str, row: &PackRow, what: &str, node: &DocumentNode) {
    let wanted = row.text("type").unwrap_or("any");
    let kind = ValueType::parse(wanted);
    // the text of a message may be a list of parts, a cell may not
    let is_parts = table == COLUMN && kind == ValueType::Text && node.as_list().is_some();
    // a single value of a scene counts as a list of one
    let is_single = table != COLUMN && kind == ValueType::List;
    if is_parts || !(is_single || kind.accepts(&node.data)) {
        let message = format!("{what} must be of type `{wanted}`, but is {}", node.kind());
        let help = format!("change the value, or the type of {table} `{}`", row.name);
        cx.fail(Code::SchemaType, node.span, message, Some(help.into()));
        return;
    }
    let Some(values) = row.node("values") else { return };
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
            if !open || (cx.may_look(words.len(), node.span) && cx.names.near_path_word(&row.name, word, &cx.report.words).is_some()) {
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
    let shown = short::head(word, limits::QUOTED);
    let help = cx.report.words.help(word, words.iter().copied());
    let help = help.unwrap_or_else(|| format!("use one of the `values` of {table} `{}`", row.name).into());
    cx.fail(Code::SchemaValue, node.span, format!("{what} cannot be `{shown}`"), Some(help));
}

/// Whether a text is evaluated, so that it may be of any type.
fn refers(text: &str) -> bool {
    text.starts_with(['$', '@']) || text.contains("{{")
}
