//! `{ fn = "template", of = id, … }`: the checks of a call that are possible at compile time.

use crate::diag::{Code, DocumentNode, FieldMap};

use crate::terms::names::is_reference;

use super::context::CompileContext;

/// The arguments of the function.
const ARGUMENTS: [&str; 5] = ["of", "task", "budget", "ruler", "data"];

impl CompileContext<'_> {
    /// Reports unknown arguments, and templates, tasks and rulers that no row defines.
    pub(super) fn check_template(&mut self, table: &FieldMap) {
        for (key, field) in table {
            if key.as_ref() != "fn" && !ARGUMENTS.contains(&key.as_ref()) {
                let help =
                    self.report.words.help(key, ARGUMENTS).or_else(|| Some(format!("its arguments are {}", ARGUMENTS.join(", ")).into()));
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `template`"), help);
            }
        }
        if !table.contains_key("of") {
            let span = table.get("fn").map(|f| f.node.span).unwrap_or_default();
            self.fail(Code::TermMissing, span, "`template` needs `of`: the id of a template", Some("write `of = \"ID\"`".into()));
        }
        for (key, rows) in [("of", "template"), ("ruler", "ruler")] {
            let Some(node) = table.get(key).map(|f| &f.node) else { continue };
            if let Some(name) = literal(node) {
                self.row_number(rows, name, node.span);
            }
        }
    }
}

/// A text that is not a reference and contains none.
fn literal(node: &DocumentNode) -> Option<&str> {
    node.as_text().filter(|text| !is_reference(text) && !text.contains("{{") && !text.starts_with('$'))
}
