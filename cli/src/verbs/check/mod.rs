//! `tapster check`: reports every mistake of packs, overlays, single rule files and scenes in one run.

mod fix;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tapster_door::check::repair::{locate_repairs, repair_keys};
use tapster_door::check::{CaseChecker, CheckReport, check_alone, check_case_files, check_pack_cases};
use tapster_door::examine::scene_warnings;

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Severity, SourceId, Sources, render, short, suggest};
use crate::exit::{EarlyExit, Result, RunExit, only_missing};
use crate::inputs::files::{path_text, read_bytes};
use crate::inputs::library::{self, beside_scene, pack_shelf};
use crate::inputs::scene_file::{KEYS, NAME};
use crate::inputs::template::{pack_of, template_file_name};
use crate::inputs::{InputArgs, scene};
use crate::layout::counted;
use crate::output::Console;
use crate::pack::files::{is_folder, is_pack, is_rule_file, pack_around, parent, read_file};
use crate::pack::{Overlay, PackLibrary, RuleDocument, RuleFile, Ruleset, Schemas, Start, json, load_file, load_read, toml};
use crate::template::KIND;
use crate::testing::case::{in_folder, is_case_file, read, read_path};
use crate::verbs::build::{dialect, planned};

/// Check packs (a folder or a name), overlays, single rule files and scenes: syntax, schema, layers, names, terms.
///
/// A scene is built, and what the build warns of is reported too. A single file is checked with the pack that contains it; an overlay over the pack that it extends, or over `--pack`;
/// a template with the pack that has its task. If no pack is known, names that a pack may define are not checked.
/// Several files with `--pack` are laid over it in the order given, as `build` does with overlays, and checked together.
///
/// `--fix` makes the changes that are certain: a key or name with a slip for which there is one known name, an old version
/// number, a byte order mark. Everything else in the files stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster check rules/base
  tapster check base my-pack
  tapster check rules/base/lore.toml
  tapster check tweak.toml --pack base
  tapster check one.toml two.toml --pack base    both, one over the other
  tapster check my-pack --fix                    with the changes that are certain
  tapster check my-pack --fix --dry-run          what would be changed
  tapster check turn.json                        a template, against the sources of its task
  tapster check examples/hello                   a scene, with its pack and all files that it names
  tapster check - --pack base < tweak.toml       a rule file from standard input
  tapster check --explain name.unknown           what a code means
  tapster check my-pack --error-format plain     one line a mistake, for editors
  tapster check my-pack --format json            counts and mistakes as JSON
  tapster check my-pack --error-format sarif 2> check.sarif")]
pub(crate) struct CheckArgs {
    /// A pack's folder or name, a rule file, a folder of case files, a scene (`scene.toml` or its folder), or `-`: a rule
    /// file from standard input.
    #[arg(required_unless_present = "explain", value_name = "PATH")]
    paths: Vec<String>,
    /// Say what the code of a diagnostic means.
    #[arg(long, value_name = "CODE", conflicts_with = "paths")]
    explain: Option<String>,
    /// Merge the named files over this pack: a folder or a name.
    #[arg(long, visible_alias = "against", value_name = "PACK")]
    pack: Option<String>,
    /// Make the changes that are certain, show them, and check again. Only files below the given paths are written.
    #[arg(long, conflicts_with = "explain")]
    fix: bool,
    /// Show the changes of `--fix`, and write nothing.
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Refuse packs that are not what the `tapster.lock` of their folder says.
    #[arg(long)]
    locked: bool,
}

/// A rule file as it is read alone.
type RuleFileReading = (Option<RuleDocument>, Report, Sources);

