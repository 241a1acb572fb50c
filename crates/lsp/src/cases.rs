//! Cases that are run from an editor, and what came of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lsp_types::TextDocumentIdentifier;
use serde::Deserialize;
use serde_json::Value as Json;
use tapster::diag::Report;
use tapster::machinery::pack::{PackLibrary, Ruleset};
use tapster::model::Scene;
use tapster_door::Door;
use tapster_door::check::{CASE_TIME, run_cases};

use crate::document::OpenDocuments;
use crate::files::{EditedPacks, clean_path};
use crate::preview::PreviewScene;

/// The name of the command.
pub(crate) const COMMAND: &str = "tapster.runCases";
/// How the message of a case begins whose scene file cannot be read here.
pub(crate) const UNREAD_SCENE: &str = "the scene file cannot be read in an editor";
/// The most failures that one message tells.
const MOST_FAILURES: usize = 3;

/// What is run: all cases of a file, or those of a name.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunCasesParams {
    pub(crate) text_document: TextDocumentIdentifier,
    #[serde(default)]
    pub(crate) case: Option<String>,
}

/// What came of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseOutcome {
    Passed,
    /// The number of values that are not as expected; 0 if there are none to compare.
    Failed(usize),
    /// Its scene file cannot be read here.
    NotRun,
}

/// The last outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CaseResult {
    pub(crate) outcome: CaseOutcome,
    /// A text has changed since.
    pub(crate) is_outdated: bool,
}

/// The last results of cases, by file and name.
#[derive(Debug, Default)]
pub(crate) struct CaseResults {
    by_file: HashMap<PathBuf, HashMap<String, CaseResult>>,
}

impl CaseResults {
    pub(crate) fn get(&self, path: &Path, case: &str) -> Option<CaseResult> {
        self.by_file.get(path)?.get(case).copied()
    }

    /// Some text has changed.
    pub(crate) fn outdate(&mut self) {
        self.by_file.values_mut().flat_map(HashMap::values_mut).for_each(|result| result.is_outdated = true);
    }

    /// Forgets a file that was closed.
    pub(crate) fn forget(&mut self, path: &Path) {
        self.by_file.remove(path);
    }

    /// Keeps the results of a report, which has one file.
    pub(crate) fn keep(&mut self, path: &Path, report: &Json) {
        let known = self.by_file.entry(path.to_owned()).or_default();
        let mut new: HashMap<String, CaseResult> = HashMap::new();
        for case in cases_of(report) {
            let Some(name) = case.get("name").and_then(Json::as_str) else { continue };
            let outcome = outcome_of(case);
            // of several cases of one name, one that fails counts
            match new.get_mut(name) {
                Some(known) if outcome == CaseOutcome::Passed || known.outcome != CaseOutcome::Passed => {}
                _ => _ = new.insert(name.to_owned(), CaseResult { outcome, is_outdated: false }),
            }
        }
        known.extend(new);
    }
}

fn cases_of(report: &Json) -> impl Iterator<Item = &Json> {
    let files = report.get("files").and_then(Json::as_array);
    files.into_iter().flatten().filter_map(|file| file.get("cases")?.as_array()).flatten()
}

fn failures_of(case: &Json) -> impl Iterator<Item = &Json> {
    case.get("failures").and_then(Json::as_array).into_iter().flatten()
}

fn outcome_of(case: &Json) -> CaseOutcome {
    let is_unread = |failure: &Json| failure.get("message").and_then(Json::as_str).is_some_and(|message| message.contains(UNREAD_SCENE));
    if case.get("ok") == Some(&Json::Bool(true)) {
        CaseOutcome::Passed
    } else if failures_of(case).any(is_unread) {
        CaseOutcome::NotRun
    } else {
        CaseOutcome::Failed(failures_of(case).filter(|failure| failure.get("path").is_some()).count())
    }
}

/// Whether nothing was run, and nothing is wrong with the file.
pub(crate) fn is_empty(report: &Json) -> bool {
    report.get("passed").and_then(Json::as_u64) == Some(0) && report.get("failed").and_then(Json::as_u64) == Some(0)
}

/// The message about cases that did not pass; nothing if all did.
pub(crate) fn failure_message(report: &Json) -> Option<String> {
    let of = |failure: &Json| failure.get("message").and_then(Json::as_str).unwrap_or_default().to_owned();
    let failed: Vec<String> = cases_of(report)
        .filter_map(|case| {
            let first = failures_of(case).next().map(of)?;
            Some(format!("case `{}`: {first}", case.get("name").and_then(Json::as_str).unwrap_or_default()))
        })
        .collect();
    let diagnostics =
        report.get("files").and_then(Json::as_array).into_iter().flatten().filter_map(|file| file.get("diagnostics")?.as_array());
    let errors = diagnostics.flatten().filter(|one| one.get("severity").and_then(Json::as_str) == Some("error")).map(of);
    let all: Vec<String> = errors.chain(failed).collect();
    let more = all.len().checked_sub(MOST_FAILURES).filter(|more| *more > 0).map(|more| format!("{more} more"));
    let shown: Vec<String> = all.into_iter().take(MOST_FAILURES).chain(more).collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

/// Runs cases of a file with the texts of open documents: the report of `tapster test --format json`. `None` if there is no such
/// file.
pub(crate) fn run(path: &Path, case: Option<&str>, library: &EditedPacks<'_>, documents: &OpenDocuments, door: &Door) -> Option<Json> {
    let file = library.read_file(path, &mut Report::default())?;
    let scenes = |scene: &Path, now: Option<&str>, rules: &Ruleset| -> Result<Scene, String> {
        let read = PreviewScene::read(&clean_path(scene), documents).and_then(|scene| scene.scene_at(now, CASE_TIME, rules, door));
        read.map_err(|diagnostics| {
            let messages: Vec<&str> = diagnostics.iter().filter_map(|one| one.get("message")?.as_str()).collect();
            format!("{UNREAD_SCENE}: {}", messages.join("; "))
        })
    };
    Some(run_cases(&file, path, case, library, &scenes))
}
