//! What the rules of an open file are: the pack that holds it, or the pack that it is laid over. Checked as `tapster check` does,
//! and kept for completion, hover and the other questions.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::DiagnosticSeverity;
use serde_json::Value as Json;
use tapster::diag::suggest;
use tapster::machinery::pack::files::{is_rule_file, pack_around, parent, shown};
use tapster::machinery::pack::{DEFAULT_PACK, KINDS, Overlay, PackLibrary, RuleFile, Ruleset, Schemas, Start, load, load_read};
use tapster::machinery::terms::names::PackNames;
use tapster::model::Pack;
use tapster_door::check::repair::locate_repairs;
use tapster_door::check::{CaseChecker, CheckReport, check_alone};

use crate::diagnostics::{DiagnosticWriter, FileDiagnostics};
use crate::document::{OpenDocument, OpenDocuments};
use crate::files::{EditedPacks, clean_path};
use crate::outline::ROOT;

/// What is checked together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProjectRoot {
    /// The folder of a pack.
    Pack(PathBuf),
    /// An overlay, and the pack that it is laid over.
    Overlay(PathBuf, Start),
    /// A rule file for which no pack is known.
    File(PathBuf),
}

impl ProjectRoot {
    /// The root of an open rule file. `pack` is the one that overlays without `extends` are laid over.
    pub(crate) fn of(document: &OpenDocument, pack: Option<&str>) -> Option<Self> {
        let path = document.path.as_deref()?;
        if let Some(folder) = pack_around(path) {
            return Some(Self::Pack(folder));
        }
        if !is_rule_file(path) {
            return None;
        }
        let read = |key: &str| document.outline().text_at(ROOT, key, &document.text).map(str::to_owned);
        let kind = read("kind");
        // a file without a kind of the engine is no rule file, but may become one
        if !has_known_kind(document) && !has_misspelt_kind(document) {
            return None;
        }
        let extends = read("extends").filter(|_| kind.as_deref() == Some("overlay"));
        // from the overlay's own folder: that of the server may have a folder of the name
        let extends = extends.map(|text| Start::named(&text, clean_path(&path.parent().unwrap_or(Path::new("")).join(&text))));
        Some(match extends.or_else(|| pack.map(Start::typed)).filter(|_| kind.as_deref() != Some("case")) {
            Some(start) => Self::Overlay(path.to_owned(), start),
            None => Self::File(path.to_owned()),
        })
    }

    /// The path where diagnostics without a place are shown, and from which packs are searched.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Pack(path) | Self::Overlay(path, _) | Self::File(path) => path,
        }
    }

    /// The rules of a root: what they start from, and what is laid over that. Those of a file alone are the default pack's.
    pub(crate) fn rules(&self) -> (Start, Vec<Overlay>) {
        match self {
            Self::Pack(folder) => (Start::Folder(folder.clone()), Vec::new()),
            Self::Overlay(path, start) => (start.clone(), vec![Overlay::Path(path.clone())]),
            Self::File(_) => (Start::Name(DEFAULT_PACK.to_owned()), Vec::new()),
        }
    }

    /// The folder in which packs are searched by name.
    pub(crate) fn near(&self) -> Option<PathBuf> {
        parent(self.path())
    }
}

/// Whether a document says that it is a rule file of a kind that the engine knows.
pub(crate) fn has_known_kind(document: &OpenDocument) -> bool {
    let kind = document.outline().text_at(ROOT, "kind", &document.text);
    kind.is_some_and(|kind| KINDS.iter().any(|(known, _)| *known == kind))
}

/// Whether a document has nearly such a kind, and a version as rule files have.
fn has_misspelt_kind(document: &OpenDocument) -> bool {
    let outline = document.outline();
    let is_near = |kind: &str| suggest::nearest(kind, KINDS.iter().map(|(known, _)| *known)).is_some();
    let version = outline.entry(ROOT, "version").and_then(|entry| outline.node(entry.node));
    let is_whole = version.and_then(|node| document.text.get(node.range.clone())).is_some_and(|text| text.trim().parse::<u32>().is_ok());
    is_whole && outline.text_at(ROOT, "kind", &document.text).is_some_and(is_near)
}

