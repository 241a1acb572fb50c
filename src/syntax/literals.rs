//! Literals that rules set on paths of the scene: each must be of the type that the path is declared with.

use crate::diag::{Code, DocumentNode, NodeValue, limits};
use crate::terms::names::{ValueType, is_form};

use super::context::CompileContext;

/// Value forms, and a part of each that may be its result.
const RESULTS: [(&str, &str); 3] = [("if", "then"), ("if", "else"), ("lookup", "else")];
/// Value forms whose result is one of a list, or made of all of it.
const OF_LISTS: [&str; 2] = ["first", "over"];

impl CompileContext<'_> {
    /// Reports a literal that a path is set to and that it is declared not to be: also one inside of a table, for the paths
    /// below, and one that a value form may give. An empty text says that there is no value.
    pub fn check_path_value(&mut self, path: &str, node: &DocumentNode) {
        self.path_value(path, node, 0);
    }

    fn path_value(&mut self, path: &str, node: &DocumentNode, depth: usize) {
        if depth > limits::CHAIN {
            return;
        }
        match &node.data {
            NodeValue::Table(table) if is_form(table) => {
                let parts = RESULTS.iter().filter(|(form, _)| table.contains_key(*form)).filter_map(|(_, part)| table.get(*part));
                let listed = OF_LISTS.iter().filter_map(|form| table.get(*form)?.node.as_list()).flatten();
                parts.map(|field| &field.node).chain(listed).for_each(|node| self.path_value(path, node, depth + 1));
            }
            NodeValue::Table(table) => {
                self.path_literal(path, node);
                table.iter().for_each(|(key, field)| self.path_value(&format!("{path}.{key}"), &field.node, depth + 1));
            }
            _ => self.path_literal(path, node),
        }
    }

    fn path_literal(&mut self, path: &str, node: &DocumentNode) {
        let is_empty = node.as_text().is_some_and(str::is_empty);
        // a single value counts as a list of one
        let kind = self.type_of_path(path).filter(|kind| *kind != ValueType::List && !is_empty);
        if let Some(kind) = kind.filter(|kind| !kind.accepts(&node.data)) {
            let message = format!("`{path}` is declared as `{}`, but is set to {}", kind.word(), node.kind());
            let table = if path.starts_with("state.") { "state" } else { "path" };
            let help = format!("write a value of type `{}`, or change its [[{table}]] row", kind.word());
            self.fail(Code::TermType, node.span, message, Some(help.into()));
        } else if let Some(word) = node.as_text().filter(|_| !path.starts_with("option.")) {
            self.check_path_word(path, word, node.span);
        }
    }

    /// The type that a path, or a state of the chat, is declared with.
    fn type_of_path(&self, path: &str) -> Option<ValueType> {
        let declared = |table: &str, name: &str| {
            let row = self.pack.tables.get(table)?.get(name)?;
            Some(ValueType::parse(row.fields.get("type")?.node.as_text()?))
        };
        match path.strip_prefix("state.") {
            Some(name) => declared("state", name),
            None => declared("path", path).or_else(|| self.names.paths.get(path).map(|declared| declared.kind)),
        }
    }
}
