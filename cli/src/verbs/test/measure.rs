//! `--coverage` and `--mutate`: what the cases of each pack and overlay exercise, and which broken passes they notice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::diag::SourcePlace;
use crate::pack::files::is_pack;
use crate::pack::{Overlay, PackShelf, Ruleset, Start};
use crate::testing::case::TestCase;
use crate::testing::coverage::{Coverage, CoveragePoint, ExercisedRules, passes_in};
use crate::testing::mutate::{self, MutationCases, MutationResult};
use crate::testing::play::SceneReader;
use crate::testing::runner::CaseResult;
use crate::testing::{CaseFile, FileResult, UnreadableFile};

use crate::bar::{bar, clean};
use crate::inputs::files::shown;

/// The most points that are listed of one sort.
const MOST: usize = 1_000;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MeasuredUnit {
    /// A pack, by its name and its folder, where it has one: two packs may have one name.
    Pack(String, PathBuf),
    /// A file whose rows cases lay over packs, by its path.
    File(PathBuf),
}

/// What was measured.
pub(super) struct UnitMeasurements {
    units: Vec<(MeasuredUnit, Coverage, Option<PassScore>)>,
}

/// The passes of a unit whose breaking was noticed, and those for which it was not.
struct PassScore {
    killed: usize,
    survived: Vec<String>,
}

/// A unit that is being measured.
#[derive(Default)]
struct RunningMeasurement<'a> {
    coverage: Coverage,
    /// The passes by name: where each is, and how it is broken.
    passes: BTreeMap<String, (String, &'static str)>,
    cases: Vec<MutationCases<'a>>,
}

impl RunningMeasurement<'_> {
    /// Adds the coverage of what is written in the places that `is_own` takes.
    fn add(&mut self, rules: &Ruleset, is_own: &dyn Fn(&SourcePlace) -> bool, covered: &ExercisedRules) {
        self.coverage.add(Coverage::of(rules, is_own, covered));
        for (pass, at) in passes_in(rules, is_own) {
            self.passes.entry(pass.id.to_string()).or_insert_with(|| (format!("{}:{}", at.file, at.line), mutate::how(pass)));
        }
    }

    /// The score: a pass that no case runs counts as one whose breaking is not noticed.
    fn killed(&self, mutated: &MutationResult) -> PassScore {
        let mut out = PassScore { killed: 0, survived: Vec::new() };
        for (pass, (at, how)) in &self.passes {
            if mutated.killed.contains(pass) {
                out.killed += 1;
            } else {
                let how = if mutated.survived.contains(pass) { how } else { "is run by no case" };
                out.survived.push(format!("{at} pass `{pass}` {how}"));
            }
        }
        out
    }
}

/// How passes are broken.
pub(super) struct MutationRun {
    pub(super) jobs: usize,
    /// Whether how far it has come is shown.
    pub(super) terminal: bool,
}

