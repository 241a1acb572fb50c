//! `tapster diff`: what differs between two packs, overlays or scenes, and between the prompts that they build.

pub(crate) mod page;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value as Json, json};
use tapster_door::diff::prompts::{self, BuiltPrompt, PromptDiff};
use tapster_door::diff::rules::{RowChange, RuleDiff, change_places};

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Sources, render, short};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::library::beside_scene;
use crate::inputs::{BuildParts, InputArgs, load_rules, scene, scene_of_case};
use crate::output::Console;
use crate::pack::files::{is_folder, is_pack, is_rule_file, parent};
use crate::pack::{Overlay, Ruleset, Schemas, Start, load_file};
use crate::testing::CaseFile;
use crate::testing::case::{CaseAction, CaseTurn, TestCase, in_folder, is_case_file, json_of, read_path};
use crate::testing::play::{PlayedTurn, TurnFailure, turns};
use crate::verbs::check::find_scene as scene_at;
use page::{PageLimits, Paint};

/// Show what differs between two packs, two overlays, two versions of a pack or two scenes: rows that are new, changed,
/// moved or gone, and how prompts change, block by block, with the rules that are responsible.
///
/// Rows are compared by table and name and values by path; the order of keys, the layout and the file make no difference.
/// With one path, an overlay is compared with its pack, and a pack with the pack that it extends.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster diff base my-pack                            the rules of two packs
  tapster diff my-pack-1.0 my-pack                     two versions of one pack
  tapster diff tweak.toml --pack my-pack               what an overlay changes
  tapster diff one.toml two.toml --pack base           two overlays
  tapster diff tweak.toml --scene examples/hello       and what it changes in a prompt
  tapster diff base my-pack --scene examples/hello examples/hybrid
  tapster diff examples/hello my-scene                 two scenes
  tapster diff my-pack-1.0 my-pack --cases my-pack/cases   what comes out of rule tests
  tapster diff tweak.toml --pack base --format json

Exit codes: 0 no difference, 1 prompts (or, without scenes and cases, rules) differ, 2 it could not run.")]
pub(crate) struct DiffArgs {
    /// A pack's folder or name, an overlay, or a scene.
    #[arg(value_name = "A")]
    a: String,
    /// What it is compared with.
    #[arg(value_name = "B")]
    b: Option<String>,
    /// The pack that overlays are laid over [default: the one that they extend].
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,
    /// Scenes that are built with the rules of both sides.
    #[arg(long, value_name = "SCENE", num_args = 1.., conflicts_with = "cases")]
    scene: Vec<PathBuf>,
    /// Rule tests (files or folders) that are run with the rules of both sides.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    cases: Vec<PathBuf>,
    /// Show long lists and texts in full.
    #[arg(long)]
    all: bool,
}

/// Diagnostics that have been shown: both sides mostly give the same.
#[derive(Default)]
pub(crate) struct ReportedDiagnostics(HashSet<String>);

impl ReportedDiagnostics {
    /// Runs something and shows what it tells for the first time.
    fn once<T>(&mut self, show: &mut Console<'_>, run: impl FnOnce(&mut Console<'_>) -> T) -> T {
        let (result, kept) = show.keeping(run);
        self.anew(kept, show);
        result
    }

    /// Shows diagnostics that were kept, if they have not been shown before.
    pub(crate) fn anew(&mut self, kept: Vec<(Report, Sources)>, show: &mut Console<'_>) {
        for (report, sources) in kept {
            let mut is_new = |d: &Diagnostic| self.0.insert(render::plain(&Report::from(d.clone()), &sources));
            let new: Report = report.items().iter().filter(|d| is_new(d)).cloned().collect();
            show.report(&new, &sources);
        }
    }
}