impl CheckArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if let Some(code) = &self.explain {
            return explain(code, show);
        }
        let (found, fixed) = if self.fix { self.fixed(show)? } else { (self.all(show)?, None) };
        let counts = |f: &CheckReport| f.report.counts();
        let (errors, warnings) = found.iter().map(counts).fold((0, 0), |(e, w), (de, dw)| (e + de, w + dw));
        if show.is_json() {
            let all: Vec<_> =
                found.iter().flat_map(|f| render::json(&f.report, &f.sources).as_array().cloned().unwrap_or_default()).collect();
            let mut result = json!({ "ok": errors == 0, "errors": errors, "warnings": warnings, "diagnostics": all });
            if let (Some(fixed), Some(result)) = (&fixed, result.as_object_mut()) {
                result.insert("fixed".to_owned(), fixed.json());
                result.insert("dry_run".to_owned(), self.dry_run.into());
            }
            show.json(&result);
        } else if let Some(fixed) = &fixed {
            let text = fixed.text(show.paints_results(), self.dry_run);
            show.result(&text);
        }
        if !show.is_json() || show.gathers() {
            for f in &found {
                show.report(&f.report, &f.sources);
            }
        }
        if !show.is_json() {
            show.result(&format!("{}, {}\n", counted(errors, "error"), counted(warnings, "warning")));
        }
        let missing = found.iter().any(|f| only_missing(&f.report));
        Ok(if missing {
            RunExit::CouldNot
        } else if errors > 0 {
            RunExit::No
        } else {
            RunExit::Done
        })
    }

    /// Checks all paths. Diagnostics with a certain remedy have it.
    fn all(&self, show: &mut Console<'_>) -> Result<Vec<CheckReport>> {
        let mut found: Vec<CheckReport> = Vec::new();
        let laid = self.laid(show)?;
        for path in &self.paths {
            if !laid.contains(&path) {
                found.extend(self.path(path, show)?);
            } else if laid.first() == Some(&path) {
                found.push(self.together(&laid, show)?);
            }
        }
        for f in &mut found {
            locate_repairs(&mut f.report, &f.sources);
        }
        Ok(found)
    }

    /// The files that are laid over the pack together: all rule files, if there are several.
    fn laid(&self, show: &mut Console<'_>) -> Result<Vec<&String>> {
        let mut laid = Vec::new();
        for path in self.paths.iter().filter(|_| self.pack.is_some()) {
            let file = Path::new(path);
            let is_rules = path == "-"
                || !is_folder(file)
                    && is_rule_file(file)
                    && find_scene(file, false).is_none()
                    && scene::recognise_file(file, show).is_none()
                    // what cannot be read is reported with the others
                    && load_file(file, Schemas::shipped()).0.is_none_or(|doc| !matches!(&*doc.kind, "pack" | "case"));
            if is_rules && !laid.contains(&path) {
                laid.push(path);
            }
        }
        Ok(if laid.len() > 1 { laid } else { Vec::new() })
    }

    /// Lays files over the pack in their order.
    fn together(&self, files: &[&String], show: &mut Console<'_>) -> Result<CheckReport> {
        let mut overlays = Vec::new();
        let near = show.near.len();
        for path in files {
            let file = Path::new(path);
            overlays.push(if path.as_str() == "-" {
                Overlay::File(typed(file, show)?)
            } else {
                show.near.extend(file.parent().map(beside_scene).into_iter().flatten());
                Overlay::Path(file.to_owned())
            });
        }
        let found = compiled(&Start::typed(self.pack.as_deref().unwrap_or_default()), &overlays, &pack_shelf(show), self.locked);
        show.near.truncate(near);
        Ok(found)
    }

    /// Checks a rule file, a scene, or a pack with the rule tests in its `cases/`.
    fn path(&self, path: &str, show: &mut Console<'_>) -> Result<Vec<CheckReport>> {
        let file = Path::new(path);
        let (folder, near) = (is_folder(file), show.near.len());
        let found = if path == "-" {
            let read = typed(file, show)?;
            self.files(file, &Overlay::File(read), show)
        } else if let Some(scene) = find_scene(file, folder) {
            check_scene(&InputArgs::of_scene(&scene).locked(self.locked), show)
        } else if !folder && let Some(read) = scene::recognise_file(file, show) {
            self.foreign(file, &read, show)
        } else if !folder && is_rule_file(file) {
            show.near.extend(file.parent().map(beside_scene).into_iter().flatten());
            self.files(file, &Overlay::Path(file.to_owned()), show)
        } else if folder && !is_pack(file) && in_folder(file).iter().any(|path| is_case_file(path)) {
            show.near.extend(file.parent().map(beside_scene).into_iter().flatten());
            let paths = in_folder(file);
            check_case_files(paths.iter().map(PathBuf::as_path).filter(|path| is_case_file(path)), &pack_shelf(show))
        } else {
            let start = Start::typed(path);
            show.near.extend(Some(file).filter(|_| folder && is_pack(file)).and_then(parent));
            let library = pack_shelf(show);
            self.refuse_pack(path, &library)?;
            let pack = compiled(&start, &[], &library, self.locked);
            let of_cases = check_pack_cases(&start, !pack.report.has_errors(), &library);
            std::iter::once(pack).chain(of_cases).collect()
        };
        show.near.truncate(near);
        Ok(found)
    }

    /// Checks a preset, a card or another file of another program: it is built with, alone.
    fn foreign(&self, file: &Path, read: &scene::ForeignFile, show: &mut Console<'_>) -> Vec<CheckReport> {
        let pack = self.pack.as_deref().unwrap_or(&read.pack);
        let message = format!("`{}` is a `{}`, and is checked as pack `{}` reads it", path_text(file), read.format, short::word(pack));
        let help = format!("`tapster build --pack {pack} {} {}` builds with it", read.flag, path_text(file));
        let said = Diagnostic::note(Code::SchemaKind, message).help(help);
        let mut found = vec![CheckReport { report: Report::from(said), sources: Sources::default() }];
        found.extend(check_scene(&InputArgs::of_file(read.flag, file, pack).locked(self.locked), show));
        found
    }

    /// Refuses `--pack` where nothing is laid over it: only packs are checked.
    fn refuse_pack(&self, path: &str, library: &dyn PackLibrary) -> Result<()> {
        let is_laid = |path: &String| path == "-" || Path::new(path).is_file();
        let Some(pack) = self.pack.as_deref().filter(|_| !self.paths.iter().any(is_laid)) else { return Ok(()) };
        let file = Path::new(path);
        if !is_pack(file) && library.find(path, &mut Report::default()).is_none() {
            return Ok(());
        }
        let message = format!("`--pack {}` has no effect on `{}`, which is a pack", short::word(pack), short::word(path));
        Err(EarlyExit::could_not(Code::SceneField, message, "check it without `--pack`; rule files are laid over the pack that is named"))
    }

    /// The overlays among the checked files that an overlay is written for, lowest first, and what the lowest extends.
    fn below(&self, extends: Option<&str>) -> (Vec<Overlay>, Option<String>) {
        let (mut all, mut wanted) = (Vec::new(), extends.map(str::to_owned));
        if wanted.is_none() {
            return (all, wanted);
        }
        let mut given: Vec<_> = self.paths.iter().filter_map(|path| overlay_at(path)).collect();
        // each is taken once, so a circle ends
        while let Some(at) = given.iter().position(|(name, ..)| Some(name) == wanted.as_ref()) {
            let (_, extends, overlay) = given.swap_remove(at);
            all.insert(0, overlay);
            wanted = extends;
        }
        (all, wanted)
    }

    /// Checks a case file or another rule file.
    fn files(&self, path: &Path, file: &Overlay, show: &Console<'_>) -> Vec<CheckReport> {
        let read = match file {
            Overlay::Path(path) => load_file(path, Schemas::shipped()),
            Overlay::File(file) | Overlay::Rows(file) => load_read(file, Schemas::shipped()),
        };
        if read.0.as_ref().is_some_and(|doc| &*doc.kind == "case") {
            return check_case_file(path, file, read, &pack_shelf(show));
        }
        vec![self.file(path, file, read, show)]
    }

    fn file(&self, path: &Path, file: &Overlay, (doc, report, sources): RuleFileReading, show: &Console<'_>) -> CheckReport {
        let library = &pack_shelf(show);
        let mut alone = CheckReport { report, sources };
        // nothing more can be checked in a file that cannot be read; a manifest has no rows
        let Some(doc) = doc.filter(|d| &*d.kind != "pack") else { return alone };
        let extends = doc.root.get("extends").and_then(DocumentNode::as_text).filter(|_| &*doc.kind == "overlay");
        let (below, bottom) = self.below(extends);
        if !below.is_empty()
            && let Some(pack) = self.pack.as_deref().or(bottom.as_deref())
        {
            let found = compiled(&Start::typed(pack), &[below, vec![file.clone()]].concat(), library, self.locked);
            return found.of_file(path).unwrap_or(alone);
        }
        let overlay = [file.clone()];
        if let Some(pack) = self.pack.as_deref().or(extends) {
            return compiled(&Start::typed(pack), &overlay, library, self.locked);
        }
        if path != Path::new("-")
            && let Some(folder) = pack_around(path)
            && let Some(found) = compiled(&Start::Folder(folder), &[], library, self.locked).of_file(path)
        {
            return found;
        }
        if let Some(task) = doc.root.get("task").filter(|task| &*doc.kind == KIND && task.as_text().is_some()) {
            return match pack_of(task.as_text(), library) {
                Ok(start) => compiled(&start, &overlay, library, self.locked).of_file(path).unwrap_or(alone),
                Err(_) if alone.report.has_errors() => alone,
                Err(complaint) => {
                    let message = format!("{}: the template's sources are not checked", complaint.message);
                    let remark = Diagnostic::new(Code::TemplateDoubtful, message).at(task.span);
                    alone.report.push(remark.help(complaint.help.unwrap_or_default()));
                    alone.report.sort();
                    alone
                }
            };
        }
        check_alone(path, file).unwrap_or(alone)
    }
}

