//! Runs case files, several at a time, and collects what came of each case, with the rule behind each difference: the pass that set
//! the value or changed the item last.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value as Json, json};

use super::case::{CaseFile, UnreadableFile, beside, payload};
use super::case::{CaseTurn, TestCase, json_of};
use super::compare::{CaseComparison, Difference, ValueStep};
use super::coverage::ExercisedRules;
use super::play::turns;
use super::play::{PlayedTurn, SceneReader, TurnFailure};
use super::snapshot::SnapshotChange;
use super::{play, snapshot, validate};
use crate::diag::{Diagnostic, DocumentNode, Report, Severity, Sources};
use crate::pack::PackError;
use crate::pack::{PackLibrary, Ruleset};
use crate::terms::coverage::CoverageSink;

/// The stack of a thread that runs cases.
const STACK: usize = 16 << 20;
/// Why a file is not updated.
const NOT_TOML: &str = "only case files in TOML can be updated";

/// What is wrong with a case.
#[derive(Debug, Clone)]
pub struct CaseComplaint {
    /// The turn, counted from 1, where the case has several.
    pub turn: Option<usize>,
    /// The difference; `None` where the case has no result.
    pub difference: Option<Difference>,
    /// What is wrong, in words.
    pub message: String,
    /// The rule behind it.
    pub rule: Option<BlamedRule>,
}

impl CaseComplaint {
    /// Something that is wrong with a case that has no result.
    fn of(message: String) -> Self {
        Self { turn: None, difference: None, message, rule: None }
    }
}

/// What came of a case.
#[derive(Debug)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// Its line in the file.
    pub line: usize,
    /// What is wrong; empty for a case that passes.
    pub complaints: Vec<CaseComplaint>,
    /// What of the rules it has exercised, if that was asked for.
    pub covered: Option<ExercisedRules>,
}

/// What came of a case file.
#[derive(Debug, Default)]
pub struct FileResult {
    /// The file.
    pub shown: String,
    /// Its cases, in order.
    pub cases: Vec<CaseResult>,
    /// Why it could not be used, so that none of its cases was run: its report, or that of its rules.
    pub unreadable: Option<(Report, Sources)>,
    /// Warnings about what its cases give: what no rule reads, and what does not fit.
    pub remarks: (Report, Sources),
    /// The text that `--update` writes; `None` if nothing changes.
    pub updated: Option<String>,
    /// The payload files that `--update` writes, with their texts.
    pub payloads: Vec<(PathBuf, String)>,
    /// What `--update` could not write.
    pub kept: Vec<String>,
}

/// Which expectations are written anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotUpdate {
    /// None.
    #[default]
    None,
    /// Snapshots: cases that say so, payload files, and cases that expect nothing yet.
    Snapshots,
    /// Those written by hand too, but no tests such as `{ includes = […] }`.
    All,
}

/// How cases are run.
pub struct CaseRunner<'r> {
    /// Where packs are found.
    pub shelf: &'r (dyn PackLibrary + Sync),
    /// Reads scene files.
    pub scenes: SceneReader<'r>,
    /// Only cases whose title `file#name` contains this.
    pub filter: &'r str,
    /// Files that are run at the same time.
    pub jobs: usize,
    /// Which expectations are written anew.
    pub update: SnapshotUpdate,
    /// Whether coverage is recorded.
    pub coverage: bool,
}