impl DiffArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let mut told = ReportedDiagnostics::default();
        let first = DiffSide::typed(&self.a, self.pack.as_deref())?;
        let (a, b) = match &self.b {
            Some(b) => (first, DiffSide::typed(b, self.pack.as_deref())?),
            None => (told.once(show, |show| first.below(show))?, first),
        };
        if let Some(pack) = self.pack.as_deref().filter(|_| !a.is_laid() && !b.is_laid()) {
            let message = format!("`--pack {}` has no effect: neither side is an overlay", short::word(pack));
            return Err(EarlyExit::could_not(Code::SceneField, message, "leave it out; only overlays are laid over a pack"));
        }
        let scenes = usize::from(matches!(a, DiffSide::Scene(_))) + usize::from(matches!(b, DiffSide::Scene(_)));
        if scenes == 1 || scenes == 2 && !(self.scene.is_empty() && self.cases.is_empty()) {
            let help = "compare two scenes, or two packs or overlays with `--scene SCENE`";
            return Err(EarlyExit::could_not(Code::FileMissing, "a scene is compared with another scene", help));
        }
        let (rules_a, parts_a) = told.once(show, |show| a.open(show))?;
        let (rules_b, parts_b) = told.once(show, |show| b.open(show))?;
        let rules = RuleDiff::of(rules_a.pack(), rules_b.pack());
        let page = PageLimits { paint: Paint { on: show.paints_results() }, all: self.all };
        let (title_a, title_b) = (a.title(&rules_a), b.title(&rules_b));
        if !show.is_json() {
            show.result(&format!("{title_a} → {title_b}\n{}", page.rules(&rules)));
        }
        let mut run = Comparison { a: &a, b: &b, rules: &rules, page, told, prompts: Vec::new(), cases: Vec::new(), differs: false };
        if let (Some(one), Some(other)) = (parts_a, parts_b) {
            run.prompt("prompt", (one, rules_a), (other, rules_b), show)?;
        } else if !self.scene.is_empty() {
            self.scene.iter().try_for_each(|path| run.scene(path, show))?;
        } else if !self.cases.is_empty() {
            self.cases.iter().try_for_each(|path| run.cases(path, show))?;
        } else {
            run.differs = !rules.is_empty();
        }
        let differs = run.differs;
        if show.is_json() {
            let (prompts, cases) = (run.prompts, run.cases);
            let json = json!({
                "differs": differs, "a": title_a, "b": title_b, "rules": rules.as_json(), "prompts": prompts, "cases": cases,
            });
            show.json(&json);
        }
        Ok(if differs { RunExit::No } else { RunExit::Done })
    }
}

/// A comparison while it runs.
struct Comparison<'s> {
    a: &'s DiffSide,
    b: &'s DiffSide,
    rules: &'s RuleDiff,
    page: PageLimits,
    told: ReportedDiagnostics,
    /// The results so far, for JSON.
    prompts: Vec<Json>,
    cases: Vec<Json>,
    /// Whether a prompt or what came out of a case differs.
    differs: bool,
}

