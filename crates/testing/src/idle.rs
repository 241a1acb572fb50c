//! Parts of an expectation that can never fail: what the action of a case does not give, what is not compared because an
//! error is expected, and tables and tests that say nothing.

use std::collections::BTreeSet;

use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report};
use crate::terms::names::PackNames;

use super::case::{CaseAction, CaseTurn};
use super::nodes::fields;

/// What comes of programs and passes.
const OF_RUN: &[&str] = &["lists", "shown", "set", "patch", "warnings", "reasons", "draws_left"];
/// What comes of a build.
const OF_BUILD: &[&str] = &["lists", "shown", "set", "trim", "patch", "warnings", "reasons", "draws_left"];
/// What comes of a build with its payload.
const OF_PAYLOAD: &[&str] =
    &["lists", "shown", "set", "trim", "patch", "warnings", "reasons", "draws_left", "payload", "payload_file", "request"];
/// What comes of texts.
const OF_EXPAND: &[&str] = &["texts", "patch", "warnings", "draws_left"];
/// What comes of a document of another program.
const OF_IMPORT: &[&str] = &["imported"];
/// The parts of what a document gives that are tables.
const TABLES: [&str; 2] = ["scene", "rest"];
/// What to write instead of an empty table.
const EXACTLY: &str = "write `{ exactly = {} }` if it is to be empty, or take it out";
/// Tests that hold of every list if they name no element.
const HOLD_OF_ALL: [&str; 3] = ["contains", "includes", "excludes"];

/// The parts of the expectation of a turn that can never fail. `own` are the keys of what the case gives: a table with one of
/// them may be a value and no test.
pub(super) fn parts(turn: &CaseTurn, own: &BTreeSet<&str>, names: &PackNames) -> Report {
    let mut found = Report::default();
    let (action, given) = given_by(&turn.action);
    let ends = turn.expect.as_ref().is_some_and(|expect| expect.get("error").is_some());
    for (key, field) in fields(turn.expect.as_ref()).filter(|(key, _)| *key != "error") {
        let wrong = |message: String, help: String| Diagnostic::new(Code::SchemaValue, message).help(help);
        if ends {
            let message = format!("`{key}` is not compared where an error is expected: the case then has no other result");
            found.push(wrong(message, "take it out, or write a second case without `error`".to_owned()).at(field.key));
            continue;
        }
        if !given.contains(&key) {
            let message = format!("`{action}` gives no `{key}`, so there is nothing to compare");
            found.push(wrong(message, instead(action, key, given)).at(field.key));
            continue;
        }
        if let Some(help) = needed(key).filter(|_| is_empty_table(&field.node)) {
            found.push(wrong(format!("an empty table expects nothing of `{key}`"), help.to_owned()).at(field.key));
        }
        if key == "imported" {
            let parts = fields(Some(&field.node)).filter(|(part, field)| TABLES.contains(part) && is_empty_table(&field.node));
            for (part, field) in parts {
                let message = format!("an empty table expects nothing of `imported.{part}`, which is a table");
                found.push(wrong(message, EXACTLY.to_owned()).at(field.key));
            }
        }
        let mut search = VacuousTests { own, names, found: &mut found };
        match key {
            // of lists, and their lines
            "lists" | "shown" => fields(Some(&field.node)).for_each(|(_, list)| search.look(&list.node, true)),
            "set" => fields(Some(&field.node)).for_each(|(_, value)| search.look(&value.node, false)),
            _ => search.look(&field.node, matches!(key, "warnings" | "reasons" | "texts")),
        }
    }
    found
}

/// The key that says an action, and the parts of an expectation that it gives a value to.
fn given_by(action: &CaseAction) -> (&'static str, &'static [&'static str]) {
    match action {
        CaseAction::Run(_) => ("run", OF_RUN),
        CaseAction::Build => ("build", OF_BUILD),
        CaseAction::Payload(_) => ("dialect", OF_PAYLOAD),
        CaseAction::Expand(_) => ("expand", OF_EXPAND),
        CaseAction::Import { .. } => ("import", OF_IMPORT),
    }
}

/// What to do about a part that an action does not give.
fn instead(action: &str, key: &str, given: &[&str]) -> String {
    let from = match key {
        "payload" | "payload_file" | "request" => "`dialect`",
        "trim" => "`build` or `dialect`",
        "texts" => "`expand`",
        "imported" => "`import`",
        "warnings" if action == "import" => return "what is said of a document stands in `imported.warnings`".to_owned(),
        "patch" | "warnings" | "draws_left" => "`run`, `build`, `dialect` or `expand`",
        _ => "`run`, `build` or `dialect`",
    };
    let known: Vec<String> = given.iter().map(|key| format!("`{key}`")).collect();
    format!("let the case have {from}, which gives it, or expect what `{action}` gives: {}", known.join(", "))
}

/// What to write instead of an empty table that holds of everything; nothing where one can fail, because the value may be
/// missing.
fn needed(key: &str) -> Option<&'static str> {
    match key {
        "lists" => Some("name a list and what it holds, such as `lists.blocks = []`, or take it out"),
        "shown" => Some("name a list and its lines, such as `shown.blocks = []`, or take it out"),
        "set" => Some("name a path and its value, or take it out"),
        "payload" | "imported" => Some(EXACTLY),
        _ => None,
    }
}

fn is_empty_table(node: &DocumentNode) -> bool {
    matches!(&node.data, NodeValue::Table(table) if table.is_empty())
}

/// A look for tests that hold of every list.
struct VacuousTests<'t> {
    own: &'t BTreeSet<&'t str>,
    names: &'t PackNames,
    found: &'t mut Report,
}

impl VacuousTests<'_> {
    /// Looks through a value. Of a list (`of_list`) a table can only be a test; elsewhere it may be a value with such a key.
    fn look(&mut self, node: &DocumentNode, of_list: bool) {
        match &node.data {
            NodeValue::List(list) => list.iter().for_each(|one| self.look(one, false)),
            NodeValue::Table(table) => {
                let alone = if table.len() == 1 { table.iter().next() } else { None };
                if let Some((word, field)) = alone {
                    let word: &str = word;
                    if word == "exactly" {
                        return;
                    }
                    let is_test = of_list || !(self.own.contains(word) || self.names.knows_field(None, word));
                    if is_test && HOLD_OF_ALL.contains(&word) && field.node.as_list().is_some_and(<[DocumentNode]>::is_empty) {
                        let complaint = Diagnostic::new(Code::SchemaValue, format!("`{word} = []` names no element, so it always holds"));
                        self.found.push(complaint.at(field.key).help("name an element, or write `{ count = 0 }` for a list without any"));
                        return;
                    }
                }
                table.values().for_each(|field| self.look(&field.node, false));
            }
            _ => {}
        }
    }
}