impl CaseRunner<'_> {
    /// Runs all cases of files, in the order of the files.
    #[must_use]
    pub fn run(&self, files: &[Result<CaseFile, UnreadableFile>]) -> Vec<FileResult> {
        each(files, self.jobs, |file| self.file(file))
    }

    fn file(&self, file: &Result<CaseFile, UnreadableFile>) -> FileResult {
        let file = match file {
            Ok(file) => file,
            Err(wrong) => {
                let cases = wrong.cases.iter().filter(|(name, _)| self.takes(&wrong.shown, name)).cloned();
                return failed(&wrong.shown, cases, (*wrong.report).clone(), (*wrong.sources).clone());
            }
        };
        let mut out = FileResult { shown: file.shown.clone(), ..FileResult::default() };
        out.remarks.1.clone_from(&file.sources);
        let wanted: Vec<&TestCase> = file.cases.iter().filter(|case| self.takes(&file.shown, &case.name)).collect();
        if wanted.is_empty() {
            return out;
        }
        let rules = match file.rules(self.shelf) {
            Ok(rules) => rules,
            Err(rejected) => {
                let cases = wanted.iter().map(|case| (case.name.clone(), file.line(case)));
                return failed(&file.shown, cases, rejected.report, rejected.sources);
            }
        };
        let mut edits = Vec::new();
        for case in wanted {
            let (ran, own_edits) = self.case(file, case, &rules, &mut out.remarks.0);
            out.cases.push(ran);
            for edit in own_edits {
                match edit {
                    Ok(SnapshotChange::Text(edit)) => edits.push(edit),
                    Ok(SnapshotChange::Payload(path, text)) => out.payloads.push((path, text)),
                    Err(reason) => out.kept.push(format!("case `{}`: {reason}", case.name)),
                }
            }
        }
        if !edits.is_empty() {
            let text =
                file.cases.first().and_then(|case| file.sources.get(case.node.span.source)).map(|s| s.text.clone()).unwrap_or_default();
            match snapshot::apply(&text, &edits) {
                Some(new) => out.updated = Some(new),
                None if file.is_toml() => out.kept.push("the changed file would not be TOML".to_owned()),
                None => out.kept.push(NOT_TOML.to_owned()),
            }
        }
        out
    }

    fn takes(&self, shown: &str, name: &str) -> bool {
        format!("{shown}#{name}").contains(self.filter)
    }

    fn case(
        &self,
        file: &CaseFile,
        case: &TestCase,
        rules: &Ruleset,
        remarks: &mut Report,
    ) -> (CaseResult, Vec<Result<SnapshotChange, String>>) {
        let mut ran = CaseResult { name: case.name.clone(), line: file.line(case), complaints: Vec::new(), covered: None };
        let (own, found) = sound_rules(file, case, rules, self.shelf);
        let own = match own {
            Ok(own) => own,
            Err(rejected) => {
                ran.complaints.push(CaseComplaint::of(rejected.to_string()));
                return (ran, Vec::new());
            }
        };
        for fault in found.items().iter().cloned() {
            if fault.severity == Severity::Error {
                ran.complaints.push(CaseComplaint::of(placed(&fault, &file.sources)));
            } else {
                remarks.push(fault);
            }
        }
        if !ran.complaints.is_empty() {
            return (ran, Vec::new());
        }
        let rules = own.as_ref().unwrap_or(rules);
        let mut edits = Vec::new();
        let mut judged = if self.coverage {
            let (recorded, seen) = rules.recorded();
            let judged = judge(file, case, &recorded, self.scenes, false);
            ran.covered = Some(ExercisedRules::of(&seen, rules));
            judged
        } else {
            judge(file, case, rules, self.scenes, false)
        };
        let changes = |turn: &JudgedTurn<'_>| if self.update == SnapshotUpdate::None { Vec::new() } else { turn.edits(file, self.update) };
        let changes: Vec<_> = judged.iter().map(changes).collect();
        let is_fixed = |turn: &JudgedTurn<'_>, own: &[Result<SnapshotChange, String>]| {
            self.update != SnapshotUpdate::None && turn.failed.is_none() && file.is_toml() && own.iter().all(Result::is_ok)
        };
        if judged.iter().zip(&changes).any(|(turn, own)| !turn.differences.is_empty() && !is_fixed(turn, own)) {
            // once more, to see which rules did it
            let (recorded, seen) = rules.recorded();
            let traced = judge(file, case, &recorded, self.scenes, true);
            for (turn, traced) in judged.iter_mut().zip(&traced) {
                turn.blame(traced, &seen, rules);
            }
        }
        for (n, (turn, own)) in judged.into_iter().zip(changes).enumerate() {
            let number = (case.turns.len() > 1).then_some(n + 1);
            if !is_fixed(&turn, &own) {
                ran.complaints.extend(turn.complaints(number));
            }
            edits.extend(own);
        }
        (ran, edits)
    }
}