impl Comparison<'_> {
    /// Builds a scene with the rules of both sides.
    fn scene(&mut self, path: &Path, show: &mut Console<'_>) -> Result<()> {
        let compared: Vec<PathBuf> = self.a.overlays().iter().chain(self.b.overlays()).cloned().collect();
        let near = show.near.len();
        let parts = self.told.once(show, |show| InputArgs::of_scene(path).parts(show))?;
        let mut sides = Vec::new();
        for side in [self.a, self.b] {
            let parts = side.over(parts.clone(), &compared);
            let rules = self.told.once(show, |show| load_rules(&parts, show))?;
            sides.push((parts, rules));
        }
        if let (Some(other), Some(one)) = (sides.pop(), sides.pop()) {
            self.prompt(&path.display().to_string(), one, other, show)?;
        }
        show.near.truncate(near);
        Ok(())
    }

    /// Compares two prompts and tells what differs.
    fn prompt(&mut self, title: &str, one: (BuildParts, Ruleset), other: (BuildParts, Ruleset), show: &mut Console<'_>) -> Result<()> {
        // both are built at the same time of day, or else every macro of the clock would differ
        let clock = scene::clock();
        let [one, other] = [one, other].map(|(parts, rules)| (BuildParts { clock: Some(clock.clone()), ..parts }, rules));
        let one = self.told.once(show, |show| build_prompt(&one.0, one.1, show));
        let other = self.told.once(show, |show| build_prompt(&other.0, other.1, show));
        let (text, json, differs) = match (one, other) {
            (Ok(one), Ok(other)) => {
                let diff = PromptDiff::of(&one, &other, self.rules);
                (self.page.prompt(title, &diff), diff.as_json(), diff.differs())
            }
            (Err(first), Err(_)) => return Err(first),
            (one, other) => {
                let side = if one.is_err() { "the first" } else { "the second" };
                if let Some(stop) = one.err().or(other.err()) {
                    show.report(&stop.report, &stop.sources);
                }
                let text = format!("{}\n", self.page.paint.title(&format!("{title}: {side} side builds no prompt")));
                (text, json!({ "differs": true, "refused": side }), true)
            }
        };
        self.differs |= differs;
        if !show.is_json() {
            show.result(&format!("\n{text}"));
        }
        let mut json = json;
        if let Some(table) = json.as_object_mut() {
            table.insert("scene".to_owned(), title.into());
        }
        self.prompts.push(json);
        Ok(())
    }

    /// Runs the rule tests of a file or folder with the rules of both sides.
    fn cases(&mut self, path: &Path, show: &mut Console<'_>) -> Result<()> {
        let files = find_case_files(path);
        if files.is_empty() {
            let help = "a case file begins with `kind = \"case\"`; `tapster new case NAME` writes one";
            return Err(EarlyExit::could_not(Code::FileMissing, format!("`{}` has no cases", path.display()), help));
        }
        for path in files {
            let near = show.near.len();
            let file = read_cases(&path, show)?;
            let mut open = |over: Vec<Overlay>, show: &mut Console<'_>| -> Result<[Ruleset; 2]> {
                let mut one = |side: &DiffSide| {
                    let mut parts = side.over(BuildParts::default(), &[]);
                    parts.overlays.extend(file.overlays.iter().cloned().chain(over.iter().cloned()));
                    self.told.once(show, |show| load_rules(&parts, show))
                };
                Ok([one(self.a)?, one(self.b)?])
            };
            let shared = open(Vec::new(), show)?;
            let mut same = 0usize;
            for case in &file.cases {
                let over = file.overlays_of(case);
                let own = if over.is_empty() { None } else { Some(open(over, show)?) };
                let [was, is] = own.as_ref().unwrap_or(&shared).each_ref().map(|rules| case_outcome(rules, case, &file));
                if was == is {
                    same += 1;
                    continue;
                }
                self.differs = true;
                let found = prompts::differing_values(&was, &is);
                let rules = rules_of_case(case, self.rules);
                let title = format!("{}#{}", path.display(), case.name);
                if !show.is_json() {
                    show.result(&self.page.case(&title, &found, &rules));
                }
                let found: Vec<Json> = found.iter().map(|(at, was, is)| json!({ "at": at, "was": was, "is": is })).collect();
                self.cases.push(json!({ "case": title, "changes": found, "rules": rules }));
            }
            if !show.is_json() {
                show.result(&format!("\n{}: {} of {} cases give the same\n", path.display(), same, file.cases.len()));
            }
            show.near.truncate(near);
        }
        Ok(())
    }
}

/// Builds a prompt with a trace.
pub(crate) fn build_prompt(parts: &BuildParts, rules: Ruleset, show: &mut Console<'_>) -> Result<BuiltPrompt> {
    let mut scene = scene::assemble(parts, &rules, show)?;
    scene.trace = true;
    let failed = rules.clone();
    BuiltPrompt::build(rules, &scene).map_err(|error| EarlyExit::build(&error, &failed))
}

/// One of two sides.
#[derive(Debug, Clone)]
enum DiffSide {
    /// A pack with the overlays that are laid over it.
    Rules { start: Start, overlays: Vec<PathBuf> },
    /// A scene, which names its own pack.
    Scene(PathBuf),
}

impl DiffSide {
    /// Whether an overlay is laid over a pack.
    fn is_laid(&self) -> bool {
        matches!(self, DiffSide::Rules { overlays, .. } if !overlays.is_empty())
    }

    /// What an argument means. An overlay is laid over `pack`, or else over the pack that it extends.
    fn typed(text: &str, pack: Option<&str>) -> Result<Self> {
        let file = Path::new(text);
        let folder = is_folder(file);
        if let Some(scene) = scene_at(file, folder) {
            return Ok(DiffSide::Scene(scene));
        }
        if folder || !is_rule_file(file) {
            if folder && !is_pack(file) {
                let message = format!("`{text}` is neither a pack nor a scene");
                return Err(EarlyExit::could_not(Code::FileMissing, message, "a pack has a `pack.toml`, a scene a `scene.toml`"));
            }
            return Ok(DiffSide::Rules { start: Start::typed(text), overlays: Vec::new() });
        }
        let (doc, report, sources) = load_file(file, Schemas::shipped());
        let extends = doc.as_ref().and_then(|doc| doc.root.get("extends")).and_then(DocumentNode::as_text);
        match pack.or(extends) {
            Some(pack) => Ok(DiffSide::Rules { start: Start::typed(pack), overlays: vec![file.to_owned()] }),
            None if doc.is_none() => {
                let missing = crate::exit::only_missing(&report);
                Err(EarlyExit::report(if missing { RunExit::CouldNot } else { RunExit::No }, report, sources))
            }
            None => {
                let message = format!("`{text}` does not say what it extends");
                Err(EarlyExit::could_not(Code::PackMissing, message, "name the pack that it is laid over with `--pack NAME`"))
            }
        }
    }

