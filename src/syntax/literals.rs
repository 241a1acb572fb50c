//! Literals that rules compare with fields and paths or set them to: they must be of the declared type and name what exists,
//! and should be one of the usual words.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, Help, NodeValue, Span, limits};
use crate::terms::names::{ValueType, is_form};

use super::context::CompileContext;

/// Value forms, and a part of each that may be its result.
const RESULTS: [(&str, &str); 3] = [("if", "then"), ("if", "else"), ("lookup", "else")];
/// Value forms whose result is one of a list, or made of all of it.
const OF_LISTS: [&str; 2] = ["first", "merge"];

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

    /// Warns of a text that is nearly one of the words of a path.
    pub(super) fn check_path_word(&mut self, path: &str, word: &str, at: Span) {
        let words = self.names.words.get(path).map_or(0, Vec::len);
        let near =
            if self.may_look(words, at) { self.names.near_path_word(path, word, &self.report.words).map(str::to_owned) } else { None };
        self.seldom(path, word, near, "path", at);
    }

    /// Warns of a literal that is nearly one of the usual words of a field.
    pub fn check_words(&mut self, field: &str, node: &DocumentNode) {
        self.literals(node, &mut |cx, word, at| {
            let words = cx.names.field_words.get(field).map_or(0, Vec::len);
            let near = if cx.may_look(words, at) { cx.names.near_word(field, word, &cx.report.words).map(str::to_owned) } else { None };
            cx.seldom(field, word, near, "field", at);
        });
    }

    /// Visits the texts that a value is compared with.
    pub(super) fn literals(&mut self, node: &DocumentNode, visit: &mut dyn FnMut(&mut Self, &str, Span)) {
        match &node.data {
            NodeValue::Text(word) => visit(self, word, node.span),
            NodeValue::List(list) => list.iter().for_each(|node| self.literals(node, visit)),
            NodeValue::Table(table) => {
                ["ne", "in"].iter().filter_map(|test| table.get(*test)).for_each(|f| self.literals(&f.node, visit));
            }
            _ => {}
        }
    }

    fn seldom(&mut self, name: &str, word: &str, near: Option<String>, table: &str, at: Span) {
        let Some(near) = near else { return };
        let complaint = Diagnostic::new(Code::NameNearly, format!("`{word}` is not one of the words that `{name}` usually is"));
        let otherwise = format!("other words belong into `values` of its [[{table}]] row");
        self.warn(complaint.at(at).help(Help::possible(word, &near).or_else_do(&otherwise)));
    }

    /// Reports a literal that is not of the type of the field that it is set to.
    pub fn check_literal(&mut self, node: &DocumentNode, kind: Option<ValueType>, name: &str) {
        let Some(kind) = kind.filter(|kind| !kind.accepts(&node.data)) else { return };
        let message = format!("`{name}` is declared as `{}`, but is set to {}", kind.word(), node.kind());
        let help = format!("write a value of type `{}`, or change its [[field]] row", kind.word());
        self.fail(Code::TermType, node.span, message, Some(help.into()));
    }

    /// Reports slots and budget groups that do not exist.
    pub fn check_constant(&mut self, node: &DocumentNode, kind: Option<ValueType>) {
        let Some(text) = node.as_text().filter(|t| !t.is_empty() && !t.starts_with(['$', '@']) && !t.contains("{{")) else { return };
        match kind {
            Some(ValueType::Slot) if self.pack.tables.contains_key("slot") => {
                let mut known: Vec<Arc<str>> = self.pack.tables.get("slot").into_iter().flat_map(|r| r.keys().cloned()).collect();
                known.extend(self.names.regions.keys().cloned());
                if !known.iter().any(|k| k.as_ref() == text) {
                    let help = self
                        .report
                        .words
                        .help(text, known.iter().map(AsRef::as_ref))
                        .or_else(|| Some("declare it as a [[slot]] or a [[region]]".into()));
                    self.fail_for_row(
                        (&["slot", "region"], text),
                        Code::NoAnchorRow,
                        node.span,
                        format!("no slot or region is called `{text}`"),
                        help,
                    );
                }
            }
            Some(ValueType::Group) if !self.names.groups.is_empty() && !self.names.groups.contains_key(text) => {
                let known: Vec<Arc<str>> = self.names.groups.keys().cloned().collect();
                self.unknown("budget group", text, node.span, known.iter().map(AsRef::as_ref));
            }
            _ => {}
        }
    }
}
