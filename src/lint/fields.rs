//! Rows and values that have the fields of a row type.
//!
//! A row of a table becomes an item with the fields that rows `[[field]]` declare for the row type of the same name. A value of
//! the pack does so too if its row `[[path]]` names that row type (`fields`), as the defaults of such rows do. Their cells are
//! checked as fields: for their types, for the only words that they may have (`only`), and for fields that every row
//! needs (`required`). A cell that is computed is not judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, limits};
use crate::syntax::CompileContext;
use crate::terms::names::{self, is_reference};
use crate::terms::words::{self, ValueWord};

/// What the fields of a row type say of the rows of the table of the same name.
#[derive(Default)]
struct RowRequirement<'p> {
    required: Vec<&'p str>,
    has_only: bool,
}

/// Checks the rows of all tables that are called like a row type, and all values with the fields of one.
pub(super) fn check(cx: &mut CompileContext<'_>) {
    // words that were left out would seem to be wrong
    if cx.names.too_many.is_some() {
        return;
    }
    let pack = cx.pack;
    for (table, wanted) in wanted(cx) {
        for row in pack.rows(table) {
            for key in wanted.required.iter().filter(|key| !row.fields.contains_key(**key)) {
                cx.enter_row(table, row);
                let message = format!("{table} `{}` has no effect: it has no `{key}`", row.name);
                let help = format!("add `{key} = …`, or take the row away");
                cx.warn(Diagnostic::warning(Code::TermMissing, message).at(row.name_span).help(help));
            }
            for (key, cell) in row.fields.iter().filter(|_| wanted.has_only) {
                let field = format!("{table}/{key}");
                // a column with words of its own has been checked
                let of_column = || pack.tables.get("column")?.get(field.as_str())?.fields.get("values");
                if cx.names.only.contains_key(field.as_str()) && of_column().is_none() {
                    cx.enter_row(table, row);
                    check_only(cx, table, key, &cell.node);
                }
            }
        }
    }
    check_values(cx);
}

/// By row type, what its fields say. Warns of `only` and `required` that no row is checked for.
fn wanted<'p>(cx: &mut CompileContext<'p>) -> BTreeMap<&'p str, RowRequirement<'p>> {
    let pack = cx.pack;
    let mut all: BTreeMap<&str, RowRequirement<'_>> = BTreeMap::new();
    for field in pack.rows("field") {
        let Some((table, key)) = field.name.split_once('/') else { continue };
        let said = |key: &str| field.fields.get(key).filter(|said| said.node.as_bool() == Some(true));
        for (word, said) in ["only", "required"].into_iter().filter_map(|word| Some((word, said(word)?))) {
            cx.enter_row("field", field);
            if !names::is_table(pack, table) {
                let message = format!("`{word}` has no effect: there is no table `{table}`");
                let help = format!("take it out, or declare the table: `[[table]]` with `name = \"{table}\"`");
                cx.warn(Diagnostic::warning(Code::TermMissing, message).at(said.key).help(help));
                continue;
            }
            let wanted = all.entry(table).or_default();
            if word == "only" {
                wanted.has_only = true;
                if !field.fields.contains_key("values") {
                    let complaint = Diagnostic::warning(Code::TermMissing, "`only` has no effect: the row has no `values`");
                    cx.warn(complaint.at(said.key).help("add `values = […]`, or take `only` out"));
                }
            } else if field.fields.contains_key("default") {
                let complaint = Diagnostic::warning(Code::TermMissing, "`required` has no effect: the field has a `default`");
                cx.warn(complaint.at(said.key).help("take one of them out"));
            } else if wanted.required.len() < limits::FIELDS {
                wanted.required.push(key);
            } else {
                let message = format!("rows of table `{table}` need more than {} fields", limits::FIELDS);
                cx.fail(Code::BoundExceeded, said.key, message, Some("take `required` out of some of them".into()));
            }
        }
    }
    all
}

/// Checks the values whose paths have the fields of a row type.
fn check_values(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for path in pack.rows("path") {
        let Some((row_type, at)) = path.fields.get("fields").and_then(|f| Some((f.node.as_text()?, f.node.span))) else { continue };
        if !cx.names.fields.contains_key(row_type) {
            cx.enter_row("path", path);
            let known: Vec<Arc<str>> = cx.names.fields.keys().cloned().collect();
            cx.unknown("row type", row_type, at, known.iter().map(AsRef::as_ref));
            continue;
        }
        if path.name.ends_with(".*") {
            cx.enter_row("path", path);
            let complaint =
                Diagnostic::warning(Code::TermMissing, "`fields` has no effect: the name ends in `.*`, so it is no single value");
            cx.warn(complaint.at(at).help("take it out, or declare the path of one value"));
            continue;
        }
        if let Some(value) = value_at(&pack.values, &path.name) {
            check_value(cx, row_type, &path.name, value, None);
        }
        if let Some(default) = path.fields.get("default") {
            let row = cx.row_name("path", path);
            check_value(cx, row_type, &path.name, &default.node, Some(&row));
        }
    }
}

