//! Names in declarations: the row types of facts, values, lists and fields, and the paths that fill lists.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::diag::{Code, Diagnostic, DocumentNode, Span, suggest};
use crate::model::pack::PackRow;
use crate::syntax::CompileContext;
use crate::terms::names;
use crate::terms::words::{self, MOST_WORDS, ValueWord};

use super::functions::origin;

/// What `over` says of a name that is about any value, such as a part of a foreign document.
pub(super) const ANYTHING: &str = "any";

/// `over` names a row type, or is `any`.
pub(super) fn check_over(cx: &mut CompileContext<'_>, row: &PackRow) {
    let Some(over) = row.fields.get("over").map(|f| &f.node) else { return };
    let name = over.as_text().unwrap_or("");
    if name != ANYTHING && !cx.names.fields.contains_key(name) {
        let known: Vec<Arc<str>> = cx.names.fields.keys().cloned().collect();
        cx.unknown("row type", name, over.span, known.iter().map(AsRef::as_ref));
    }
}

/// Warns of a row type that nobody declares and that is a declared one with a slip, and of such a path that fills a list.
/// Other names may be meant: items need no declared fields, and a scene may hold more than a pack declares. Reports fields that
/// items of a list need and no row declares.
pub(super) fn check_lists(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for table in ["list", "field"] {
        for row in pack.tables.get(table).into_iter().flat_map(|rows| rows.values()) {
            let rows = row.fields.get("rows").and_then(|field| field.node.as_list()).unwrap_or(&[]);
            for (name, at) in rows.iter().filter_map(|node| Some((node.as_text()?, node.span))) {
                if !cx.names.fields.contains_key(name) {
                    let near = suggest::misspelt_key(name, cx.names.fields.keys().map(AsRef::as_ref)).map(str::to_owned);
                    nearly(cx, (table, row), ("row type", "[[field]]"), name, near, at);
                }
            }
            let from = row.fields.get("from").and_then(|field| Some((field.node.as_text()?, field.node.span)));
            if let Some((path, at)) = from
                && table == "list"
                && !cx.names.knows_path(path)
            {
                let near = suggest::misspelt_key(path, cx.names.path_names()).map(str::to_owned);
                nearly(cx, (table, row), ("path", "[[path]]"), path, near, at);
            }
            let needs = row.fields.get("needs").filter(|_| table == "list").and_then(|field| field.node.as_list());
            let types: Vec<Arc<str>> = rows.iter().filter_map(DocumentNode::as_text).map(Arc::from).collect();
            let types = Some(types.as_slice()).filter(|types| !types.is_empty());
            for (name, at) in needs.unwrap_or_default().iter().filter_map(|node| Some((node.as_text()?, node.span))) {
                if !cx.names.knows_field(types, name) {
                    cx.rule = origin(cx, table, row);
                    let known: Vec<String> = cx.names.field_names(types).map(str::to_owned).collect();
                    let help = suggest::help(name, known.iter().map(String::as_str));
                    let help = help.or_else(|| Some("declare it as a [[field]] row".into()));
                    cx.fail_for(name, Code::NameUnknown, at, format!("items of list `{}` have no field `{name}`", row.name), help);
                }
            }
        }
    }
}

/// Reports words of a path or a field that are to be the names of the rows of a table (`$table.NAME`) or the words of a path
/// (`$PATH`), if there is no such table, or no such path that has words: then there are none to check.
pub(super) fn check_references(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    if let Some(at) = cx.names.too_many {
        cx.rule = "values".to_owned();
        let message = format!("the `values` of all paths and fields come to more than {MOST_WORDS} words");
        cx.fail(Code::BoundExceeded, at, message, Some("list fewer words, or let fewer rows name a large table".into()));
        return;
    }
    for table in ["path", "field"] {
        for row in pack.tables.get(table).into_iter().flat_map(|rows| rows.values()) {
            let Some(values) = row.fields.get("values").map(|field| &field.node) else { continue };
            // a reference is looked at once, as it is paid once
            let mut seen = FxHashSet::default();
            for node in values.as_list().unwrap_or(std::slice::from_ref(values)) {
                let Some(word) = node.as_text().filter(|word| seen.insert(*word)) else { continue };
                match ValueWord::of(word) {
                    ValueWord::Itself => {}
                    ValueWord::Rows { table: of, .. } => {
                        // a layer may have taken the rows of a table away that the language has
                        let is_language = cx.row_keys.is_some_and(|tables| tables.contains_key(of)) || cx.engine_tables.contains(&of);
                        if !is_language && !names::is_table(pack, of) {
                            cx.rule = origin(cx, table, row);
                            cx.unknown("table", of, node.span, pack.tables.keys().map(AsRef::as_ref).chain(names::own_tables(pack)));
                        }
                    }
                    ValueWord::Path(path) => {
                        cx.rule = origin(cx, table, row);
                        check_words_of_path(cx, path, node.span);
                    }
                }
            }
        }
    }
}

/// Reports a path that has no words, or that takes some from another path.
fn check_words_of_path(cx: &mut CompileContext<'_>, path: &str, at: Span) {
    let Some(values) = words::values_of_path(cx.pack, path) else {
        let may_look = cx.may_look(cx.names.words.len(), at);
        let near = may_look.then(|| suggest::help(path, cx.names.words.keys().map(AsRef::as_ref))).flatten();
        let help = near.or_else(|| Some(format!("give the [[path]] row `{path}` its `values`")));
        return cx.fail_for_row((&["path"], path), Code::NameUnknown, at, format!("no path `{path}` has words"), help);
    };
    if let Some(other) = words::texts_of(values).find(|word| matches!(ValueWord::of(word), ValueWord::Path(_))) {
        let message = format!("path `{path}` takes words from another one itself");
        cx.fail(Code::ReferenceBad, at, message, Some(format!("list the words of `{path}` here, and `{other}` beside them")));
    }
}

/// Warns of a name in a row of a table if it is near a declared one.
fn nearly(
    cx: &mut CompileContext<'_>,
    (table, row): (&str, &PackRow),
    (what, declared): (&str, &str),
    name: &str,
    near: Option<String>,
    at: Span,
) {
    let Some(near) = near else { return };
    cx.rule = origin(cx, table, row);
    let message = format!("the {what} `{name}` is declared nowhere, and is nearly `{near}`");
    let help = format!("did you mean `{near}`? otherwise declare `{name}` with a {declared} row");
    cx.warn(Diagnostic::new(Code::NameNearly, message).at(at).help(help));
}
