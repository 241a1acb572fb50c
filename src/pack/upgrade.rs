//! Older schema versions: each step upgrades a document by one version in memory and keeps every place.

use std::sync::Arc;

use crate::diag::{Code, Data, Diagnostic, Field, Node, Report, Span, Table};

/// One step: the kind, the version that it starts from, and what it does.
type Step = (&'static str, i64, fn(&mut Node, &mut Report));

/// All steps. A kind whose newest schema is version n has one for each of 1..n.
const STEPS: &[Step] = &[("case", 1, case_1)];

/// Upgrades a document from version `from` to `to`. `false` when a step is missing: the version is too old.
pub(super) fn upgrade(root: &mut Node, kind: &str, from: i64, to: i64, report: &mut Report) -> bool {
    let before = root.clone();
    for version in from..to {
        let Some((_, _, step)) = STEPS.iter().find(|(k, v, _)| *k == kind && *v == version) else { return false };
        step(root, report);
    }
    // a document in which nothing else is old needs the new number only
    let number_alone = before == *root;
    let Data::Table(table) = &mut root.data else { return false };
    let Some(field) = table.get_mut("version") else { return false };
    field.node.data = Data::Int(to);
    let message = format!("`{kind}` version {from} was read as version {to}");
    let told = Diagnostic::new(Code::SchemaUpgraded, message).at(field.node.span);
    let told = told.help(format!("write it as version {to}; docs/reference/{kind}.md shows how"));
    report.push(if number_alone { told.fix(field.node.span, to.to_string()) } else { told });
    true
}

/// Version 1 of a test knew one list: `list` (its name), `given` and `then` (its rows before and after), and
/// `error` beside them. Version 2 has any number of lists in `lists`, and all expectations in `expect`.
fn case_1(root: &mut Node, _: &mut Report) {
    let Data::Table(table) = &mut root.data else { return };
    let Some(Field { node: Node { data: Data::List(rows), .. }, .. }) = table.get_mut("case") else { return };
    for row in rows {
        let Data::Table(row) = &mut row.data else { continue };
        let list = row.shift_remove("list");
        let name: Arc<str> = list.as_ref().and_then(|f| f.node.as_text()).map_or_else(|| Arc::from("blocks"), Arc::from);
        let mut expect = Table::new();
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

fn one(name: Arc<str>, field: Field) -> Table {
    Table::from_iter([(name, field)])
}

fn wrapped(key: Span, table: Table) -> Field {
    Field { key, node: Node { span: key, data: Data::Table(table) } }
}
