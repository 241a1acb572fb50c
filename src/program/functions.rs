//! Rows that name a script function of the pack: hooks and tools.

use crate::diag::Code;
use crate::model::pack::PackRow;
use crate::syntax::CompileContext;
use crate::syntax::scripts::ITEMS_AND_SCENE;

/// Checks all rows that name a function.
pub(super) fn check_functions(cx: &mut CompileContext<'_>) {
    check_hooks(cx);
    check_tools(cx);
    for table in ["macro", "macro_pass"] {
        check_macros(cx, table);
    }
}

/// The `script` of a macro must be a function of the pack.
fn check_macros(cx: &mut CompileContext<'_>, table: &str) {
    let pack = cx.pack;
    for row in pack.tables.get(table).into_iter().flatten().map(|(_, r)| r) {
        cx.rule = origin(cx, table, row);
        if let Some(field) = row.fields.get("script") {
            cx.function(field.node.as_text().unwrap_or(""), field.node.span, ("args, scene", 2));
        }
    }
}

/// A row as messages name it.
pub(super) fn origin(cx: &CompileContext<'_>, what: &str, row: &PackRow) -> String {
    let layer = cx.pack.sources.layer(row.patched.last().copied().unwrap_or(row.span));
    if layer.is_empty() { format!("{what} {}", row.name) } else { format!("{what} {}, from layer `{layer}`", row.name) }
}

/// A hook must name a function of the pack and an event that some pass has.
fn check_hooks(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    let events: Vec<String> = pack
        .tables
        .get("pass")
        .into_iter()
        .flatten()
        .filter_map(|(_, r)| r.fields.get("event")?.node.as_text())
        .flat_map(|e| [format!("before_{e}"), format!("after_{e}")])
        .collect();
    for row in pack.tables.get("hook").into_iter().flatten().map(|(_, r)| r) {
        cx.rule = origin(cx, "hook", row);
        for key in ["event", "run"] {
            let Some(field) = row.fields.get(key) else {
                cx.fail(Code::TermMissing, row.span, format!("hook `{}` has no `{key}`", row.name), Some(format!("add `{key} = \"…\"`")));
                continue;
            };
            let text = field.node.as_text().unwrap_or("");
            if key == "run" {
                cx.function(text, field.node.span, ITEMS_AND_SCENE);
            } else if !events.iter().any(|e| e == text) {
                cx.unknown("event", text, field.node.span, events.iter().map(String::as_str));
            }
        }
    }
}

/// A tool must name a function of the pack.
fn check_tools(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for row in pack.tables.get("tool").into_iter().flatten().map(|(_, r)| r) {
        cx.rule = origin(cx, "tool", row);
        match row.fields.get("function") {
            Some(field) => cx.function(field.node.as_text().unwrap_or(""), field.node.span, ("arguments, scene", 2)),
            None => {
                let message = format!("tool `{}` has no `function`", row.name);
                cx.fail(Code::TermMissing, row.span, message, Some("add `function = \"file.rhai::function\"`".into()));
            }
        }
    }
}
