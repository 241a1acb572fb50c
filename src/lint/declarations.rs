//! Names in declarations: functions of scripts, events, passes, row types, paths that fill lists, tables and paths that words are
//! taken from, and what scripts may read and write.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::diag::{Code, Diagnostic, DocumentNode, Help, Span, limits};
use crate::model::pack::PackRow;
use crate::model::rights::SCENE;
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::syntax::scripts::ITEMS_AND_SCENE;
use crate::terms::names::{self, ANYTHING};
use crate::terms::words::{self, ValueWord};

/// Reports names in declarations that nothing has.
pub(super) fn check(cx: &mut CompileContext<'_>) {
    check_rights(cx);
    check_row_types(cx);
    check_hooks(cx);
    check_tools(cx);
    check_macros(cx);
    check_rounds(cx);
}

/// Reports the words of `[rhai]` that name no path of the scene, no list and no field of its items.
fn check_rights(cx: &mut CompileContext<'_>) {
    cx.rule.clear();
    let pack = cx.pack;
    for (word, span) in pack.rights.values().flat_map(|rights| rights.places.iter()) {
        check_right(cx, word, *span);
    }
}

fn check_right(cx: &mut CompileContext<'_>, word: &str, span: Span) {
    if word == SCENE {
        return;
    }
    if let Some(path) = word.strip_prefix(SCENE).and_then(|rest| rest.strip_prefix('.')) {
        cx.check_path(path, span);
        return;
    }
    let names: Vec<Arc<str>> = word.split('.').map(Arc::from).collect();
    let Some((list, taken)) = cx.list_prefix(&names) else {
        let name = names.first().map_or(word, AsRef::as_ref);
        if cx.names.knows_path(word) {
            let help = format!("a path of the scene is written `{SCENE}.{word}`");
            cx.fail(Code::NameUnknown, span, format!("there is no list `{name}`"), Some(help.into()));
            return;
        }
        let mut known: Vec<Arc<str>> = cx.lists.iter().map(|list| list.name.clone()).collect();
        known.push(SCENE.into());
        cx.unknown("list", name, span, known.iter().map(AsRef::as_ref));
        return;
    };
    let Some(field) = names.get(taken).filter(|field| field.as_ref() != "index") else { return };
    match cx.rows_of(list) {
        ItemScope::Rows(rows) if rows.is_empty() => {}
        scope => cx.within(scope, |cx| cx.check_field(0, field, span)),
    }
}

/// `over` names a row type, or is `any`.
fn check_row_types(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for (table, row) in ["fact", "value"].into_iter().flat_map(|table| pack.rows(table).map(move |row| (table, row))) {
        let Some(over) = row.node("over") else { continue };
        let name = over.as_text().unwrap_or("");
        if name != ANYTHING && !cx.names.fields.contains_key(name) {
            cx.enter_row(table, row);
            let known: Vec<Arc<str>> = cx.names.fields.keys().cloned().collect();
            cx.unknown("row type", name, over.span, known.iter().map(AsRef::as_ref));
        }
    }
}

/// The `script` of a macro must be a function of the pack.
fn check_macros(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for (table, row) in ["macro", "macro_pass"].into_iter().flat_map(|table| pack.rows(table).map(move |row| (table, row))) {
        if let Some(node) = row.node("script") {
            cx.enter_row(table, row);
            cx.function(node.as_text().unwrap_or(""), node.span, ("args, scene", 2));
        }
    }
}

/// A hook must name a function of the pack and an event that some pass has.
fn check_hooks(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    let events = pack.rows("pass").filter_map(|row| row.text("event"));
    let events: Vec<String> = events.flat_map(|event| [format!("before_{event}"), format!("after_{event}")]).collect();
    for row in pack.rows("hook") {
        cx.enter_row("hook", row);
        for key in ["event", "run"] {
            let Some(node) = row.node(key) else {
                cx.fail(
                    Code::TermMissing,
                    row.span,
                    format!("hook `{}` has no `{key}`", row.name),
                    Some(format!("add `{key} = \"…\"`").into()),
                );
                continue;
            };
            let text = node.as_text().unwrap_or("");
            if key == "run" {
                cx.function(text, node.span, ITEMS_AND_SCENE);
            } else if !events.iter().any(|e| e == text) {
                cx.unknown("event", text, node.span, events.iter().map(String::as_str));
            }
        }
    }
}

