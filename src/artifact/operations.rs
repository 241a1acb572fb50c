//! What is wrong between the rows of operations and their effects: names that nothing has, circles, conditions that
//! cannot be met, and effects that come too late or too early.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::Writer;
use super::fields::{self, OperationVocabulary};
use super::rows::{place, push, text, words};
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, suggest};
use crate::model::pack::{PackRow, PackRows};

/// The hook of an operation that says none: in front of the main request.
const BEFORE: &str = "before";

/// Reports what contradicts each other in the rows of `operation` and `effect`.
pub(super) fn check(
    operations: &PackRows,
    effects: &PackRows,
    vocabulary: OperationVocabulary<'_>,
    writers: &IndexMap<Arc<str>, Writer>,
    found: &mut Report,
) {
    let mut check = OperationCheck { operations, vocabulary, writers, found };
    operations.values().for_each(|row| check.operation(row));
    effects.values().for_each(|row| check.effect(row));
    check.circles();
}

struct OperationCheck<'a> {
    operations: &'a PackRows,
    vocabulary: OperationVocabulary<'a>,
    /// Rows of `writer`, and operations.
    writers: &'a IndexMap<Arc<str>, Writer>,
    found: &'a mut Report,
}

fn hooks(row: &PackRow) -> Vec<&str> {
    let said: Vec<&str> = words(row, "hooks").map(|(word, _)| word).collect();
    if said.is_empty() { vec![BEFORE] } else { said }
}

impl<'a> OperationCheck<'a> {
    fn operation(&mut self, row: &'a PackRow) {
        fields::operation(row, self.vocabulary).into_iter().for_each(|complaint| self.push(row, complaint));
        self.writer(row);
        for (name, span) in words(row, "depends") {
            let Some(other) = self.operations.get(name) else {
                let message = format!("operation `{}` depends on `{name}`, which no row declares", row.name);
                self.unknown(row, name, span, message);
                continue;
            };
            let other_hooks = hooks(other);
            if let Some(hook) = hooks(row).into_iter().find(|hook| !other_hooks.contains(hook)) {
                let message = format!("operation `{}` runs `{hook}`, but `{name}`, on which it depends, does not", row.name);
                let complaint = Diagnostic::new(Code::OperationContradiction, message).at(span);
                let complaint = complaint.related(place(other, "hooks"), "its hooks are said here");
                self.push(row, complaint.help("a dependency must run wherever its dependent runs: give both the same `hooks`"));
            }
        }
        let conditions = row.fields.get("conditions").and_then(|field| field.node.as_list()).into_iter().flatten();
        conditions.for_each(|condition| self.condition(row, condition));
    }

