//! `tapster check`: reports every mistake of packs, overlays, single rule files and scenes in one run.

mod fix;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tapster_door::examine::scene_warnings;

use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report, Severity, SourceId, Sources, Span, render, short, suggest};
use crate::exit::{EarlyExit, Result, RunExit, only_missing};
use crate::inputs::files::{path_text, read_bytes};
use crate::inputs::library::{self, beside_scene, pack_shelf};
use crate::inputs::scene_file::{KEYS, NAME};
use crate::inputs::template::{pack_around, pack_of, template_file_name};
use crate::inputs::{InputArgs, scene};
use crate::layout::counted;
use crate::output::Console;
use crate::pack::PackError;
use crate::pack::files::{is_folder, is_pack, parent, read_file};
use crate::pack::{
    Overlay, PackFiles, PackLibrary, RuleDocument, RuleFile, Ruleset, Schemas, Start, case_files, json, load_file, load_read, toml,
};
use crate::template::KIND;
use crate::testing::case::{holds_cases, in_folder, is_case_file, nearly_holds_cases, read, read_path};
use crate::testing::inputs::unknown_dialects;
use crate::testing::runner::sound_rules;
use crate::testing::{CaseFile, UnreadableFile};
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

/// The result of checking one path.
struct PathReport {
    report: Report,
    sources: Sources,
}

