//! Older schema versions: each step upgrades a document by one version in memory and keeps every place.

use std::ops::Range;
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, Sources, Span, TableField};

/// One step: the kind, the version that it starts from, and what it does.
type UpgradeStep = (&'static str, i64, fn(&mut DocumentNode, &mut Report));

/// All steps. A kind whose newest schema is version n has one for each of 1..n.
const STEPS: &[UpgradeStep] = &[("case", 1, case_1)];

/// Keys at the top of the newest version that have no effect any more, by kind. Their schemas still know them.
const IDLE: &[(&str, &str)] = &[("pack", "entry_points")];

/// Takes out and tells the keys that have no effect any more.
pub(super) fn without_idle(root: &mut DocumentNode, kind: &str, sources: &Sources, report: &mut Report) {
    let NodeValue::Table(table) = &mut root.data else { return };
    for (_, key) in IDLE.iter().filter(|(of, _)| *of == kind) {
        let Some(field) = table.shift_remove(*key) else { continue };
        let told = Diagnostic::new(Code::SchemaUpgraded, format!("`{key}` has no effect")).at(field.key);
        let told = told.help("remove it, with everything below it");
        let source = field.key.source;
        report.push(match sources.get(source).and_then(|file| lines_of(&file.text, key, &field)) {
            Some(lines) => told.fix(Span::new(source, lines.start, lines.end), ""),
            None => told,
        });
    }
}

/// The lines of a key of a file of TOML and of everything below it, if the file says all else without them.
fn lines_of(text: &str, key: &str, field: &TableField) -> Option<Range<usize>> {
    let (first, last) = (field.key.start as usize, end_of(field) as usize);
    let start = text.get(..first)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(last..)?.find('\n').map_or(text.len(), |at| last + at + 1);
    let rest = format!("{}{}", text.get(..start)?, text.get(end..)?);
    let mut whole = text.parse::<::toml::Table>().ok()?;
    whole.remove(key)?;
    (rest.parse::<::toml::Table>().ok()? == whole).then_some(start..end)
}

/// Where a field ends, with everything below it. A file nests no deeper than its reader allows.
fn end_of(field: &TableField) -> u32 {
    let below = field.node.as_table().and_then(|table| table.values().map(end_of).max());
    field.key.end.max(field.node.span.end).max(below.unwrap_or(0))
}

/// Upgrades a document from version `from` to `to`. `false` when a step is missing: the version is too old.
pub(super) fn upgrade(root: &mut DocumentNode, kind: &str, from: i64, to: i64, report: &mut Report) -> bool {
    let before = root.clone();
    for version in from..to {
        let Some((_, _, step)) = STEPS.iter().find(|(k, v, _)| *k == kind && *v == version) else { return false };
        step(root, report);
    }
    // a document in which nothing else is old needs the new number only
    let number_alone = before == *root;
    let NodeValue::Table(table) = &mut root.data else { return false };
    let Some(field) = table.get_mut("version") else { return false };
    field.node.data = NodeValue::Int(to);
    let message = format!("`{kind}` version {from} was read as version {to}");
    let told = Diagnostic::new(Code::SchemaUpgraded, message).at(field.node.span);
    let told = told.help(format!("write it as version {to}; docs/reference/{kind}.md shows how"));
    report.push(if number_alone { told.fix(field.node.span, to.to_string()) } else { told });
    true
}

/// Version 1 of a test knew one list: `list` (its name), `given` and `then` (its rows before and after), and
/// `error` beside them. Version 2 has any number of lists in `lists`, and all expectations in `expect`.
fn case_1(root: &mut DocumentNode, _: &mut Report) {
    let NodeValue::Table(table) = &mut root.data else { return };
    let Some(TableField { node: DocumentNode { data: NodeValue::List(rows), .. }, .. }) = table.get_mut("case") else { return };
    for row in rows {
        let NodeValue::Table(row) = &mut row.data else { continue };
        let list = row.shift_remove("list");
        let name: Arc<str> = list.as_ref().and_then(|f| f.node.as_text()).map_or_else(|| Arc::from("blocks"), Arc::from);
        let mut expect = FieldMap::new();
        if let Some(given) = row.shift_remove("given") {
            let key = given.key;
            row.insert(Arc::from("lists"), wrapped(key, one(name.clone(), given)));
        }
        if let Some(then) = row.shift_remove("then") {
            let key = then.key;
            expect.insert(Arc::from("lists"), wrapped(key, one(name, then)));
        }
        for key in ["error", "warnings", "set"] {
            if let Some(field) = row.shift_remove(key) {
                expect.insert(Arc::from(key), field);
            }
        }
        if let Some(key) = expect.values().next().map(|f| f.key) {
            row.insert(Arc::from("expect"), wrapped(key, expect));
        }
    }
}

fn one(name: Arc<str>, field: TableField) -> FieldMap {
    FieldMap::from_iter([(name, field)])
}

fn wrapped(key: Span, table: FieldMap) -> TableField {
    TableField { key, node: DocumentNode { span: key, data: NodeValue::Table(table) } }
}
