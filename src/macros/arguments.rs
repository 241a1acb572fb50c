//! `$arg.NAME` in the rows of macros: a name that the row does not declare is never set, so it is an error of the row.

use super::call::MacroRow;
use crate::diag::short::listed;
use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report, Span, suggest};
use crate::model::Pack;

/// The cells of a row that may refer to its arguments.
const CELLS: [&str; 4] = ["read", "when", "with", "expand"];
/// How a reference to an argument begins.
const PREFIX: &str = "$arg.";

/// Reports references of a row to arguments that it does not have.
pub(super) fn check(row: &MacroRow, pack: &Pack, report: &mut Report) {
    // a row without arguments leaves those of the macro around it in place
    if row.args.is_empty() && row.written.is_none() {
        return;
    }
    let Some(written) = pack.tables.get("macro").and_then(|rows| rows.get(&row.name)) else { return };
    let known = || row.args.iter().map(|arg| arg.name.as_ref()).chain(row.written.as_deref());
    for cell in CELLS.iter().filter_map(|cell| written.fields.get(*cell)) {
        references(&cell.node, &mut |name, span| {
            if known().all(|known| known != name) {
                let complaint = Diagnostic::new(Code::NameUnknown, format!("macro `{}` has no argument `{name}`", row.name));
                let help = suggest::help(name, known()).unwrap_or_else(|| format!("known here: {}", listed(known())));
                report.push(complaint.rule(format!("macro {}", row.name)).at(span).missing(name).help(help));
            }
        });
    }
}

/// Visits the names of arguments that a value and its parts refer to.
fn references(node: &DocumentNode, visit: &mut dyn FnMut(&str, Span)) {
    let mut text = |text: &str, span| {
        let name = text.strip_prefix(PREFIX).and_then(|rest| rest.split('.').next());
        name.into_iter().for_each(|name| visit(name, span));
    };
    match &node.data {
        NodeValue::Text(written) => text(written, node.span),
        NodeValue::List(list) => list.iter().for_each(|node| references(node, visit)),
        NodeValue::Table(table) => {
            table.iter().for_each(|(key, field)| text(key, field.key));
            table.iter().for_each(|(_, field)| references(&field.node, visit));
        }
        _ => {}
    }
}