impl CheckArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        if let Some(code) = &self.explain {
            return explain(code, show);
        }
        let (found, fixed) = if self.fix { self.fixed(show)? } else { (self.all(show)?, None) };
        let counts = |f: &PathReport| f.report.counts();
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
    fn all(&self, show: &mut Console<'_>) -> Result<Vec<PathReport>> {
        let mut found: Vec<PathReport> = Vec::new();
        let laid = self.laid(show)?;
        for path in &self.paths {
            if !laid.contains(&path) {
                found.extend(self.path(path, show)?);
            } else if laid.first() == Some(&path) {
                found.push(self.together(&laid, show)?);
            }
        }
        for f in &mut found {
            fix::locate(&mut f.report, &f.sources);
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
    fn together(&self, files: &[&String], show: &mut Console<'_>) -> Result<PathReport> {
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
    fn path(&self, path: &str, show: &mut Console<'_>) -> Result<Vec<PathReport>> {
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
    fn foreign(&self, file: &Path, read: &scene::ForeignFile, show: &mut Console<'_>) -> Vec<PathReport> {
        let pack = self.pack.as_deref().unwrap_or(&read.pack);
        let message = format!("`{}` is a `{}`, and is checked as pack `{}` reads it", path_text(file), read.format, short::word(pack));
        let help = format!("`tapster build --pack {pack} {} {}` builds with it", read.flag, path_text(file));
        let said = Diagnostic::note(Code::SchemaKind, message).help(help);
        let mut found = vec![PathReport { report: Report::from(said), sources: Sources::default() }];
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
    fn files(&self, path: &Path, file: &Overlay, show: &Console<'_>) -> Vec<PathReport> {
        let read = match file {
            Overlay::Path(path) => load_file(path, Schemas::shipped()),
            Overlay::File(file) | Overlay::Rows(file) => load_read(file, Schemas::shipped()),
        };
        if read.0.as_ref().is_some_and(|doc| &*doc.kind == "case") {
            return check_case_file(path, file, read, &pack_shelf(show));
        }
        vec![self.file(path, file, read, show)]
    }

    fn file(&self, path: &Path, file: &Overlay, (doc, report, sources): RuleFileReading, show: &Console<'_>) -> PathReport {
        let library = &pack_shelf(show);
        let mut alone = PathReport { report, sources };
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
        // it is compiled without a pack, so missing names are not reported
        let mut found =
            compiled(&Start::Name(String::from("nothing")), &overlay, &EmptyLibrary, self.locked).of_file(path).unwrap_or(alone);
        let count = found.report.items().len();
        found.report.retain(|d| d.missing.is_none());
        if found.report.items().len() < count {
            let message = format!("`{}` was checked without a pack, so names that a pack may define were not", path_text(path));
            let note = Diagnostic::note(Code::NameUnknown, message);
            found.report.push(note.help("name the pack with `--pack`, or write `extends` into the overlay"));
        }
        found
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

fn is_rule_file(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "toml" || e == "json")
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

/// A library whose only pack has no rules.
struct EmptyLibrary;

impl PackLibrary for EmptyLibrary {
    fn find(&self, name: &str, _: &mut Report) -> Option<PackFiles> {
        let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"0.0.0\"\n");
        Some(PackFiles::of(name, [("pack.toml".to_owned(), manifest.into_bytes())]))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl PathReport {
    /// Keeps only the diagnostics about one file; `None` if the file has not been read.
    fn of_file(mut self, path: &Path) -> Option<Self> {
        let own: Vec<SourceId> =
            self.sources.ids().filter(|id| self.sources.get(*id).is_some_and(|s| is_same(Path::new(&*s.name), path))).collect();
        self.report.retain(|d| d.span.is_none_or(|span| own.contains(&span.source)));
        (!own.is_empty()).then_some(self)
    }

    /// What was kept while something ran.
    fn kept(kept: Vec<(Report, Sources)>) -> Vec<Self> {
        kept.into_iter().map(|(report, sources)| Self { report, sources }).collect()
    }
}

/// Whether two paths are the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    a == b
        || a == Path::new(&path_text(b))
        || a.file_name() == b.file_name() && a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Loads, merges and compiles, and returns all diagnostics; with `locked`, also those about packs that are not as locked.
fn compiled(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary, locked: bool) -> PathReport {
    match Ruleset::check(start, overlays, library) {
        Ok(rules) => {
            let mut report = rules.warnings().clone();
            report.extend(rules.suspicions());
            if locked {
                report.extend(library::check_lock(rules.pack(), start));
            }
            PathReport { report, sources: rules.pack().sources.clone() }
        }
        Err(rejected) => PathReport { report: rejected.report, sources: rejected.sources },
    }
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
fn check_scene(inputs: &InputArgs, show: &mut Console<'_>) -> Vec<PathReport> {
    let mut rules = None;
    let (result, mut kept) = show.keeping(|show| build_scene(inputs, &mut rules, show));
    if let Err(stop) = result {
        kept.push((stop.report, stop.sources));
    }
    if let Some(rules) = &rules {
        kept.iter_mut().for_each(|(report, sources)| fix::keys(report, sources, rules));
    }
    PathReport::kept(kept)
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
fn check_case_file(path: &Path, file: &Overlay, (_, alone, sources): RuleFileReading, library: &dyn PackLibrary) -> Vec<PathReport> {
    let read = match file {
        Overlay::Path(path) => read_path(path),
        Overlay::File(file) | Overlay::Rows(file) => read(file, path),
    };
    let count = read.as_ref().map_or(0, |file| file.cases.len());
    let mut found = CaseChecker { library, known: HashMap::new() }.file(read);
    // its mistakes have been found again
    if !alone.has_errors() {
        found.push(PathReport { report: alone, sources });
    }
    if !found.iter().any(|found| found.report.has_errors()) {
        let message = format!("{count} {} of `{}` read, and not run", if count == 1 { "case" } else { "cases" }, path_text(path));
        let named = if path == Path::new("-") { "FILE".to_owned() } else { path.display().to_string() };
        let note = Diagnostic::new(Code::CaseNotRun, message).help(format!("`tapster test {named}` runs rule tests"));
        found.push(PathReport { report: Report::from(note), sources: Sources::default() });
    }
    found
}

/// Checks the case files at paths.
fn check_case_files<'p>(paths: impl Iterator<Item = &'p Path>, library: &dyn PackLibrary) -> Vec<PathReport> {
    let mut cases = CaseChecker { library, known: HashMap::new() };
    paths.flat_map(|path| cases.file(read_path(path))).collect()
}

/// Checks the files under `cases/` of a pack. `is_sound` says that the pack itself has no mistakes, which every case file
/// would repeat.
fn check_pack_cases(start: &Start, is_sound: bool, library: &dyn PackLibrary) -> Vec<PathReport> {
    let mut cases = CaseChecker { library, known: HashMap::new() };
    let files = case_files(start, library);
    let mut used = FileUses::new(&files);
    // rule files are unused until all cases have been read
    let mut doubtful: Vec<(usize, &RuleFile, Report)> = Vec::new();
    let mut all: Vec<PathReport> = Vec::new();
    for file in &files {
        let (doc, report, sources) = load_read(file, Schemas::shipped());
        let is_json = file.path_in_pack.ends_with(".json");
        if let Some(doc) = doc.as_ref().filter(|doc| holds_cases(doc)) {
            used.add(&doc.root);
        }
        let found = match doc {
            Some(doc) if nearly_holds_cases(&doc, !is_json) => vec![PathReport { report, sources }],
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
                vec![PathReport { report: own, sources }]
            }
            _ => match read(file, Path::new(&file.name)) {
                Ok(_) if !is_sound => vec![PathReport { report, sources }],
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

/// Case files that are checked together.
struct CaseChecker<'l> {
    library: &'l dyn PackLibrary,
    /// The rules of packs over which a file lays nothing.
    known: HashMap<Start, Ruleset>,
}

impl CaseChecker<'_> {
    fn file(&mut self, read: Result<CaseFile, UnreadableFile>) -> Vec<PathReport> {
        let file = match read {
            Ok(file) => file,
            Err(wrong) => return vec![PathReport { report: *wrong.report, sources: *wrong.sources }],
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
                    fix::keys(&mut wrong, &file.sources, rules);
                    wrong.extend(unknown_dialects(&file, case, rules));
                }
                Err(rejected) => found.push(error_of_run(rejected)),
            }
            own.extend(wrong);
        }
        own.sort();
        found.insert(0, PathReport { report: own, sources: file.sources });
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
fn error_of_run(PackError { mut report, sources }: PackError) -> PathReport {
    report.retain(|d| d.severity == Severity::Error);
    PathReport { report, sources }
}
