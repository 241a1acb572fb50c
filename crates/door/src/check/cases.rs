//! Rule tests: what is wrong with case files, and what comes of their cases.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value as Json;

use super::{CheckReport, repair};
use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report, Severity, Span};
use crate::pack::{PackError, PackLibrary, RuleDocument, RuleFile, Ruleset, Schemas, Start, case_files, load_read};
use crate::testing::case::{holds_cases, nearly_holds_cases, read, read_path};
use crate::testing::inputs::unknown_dialects;
use crate::testing::play::SceneReader;
use crate::testing::runner::sound_rules;
use crate::testing::{CaseFile, CaseRunner, SnapshotUpdate, UnreadableFile, report};

/// Checks the case files at paths.
pub fn check_case_files<'p>(paths: impl Iterator<Item = &'p Path>, library: &dyn PackLibrary) -> Vec<CheckReport> {
    let mut cases = CaseChecker::new(library);
    paths.flat_map(|path| cases.file(read_path(path))).collect()
}

/// Checks the files under `cases/` of a pack. `is_sound` says that the pack itself has no mistakes, which every case file
/// would repeat.
#[must_use]
pub fn check_pack_cases(start: &Start, is_sound: bool, library: &dyn PackLibrary) -> Vec<CheckReport> {
    let mut cases = CaseChecker::new(library);
    let files = case_files(start, library);
    let mut used = FileUses::new(&files);
    // rule files are unused until all cases have been read
    let mut doubtful: Vec<(usize, &RuleFile, Report)> = Vec::new();
    let mut all: Vec<CheckReport> = Vec::new();
    for file in &files {
        let (doc, report, sources) = load_read(file, Schemas::shipped());
        let is_json = file.path_in_pack.ends_with(".json");
        if let Some(doc) = doc.as_ref().filter(|doc| holds_cases(doc)) {
            used.add(&doc.root);
        }
        let found = match doc {
            Some(doc) if nearly_holds_cases(&doc, !is_json) => vec![CheckReport { report, sources }],
            // a document or payload of a case
            Some(doc) if doc.kind.is_empty() && is_json => Vec::new(),
            Some(doc) if !holds_cases(&doc) => {
                // data that cases are run with needs no kind
                let own = if doc.is_data() {
                    doubtful.push((all.len(), file, report));
                    Report::default()
                } else {
                    if !doc.kind.is_empty() {
                        doubtful.push((all.len(), file, unused_files(file, &doc).into()));
                    }
                    report
                };
                vec![CheckReport { report: own, sources }]
            }
            _ => match read(file, Path::new(&file.name)) {
                Ok(_) if !is_sound => vec![CheckReport { report, sources }],
                read => cases.file(read),
            },
        };
        all.extend(found);
    }
    for (at, file, complaints) in doubtful {
        if let Some(found) = all.get_mut(at).filter(|_| !used.has(file)) {
            found.report.extend(complaints);
        }
    }
    all
}

/// The warning about a rule file in the folder `cases` that is laid over nothing: it is no part of the pack there.
fn unused_files(file: &RuleFile, doc: &RuleDocument) -> Diagnostic {
    let message = format!("nothing reads `{}`: it lies in the folder `cases`, and no case names it", file.name);
    let help = "name it in `overlays` of a case, or move it out of `cases/`, where it is a part of the pack";
    Diagnostic::new(Code::FileStray, message).at(Span::new(doc.root.span.source, 0, 0)).help(help)
}

/// Which of the files among the cases something uses, gathered while the cases are read.
struct FileUses<'f> {
    /// The names of all files.
    names: HashSet<&'f str>,
    /// Those of them that a text in a case is, or is a path to.
    named: HashSet<&'f str>,
    /// The folders of packs that lie among the cases.
    packs: Vec<&'f str>,
}

impl<'f> FileUses<'f> {
    fn new(files: &'f [RuleFile]) -> Self {
        let mut used = FileUses { names: HashSet::new(), named: HashSet::new(), packs: Vec::new() };
        for file in files {
            let path = file.path_in_pack.as_str();
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            used.names.insert(name);
            if matches!(name, "pack.toml" | "pack.json") {
                used.packs.push(folder);
            }
        }
        used
    }

