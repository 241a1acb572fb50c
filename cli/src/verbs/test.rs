//! `tapster test`: runs rule tests, writes snapshots, and says what no test exercises.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};

use crate::diag::{Code, Report, SourcePlace};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{make_parent, path_text, write_file};
use crate::inputs::library::{beside_scene, pack_shelf, shipped_cases};
use crate::inputs::scene_of_case;
use crate::layout::{clean_name, progress_bar};
use crate::output::Console;
use crate::pack::files::{is_folder, is_pack};
use crate::pack::library::shipped_names;
use crate::pack::{Overlay, PackLibrary, PackShelf, Ruleset, Start};
use crate::testing::case::{FOLDER, TestCase, in_folder, is_case_file, packs_from, read, read_path};
use crate::testing::coverage::{Coverage, CoveragePoint, ExercisedRules, passes_in};
use crate::testing::mutate::{self, MutationCases, MutationResult};
use crate::testing::play::SceneReader;
use crate::testing::runner::CaseResult;
use crate::testing::{CaseFile, CaseRunner, FileResult, SnapshotUpdate, UnreadableFile, report};
use crate::verbs::watch::{WatchMode, WatchedPaths, open_change_source};

/// What to do where cases fail that `--mutate` needs.
const NO_MUTANTS: &str = "mend them, or choose others with `--filter`, before passes are broken";

/// Run rule tests: the `[[case]]` rows of packs, folders and files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster test                             the cases of every pack here and in ./rules
  tapster test my-pack                     the cases of one pack, by folder or name
  tapster test my-pack/cases/lore.toml     one file; a folder of files works too
  tapster test my-pack --filter greeting   cases whose `file#name` contains a text
  tapster test my-pack --update            write snapshots anew
  tapster test my-pack --update=all        and what is expected by hand
  tapster test my-pack --coverage --lcov coverage.info
  tapster test my-pack --watch             run them again whenever a file is saved
  tapster test my-pack --mutate            break each pass, and see whether a case notices
  tapster test --junit report.xml --format json

Exit codes: 0 every case passes, 1 a case fails, 2 there is nothing to run.")]
pub(crate) struct TestArgs {
    /// A pack's folder or name, a folder of case files, or a case file [default: every pack in this folder and in
    /// `./rules`].
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Write what came out into cases with `snapshot = true`, into payload files, and into cases that expect nothing yet, which
    /// become snapshots; `--update=all`: also in the place of what was written by hand. Tests such as `{ includes = […] }` and
    /// comments stay.
    #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "snapshots", conflicts_with_all = ["coverage", "mutate"])]
    update: Option<UpdateScope>,
    /// Run only the cases whose title `file#name` contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// How many case files run at the same time [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Say which passes, rows and conditions no case exercises.
    #[arg(long)]
    coverage: bool,
    /// Write the coverage as LCOV.
    #[arg(long, value_name = "FILE", requires = "coverage")]
    lcov: Option<PathBuf>,
    /// Break each pass, one after another, and say for which no case fails: its `where` is negated, else its `when`; a
    /// pass with neither is dropped. While a case fails, none is broken.
    #[arg(long)]
    mutate: bool,
    /// Write the result as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Run again whenever a case file, a pack or a file beside a case is saved; `--watch=lines`: whenever a line arrives on
    /// standard input, until its end.
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "files", conflicts_with = "update")]
    watch: Option<WatchMode>,
}

/// Which expectations are written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UpdateScope {
    /// Those that `--update` has written, payload files, and those of cases that expect nothing yet.
    Snapshots,
    /// Those written by hand too.
    All,
}

