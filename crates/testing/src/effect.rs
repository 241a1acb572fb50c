//! What a case gives, and what it runs does not look at: lists for texts, a scene for a document of another program. And
//! documents that are not there, or are there twice.

use crate::diag::{Code, Diagnostic, DocumentNode, Report, suggest};
use crate::pack::Ruleset;

use super::case::{CaseAction, CaseTurn, TestCase};
use super::files::CaseFile;
use super::nodes::{wanted_error, written};

/// What nothing looks at where texts are expanded.
const OF_EXPAND: &[&str] = &["lists", "show"];
/// What nothing looks at where a document is read.
const OF_IMPORT: &[&str] = &["scene", "scene_file", "lists", "draws", "now", "seed", "strict", "show", "budget"];

/// What the case gives to a turn without any effect; and what is wrong with the document that the turn reads.
pub(super) fn faults(file: &CaseFile, case: &TestCase, rules: &Ruleset, turn: &CaseTurn) -> Report {
    let mut found = idle(case, turn);
    if let (CaseAction::Import { .. }, None) = (&turn.action, wanted_error(turn))
        && let Some(import) = written(file, case, turn, "import")
    {
        found.extend(document(&import.node, rules));
    }
    found
}

/// The key that says an action, and the keys that it does not look at.
fn unread(action: &CaseAction) -> (&'static str, &'static [&'static str]) {
    match action {
        CaseAction::Expand(_) => ("expand", OF_EXPAND),
        CaseAction::Import { .. } => ("import", OF_IMPORT),
        // of a build, lists are an error
        CaseAction::Run(_) => ("run", &[]),
        CaseAction::Build => ("build", &[]),
        CaseAction::Payload(_) => ("dialect", &[]),
    }
}

/// What a turn gives by itself and does not look at, and what its case gives to turns none of which looks at it. What the
/// file gives is for its other cases.
fn idle(case: &TestCase, turn: &CaseTurn) -> Report {
    let (action, keys) = unread(&turn.action);
    let of_turn = |key: &str| keys.contains(&key);
    let of_case = |key: &str| case.turns.iter().all(|turn| unread(&turn.action).1.contains(&key));
    let own = turn.node.as_table().into_iter().flatten().filter(|(key, _)| of_turn(key));
    let shared = case.node.as_table().into_iter().flatten().filter(|(key, _)| of_turn(key) && of_case(key));
    let told = |key: &str| {
        let message = format!("`{action}` looks at no `{key}`, so it has no effect");
        let help = match key {
            "lists" => "take it out; programs work on lists: start one with `run`",
            "show" => "take it out; it is about the items of lists",
            _ => "take it out: a document is read by itself",
        };
        Diagnostic::warning(Code::SchemaValue, message).help(help)
    };
    own.chain(shared).map(|(key, field)| told(key).at(field.key)).collect()
}

/// What is wrong with a document that is to be read.
fn document(import: &DocumentNode, rules: &Ruleset) -> Report {
    let mut found = Report::default();
    match (import.get("document"), import.get("file")) {
        (None, None) => {
            let complaint = Diagnostic::new(Code::SchemaValue, "`import` names neither a `document` nor a `file`").at(import.span);
            found.push(complaint.help("write the document into `document`, or the path of its file into `file`"));
        }
        (Some(_), Some(file)) => {
            let complaint = Diagnostic::new(Code::SchemaValue, "`file` is not read beside a `document`").at(file.span);
            found.push(complaint.help("keep one of them; write a second case for the other"));
        }
        _ => {}
    }
    let known = || rules.programs().formats.iter().filter(|format| format.makes.is_none()).map(|format| &*format.name);
    if let Some(node) = import.get("format")
        && let Some(name) = node.as_text().filter(|name| !known().any(|known| known == *name))
    {
        let help = suggest::help(name, known()).unwrap_or_else(|| format!("it reads {}", known().collect::<Vec<_>>().join(", ")));
        let message = format!("pack `{}` reads no format `{name}`", rules.pack().name);
        found.push(Diagnostic::new(Code::NameUnknown, message).at(node.span).help(help));
    }
    found
}
