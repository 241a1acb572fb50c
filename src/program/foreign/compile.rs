//! Rows of `format` and `map`, compiled.

use std::sync::Arc;

use super::{FieldMapping, ForeignFormat, PathNames, RestTarget};
use crate::diag::{Code, DocumentNode};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;

/// Compiles all formats of a pack.
pub(in crate::program) fn compile(cx: &mut CompileContext<'_>) -> Vec<ForeignFormat> {
    let pack = cx.pack;
    let rows = |table: &str| pack.rows(table).collect::<Vec<_>>();
    let known: Vec<Arc<str>> = rows("format").iter().map(|r| r.name.clone()).collect();
    let mut formats = Vec::new();
    for row in rows("format") {
        cx.rule = format!("format {}", row.name);
        // a conversion takes the documents of another format
        let of = row.fields.get("of").map(|f| cx.named("format", &known, f.node.as_text().unwrap_or(""), f.node.span));
        let source = of.and_then(|n| rows("format").get(n).copied());
        let cell = |key: &str| row.fields.get(key).or_else(|| source?.fields.get(key));
        let (detect, root) = cx.within(ItemScope::Any, |cx| {
            (cell("detect").map(|f| cx.cond(&f.node, PathMode::Item)), cell("root").map(|f| cx.expr(&f.node)))
        });
        let about = row.text("about").unwrap_or("").into();
        let makes = row.text("makes").map(Arc::from);
        if let (Some(rest), None) = (row.fields.get("rest"), &makes) {
            let help = Some("name the format that is made with `makes`; an import returns such fields beside the scene".into());
            cx.fail(Code::TermMissing, rest.node.span, "`rest` is for conversions to another format", help);
        }
        let given = row.text("rest");
        let rest = RestTarget { names: path(given.unwrap_or("")), in_place: given == Some(".") };
        let kind = cell("detect").map(|f| kind_fields(&f.node)).unwrap_or_default();
        formats.push(ForeignFormat { name: row.name.clone(), about, detect, kind, root, maps: Vec::new(), makes, rest });
    }
    for row in rows("map") {
        cx.rule = format!("map {}", row.name);
        let owner = row.name.split_once('/').map_or("", |(f, _)| f);
        let owner = cx.named("format", &known, owner, row.span);
        let text = |key: &str| row.text(key).map(Arc::<str>::from);
        let to = text("to").unwrap_or_default();
        // what a conversion makes is not a scene
        let converts = formats.get(owner).is_some_and(|f| f.makes.is_some());
        if !to.is_empty() && !converts && !cx.names.knows_path(&to) {
            let known: Vec<String> = cx.names.path_names().map(str::to_owned).collect();
            let span = row.fields.get("to").map_or(row.span, |f| f.node.span);
            cx.unknown("scene path", &to, span, known.iter().map(String::as_str));
        }
        if let (Some(code), Some(f)) = (text("code"), row.fields.get("code")) {
            let codes: Vec<Arc<str>> = rows("code").iter().map(|r| r.name.clone()).collect();
            cx.named("code", &codes, &code, f.node.span);
        }
        let item = row.fields.get("item").map(|f| cx.named("format", &known, f.node.as_text().unwrap_or(""), f.node.span));
        let dropped = text("drop");
        let Some(from) = row.node("from") else {
            cx.fail(Code::TermMissing, row.span, "a map row needs `from`", Some("write `from = \"@field\"`".into()));
            continue;
        };
        let mapping = cx.within(ItemScope::Any, |cx| FieldMapping {
            name: row.name.clone(),
            reads: heads(from),
            from: cx.expr(from),
            whole: to.as_ref() == ".",
            to: path(&to),
            item,
            key: row.fields.get("key").map(|f| cx.expr(&f.node)),
            code: text("code"),
            default: row.fields.get("default").map(|f| cx.expr(&f.node)),
            when: row.fields.get("when").map(|f| cx.cond(&f.node, PathMode::Item)),
            approximate: text("approximate"),
            drop: dropped,
            warn: text("warn"),
        });
        if let Some(format) = formats.get_mut(owner) {
            format.maps.push(mapping);
        }
    }
    formats
}

/// The names of a path.
fn path(text: &str) -> PathNames {
    text.split('.').filter(|s| !s.is_empty()).map(Arc::from).collect()
}

/// The fields of the document that a condition compares with one text.
fn kind_fields(detect: &DocumentNode) -> Vec<PathNames> {
    let mut out = Vec::new();
    let mut open = vec![detect];
    while let Some(node) = open.pop() {
        for (key, field) in node.as_table().into_iter().flatten() {
            match key.as_ref() {
                "any" | "all" => open.extend(field.node.as_list().unwrap_or(&[])),
                _ if field.node.as_text().is_some() => out.push(path(key)),
                _ => {}
            }
        }
    }
    out
}

/// The paths of the document that a value mentions, in the order written. Inside a query `@name` is an element's field
/// and `@outer.name` the document's; deeper queries cannot reach the document.
fn heads(node: &DocumentNode) -> Vec<PathNames> {
    let mut out: Vec<PathNames> = Vec::new();
    let mut open = vec![(node, 0)];
    while let Some((node, depth)) = open.pop() {
        if let Some(text) = node.as_text() {
            let found = text.split('@').skip(1).map(|piece| match piece.strip_prefix("outer.") {
                Some(rest) => (1, rest),
                None => (0, piece),
            });
            for (_, rest) in found.filter(|(up, _)| *up == depth) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(rest.len());
                let read = path(rest.get(..end).unwrap_or_default());
                if !read.is_empty() && !out.contains(&read) {
                    out.push(read);
                }
            }
        }
        let query = node.get("of").is_some() && node.get("fn").is_none();
        open.extend(node.as_list().unwrap_or(&[]).iter().rev().map(|n| (n, depth)));
        // what a query asks of its elements is one level further in
        let inside = |key: &str| if query && !matches!(key, "of" | "after" | "join" | "skip" | "take") { depth + 1 } else { depth };
        open.extend(node.as_table().into_iter().flatten().rev().map(|(key, f)| (&f.node, inside(key))));
    }
    out
}
