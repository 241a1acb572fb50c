//! Names of passes and rounds in a file that is about one program: `scan` in a file of `program = "lore"` is `lore/scan`.
//!
//! Names are completed in memory when a file is read, and keep the places of the short names, so that schemas, layers,
//! fingerprints and messages only see full names.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, Severity, Span, TableField, suggest};

/// Completes the names of a file's passes and rounds. `[program]` becomes a list of one row.
pub(super) fn spell_out(root: &mut DocumentNode, report: &mut Report) {
    let NodeValue::Table(table) = &mut root.data else { return };
    let program = program(table);
    let name = program.as_ref().map(|(name, _)| name.clone());
    let declared: Vec<String> = rows(table, "program").filter_map(|row| row.get("name")?.node.as_text().map(str::to_owned)).collect();
    let mut used = false;
    for row in rows_mut(table, "pass") {
        let Some(TableField { node: DocumentNode { data: NodeValue::Text(text), span }, .. }) = row.get_mut("name") else { continue };
        match &name {
            _ if text.contains('/') || text.is_empty() => {}
            Some(program) => {
                *text = format!("{program}/{text}").into();
                used = true;
            }
            None => report.push(no_program(text, *span, &declared)),
        }
    }
    for row in rows_mut(table, "round") {
        for key in ["name", "before", "after"] {
            let Some(TableField { node: DocumentNode { data: NodeValue::Text(text), .. }, .. }) = row.get_mut(key) else { continue };
            // `pass/round`; a name without a slash is a round of the same pass
            if let Some(program) = name.as_ref().filter(|_| text.matches('/').count() == 1) {
                *text = format!("{program}/{text}").into();
                used = true;
            }
        }
    }
    if let Some((name, Some(span))) = program.filter(|_| !used) {
        let message = format!("the file says that its program is `{name}`, but no pass or round of it has a short name");
        let mut complaint = Diagnostic::new(Code::SchemaValue, message).at(span);
        complaint.severity = Severity::Warning;
        report.push(complaint.help(format!("write `name = \"scan\"` in place of `name = \"{name}/scan\"`, or take the line out")));
    }
}

/// The program that the file is about, with its place if it is only a name. The schema check refuses anything else.
fn program(table: &mut FieldMap) -> Option<(Arc<str>, Option<Span>)> {
    let TableField { node, .. } = table.get_mut("program")?;
    match &node.data {
        NodeValue::Text(name) if !name.is_empty() && !name.contains('/') => {
            let found = (name.clone(), Some(node.span));
            table.shift_remove("program");
            Some(found)
        }
        NodeValue::Table(row) => {
            let name = row.get("name").and_then(|f| f.node.as_text()).map(Arc::from);
            let row = node.clone();
            node.data = NodeValue::List(vec![row]);
            Some((name?, None))
        }
        _ => None,
    }
}

fn rows<'t>(table: &'t FieldMap, name: &str) -> impl Iterator<Item = &'t FieldMap> {
    table.get(name).and_then(|f| f.node.as_list()).unwrap_or(&[]).iter().filter_map(DocumentNode::as_table)
}

fn rows_mut<'t>(table: &'t mut FieldMap, name: &str) -> impl Iterator<Item = &'t mut FieldMap> {
    let rows = match table.get_mut(name) {
        Some(TableField { node: DocumentNode { data: NodeValue::List(rows), .. }, .. }) => rows.as_mut_slice(),
        _ => &mut [],
    };
    rows.iter_mut().filter_map(|row| if let NodeValue::Table(row) = &mut row.data { Some(row) } else { None })
}

fn no_program(name: &str, span: Span, declared: &[String]) -> Diagnostic {
    let help = match declared {
        [one] => format!("write `{one}/{name}`, or `[program]` in place of `[[program]]`: then short names are of `{one}`"),
        [] => format!("write `PROGRAM/{name}`, or say `program = \"PROGRAM\"` at the top of the file"),
        _ => {
            let nearest =
                suggest::nearest(name, declared.iter().map(String::as_str)).map_or_else(|| "PROGRAM".to_owned(), |near| near.replacement);
            format!("write `{nearest}/{name}`: a file with several programs names each pass in full")
        }
    };
    Diagnostic::new(Code::SchemaValue, format!("pass `{name}` does not say which program it is of")).at(span).label("no program").help(help)
}