    /// The side that this one is laid over: the pack below an overlay, or the pack that a pack extends.
    fn below(&self, show: &mut Console<'_>) -> Result<Self> {
        match self {
            DiffSide::Rules { start, overlays } if !overlays.is_empty() => {
                Ok(DiffSide::Rules { start: start.clone(), overlays: Vec::new() })
            }
            DiffSide::Rules { start, .. } => {
                let (rules, _) = self.open(show)?;
                let packs: Vec<&str> = rules.pack().layers.iter().filter(|layer| !layer.overlay).map(|layer| &*layer.name).collect();
                match packs.as_slice() {
                    [.., below, _] => Ok(DiffSide::Rules { start: pack_beside(start, below), overlays: Vec::new() }),
                    _ => {
                        let message = format!("pack `{}` extends nothing that it could be compared with", rules.pack().name);
                        Err(EarlyExit::could_not(Code::PackMissing, message, "name a second pack"))
                    }
                }
            }
            DiffSide::Scene(_) => {
                Err(EarlyExit::could_not(Code::FileMissing, "one scene is named", "name a second scene to compare it with"))
            }
        }
    }

    /// How the side is named in the page.
    fn title(&self, rules: &Ruleset) -> String {
        match self {
            DiffSide::Scene(path) => path.display().to_string(),
            DiffSide::Rules { start, overlays } => {
                let pack = rules.pack();
                let release = pack.layers.iter().rfind(|l| !l.overlay).map(|l| format!(" {}", l.release)).unwrap_or_default();
                let from = if let Start::Folder(folder) = start { format!(" ({})", folder.display()) } else { String::new() };
                let over: String = overlays.iter().map(|path| format!(" + {}", path.display())).collect();
                format!("{}{release}{from}{over}", pack.name)
            }
        }
    }

    /// Loads the rules; of a scene, with its parts.
    fn open(&self, show: &mut Console<'_>) -> Result<(Ruleset, Option<BuildParts>)> {
        let near = show.near.len();
        let opened = self.open_near(show);
        show.near.truncate(near);
        opened
    }

    fn open_near(&self, show: &mut Console<'_>) -> Result<(Ruleset, Option<BuildParts>)> {
        match self {
            DiffSide::Scene(path) => {
                let parts = InputArgs::of_scene(path).parts(show)?;
                Ok((load_rules(&parts, show)?, Some(parts)))
            }
            DiffSide::Rules { start, overlays } => {
                if let Start::Folder(folder) = start {
                    show.near.extend(parent(folder));
                }
                show.near.extend(overlays.iter().filter_map(|path| path.parent()).flat_map(beside_scene));
                let overlays = overlays.iter().cloned().map(Overlay::Path).collect();
                let parts = BuildParts { pack: Some(start.clone()), overlays, ..BuildParts::default() };
                Ok((load_rules(&parts, show)?, None))
            }
        }
    }

    /// The parts of a scene with the rules of this side: its pack, then the overlays of the scene, then its own overlays.
    /// The compared overlays give way where the scene names them too.
    fn over(&self, mut parts: BuildParts, compared: &[PathBuf]) -> BuildParts {
        if let DiffSide::Rules { start, overlays } = self {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let compared: Vec<PathBuf> = compared.iter().map(|path| real(path)).collect();
            parts.overlays.retain(|overlay| !matches!(overlay, Overlay::Path(path) if compared.contains(&real(path))));
            (parts.pack, parts.pack_at) = (Some(start.clone()), None);
            parts.overlays.extend(overlays.iter().cloned().map(Overlay::Path));
        }
        parts
    }

    /// The overlays of the side.
    fn overlays(&self) -> &[PathBuf] {
        if let DiffSide::Rules { overlays, .. } = self { overlays } else { &[] }
    }
}