/// Runs something over all of a list, several at a time; the results keep the order.
pub(super) fn each<T: Sync, R: Send>(all: &[T], jobs: usize, run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(all.len())));
    let work = || {
        while let Some(one) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, all.get(n)?))) {
            let result = run(one.1);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((one.0, result));
        }
    };
    std::thread::scope(|scope| {
        let spawned: Vec<_> =
            (0..jobs.clamp(1, 64)).filter_map(|_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok()).collect();
        if spawned.is_empty() {
            work();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A file that cannot be used: all of its cases count as failed.
fn failed(shown: &str, cases: impl Iterator<Item = (String, usize)>, report: Report, sources: Sources) -> FileResult {
    let unrun = |(name, line)| {
        let message = "is not run, because the file or its rules cannot be used".to_owned();
        CaseResult { name, line, complaints: vec![CaseComplaint::of(message)], covered: None }
    };
    FileResult { shown: shown.to_owned(), cases: cases.map(unrun).collect(), unreadable: Some((report, sources)), ..FileResult::default() }
}

/// What is wrong with a case by itself, in one line.
fn placed(fault: &Diagnostic, sources: &Sources) -> String {
    let at = fault.span.and_then(|span| sources.place(span)).map(|at| format!(" ({at})")).unwrap_or_default();
    let help = fault.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{}{at}{help}", fault.message)
}

/// The rules of a case that lays more over those of its file.
pub(super) fn rules_of(file: &CaseFile, case: &TestCase, library: &dyn PackLibrary) -> Result<Option<Ruleset>, PackError> {
    let own = file.overlays_of(case);
    if own.is_empty() {
        return Ok(None);
    }
    let overlays = [file.overlays.as_slice(), &own].concat();
    Ruleset::load(&file.pack, &overlays, library).map(Some)
}

/// The rules of a case, as `rules_of`, and what is wrong with the case itself. `rules` are those of its file.
pub fn sound_rules(
    file: &CaseFile,
    case: &TestCase,
    rules: &Ruleset,
    library: &dyn PackLibrary,
) -> (Result<Option<Ruleset>, PackError>, Report) {
    let mut found = validate::missing_files(file, case);
    if found.has_errors() {
        return (Ok(None), found);
    }
    match rules_of(file, case, library) {
        Ok(own) => {
            found.extend(validate::case_faults(file, case, own.as_ref().unwrap_or(rules)));
            (Ok(own), found)
        }
        Err(rejected) => {
            // a size for an account that is not there makes an account that lacks the rest
            let unknown = if case.overlays.is_empty() { validate::unknown_accounts(file, case, rules) } else { Report::default() };
            if unknown.has_errors() { (Ok(None), unknown) } else { (Err(rejected), found) }
        }
    }
}

/// What came of a turn, beside what is expected.
struct JudgedTurn<'c> {
    turn: &'c CaseTurn,
    played: Option<PlayedTurn>,
    differences: Vec<(Difference, Option<BlamedRule>)>,
    /// Why there is no result.
    failed: Option<(String, Option<BlamedRule>)>,
    /// The values of a new expectation, for a turn without any.
    fresh: Option<Map<String, Json>>,
}

/// Plays the turns of a case. After a turn without a result, the others are not played.
fn judge<'c>(file: &CaseFile, case: &'c TestCase, rules: &Ruleset, scenes: SceneReader<'_>, trace: bool) -> Vec<JudgedTurn<'c>> {
    judge_while(file, case, rules, scenes, trace, |turn| turn.failed.is_none())
}

/// Whether a turn of a case is not as expected. The turns behind it are not played.
pub(super) fn notices(file: &CaseFile, case: &TestCase, rules: &Ruleset, scenes: SceneReader<'_>) -> bool {
    judge_while(file, case, rules, scenes, false, |turn| turn.holds()).iter().any(|turn| !turn.holds())
}

/// Plays the turns of a case as long as each of them is such.
fn judge_while<'c>(
    file: &CaseFile,
    case: &'c TestCase,
    rules: &Ruleset,
    scenes: SceneReader<'_>,
    trace: bool,
    goes_on: impl Fn(&JudgedTurn<'_>) -> bool,
) -> Vec<JudgedTurn<'c>> {
    let expect_of = |turn: &CaseTurn| turn.expect.as_ref().map(json_of);
    let wants_trace = |turn: &CaseTurn| trace || expect_of(turn).is_some_and(|expect| expect.get("reasons").is_some());
    let mut all = Vec::with_capacity(case.turns.len());
    let comparing = CaseComparison::new();
    turns(case, &file.base, rules, scenes, wants_trace, |turn, result| {
        let mut judged = JudgedTurn { turn, played: None, differences: Vec::new(), failed: None, fresh: None };
        let expect = expect_of(turn);
        let wanted_error = expect.as_ref().and_then(|expect| expect.get("error")).and_then(Json::as_str);
        match result {
            Ok(played) => {
                if let Some(code) = wanted_error {
                    judged.failed = Some((format!("the error `{code}` is expected, but it ran to its end"), None));
                } else if let Some(expect) = &expect {
                    let found = differences(&comparing, &played, case, expect, &file.base);
                    judged.differences = found.into_iter().map(|d| (d, None)).collect();
                } else {
                    judged.fresh = Some(play::whole(&played, turn, &case.show, rules));
                }
                judged.played = Some(played);
            }
            Err(TurnFailure::Rules(error)) if wanted_error == Some(error.kind().as_str()) => {}
            Err(TurnFailure::Rules(error)) => {
                let expected = wanted_error.map(|code| format!("the error `{code}` is expected, but it is ")).unwrap_or_default();
                let rule = error.stage.as_deref().map(|stage| BlamedRule::of(stage, rules)).filter(|rule| !rule.at.is_empty());
                judged.failed = Some((format!("{expected}error `{}`: {error}", error.kind()), rule));
            }
            Err(TurnFailure::Given(message)) => judged.failed = Some((message, None)),
        }
        let on = goes_on(&judged);
        all.push(judged);
        on
    });
    all
}

/// What is not as expected.
fn differences(comparing: &CaseComparison, played: &PlayedTurn, case: &TestCase, expect: &Json, base: &Path) -> Vec<Difference> {
    let mut out = Vec::new();
    for (key, wanted) in expect.as_object().into_iter().flatten() {
        let mut steps = vec![ValueStep::Key(key.clone())];
        match key.as_str() {
            "lists" | "shown" => {
                for (list, rows) in wanted.as_object().into_iter().flatten() {
                    steps.push(ValueStep::Key(list.clone()));
                    let line = case.show.iter().find(|(name, _)| name == list).map(|(_, line)| line.as_str());
                    let got = match (key.as_str(), line) {
                        ("shown", Some(line)) => played.lines(list, line),
                        ("shown", None) => Json::Null,
                        _ => played.list(list).unwrap_or_default(),
                    };
                    comparing.compare(&mut steps, rows, &got, &mut out);
                    steps.pop();
                }
            }
            "set" => {
                for (path, value) in wanted.as_object().into_iter().flatten() {
                    steps.push(ValueStep::Key(path.clone()));
                    let got = played.outcome.as_ref().map(|o| o.get(path).to_json()).unwrap_or_default();
                    comparing.compare(&mut steps, value, &got, &mut out);
                    steps.pop();
                }
            }
            "warnings" => comparing.compare(&mut steps, wanted, &coded(wanted, played.value(key), "code"), &mut out),
            "reasons" => comparing.compare(&mut steps, wanted, &coded(wanted, played.value(key), "because"), &mut out),
            "payload_file" => {
                let file = wanted.as_str().unwrap_or_default();
                let got = played.value("payload");
                match beside(base, file).and_then(|path| payload(&path, file)) {
                    Ok(wanted) => {
                        let exactly = json!({ "exactly": wanted });
                        comparing.compare(&mut steps, &exactly, &got, &mut out);
                    }
                    Err(problem) => out.push(Difference { steps, wanted: wanted.clone(), got, problem: Some(problem) }),
                }
            }
            "error" | "draws_left" => {}
            _ => comparing.compare(&mut steps, wanted, &played.value(key), &mut out),
        }
    }
    let left = expect.get("draws_left").cloned().unwrap_or_else(|| json!(0));
    comparing.compare(&mut vec![ValueStep::Key("draws_left".into())], &left, &json!(played.draws_left), &mut out);
    out
}

/// Rows with a code; where all that is expected of them is texts, their codes alone.
fn coded(wanted: &Json, rows: Json, key: &str) -> Json {
    fn has_tables(wanted: &Json, within: bool) -> bool {
        match wanted {
            Json::Array(list) => list.iter().any(|one| has_tables(one, true)),
            Json::Object(table) => within || table.values().any(|value| has_tables(value, false)),
            _ => false,
        }
    }
    if has_tables(wanted, false) {
        return rows;
    }
    let codes = rows.as_array().into_iter().flatten().map(|row| row.get(key).cloned().unwrap_or_default());
    Json::Array(codes.collect())
}

impl JudgedTurn<'_> {
    /// Whether the turn is as expected.
    fn holds(&self) -> bool {
        self.differences.is_empty() && self.failed.is_none() && self.fresh.is_none()
    }

    fn blame(&mut self, traced: &JudgedTurn<'_>, seen: &CoverageSink, rules: &Ruleset) {
        let Some(played) = &traced.played else { return };
        for (difference, rule) in &mut self.differences {
            *rule = behind(difference, played, seen, rules);
        }
    }

    fn complaints(self, turn: Option<usize>) -> Vec<CaseComplaint> {
        let mut out = Vec::new();
        if let Some((message, rule)) = self.failed {
            out.push(CaseComplaint { turn, difference: None, message, rule });
        }
        if self.fresh.is_some() {
            let message = "nothing is expected; `tapster test --update` writes what came out into `expect`".to_owned();
            out.push(CaseComplaint { turn, difference: None, message, rule: None });
        }
        out.extend(self.differences.into_iter().map(|(difference, rule)| {
            let message = match &difference.problem {
                Some(problem) => format!("{}: {problem}", difference.place()),
                None => format!("{} differs", difference.place()),
            };
            CaseComplaint { turn, difference: Some(difference), message, rule }
        }));
        out
    }

    /// What has to change in the file so that the turn is as expected.
    fn edits(&self, file: &CaseFile, update: SnapshotUpdate) -> Vec<Result<SnapshotChange, String>> {
        if let Some(fresh) = &self.fresh {
            return vec![snapshot::new_expect(&self.turn.node, fresh, &file.sources, self.turn.node.span).map(SnapshotChange::Text)];
        }
        let Some(expect): Option<&DocumentNode> = self.turn.expect.as_ref() else { return Vec::new() };
        let edit = |(difference, _): &(Difference, Option<BlamedRule>)| match difference.steps.first() {
            Some(ValueStep::Key(key)) if key == "payload_file" => {
                let named = difference.wanted.as_str().or_else(|| expect.get(key)?.as_text()).unwrap_or_default();
                let text = serde_json::to_string_pretty(&difference.got).unwrap_or_default();
                Some(beside(&file.base, named).map(|path| SnapshotChange::Payload(path, text + "\n")))
            }
            Some(ValueStep::Key(key)) if key == "draws_left" && expect.get(key).is_none() => {
                Some(Err(format!("{} scripted draws are left; take them out", difference.got)))
            }
            _ if !file.is_toml() => Some(Err(NOT_TOML.to_owned())),
            _ => Some(match snapshot::of_difference(difference, expect, &file.sources) {
                Ok(_) if !self.turn.snapshot && update != SnapshotUpdate::All => {
                    Err(format!("`{}` is written by hand; `tapster test --update=all` replaces it", difference.place()))
                }
                edit => edit.map(SnapshotChange::Text),
            }),
        };
        self.differences.iter().filter_map(edit).collect()
    }
}