/// The name of an overlay, what it extends, and the overlay itself; nothing for anything else.
fn overlay_at(path: &str) -> Option<(String, Option<String>, Overlay)> {
    let file = Path::new(path);
    if is_folder(file) || !is_rule_file(file) {
        return None;
    }
    let doc = load_file(file, Schemas::shipped()).0.filter(|doc| &*doc.kind == "overlay")?;
    let text = |key: &str| doc.root.get(key).and_then(DocumentNode::as_text).map(str::to_owned);
    let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Some((text("name").or_else(stem)?, text("extends"), Overlay::Path(file.to_owned())))
}

/// The rule file that standard input holds.
fn typed(file: &Path, show: &mut Console<'_>) -> Result<RuleFile> {
    let bytes = read_bytes(file, show)?;
    Ok(RuleFile { name: path_text(file), path_in_pack: template_file_name(file, &bytes), bytes })
}

/// Says what a code means.
fn explain(asked: &str, show: &mut Console<'_>) -> Result<RunExit> {
    let asked = asked.trim().trim_matches(['[', ']']);
    let Some(code) = Code::ALL.iter().find(|code| code.as_str() == asked) else {
        let help = suggest::help(asked, Code::ALL.iter().map(|code| code.as_str()));
        let help = help.unwrap_or_else(|| "docs/reference/codes.md lists all codes of the program; other codes are those of a pack".into());
        return Err(EarlyExit::could_not(Code::NameUnknown, format!("there is no code `{asked}`"), help));
    };
    let severity = code.severity().as_str();
    if show.is_json() {
        show.json(&json!({ "code": code.as_str(), "severity": severity, "means": code.doc() }));
        return Ok(RunExit::Done);
    }
    show.result(&format!("{severity}[{}]: {}\n", code.as_str(), code.doc()));
    if code.severity() == Severity::Warning && code.raised() != crate::diag::CodeOrigin::Elsewhere {
        show.result(&format!("a rule file can allow it: [[allow]] code = \"{}\", reason = \"…\"\n", code.as_str()));
    }
    Ok(RunExit::Done)
}

