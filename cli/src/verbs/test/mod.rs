//! `tapster test`: runs rule tests, writes snapshots, and says what no test exercises.

mod measure;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::diag::{Code, Report};
use crate::model::Scene;
use crate::pack::files::{is_folder, is_pack};
use crate::pack::library::shipped_names;
use crate::pack::{PackLibrary, PackShelf, Ruleset, Start};
use crate::testing::case::{FOLDER, in_folder, is_case_file, packs_from, read, read_path};
use crate::testing::report;
use crate::testing::{CaseFile, CaseRunner, SnapshotUpdate, UnreadableFile};

use crate::inputs::case::NOW;
use crate::inputs::files::{folder_of, write_file};
use crate::inputs::library::{beside_scene, shelf, shipped_cases};
use crate::inputs::scene_file;
use crate::output::{GlobalArgs, Io, OutputStreams};
use crate::stop::{EarlyExit, RunExit};
use crate::watching::{WatchMode, WatchedPaths, changes};

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
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let Some(how) = self.watch else { return self.once(show) };
        let mut changes = changes(how, show)?;
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
    fn places(&self, show: &mut OutputStreams<'_, '_>) -> WatchedPaths {
        let near = show.near.len();
        let mut paths = Vec::new();
        for path in self.paths.iter().map(Path::new) {
            show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
            let is_named = matches!(Start::typed(&path.to_string_lossy()), Start::Name(_)) && !path.exists();
            let beside = path.parent().filter(|folder| path.is_file() && !folder.as_os_str().is_empty());
            paths.extend(Some(beside.unwrap_or(path)).filter(|_| !is_named).map(Path::to_owned));
        }
        let mut shelves = shelf(show).folders;
        shelves.extend([PathBuf::from("rules"), PathBuf::from(".")].into_iter().filter(|_| self.paths.is_empty()));
        show.near.truncate(near);
        WatchedPaths { paths, shelves }
    }

    /// Runs all cases once.
    fn once(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        let files = self.files(show)?;
        let shelf = shelf(show);
        let jobs = self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let scenes = |path: &Path, now: Option<&str>, rules: &Ruleset| scene(path, now, rules);
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
                folder_of(path)?;
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
        let breaking = (self.mutate && failed == 0).then_some(measure::MutationRun { jobs, terminal: show.io.terminal });
        let measured = coverage.then(|| measure::of(&files, &tested, &shelf, &scenes, breaking.as_ref()));
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
    fn files(&self, show: &mut OutputStreams<'_, '_>) -> Result<Vec<Result<CaseFile, UnreadableFile>>, EarlyExit> {
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
                read_already.extend(of_pack(&name, &shelf(show))?);
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
pub(crate) fn count_cases(files: &[PathBuf], show: &OutputStreams<'_, '_>) -> (usize, usize) {
    let shelf = shelf(show);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let runner = CaseRunner { shelf: &shelf, scenes: &scene, filter: "", jobs, update: SnapshotUpdate::None, coverage: false };
    report::counts(&runner.run(&files.iter().map(|path| read_path(path)).collect::<Vec<_>>()))
}

/// The case files of a pack that is named.
fn of_pack(name: &str, shelf: &PackShelf) -> Result<Vec<Result<CaseFile, UnreadableFile>>, EarlyExit> {
    let found = if crate::pack::library::is_name(name) { shelf.find(name, &mut Report::default()) } else { None };
    let Some(pack) = found else {
        let names = shelf.names();
        let help = crate::diag::suggest::help(name, names.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "name a pack, or write the path of its folder".into());
        return Err(EarlyExit::could_not(Code::PackMissing, format!("pack `{name}` is not found"), help));
    };
    Ok(pack.cases.iter().map(|file| read(file, Path::new(&file.name))).collect())
}

/// Reads a scene file for a case. The rules are those of the case file, and the clock is not read.
pub(crate) fn scene(path: &Path, now: Option<&str>, rules: &Ruleset) -> Result<Scene, String> {
    let (mut nothing, mut out, mut err) = (std::io::empty(), std::io::sink(), std::io::sink());
    let mut io = Io { input: &mut nothing, out: &mut out, err: &mut err, terminal: false, env: &|_| None };
    let mut show = OutputStreams::new(&mut io, &GlobalArgs::default(), false);
    let told = |stop: EarlyExit| {
        let said: Vec<String> = stop.report.items().iter().map(|d| d.message.clone()).collect();
        format!("`{}`: {}", path.display(), said.join("; "))
    };
    let mut parts = scene_file::read(path, &mut show).map_err(told)?;
    if now.is_some() || parts.now.is_none() {
        parts.now = Some(now.unwrap_or(NOW).to_owned());
    }
    crate::inputs::templated::read_in(&mut parts, &mut show).map_err(told)?;
    let scene = crate::inputs::scene::of(&parts, rules, &mut show).map_err(told)?;
    Ok(scene)
}