/// The pack `name`, which lies beside another one or in the library.
fn pack_beside(start: &Start, name: &str) -> Start {
    let folder = if let Start::Folder(folder) = start { parent(folder).map(|p| p.join(name)).filter(|p| is_pack(p)) } else { None };
    folder.map_or_else(|| Start::Name(name.to_owned()), Start::Folder)
}

/// The case files that a path names: itself, or those of a folder and its subfolders, sorted.
fn find_case_files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    in_folder(path).into_iter().filter(|path| is_case_file(path)).collect()
}

/// Reads a case file. Packs that lie beside it are found by their names.
fn read_cases(path: &Path, show: &mut Console<'_>) -> Result<CaseFile> {
    show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
    read_path(path).map_err(|wrong| EarlyExit::report(RunExit::CouldNot, *wrong.report, *wrong.sources))
}

/// What comes out of a case; of several turns, what comes out of each.
fn case_outcome(rules: &Ruleset, case: &TestCase, file: &CaseFile) -> Json {
    let mut all = Vec::new();
    let scenes = |path: &Path, now: Option<&str>, rules: &Ruleset| scene_of_case(path, now, rules);
    turns(
        case,
        &file.base,
        rules,
        &scenes,
        |_| false,
        |turn, played| {
            all.push(turn_outcome(rules, case, turn, played));
            true
        },
    );
    if all.len() == 1 { all.pop().unwrap_or_default() } else { json!({ "turns": all }) }
}

/// Lists, values, codes of warnings and whatever else a turn makes, or the error.
fn turn_outcome(rules: &Ruleset, case: &TestCase, turn: &CaseTurn, played: Result<PlayedTurn, TurnFailure>) -> Json {
    let played = match played {
        Ok(played) => played,
        Err(TurnFailure::Rules(error)) => return json!({ "error": format!("{}: {error}", error.kind()) }),
        Err(TurnFailure::Given(message)) => return json!({ "error": message }),
    };
    let expect = turn.expect.as_ref().map(json_of).unwrap_or_default();
    let named = |key: &str| expect.get(key).and_then(Json::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
    let programs = &rules.programs().list;
    let ran = |name: &str| programs.iter().find(|p| *p.name == *name).or_else(|| programs.iter().find(|p| *p.name == *program_of(name)));
    let own = |name: &String| Some(&*rules.programs().rules.lists.get(ran(name)?.list)?.name);
    let runs: &[String] = if let CaseAction::Run(names) = &turn.action { names } else { &[] };
    let built = matches!(turn.action, CaseAction::Build | CaseAction::Payload(_)).then_some("blocks");
    let given = turn.given.lists.iter().map(|(name, _)| name.as_str());
    let shown = case.show.iter().map(|(name, _)| name.as_str());
    let mut lists: Vec<&str> = given.chain(named("lists")).chain(shown).chain(runs.iter().filter_map(own)).chain(built).collect();
    lists.sort_unstable();
    lists.dedup();
    let lists: Map<String, Json> = lists.into_iter().filter_map(|name| Some((name.to_owned(), played.list(name)?))).collect();
    let value = |path: &str| played.outcome.as_ref().map(|outcome| outcome.get(path).to_json()).unwrap_or_default();
    let set: Map<String, Json> = named("set").map(|path| (path.to_owned(), value(path))).collect();
    let warnings: Vec<&str> = played.warnings.iter().map(|w| w.code.as_str()).collect();
    let mut out = json!({ "lists": lists, "set": set, "warnings": warnings });
    for key in ["payload", "texts", "imported"] {
        let made = played.value(key);
        if let Some(table) = out.as_object_mut().filter(|_| !made.is_null()) {
            table.insert(key.to_owned(), made);
        }
    }
    out
}

/// The program of a pass: `lore` of `lore/scan`.
fn program_of(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(program, _)| program)
}

/// The rules of the programs or passes that a case runs that differ.
fn rules_of_case(case: &TestCase, diff: &RuleDiff) -> Vec<String> {
    let runs = |row: &RowChange| {
        let of_run = |run: &String| row.name == *run || row.name.strip_prefix(run).is_some_and(|rest| rest.starts_with('/'));
        case.turns.iter().any(|turn| if let CaseAction::Run(names) = &turn.action { names.iter().any(of_run) } else { false })
    };
    let told = |row: &RowChange| format!("pass {}, which is {} ({})", row.name, row.what.word(), change_places(row));
    diff.rows.iter().filter(|row| row.table == "pass" && runs(row)).map(told).collect()
}