/// A tool must name a function of the pack.
fn check_tools(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for row in pack.rows("tool") {
        cx.enter_row("tool", row);
        match row.node("function") {
            Some(node) => cx.function(node.as_text().unwrap_or(""), node.span, ("arguments, scene", 2)),
            None => {
                let message = format!("tool `{}` has no `function`", row.name);
                cx.fail(Code::TermMissing, row.span, message, Some("add `function = \"file.rhai::function\"`".into()));
            }
        }
    }
}

/// A `[[round]]` must belong to a pass with `do = "repeat"`.
fn check_rounds(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    let repeats: Vec<&str> = pack.rows("pass").filter(|row| row.text("do") == Some("repeat")).map(|row| &*row.name).collect();
    for row in pack.rows("round") {
        let pass = row.name.rsplit_once('/').map_or("", |(p, _)| p);
        if !repeats.contains(&pass) {
            cx.enter_row("round", row);
            cx.unknown("pass with `do = \"repeat\"`", pass, row.name_span, repeats.iter().copied());
        }
    }
}

/// Warns of a row type that nobody declares and that is a declared one with a slip, and of such a path that fills a list.
/// Other names may be meant: items need no declared fields, and a scene may hold more than a pack declares. Reports fields that
/// items of a list need and no row declares.
pub(super) fn check_lists(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for table in ["list", "field"] {
        for row in pack.rows(table) {
            let rows = row.node("rows").and_then(DocumentNode::as_list).unwrap_or(&[]);
            for (name, at) in rows.iter().filter_map(|node| Some((node.as_text()?, node.span))) {
                if !cx.names.fields.contains_key(name) {
                    let near = cx.report.words.misspelt_key(name, cx.names.fields.keys().map(AsRef::as_ref)).map(str::to_owned);
                    nearly(cx, (table, row), ("row type", "[[field]]"), name, near, at);
                }
            }
            let from = row.node("from").and_then(|node| Some((node.as_text()?, node.span)));
            if let Some((path, at)) = from
                && table == "list"
                && !cx.names.knows_path(path)
            {
                let near = cx.report.words.misspelt_key(path, cx.names.path_names()).map(str::to_owned);
                nearly(cx, (table, row), ("path", "[[path]]"), path, near, at);
            }
            let needs = row.node("needs").filter(|_| table == "list").and_then(DocumentNode::as_list);
            let types: Vec<Arc<str>> = rows.iter().filter_map(DocumentNode::as_text).map(Arc::from).collect();
            let types = Some(types.as_slice()).filter(|types| !types.is_empty());
            for (name, at) in needs.unwrap_or_default().iter().filter_map(|node| Some((node.as_text()?, node.span))) {
                if !cx.names.knows_field(types, name) {
                    cx.enter_row(table, row);
                    let known: Vec<String> = cx.names.field_names(types).map(str::to_owned).collect();
                    let help = cx.report.words.help(name, known.iter().map(String::as_str));
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
        let message = format!("the `values` of all paths and fields come to more than {} words", limits::RULE_PARTS);
        cx.fail(Code::BoundExceeded, at, message, Some("list fewer words, or let fewer rows name a large table".into()));
        return;
    }
    for table in ["path", "field"] {
        for row in pack.rows(table) {
            let Some(values) = row.node("values") else { continue };
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
                            cx.enter_row(table, row);
                            cx.unknown("table", of, node.span, pack.tables.keys().map(AsRef::as_ref).chain(names::own_tables(pack)));
                        }
                    }
                    ValueWord::Path(path) => {
                        cx.enter_row(table, row);
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
        let near = may_look.then(|| cx.report.words.help(path, cx.names.words.keys().map(AsRef::as_ref))).flatten();
        let help = near.or_else(|| Some(format!("give the [[path]] row `{path}` its `values`").into()));
        return cx.fail_for_row((&["path"], path), Code::NameUnknown, at, format!("no path `{path}` has words"), help);
    };
    if let Some(other) = words::texts_of(values).find(|word| matches!(ValueWord::of(word), ValueWord::Path(_))) {
        let message = format!("path `{path}` takes words from another one itself");
        cx.fail(Code::ReferenceBad, at, message, Some(format!("list the words of `{path}` here, and `{other}` beside them").into()));
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
    cx.enter_row(table, row);
    let message = format!("the {what} `{name}` is declared nowhere, and is nearly `{near}`");
    let help = Help::possible(name, &near).or_else_do(&format!("otherwise declare `{name}` with a {declared} row"));
    cx.warn(Diagnostic::new(Code::NameNearly, message).at(at).help(help));
}
