//! Lines above cases and passes: a case can be run, and shows its last result; a pass shows its place in its program, and how
//! often it ran in the preview.

use std::path::Path;

use lsp_types::{CodeLens, Command};
use serde_json::json;
use tapster::machinery::pack::Ruleset;

use crate::cases::{COMMAND, CaseOutcome, CaseResults, UNREAD_SCENE};
use crate::document::OpenDocument;
use crate::outline::{NodeId, ROOT};
use crate::preview::PreviewRuns;
use crate::subject::RuleText;

/// The lenses of a case file.
pub(crate) fn case_lenses(document: &OpenDocument, path: &Path, results: &CaseResults) -> Vec<CodeLens> {
    let cases: Vec<(NodeId, String)> =
        rows(document, "case").into_iter().filter_map(|row| Some((row, document.name_of_row(row)?))).collect();
    let run = |row: NodeId, title: String, case: Option<&str>| {
        let argument = json!({ "textDocument": { "uri": document.address }, "case": case });
        lens(document, row, Command { title, command: COMMAND.to_owned(), arguments: Some(vec![argument]) })
    };
    let mut found = Vec::new();
    if let [(first, _), _, ..] = cases.as_slice() {
        let known: Vec<_> = cases.iter().filter_map(|(_, name)| results.get(path, name)).filter(|result| !result.is_outdated).collect();
        let passed = known.iter().filter(|result| result.outcome == CaseOutcome::Passed).count();
        let summary = if known.len() == cases.len() { format!(": {passed} of {} passed", cases.len()) } else { String::new() };
        found.extend(run(*first, format!("Run all cases of this file{summary}"), None));
    }
    for (row, name) in &cases {
        let result = results.get(path, name).map(|result| {
            let outcome = match result.outcome {
                CaseOutcome::Passed => "passed".to_owned(),
                CaseOutcome::Failed(0) => "failed".to_owned(),
                CaseOutcome::Failed(1) => "failed (1 difference)".to_owned(),
                CaseOutcome::Failed(count) => format!("failed ({count} differences)"),
                CaseOutcome::NotRun => UNREAD_SCENE.to_owned(),
            };
            format!(": {outcome}{}", if result.is_outdated { ", before the last change" } else { "" })
        });
        found.extend(run(*row, format!("Run{}", result.unwrap_or_default()), Some(name)));
    }
    found
}

/// The lenses of the passes of a rule file.
pub(crate) fn pass_lenses(document: &OpenDocument, rules: &Ruleset, preview: Option<&PreviewRuns>) -> Vec<CodeLens> {
    let names = &rules.programs().rules.names;
    let text = RuleText { text: &document.text, outline: document.outline(), pack: rules.pack(), names };
    let preview = preview.filter(|preview| preview.reads(document));
    let one = |row: NodeId| {
        let name = text.full_name("pass", &document.name_of_row(row)?);
        let (program, _) = name.rsplit_once('/')?;
        let passes = rules.programs().list.iter().find(|known| *known.name == *program)?.passes();
        let at = passes.iter().position(|pass| *pass.id == *name)?;
        let ran = preview.map(|preview| match preview.ran.get(&name) {
            None => format!(", did not run in {}", preview.scene),
            Some(1) => format!(", ran once in {}", preview.scene),
            Some(times) => format!(", ran {times} times in {}", preview.scene),
        });
        let title = format!("pass {} of {} of `{program}`{}", at + 1, passes.len(), ran.unwrap_or_default());
        // a command without a name is a text that cannot be chosen
        lens(document, row, Command { title, command: String::new(), arguments: None })
    };
    rows(document, "pass").into_iter().filter_map(one).collect()
}

fn rows(document: &OpenDocument, table: &str) -> Vec<NodeId> {
    let outline = document.outline();
    outline.entry(ROOT, table).map(|entry| outline.elements(entry.node).to_vec()).unwrap_or_default()
}

/// A lens above the line in which a row begins.
fn lens(document: &OpenDocument, row: NodeId, command: Command) -> Option<CodeLens> {
    let start = document.outline().node(row)?.range.start;
    let range = document.lines.range(&document.text, &(start..start));
    Some(CodeLens { range, command: Some(command), data: None })
}