/// Loads, merges and compiles, and returns all diagnostics; with `locked`, also those about packs that are not as locked.
fn compiled(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary, locked: bool) -> CheckReport {
    let rules = Ruleset::check(start, overlays, library);
    let mut found = CheckReport::of(&rules);
    if let Ok(rules) = rules
        && locked
    {
        found.report.extend(library::check_lock(rules.pack(), start));
    }
    found
}

/// The scene file that a path means: a folder with a `scene.toml` that is no pack, or a file that reads like a scene.
pub(crate) fn find_scene(path: &Path, folder: bool) -> Option<PathBuf> {
    if folder {
        return (!is_pack(path) && path.join(NAME).is_file()).then(|| path.to_owned());
    }
    let is_named = path.file_name().is_some_and(|name| name == NAME || name == "scene.json");
    (is_named || is_scene(path)).then(|| path.to_owned()).filter(|path| path.is_file())
}

/// Whether a file has no kind, and most of its keys are those of a scene.
fn is_scene(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|e| e == "json");
    if !is_json && path.extension().is_none_or(|e| e != "toml") {
        return false;
    }
    let mut unread = Report::default();
    let Some(file) = read_file(path, &mut unread) else { return false };
    let text = String::from_utf8_lossy(&file.bytes);
    let parse = if is_json { json::parse } else { toml::parse };
    let root = parse(SourceId::default(), text.trim_start_matches('\u{FEFF}'), &mut unread);
    let Some(table) = root.as_ref().and_then(|root| root.as_table()) else { return false };
    let known = table.keys().filter(|key| KEYS.contains(&&***key)).count();
    !table.contains_key("kind") && !table.contains_key("layout") && known * 2 > table.len()
}