/// Measures packs by the cases that run on them, and the files that cases lay over packs. A pack is left out where cases only
/// lay files over it that lie elsewhere: those are what is tested.
pub(super) fn of(
    files: &[Result<CaseFile, UnreadableFile>],
    tested: &[FileResult],
    shelf: &PackShelf,
    scenes: SceneReader<'_>,
    breaking: Option<&MutationRun>,
) -> UnitMeasurements {
    let mut packs: BTreeMap<MeasuredUnit, (Vec<MutationCases<'_>>, &Start, bool)> = BTreeMap::new();
    let mut units: BTreeMap<MeasuredUnit, RunningMeasurement<'_>> = BTreeMap::new();
    for (file, tested) in files.iter().zip(tested) {
        let Ok(file) = file else { continue };
        let (unit, folder) = pack_of(file, shelf);
        let (all, _, is_tested) = packs.entry(unit).or_insert((Vec::new(), &file.pack, false));
        all.push(MutationCases { file, ran: tested.cases.iter().collect() });
        let lies_in = folder.is_some_and(|folder| real(&file.base).starts_with(folder));
        let lays = |case: &TestCase| !case.overlays.is_empty();
        *is_tested |= lies_in || file.overlays.is_empty() && !file.cases.iter().any(lays);
        for (overlays, ran) in by_overlays(file, tested) {
            let own = |overlay: &&Overlay| !(lies_in && matches!(overlay, Overlay::Rows(_)));
            let shown: Vec<(PathBuf, String)> = overlays.iter().filter(own).filter_map(|overlay| place_of(overlay, file)).collect();
            if shown.is_empty() {
                continue;
            }
            let Ok(rules) = Ruleset::load(&file.pack, &overlays, shelf) else { continue };
            let covered = covered_by(&ran);
            for (path, shown) in shown {
                let unit = units.entry(MeasuredUnit::File(path)).or_default();
                unit.add(&rules, &|at| *at.file == *shown, &covered);
                unit.cases.push(MutationCases { file, ran: ran.clone() });
            }
        }
    }
    for (unit, (cases, start, _)) in packs.into_iter().filter(|(_, (.., is_tested))| *is_tested) {
        let Ok(rules) = Ruleset::load(start, &[], shelf) else { continue };
        let covered = covered_by(&cases.iter().flat_map(|cases| cases.ran.iter().copied()).collect::<Vec<_>>());
        let pack = rules.pack().name.clone();
        let mut measuring = RunningMeasurement { cases, ..RunningMeasurement::default() };
        measuring.add(&rules, &|at| at.layer == pack, &covered);
        units.insert(unit, measuring);
    }
    let one = |(unit, measuring): (MeasuredUnit, RunningMeasurement<'_>)| {
        let killed = breaking.map(|breaking| {
            let own = measuring.passes.keys().cloned().collect();
            let bar = bar(mutate::runs(&measuring.cases, &own), breaking.terminal);
            bar.set_message(format!("broken passes of {}", clean(&unit.name())));
            let mutated = mutate::mutate(&measuring.cases, &own, shelf, scenes, breaking.jobs, &|| bar.inc(1));
            bar.finish_and_clear();
            measuring.killed(&mutated)
        });
        (unit, measuring.coverage, killed)
    };
    UnitMeasurements { units: units.into_iter().map(one).collect() }
}

/// The pack of a case file, and its folder. A case file may name the pack that it lies in, or say nothing.
fn pack_of(file: &CaseFile, shelf: &PackShelf) -> (MeasuredUnit, Option<PathBuf>) {
    let (name, folder) = match &file.pack {
        Start::Name(name) => (name.clone(), shelf.folders.iter().map(|folder| folder.join(name)).find(|folder| is_pack(folder))),
        Start::Folder(folder) => (crate::pack::files::folder_name(folder), Some(folder.clone())),
    };
    let folder = folder.map(|folder| real(&folder));
    (MeasuredUnit::Pack(name, folder.clone().unwrap_or_default()), folder)
}

fn real(folder: &Path) -> PathBuf {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    here.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// The cases of a file, by the overlays that they run with.
fn by_overlays<'t>(file: &CaseFile, tested: &'t FileResult) -> Vec<(Vec<Overlay>, Vec<&'t CaseResult>)> {
    let mut all: Vec<(&[String], Vec<Overlay>, Vec<&CaseResult>)> = Vec::new();
    for case in &file.cases {
        let Some(ran) = tested.cases.iter().find(|ran| ran.name == case.name) else { continue };
        match all.iter_mut().find(|(named, ..)| *named == case.overlays) {
            Some((.., runs)) => runs.push(ran),
            None => {
                let own = case.overlays.iter().map(|path| Overlay::Path(file.base.join(path)));
                all.push((&case.overlays, file.overlays.iter().cloned().chain(own).collect(), vec![ran]));
            }
        }
    }
    all.into_iter().map(|(_, overlays, ran)| (overlays, ran)).collect()
}

/// The path of a file that is laid over a pack, and what messages call it.
fn place_of(overlay: &Overlay, file: &CaseFile) -> Option<(PathBuf, String)> {
    match overlay {
        Overlay::Path(path) => Some((real(path), shown(path))),
        Overlay::Rows(rows) => Some((real(Path::new(&file.shown)), rows.name.clone())),
        Overlay::File(_) => None,
    }
}

/// What cases have exercised together.
fn covered_by(ran: &[&CaseResult]) -> ExercisedRules {
    let mut covered = ExercisedRules::default();
    ran.iter().filter_map(|ran| ran.covered.as_ref()).for_each(|own| covered.add(own));
    covered
}

impl MeasuredUnit {
    /// What it is called where it is measured.
    fn name(&self) -> String {
        match self {
            MeasuredUnit::Pack(name, _) => name.clone(),
            MeasuredUnit::File(path) => shown(&near(path)),
        }
    }
}

/// A path from the working folder, if it lies there.
fn near(path: &Path) -> PathBuf {
    path.strip_prefix(real(Path::new(""))).unwrap_or(path).to_owned()
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 100.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of passes are small")]
    let share = part as f64 / whole as f64;
    (share * 1000.0).round() / 10.0
}

impl UnitMeasurements {
    /// For people. `list` says whether all that was not exercised is listed.
    pub(super) fn text(&self, list: bool) -> String {
        let mut out = String::new();
        for (unit, coverage, killed) in &self.units {
            let name = unit.name();
            if list {
                for points in [&coverage.passes, &coverage.rows, &coverage.conditions] {
                    for point in points.iter().filter(|point| !point.hit).take(MOST) {
                        let _ = writeln!(out, "NOT COVERED {}:{} {}", point.file, point.line, point.what);
                    }
                }
                let sorts = [("passes", &coverage.passes), ("rows", &coverage.rows), ("conditions", &coverage.conditions)];
                let part = |(name, points): (&str, &Vec<CoveragePoint>)| {
                    let hit = Coverage::hit(points);
                    format!("{hit} of {} {name} ({}%)", points.len(), percent(hit, points.len()))
                };
                if sorts.iter().all(|(_, points)| points.is_empty()) {
                    let _ = writeln!(out, "coverage of {name}: it has no passes, conditions and computed values of rows to measure");
                } else {
                    let _ = writeln!(out, "coverage of {name}: {}", sorts.map(part).join(", "));
                }
            }
            if let Some(PassScore { killed, survived }) = killed {
                for line in survived.iter().take(MOST) {
                    let _ = writeln!(out, "NOT NOTICED {line}");
                }
                let all = killed + survived.len();
                if all == 0 {
                    let _ = writeln!(out, "mutants of {name}: it has no passes to break");
                } else {
                    let _ = writeln!(out, "mutants of {name}: {killed} of {all} noticed ({}%)", percent(*killed, all));
                }
            }
        }
        out
    }

    /// As JSON.
    pub(super) fn json(&self) -> Json {
        let one = |(unit, coverage, killed): &(MeasuredUnit, Coverage, Option<PassScore>)| {
            let sort = |points: &[CoveragePoint]| {
                let missing: Vec<Json> =
                    points.iter().filter(|p| !p.hit).map(|p| json!({ "file": p.file, "line": p.line, "what": p.what })).collect();
                json!({ "all": points.len(), "covered": Coverage::hit(points), "missing": missing })
            };
            let (key, folder) = match unit {
                MeasuredUnit::Pack(_, folder) => ("pack", folder.clone()),
                MeasuredUnit::File(path) => ("overlay", path.parent().map(Path::to_owned).unwrap_or_default()),
            };
            let mut out = json!({
                key: unit.name(),
                "folder": folder.display().to_string(),
                "passes": sort(&coverage.passes),
                "rows": sort(&coverage.rows),
                "conditions": sort(&coverage.conditions),
            });
            if let Some(PassScore { killed, survived }) = killed {
                let score = percent(*killed, killed + survived.len());
                let mutants = json!({ "all": killed + survived.len(), "noticed": killed, "score": score, "survived": survived });
                if let Some(fields) = out.as_object_mut() {
                    fields.insert("mutants".into(), mutants);
                }
            }
            out
        };
        self.units.iter().map(one).collect()
    }

    /// As LCOV.
    pub(super) fn lcov(&self) -> String {
        self.units.iter().map(|(_, coverage, _)| coverage.lcov()).collect()
    }
}
