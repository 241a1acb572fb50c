//! What packs add to the language's tables, and tables of their own: a row `[[table]]` declares a table, and a row `[[column]]`
//! a key of the rows of any table. What nobody declares stays an error, so that a misspelt name does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, suggest};
use crate::model::Pack;
use crate::model::pack::PackRow;

use super::CheckedRules;

/// Names that mean something else behind `$table.`, or where rows stand.
const RESERVED: &[&str] = &["overlaid", "options", "limits"];
/// The most diagnostics about the rows of tables that a pack declares.
const MAX_COMPLAINTS: usize = 200;

/// Checks the tables that a pack declares: their names, and which keys their rows have. The types of cells are checked where
/// they are compiled.
pub(super) fn check(rules: &CheckedRules<'_>, found: &mut Report) {
    let pack = rules.pack;
    let mut told = 0;
    let mut tell = |complaint: Diagnostic| {
        told += 1;
        if told <= MAX_COMPLAINTS {
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
        pack.rows(&table.name).for_each(|row| cells(table, columns, row, &mut tell));
    }
}

/// The keys of one row of a declared table.
fn cells(table: &PackRow, columns: &[(&str, &PackRow)], row: &PackRow, tell: &mut dyn FnMut(Diagnostic)) {
    let rule = format!("{} {}", table.name, row.name);
    for (key, field) in row.fields.iter().filter(|(key, _)| &***key != "about" && !columns.iter().any(|(known, _)| *known == &***key)) {
        let near = suggest::nearest(key, columns.iter().map(|(known, _)| *known)).map(|near| format!("did you mean `{near}`? otherwise "));
        let message = format!("table `{}` has no column `{key}`", table.name);
        let help = format!("{}declare it: `[[column]]` with `name = \"{}/{key}\"`", near.unwrap_or_default(), table.name);
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