/// The rules of a root as they were when they could last be used.
#[derive(Default)]
pub(crate) struct Project {
    /// Compiled without errors.
    pub(crate) rules: Option<Ruleset>,
    /// The merged rows with their names, where the rules have always had errors.
    merged: Option<(Pack, PackNames)>,
    /// The text that the rules were made of has changed since they were checked.
    pub(crate) is_stale: bool,
    /// Open case files that have changed since they were checked.
    pub(crate) stale_cases: Vec<PathBuf>,
    /// What was found in rules, and in each open case file.
    pub(crate) found: FileDiagnostics,
    of_cases: BTreeMap<PathBuf, FileDiagnostics>,
    /// The schemas of kinds with what the rules declare, by file name.
    schemas: HashMap<String, Option<Arc<Json>>>,
}

impl Project {
    /// The merged rows of the pack.
    pub(crate) fn pack(&self) -> Option<&Pack> {
        self.rules.as_ref().map(Ruleset::pack).or(self.merged.as_ref().map(|(pack, _)| pack))
    }

    /// The names that the pack declares.
    pub(crate) fn names(&self) -> Option<&PackNames> {
        let compiled = self.rules.as_ref().map(|rules| &*rules.programs().rules.names);
        compiled.or(self.merged.as_ref().map(|(_, names)| names))
    }

    /// The schema of a kind of rule file with what the rules declare.
    pub(crate) fn schema(&mut self, kind: &str, version: Option<i64>) -> Option<Arc<Json>> {
        let shipped = Schemas::shipped();
        let newest = shipped.newest(kind)?;
        let file = format!("{kind}.v{}.json", version.filter(|version| (1..newest).contains(version)).unwrap_or(newest));
        if let Some(known) = self.schemas.get(&file) {
            return known.clone();
        }
        let schema = match self.pack() {
            Some(pack) => shipped.bundled_for(&file, pack),
            None => shipped.bundled(&file),
        };
        let schema = schema.or_else(|| shipped.bundled(&format!("{kind}.v{newest}.json"))).map(Arc::new);
        self.schemas.insert(file, schema.clone());
        schema
    }

    /// Checks the rules, but no rule tests.
    pub(crate) fn check(&mut self, root: &ProjectRoot, folders: &[PathBuf], documents: &OpenDocuments) {
        self.is_stale = false;
        let near = root.near();
        let library = EditedPacks::new(folders, near.as_deref(), documents);
        let writer = DiagnosticWriter { documents, main: main_file(root) };
        let mut found = FileDiagnostics::new();
        if let ProjectRoot::File(path) = root {
            alone(path, &library).into_iter().for_each(|report| writer.add(&located(report), &mut found));
            self.found = found;
            return;
        }
        let (start, overlays) = root.rules();
        let rules = Ruleset::check(&start, &overlays, &library);
        writer.add(&located(CheckReport::of(&rules)), &mut found);
        self.found = found;
        match rules {
            Ok(rules) => {
                self.schemas.clear();
                self.rules = Some(rules);
                self.merged = None;
            }
            // rows are better than nothing to complete with
            Err(_) if self.rules.is_none() => {
                let pack = load(&start, &overlays, &library).pack;
                self.merged = pack.map(|pack| {
                    let names = PackNames::of(&pack);
                    (pack, names)
                });
                self.schemas.clear();
            }
            Err(_) => {}
        }
    }

    /// Checks an open case file.
    pub(crate) fn check_case(&mut self, path: &Path, root: &ProjectRoot, folders: &[PathBuf], documents: &OpenDocuments) {
        let near = root.near();
        let library = EditedPacks::new(folders, near.as_deref(), documents);
        let writer = DiagnosticWriter { documents, main: path.to_owned() };
        let mut found = FileDiagnostics::new();
        if let Some(file) = library.read_file(path, &mut Default::default()) {
            for report in check_case_file(path, &file, &library) {
                writer.add(&located(report), &mut found);
            }
        }
        self.of_cases.insert(path.to_owned(), found);
    }

