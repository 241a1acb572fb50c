//! The dialects that cases name: one that the pack does not have is a mistake of the file, which needs no run to be found.

use crate::build::dialects;
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, suggest};
use crate::pack::Ruleset;

use super::case::{CaseAction, CaseTurn, TestCase};
use super::files::CaseFile;

/// What is wrong with the dialects that a case names. `rules` are those of the case.
pub fn unknown(file: &CaseFile, case: &TestCase, rules: &Ruleset) -> Report {
    let mut report = Report::default();
    let mut told: Vec<Span> = Vec::new();
    for (node, name) in case.turns.iter().filter_map(|turn| named(file, case, turn)) {
        let known = dialects(rules);
        if told.contains(&node.span) || known.iter().any(|dialect| dialect == name) {
            continue;
        }
        let help = suggest::help(name, known.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| format!("the dialects are {}", known.join(", ")));
        told.push(node.span);
        report
            .push(Diagnostic::new(Code::DialectUnknown, format!("the pack of this case has no dialect `{name}`")).help(help).at(node.span));
    }
    report
}

/// The dialect that a turn names, where it stands; nothing for a case that expects it to be unknown.
fn named<'f>(file: &'f CaseFile, case: &'f TestCase, turn: &'f CaseTurn) -> Option<(&'f DocumentNode, &'f str)> {
    let expected = turn.expect.as_ref().and_then(|expect| expect.get("error")?.as_text());
    if expected == Some(Code::DialectUnknown.as_str()) {
        return None;
    }
    let mut nodes = [Some(&turn.node), Some(&case.node), file.given()].into_iter().flatten();
    let node = match turn.action {
        CaseAction::Payload(Some(_)) => nodes.find_map(|node| node.get("dialect")),
        CaseAction::Payload(None) => nodes.find_map(|node| node.get("scene")?.get("dialect")),
        _ => None,
    }?;
    Some((node, node.as_text()?))
}
