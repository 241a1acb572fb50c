//! Names in declarations: the row types of facts, values, lists and fields, and the paths that fill lists.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Span, suggest};
use crate::model::pack::Row;
use crate::syntax::CompileContext;

use super::functions::origin;

/// What `over` says of a name that is about any value, such as a part of a foreign document.
pub(super) const ANYTHING: &str = "any";

/// `over` names a row type, or is `any`.
pub(super) fn check_over(cx: &mut CompileContext<'_>, row: &Row) {
    let Some(over) = row.fields.get("over").map(|f| &f.node) else { return };
    let name = over.as_text().unwrap_or("");
    if name != ANYTHING && !cx.names.fields.contains_key(name) {
        let known: Vec<Arc<str>> = cx.names.fields.keys().cloned().collect();
        cx.unknown("row type", name, over.span, known.iter().map(AsRef::as_ref));
    }
}

/// Warns of a row type that nobody declares and that is a declared one with a slip, and of such a path that fills a list.
/// Other names may be meant: items need no declared fields, and a scene may hold more than a pack declares.
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
        }
    }
}

/// Warns of a name in a row of a table if it is near a declared one.
fn nearly(
    cx: &mut CompileContext<'_>,
    (table, row): (&str, &Row),
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