/// Builds a scene and returns what was told about it.
fn check_scene(inputs: &InputArgs, show: &mut Console<'_>) -> Vec<CheckReport> {
    let mut rules = None;
    let (result, mut kept) = show.keeping(|show| build_scene(inputs, &mut rules, show));
    if let Err(stop) = result {
        kept.push((stop.report, stop.sources));
    }
    if let Some(rules) = &rules {
        kept.iter_mut().for_each(|(report, sources)| repair_keys(report, sources, rules));
    }
    kept.into_iter().map(|(report, sources)| CheckReport { report, sources }).collect()
}

/// Builds a scene, and keeps its rules.
fn build_scene(inputs: &InputArgs, kept: &mut Option<Ruleset>, show: &mut Console<'_>) -> Result<()> {
    let (rules, mut scene) = inputs.open(show)?;
    let rules: &Ruleset = kept.insert(rules);
    // a trace says which macros there are
    scene.trace = true;
    let plan = planned(rules, &scene)?;
    show.warnings(&plan.warnings, rules.sources());
    show.report(&scene_warnings(rules, &scene, &plan), rules.sources());
    let emitted = tapster::emit(rules, &plan, &dialect(rules, &scene)).map_err(|error| EarlyExit::build(&error, rules))?;
    show.warnings(&emitted.warnings, rules.sources());
    Ok(())
}

/// Checks the case file at a path, and says that its cases are not run.
fn check_case_file(path: &Path, file: &Overlay, (_, alone, sources): RuleFileReading, library: &dyn PackLibrary) -> Vec<CheckReport> {
    let read = match file {
        Overlay::Path(path) => read_path(path),
        Overlay::File(file) | Overlay::Rows(file) => read(file, path),
    };
    let count = read.as_ref().map_or(0, |file| file.cases.len());
    let mut found = CaseChecker::new(library).file(read);
    // its mistakes have been found again
    if !alone.has_errors() {
        found.push(CheckReport { report: alone, sources });
    }
    if !found.iter().any(|found| found.report.has_errors()) {
        let message = format!("{count} {} of `{}` read, and not run", if count == 1 { "case" } else { "cases" }, path_text(path));
        let named = if path == Path::new("-") { "FILE".to_owned() } else { path.display().to_string() };
        let note = Diagnostic::new(Code::CaseNotRun, message).help(format!("`tapster test {named}` runs rule tests"));
        found.push(CheckReport { report: Report::from(note), sources: Sources::default() });
    }
    found
}