impl TestArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let Some(how) = self.watch else { return self.once(show) };
        let mut changes = open_change_source(how, show)?;
        changes.begin(&self.places(show));
        loop {
            let near = show.near.len();
            let exit = self.once(show).unwrap_or_else(|stop| show.stop(stop));
            show.near.truncate(near);
            show.flush();
            if !changes.wait(&self.places(show), show)? {
                return Ok(exit);
            }
        }
    }

    /// Everything that the cases may depend on: what the arguments name, the folders that they lie in, and all packs.
    fn places(&self, show: &mut Console<'_>) -> WatchedPaths {
        let near = show.near.len();
        let mut paths = Vec::new();
        for path in self.paths.iter().map(Path::new) {
            show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
            let is_named = matches!(Start::typed(&path.to_string_lossy()), Start::Name(_)) && !path.exists();
            let beside = path.parent().filter(|folder| path.is_file() && !folder.as_os_str().is_empty());
            paths.extend(Some(beside.unwrap_or(path)).filter(|_| !is_named).map(Path::to_owned));
        }
        let mut shelves = pack_shelf(show).folders;
        shelves.extend([PathBuf::from("rules"), PathBuf::from(".")].into_iter().filter(|_| self.paths.is_empty()));
        show.near.truncate(near);
        WatchedPaths { paths, shelves }
    }

    /// Runs all cases once.
    fn once(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let files = self.files(show)?;
        let shelf = pack_shelf(show);
        let jobs = self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let scenes = |path: &Path, now: Option<&str>, rules: &Ruleset| scene_of_case(path, now, rules);
        let coverage = self.coverage || self.mutate;
        let update = match self.update {
            None => SnapshotUpdate::None,
            Some(UpdateScope::Snapshots) => SnapshotUpdate::Snapshots,
            Some(UpdateScope::All) => SnapshotUpdate::All,
        };
        let runner = CaseRunner { shelf: &shelf, scenes: &scenes, filter: &self.filter, jobs, update, coverage };
        let tested = runner.run(&files);
        let (passed, failed) = report::counts(&tested);
        if passed + failed == 0 {
            let message = format!("no case is called `{}`", self.filter);
            return Err(EarlyExit::could_not(Code::NameUnknown, message, "`--filter` is a part of `file#name`"));
        }
        let mut updated = 0;
        for (file, tested) in files.iter().zip(&tested) {
            if let (Some(text), Ok(file)) = (&tested.updated, file) {
                write_file(Path::new(&file.shown), text)?;
                updated += 1;
            }
            for (path, text) in &tested.payloads {
                make_parent(path)?;
                write_file(path, text)?;
                updated += 1;
            }
        }
        if let Some(path) = &self.junit {
            write_file(path, report::junit(&tested))?;
        }
        // a failing case would notice every mutant, and without it a pass may look as if no case ran it
        let no_mutants =
            (self.mutate && failed > 0).then(|| format!("{failed} {} failed; {NO_MUTANTS}", if failed == 1 { "case" } else { "cases" }));
        let breaking = (self.mutate && failed == 0).then_some(MutationRun { jobs, terminal: show.io.terminal });
        let measured = coverage.then(|| pass_scores(&files, &tested, &shelf, &scenes, breaking.as_ref()));
        if let (Some(path), Some(measured)) = (&self.lcov, &measured) {
            write_file(path, measured.lcov())?;
        }
        if show.is_json() {
            let mut all = report::json(&tested);
            if let Some(fields) = all.as_object_mut() {
                if let Some(measured) = &measured {
                    fields.insert("packs".into(), measured.json());
                }
                if let Some(why) = &no_mutants {
                    fields.insert("no_mutants".into(), json!(why));
                }
                if self.update.is_some() {
                    fields.insert("updated".into(), json!(updated));
                }
            }
            show.json(&all);
        } else {
            for file in &tested {
                if let Some((report, sources)) = &file.unreadable {
                    show.result(&format!("FAILED {}\n", file.shown));
                    show.report(report, sources);
                }
                show.report(&file.remarks.0, &file.remarks.1);
                show.result(&report::text(file));
            }
            if let Some(measured) = &measured {
                show.result(&measured.text(self.coverage));
            }
            if let Some(why) = &no_mutants {
                show.result(&format!("NO MUTANTS: {why}\n"));
            }
            if self.update.is_some() {
                show.result(&format!("{updated} {} written\n", if updated == 1 { "file" } else { "files" }));
            }
            show.result(&format!("{passed} passed, {failed} failed\n"));
        }
        let kept = tested.iter().any(|file| !file.kept.is_empty());
        Ok(if failed > 0 || kept { RunExit::No } else { RunExit::Done })
    }

    /// The case files that the arguments name, each once.
    fn files(&self, show: &mut Console<'_>) -> Result<Vec<Result<CaseFile, UnreadableFile>>> {
        let mut paths: Vec<PathBuf> = Vec::new();
        if self.paths.is_empty() {
            let packs = packs_from(Path::new("."));
            let tidy = |path: PathBuf| path.strip_prefix("./").map(Path::to_owned).unwrap_or(path);
            paths.extend(packs.iter().flat_map(|pack| case_files(pack)).map(tidy));
            if paths.is_empty() {
                let help = "name a pack, a folder of case files or a case file; the cases of a pack lie in its folder `cases`";
                return Err(EarlyExit::could_not(Code::FileMissing, "no pack here has cases", help));
            }
        }
        let mut read_already = Vec::new();
        for said in &self.paths {
            let path = Path::new(said);
            show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
            let before = paths.len() + read_already.len();
            if path.is_file() {
                paths.push(path.to_owned());
            } else if is_folder(path) {
                if is_pack(path) {
                    show.near.extend(crate::pack::files::parent(path));
                    paths.extend(case_files(path));
                } else {
                    paths.extend(in_folder(path).into_iter().filter(|path| is_case_file(path)));
                }
            } else if let Start::Name(name) = Start::typed(said) {
                read_already.extend(of_pack(&name, &pack_shelf(show))?);
            } else {
                let message = format!("`{said}` is neither a pack, a folder of case files, nor a case file");
                return Err(EarlyExit::could_not(Code::FileMissing, message, "check the path"));
            }
            if paths.len() + read_already.len() == before {
                let help = if shipped_names().contains(said) {
                    shipped_cases(said)
                } else {
                    "a case file begins with `kind = \"case\"`; those of a pack lie in its folder `cases`".to_owned()
                };
                return Err(EarlyExit::could_not(Code::FileMissing, format!("`{said}` has no cases"), help));
            }
        }
        let mut known = HashSet::new();
        paths.retain(|path| known.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
        Ok(paths.iter().map(|path| read_path(path)).chain(read_already).collect())
    }
}