/// Checks the cells of one value with the fields of a row type; `row` is the row that holds it, if that is not the pack itself.
fn check_value(cx: &mut CompileContext<'_>, row_type: &str, path: &str, value: &DocumentNode, row: Option<&str>) {
    let types = [Arc::from(row_type)];
    for (key, cell) in value.as_table().into_iter().flatten() {
        cx.rule = row.map_or_else(|| format!("value {path}.{key}"), str::to_owned);
        let fields = cx.names.fields.get(row_type);
        let kind = fields.and_then(|fields| fields.get(key)).map(|declared| declared.kind);
        let count = fields.map_or(0, BTreeMap::len);
        // every item has some fields, and the key may be a path of its own
        let declares = |path: &str| cx.pack.tables.get("path").is_some_and(|rows| rows.contains_key(path));
        let is_known = cx.names.knows_field(Some(&types), key) || declares(&format!("{path}.{key}"));
        if !is_known && cx.may_look(count, cell.key) {
            let known = cx.names.fields.get(row_type).into_iter().flat_map(|fields| fields.keys());
            if let Some(near) = cx.report.words.misspelt_key(key, known.map(AsRef::as_ref)) {
                let otherwise = format!("otherwise declare it: `[[field]]` with `name = \"{row_type}/{key}\"`");
                let help = Help::possible(key, near).or_else_do(&otherwise);
                cx.warn(Diagnostic::new(Code::NameNearly, format!("{row_type} rows have no field `{key}`")).at(cell.key).help(help));
            }
        }
        cx.check_literal(&cell.node, kind, key);
        cx.check_constant(&cell.node, kind);
        if cx.names.only.contains_key(format!("{row_type}/{key}").as_str()) {
            check_only(cx, row_type, key, &cell.node);
        } else {
            cx.check_words(key, &cell.node);
        }
    }
}

/// The value of the pack at a path.
fn value_at<'p>(values: &'p FieldMap, path: &str) -> Option<&'p DocumentNode> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let node = &values.get(first)?.node;
    rest.map_or(Some(node), |rest| value_at(node.as_table()?, rest))
}

/// Warns of a literal that is none of the only words that the field may have; of a list, each element is a word.
fn check_only(cx: &mut CompileContext<'_>, row_type: &str, key: &str, node: &DocumentNode) {
    let field = format!("{row_type}/{key}");
    for node in node.as_list().unwrap_or(std::slice::from_ref(node)) {
        let Some(word) = node.as_text().filter(|word| is_literal(word)) else { continue };
        let Some(words) = cx.names.only.get(field.as_str()).filter(|words| !words.contains(word)) else { continue };
        let count = words.len();
        if !cx.may_look(count, node.span) {
            continue;
        }
        let near = cx.names.only.get(field.as_str()).and_then(|words| cx.report.words.help(word, words.iter().map(AsRef::as_ref)));
        let (elsewhere, tables) = elsewhere(cx, &field);
        let help = match near {
            Some(near) if near.suggestion.is_some() => near.or_else_do(&format!("otherwise add it to {elsewhere}")),
            Some(known) => format!("{known}; otherwise add it to {elsewhere}").into(),
            None => format!("add it to {elsewhere}").into(),
        };
        let message = format!("`{word}` is none of the words that `{key}` may be");
        let complaint = Diagnostic::warning(Code::NameUnknown, message).at(node.span).missing_row(&tables, word);
        cx.warn(complaint.help(help));
    }
}

/// Where a word of a field can be added, as a remedy says it, and the tables whose rows are such words.
fn elsewhere(cx: &CompileContext<'_>, field: &str) -> (String, Vec<&'static str>) {
    let values = cx.pack.tables.get("field").and_then(|rows| rows.get(field)).and_then(|row| row.fields.get("values"));
    let (mut places, mut tables) = (Vec::new(), Vec::new());
    for word in values.into_iter().flat_map(|values| words::texts_of(&values.node)).take(limits::REPORTED) {
        let place = match ValueWord::of(word) {
            ValueWord::Rows { table, ending } => {
                tables.extend(names::TABLES.iter().find(|known| **known == table));
                let ending = if ending.is_empty() { String::new() } else { format!(" whose names end in `{ending}`") };
                format!("the rows of table `{table}`{ending}")
            }
            ValueWord::Path(path) => format!("`values` of the [[path]] row `{path}`"),
            ValueWord::Itself => continue,
        };
        if places.len() < limits::PLACES && !places.contains(&place) {
            places.push(place);
        }
    }
    places.push(format!("`values` of the [[field]] row `{field}` (`edit.values = {{ insert = … }}` keeps those of lower layers)"));
    (places.join(" or "), tables)
}

/// Whether a text is what it says, and not evaluated.
fn is_literal(word: &str) -> bool {
    !word.is_empty() && !is_reference(word) && !word.contains("{{")
}