    /// Adds what the texts of a case file name. A file nests no deeper than its reader allows.
    fn add(&mut self, node: &DocumentNode) {
        match &node.data {
            NodeValue::Text(text) => self.named.extend(text.rsplit('/').next().and_then(|last| self.names.get(last)).copied()),
            NodeValue::List(list) => list.iter().for_each(|node| self.add(node)),
            NodeValue::Table(table) => table.values().for_each(|field| self.add(&field.node)),
            _ => {}
        }
    }

    /// Whether a case names a file, or the file is one of a pack that lies among the cases.
    fn has(&self, file: &RuleFile) -> bool {
        let path = &*file.path_in_pack;
        let is_named = path.rsplit('/').next().is_some_and(|name| self.named.contains(name));
        is_named || self.packs.iter().any(|folder| path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Runs the cases of a file that has been read, whose paths begin beside `path`, or only those of a name: the report as JSON.
#[must_use]
pub fn run_cases(file: &RuleFile, path: &Path, only: Option<&str>, library: &(dyn PackLibrary + Sync), scenes: SceneReader<'_>) -> Json {
    let mut file = read(file, path);
    let is_wanted = |name: &str| only.is_none_or(|only| name == only);
    match &mut file {
        Ok(file) => file.cases.retain(|case| is_wanted(&case.name)),
        Err(wrong) => wrong.cases = wrong.cases.iter().filter(|(name, _)| is_wanted(name)).cloned().collect(),
    }
    let runner = CaseRunner { shelf: library, scenes, filter: "", jobs: 1, update: SnapshotUpdate::None, coverage: false };
    report::json(&runner.run(&[file]))
}

/// Case files that are checked together.
pub struct CaseChecker<'l> {
    library: &'l dyn PackLibrary,
    /// The rules of packs over which a file lays nothing.
    known: HashMap<Start, Ruleset>,
}

impl<'l> CaseChecker<'l> {
    /// Checks case files whose packs are in a library.
    pub fn new(library: &'l dyn PackLibrary) -> Self {
        Self { library, known: HashMap::new() }
    }

    /// Checks a case file that has been read, whose paths begin beside `path`.
    pub fn rule_file(&mut self, file: &RuleFile, path: &Path) -> Vec<CheckReport> {
        self.file(read(file, path))
    }

    /// What is wrong with a case file: its rules come before its own mistakes.
    pub fn file(&mut self, read: Result<CaseFile, UnreadableFile>) -> Vec<CheckReport> {
        let file = match read {
            Ok(file) => file,
            Err(wrong) => return vec![CheckReport { report: *wrong.report, sources: *wrong.sources }],
        };
        let rules = match self.rules(&file) {
            Ok(rules) => rules,
            Err(rejected) => return vec![error_of_run(rejected)],
        };
        let mut own = Report::default();
        let mut found = Vec::new();
        for case in &file.cases {
            let (of_case, mut wrong) = sound_rules(&file, case, &rules, self.library);
            match of_case {
                Ok(of_case) => {
                    let rules = of_case.as_ref().unwrap_or(&rules);
                    repair::repair_keys(&mut wrong, &file.sources, rules);
                    wrong.extend(unknown_dialects(&file, case, rules));
                }
                Err(rejected) => found.push(error_of_run(rejected)),
            }
            own.extend(wrong);
        }
        own.sort();
        found.insert(0, CheckReport { report: own, sources: file.sources });
        found
    }

    fn rules(&mut self, file: &CaseFile) -> Result<Ruleset, PackError> {
        if !file.overlays.is_empty() {
            return file.rules(self.library);
        }
        if let Some(known) = self.known.get(&file.pack) {
            return Ok(known.clone());
        }
        let rules = file.rules(self.library)?;
        self.known.insert(file.pack.clone(), rules.clone());
        Ok(rules)
    }
}

/// Why rules do not load; what they are only warned of is told of the pack.
fn error_of_run(PackError { mut report, sources }: PackError) -> CheckReport {
    report.retain(|d| d.severity == Severity::Error);
    CheckReport { report, sources }
}