    /// Forgets what was found in a case file that was closed.
    pub(crate) fn forget_case(&mut self, path: &Path) {
        self.of_cases.remove(path);
        self.stale_cases.retain(|known| known != path);
    }

    /// Whether the rules as they are now cannot be used.
    pub(crate) fn has_errors(&self) -> bool {
        self.found.values().flatten().any(|found| found.severity == Some(DiagnosticSeverity::ERROR))
    }

    /// Whether the rules are made of a file.
    pub(crate) fn reads(&self, path: &Path) -> bool {
        let name = shown(path);
        let sources = self.pack().map(|pack| &pack.sources);
        sources.is_some_and(|sources| sources.ids().any(|id| sources.get(id).is_some_and(|source| *source.name == *name)))
    }

    /// The files in which something was found before their text, or that of the rules, has changed.
    pub(crate) fn stale_files(&self) -> Vec<PathBuf> {
        if self.is_stale { self.all_found().into_keys().collect() } else { self.stale_cases.clone() }
    }

    /// Everything that was found, by file.
    pub(crate) fn all_found(&self) -> FileDiagnostics {
        let mut all = self.found.clone();
        for (path, found) in self.of_cases.values().flatten() {
            let list = all.entry(path.clone()).or_default();
            for one in found {
                if !list.contains(one) {
                    list.push(one.clone());
                }
            }
        }
        all
    }
}

/// Whether a document says that it is an overlay.
pub(crate) fn is_overlay(document: &OpenDocument) -> bool {
    document.outline().text_at(ROOT, "kind", &document.text) == Some("overlay")
}

/// The file that diagnostics without a place are about.
fn main_file(root: &ProjectRoot) -> PathBuf {
    match root {
        ProjectRoot::Pack(folder) => {
            let json = folder.join("pack.json");
            if json.is_file() { json } else { folder.join("pack.toml") }
        }
        ProjectRoot::Overlay(path, _) | ProjectRoot::File(path) => path.clone(),
    }
}

/// Finds the places of certain repairs.
fn located(mut found: CheckReport) -> CheckReport {
    locate_repairs(&mut found.report, &found.sources);
    found
}

/// What is wrong with a rule file for which no pack is known.
fn alone(path: &Path, library: &EditedPacks<'_>) -> Vec<CheckReport> {
    let Some(file) = library.read_file(path, &mut Default::default()) else { return Vec::new() };
    let (doc, report, sources) = load_read(&file, Schemas::shipped());
    let read = CheckReport { report, sources };
    match doc.as_ref().map(|doc| &*doc.kind) {
        Some("case") => check_case_file(path, &file, library),
        // nothing more can be checked in a manifest, or in what cannot be read
        Some("pack") | None => vec![read],
        Some(_) => vec![check_alone(path, &Overlay::File(file)).unwrap_or(read)],
    }
}

/// What is wrong with a case file and with the rules that it names.
fn check_case_file(path: &Path, file: &RuleFile, library: &EditedPacks<'_>) -> Vec<CheckReport> {
    let (doc, alone, sources) = load_read(file, Schemas::shipped());
    let has_errors = alone.has_errors();
    let read = CheckReport { report: alone, sources };
    // data that cases are run with is checked where it is used
    if doc.as_ref().is_some_and(|doc| &*doc.kind != "case") {
        return Vec::new();
    }
    let mut found = CaseChecker::new(library).rule_file(file, path);
    if !has_errors {
        found.push(read);
    }
    found
}

/// Whether an open document is a case file or the data of one.
pub(crate) fn is_case(document: &OpenDocument, root: &ProjectRoot) -> bool {
    let ProjectRoot::Pack(folder) = root else { return false };
    let inside = document.path.as_deref().and_then(|path| path.strip_prefix(folder).ok()).map(shown).unwrap_or_default();
    inside.split('/').rev().skip(1).any(|part| part == "cases")
}