/// The paths of the case files of a pack.
pub(crate) fn case_files(pack: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    in_folder(&pack.join(FOLDER)).into_iter().filter(|path| is_case_file(path))
}

/// Runs all cases of these files, and says how many pass and how many fail.
pub(crate) fn count_cases(files: &[PathBuf], show: &Console<'_>) -> (usize, usize) {
    let shelf = pack_shelf(show);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let runner = CaseRunner { shelf: &shelf, scenes: &scene_of_case, filter: "", jobs, update: SnapshotUpdate::None, coverage: false };
    report::counts(&runner.run(&files.iter().map(|path| read_path(path)).collect::<Vec<_>>()))
}

/// The case files of a pack that is named.
fn of_pack(name: &str, shelf: &PackShelf) -> Result<Vec<Result<CaseFile, UnreadableFile>>> {
    let found = if crate::pack::library::is_name(name) { shelf.find(name, &mut Report::default()) } else { None };
    let Some(pack) = found else {
        let names = shelf.names();
        let help = crate::diag::suggest::help(name, names.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "name a pack, or write the path of its folder".into());
        return Err(EarlyExit::could_not(Code::PackMissing, format!("pack `{name}` is not found"), help));
    };
    Ok(pack.cases.iter().map(|file| read(file, Path::new(&file.name))).collect())
}

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
struct UnitMeasurements {
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
struct MutationRun {
    jobs: usize,
    /// Whether how far it has come is shown.
    terminal: bool,
}

/// Measures packs by the cases that run on them, and the files that cases lay over packs. A pack is left out where cases only
/// lay files over it that lie elsewhere: those are what is tested.
fn pass_scores(
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
        let lies_in = folder.is_some_and(|folder| canonical(&file.base).starts_with(folder));
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
            let bar = progress_bar(mutate::runs(&measuring.cases, &own), breaking.terminal);
            bar.set_message(format!("broken passes of {}", clean_name(&unit.name())));
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
    let folder = folder.map(|folder| canonical(&folder));
    (MeasuredUnit::Pack(name, folder.clone().unwrap_or_default()), folder)
}

fn canonical(folder: &Path) -> PathBuf {
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
        Overlay::Path(path) => Some((canonical(path), path_text(path))),
        Overlay::Rows(rows) => Some((canonical(Path::new(&file.shown)), rows.name.clone())),
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
            MeasuredUnit::File(path) => path_text(&near(path)),
        }
    }
}

/// A path from the working folder, if it lies there.
fn near(path: &Path) -> PathBuf {
    path.strip_prefix(canonical(Path::new(""))).unwrap_or(path).to_owned()
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
    fn text(&self, list: bool) -> String {
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
    fn json(&self) -> Json {
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
    fn lcov(&self) -> String {
        self.units.iter().map(|(_, coverage, _)| coverage.lcov()).collect()
    }
}
