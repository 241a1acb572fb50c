//! Case files are read and held against their rules, so that what cannot run is told; their cases are run by another verb.

use std::collections::HashMap;
use std::path::Path;

use super::{Found, Read};
use crate::cli::inputs::files::shown;
use crate::diag::{Code, Data, Diagnostic, Node, Report, Severity, Sources, Span};
use crate::pack::error::PackError;
use crate::pack::{Document, Library, Overlay, RuleFile, Ruleset, Schemas, Start, case_files, load_read};
use crate::testing::dialects::unknown;
use crate::testing::files::{holds_cases, read, read_path};
use crate::testing::runner::sound_rules;
use crate::testing::{CaseFile, Unreadable};

/// Checks the case file at a path, and says that its cases are not run.
pub(super) fn check(path: &Path, file: &Overlay, (_, alone, sources): Read, library: &dyn Library) -> Vec<Found> {
    let read = match file {
        Overlay::Path(path) => read_path(path),
        Overlay::File(file) | Overlay::Rows(file) => read(file, path),
    };
    let count = read.as_ref().map_or(0, |file| file.cases.len());
    let mut found = Cases { library, known: HashMap::new() }.file(read);
    // its mistakes have been found again
    if !alone.has_errors() {
        found.push(Found { report: alone, sources });
    }
    if !found.iter().any(|found| found.report.has_errors()) {
        let message = format!("{count} {} of `{}` read, and not run", if count == 1 { "case" } else { "cases" }, shown(path));
        let named = if path == Path::new("-") { "FILE".to_owned() } else { path.display().to_string() };
        let note = Diagnostic::new(Code::CaseNotRun, message).help(format!("`tapster test {named}` runs rule tests"));
        found.push(Found { report: Report::from(note), sources: Sources::default() });
    }
    found
}

/// Checks the case files at paths.
pub(super) fn all<'p>(paths: impl Iterator<Item = &'p Path>, library: &dyn Library) -> Vec<Found> {
    let mut cases = Cases { library, known: HashMap::new() };
    paths.flat_map(|path| cases.file(read_path(path))).collect()
}

/// Checks the files under `cases/` of a pack. `is_sound` says that the pack itself has no mistakes, which every case file
/// would repeat.
pub(super) fn of_pack(start: &Start, is_sound: bool, library: &dyn Library) -> Vec<Found> {
    let mut cases = Cases { library, known: HashMap::new() };
    let files = case_files(start, library);
    let check = |file: &RuleFile| {
        let (doc, mut report, sources) = load_read(file, Schemas::shipped());
        match doc {
            // a document or payload of a case
            Some(doc) if doc.kind.is_empty() && file.path_in_pack.ends_with(".json") => Vec::new(),
            Some(doc) if !holds_cases(&doc) => {
                if !doc.kind.is_empty() && !is_used(file, &files) {
                    report.push(unused(file, &doc));
                }
                vec![Found { report, sources }]
            }
            _ => match read(file, Path::new(&file.name)) {
                Ok(_) if !is_sound => vec![Found { report, sources }],
                read => cases.file(read),
            },
        }
    };
    files.iter().flat_map(check).collect()
}

/// The warning about a rule file in the folder `cases` that is laid over nothing: it is no part of the pack there.
fn unused(file: &RuleFile, doc: &Document) -> Diagnostic {
    let message = format!("nothing reads `{}`: it lies in the folder `cases`, and no case names it", file.name);
    let help = "name it in `overlays` of a case, or move it out of `cases/`, where it is a part of the pack";
    Diagnostic::new(Code::FileStray, message).at(Span::new(doc.root.span.source, 0, 0)).help(help)
}

/// Whether a case names a file that lies among the cases, or the file is one of a pack that lies there.
fn is_used(file: &RuleFile, files: &[RuleFile]) -> bool {
    let name = file.path_in_pack.rsplit('/').next().unwrap_or_default();
    let is_manifest = |path: &str| matches!(path.rsplit('/').next(), Some("pack.toml" | "pack.json"));
    let is_beside = |other: &RuleFile| {
        let folder = other.path_in_pack.rsplit_once('/').map_or("", |(folder, _)| folder);
        is_manifest(&other.path_in_pack) && file.path_in_pack.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    // a file is only read again if its text has the name
    let has_name = |other: &RuleFile| String::from_utf8_lossy(&other.bytes).contains(name);
    let names = |other: &RuleFile| load_read(other, Schemas::shipped()).0.is_some_and(|doc| holds_cases(&doc) && mentions(&doc.root, name));
    files.iter().any(|other| is_beside(other) || has_name(other) && names(other))
}

/// Whether a text in a file is this name, or a path to it. A file nests no deeper than its reader allows.
fn mentions(node: &Node, name: &str) -> bool {
    match &node.data {
        Data::Text(text) => text.rsplit('/').next() == Some(name),
        Data::List(list) => list.iter().any(|node| mentions(node, name)),
        Data::Table(table) => table.values().any(|field| mentions(&field.node, name)),
        _ => false,
    }
}

/// Case files that are checked together.
struct Cases<'l> {
    library: &'l dyn Library,
    /// The rules of packs over which a file lays nothing.
    known: HashMap<Start, Ruleset>,
}

impl Cases<'_> {
    fn file(&mut self, read: Result<CaseFile, Unreadable>) -> Vec<Found> {
        let file = match read {
            Ok(file) => file,
            Err(wrong) => return vec![Found { report: wrong.report, sources: *wrong.sources }],
        };
        let rules = match self.rules(&file) {
            Ok(rules) => rules,
            Err(rejected) => return vec![of_error(rejected)],
        };
        let mut own = Report::default();
        let mut found = Vec::new();
        for case in &file.cases {
            let (of_case, wrong) = sound_rules(&file, case, &rules, self.library);
            own.extend(wrong);
            match of_case {
                Ok(of_case) => own.extend(unknown(&file, case, of_case.as_ref().unwrap_or(&rules))),
                Err(rejected) => found.push(of_error(rejected)),
            }
        }
        own.sort();
        found.insert(0, Found { report: own, sources: file.sources });
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
fn of_error(PackError { mut report, sources }: PackError) -> Found {
    report.retain(|d| d.severity == Severity::Error);
    Found { report, sources }
}