    fn writer(&mut self, row: &PackRow) {
        let Some(name) = text(row, "writer").filter(|name| !self.writers.contains_key(*name)) else { return };
        let near = suggest::help(name, self.writers.keys().map(AsRef::as_ref));
        let message = format!("operation `{}` writes in the name of `{name}`, which is neither a writer nor an operation", row.name);
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(place(row, "writer")).missing_row(&["writer", "operation"], name);
        self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[writer]]`".to_owned())));
    }

    fn condition(&mut self, row: &'a PackRow, condition: &DocumentNode) {
        let Some((name, span)) = condition.get("operation").and_then(|node| Some((node.as_text()?, node.span))) else { return };
        let Some(guard) = self.operations.get(name) else {
            let message = format!("a condition of operation `{}` is about `{name}`, which no row declares", row.name);
            return self.unknown(row, name, span, message);
        };
        if !words(row, "depends").any(|(other, _)| other == name) {
            let message = format!("a condition of operation `{}` is about `{name}`, on which it does not depend", row.name);
            let complaint = Diagnostic::new(Code::OperationContradiction, message).at(span);
            self.push(row, complaint.help(format!("only results of dependencies are known: add `{name}` to `depends`")));
        }
        if !self.vocabulary.gives_answers(guard) {
            let message = format!("a condition of operation `{}` is about `{name}`, which is no guard", row.name);
            let complaint = Diagnostic::new(Code::OperationContradiction, message).at(span);
            let complaint = complaint.related(place(guard, "kind"), "its kind is said here");
            return self.push(row, complaint.help("only an operation of kind `guard` gives answers"));
        }
        let Some((output, span)) = condition.get("output").and_then(|node| Some((node.as_text()?, node.span))) else { return };
        if !words(guard, "outputs").any(|(known, _)| known == output) {
            let near = suggest::help(output, words(guard, "outputs").map(|(known, _)| known));
            let message = format!("guard `{name}` has no answer `{output}`");
            let complaint = Diagnostic::new(Code::NameUnknown, message).at(span).missing(output);
            self.push(row, complaint.help(near.unwrap_or_else(|| format!("add it to `outputs` of `{name}`"))));
        }
    }

    fn effect(&mut self, row: &'a PackRow) {
        fields::effect(row, self.vocabulary).into_iter().for_each(|complaint| self.push(row, complaint));
        let Some(name) = text(row, "operation") else {
            let complaint = Diagnostic::new(Code::TermMissing, format!("effect `{}` belongs to no operation", row.name)).at(row.name_span);
            return self.push(row, complaint.help("add `operation = \"…\"`"));
        };
        let Some(operation) = self.operations.get(name) else {
            let message = format!("effect `{}` belongs to operation `{name}`, which no row declares", row.name);
            return self.unknown(row, name, place(row, "operation"), message);
        };
        let Some(wanted) = self.vocabulary.type_of(row).and_then(|what| text(what, "hook")) else { return };
        if !hooks(operation).contains(&wanted) {
            let message = format!("effects like `{}` need the hook `{wanted}`, which operation `{name}` does not have", row.name);
            let complaint = Diagnostic::new(Code::OperationContradiction, message).at(place(row, "type"));
            let complaint = complaint.related(place(operation, "hooks"), "its hooks are said here");
            self.push(row, complaint.help(format!("add `{wanted}` to the `hooks` of `{name}`, or take the effect out")));
        }
    }

    /// Reports each circle of dependencies once.
    fn circles(&mut self) {
        let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for row in self.operations.values() {
            open.insert(
                &row.name,
                words(row, "depends").map(|(name, _)| name).filter(|name| self.operations.contains_key(*name)).collect(),
            );
        }
        loop {
            settle(&mut open);
            let Some(circle) = circle(&open) else { return };
            self.circle(&circle);
            circle.iter().for_each(|name| drop(open.remove(name)));
        }
    }

    fn circle(&mut self, circle: &[&str]) {
        let Some((first, rest)) = circle.split_first() else { return };
        let Some(row) = self.operations.get(*first) else { return };
        let message = match rest {
            [] => format!("operation `{first}` depends on itself"),
            _ => format!("operations {} depend on each other in a circle", listed(circle)),
        };
        let mut complaint = Diagnostic::new(Code::CycleOperation, message).at(place(row, "depends"));
        for other in rest.iter().filter_map(|name| self.operations.get(*name)) {
            complaint = complaint.related(place(other, "depends"), "the circle goes on here");
        }
        self.push(row, complaint.help("take one of them out of `depends`"));
    }

    fn unknown(&mut self, row: &PackRow, name: &str, span: Span, message: String) {
        let near = suggest::help(name, self.operations.keys().map(AsRef::as_ref));
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(span).missing_row(&["operation"], name);
        self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[operation]]`".to_owned())));
    }

    fn push(&mut self, row: &PackRow, complaint: Diagnostic) {
        push(self.found, row, complaint);
    }
}

/// Removes operations that wait for no other one, until each that is left waits for one that is left.
fn settle<'a>(open: &mut BTreeMap<&'a str, BTreeSet<&'a str>>) {
    let mut waiting: BTreeMap<&'a str, Vec<&'a str>> = BTreeMap::new();
    for (name, depends) in &*open {
        for other in depends {
            waiting.entry(*other).or_default().push(*name);
        }
    }
    let mut ready: Vec<&'a str> = waiting.keys().filter(|name| !open.contains_key(*name)).copied().collect();
    ready.extend(open.iter().filter(|(_, depends)| depends.is_empty()).map(|(name, _)| *name));
    while let Some(name) = ready.pop() {
        open.remove(name);
        for other in waiting.remove(name).unwrap_or_default() {
            if let Some(depends) = open.get_mut(other) {
                depends.remove(name);
                if depends.is_empty() {
                    ready.push(other);
                }
            }
        }
    }
}

/// A circle among operations that all wait for each other.
fn circle<'a>(open: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Option<Vec<&'a str>> {
    let mut at = *open.keys().next()?;
    let mut path: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    while seen.insert(at) {
        path.push(at);
        at = open.get(at)?.first().copied()?;
    }
    let start = path.iter().position(|name| *name == at)?;
    Some(path.split_off(start))
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