/// A rule that is responsible for a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedRule {
    /// The pass, as `program/pass`.
    pub pass: String,
    /// `file:line`; empty where the pack's text is not at hand.
    pub at: String,
}

impl BlamedRule {
    /// A pass with its place.
    #[must_use]
    pub fn of(pass: &str, rules: &Ruleset) -> Self {
        let place = rules.span_of_pass(pass).and_then(|span| rules.sources().place(span));
        Self { pass: pass.to_owned(), at: place.map(|at| format!("{}:{}", at.file, at.line)).unwrap_or_default() }
    }
}

/// The rule behind a difference of a turn that was played with a trace and a sink.
#[must_use]
pub fn behind(difference: &Difference, played: &PlayedTurn, seen: &CoverageSink, rules: &Ruleset) -> Option<BlamedRule> {
    let key = |n: usize| match difference.steps.get(n) {
        Some(ValueStep::Key(key)) => Some(key.as_str()),
        _ => None,
    };
    let index = |n: usize| match difference.steps.get(n) {
        Some(ValueStep::Index(at)) => Some(*at),
        _ => None,
    };
    let pass = match key(0)? {
        "lists" => played.outcome.as_ref()?.last_pass(key(1)?, index(2))?.to_string(),
        "shown" => played.outcome.as_ref()?.last_pass(key(1)?, None)?.to_string(),
        "set" => seen.setter(key(1)?)?.to_string(),
        "patch" => seen.setter(&format!("state.{}", key(1)?))?.to_string(),
        "warnings" => {
            let at = index(1).unwrap_or_default();
            played.warnings.get(at).or(played.warnings.first()).map(|w| w.pass.clone()).filter(|pass| !pass.is_empty())?
        }
        "reasons" => played.reasons.get(index(1)?)?.pass.clone(),
        "payload" | "request" => {
            let messages = played.emitted.as_ref()?.trace.as_ref()?;
            messages.passes.last()?.pass.clone()
        }
        _ => return None,
    };
    Some(BlamedRule::of(&pass, rules))
}
