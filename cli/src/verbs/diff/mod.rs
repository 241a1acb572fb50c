//! `tapster diff`: what differs between two packs, overlays or scenes, and between the prompts that they build.

mod cases;
pub(crate) mod options;
pub(crate) mod page;
pub(crate) mod paint;
pub(crate) mod prompts;
mod rows;
pub(crate) mod rules;
mod sides;
mod steps;
pub(crate) mod texts;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, Report, Sources, render, short};
use crate::pack::{Overlay, Ruleset};

use crate::inputs::InputArgs;
use crate::inputs::parts::BuildParts;
use crate::inputs::{rules_of, scene};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::build::{dialect, planned};
use page::PageLimits;
use paint::Paint;
use prompts::{BuiltPrompt, PromptDiff};
use rules::RuleDiff;
use sides::DiffSide;

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

/// How something differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DifferenceKind {
    New,
    Changed,
    Moved,
    Gone,
}

impl DifferenceKind {
    pub(crate) const ALL: [DifferenceKind; 4] = [DifferenceKind::New, DifferenceKind::Changed, DifferenceKind::Moved, DifferenceKind::Gone];

    pub(crate) fn word(self) -> &'static str {
        match self {
            DifferenceKind::New => "new",
            DifferenceKind::Changed => "changed",
            DifferenceKind::Moved => "moved",
            DifferenceKind::Gone => "gone",
        }
    }
}

/// Diagnostics that have been shown: both sides mostly give the same.
#[derive(Default)]
pub(crate) struct ReportedDiagnostics(HashSet<String>);

impl ReportedDiagnostics {
    /// Runs something and shows what it tells for the first time.
    fn once<T>(&mut self, show: &mut OutputStreams<'_, '_>, run: impl FnOnce(&mut OutputStreams<'_, '_>) -> T) -> T {
        let (result, kept) = show.keeping(run);
        self.anew(kept, show);
        result
    }

    /// Shows diagnostics that were kept, if they have not been shown before.
    pub(crate) fn anew(&mut self, kept: Vec<(Report, Sources)>, show: &mut OutputStreams<'_, '_>) {
        for (report, sources) in kept {
            let mut is_new = |d: &Diagnostic| self.0.insert(render::plain(&Report::from(d.clone()), &sources));
            let new: Report = report.items().iter().filter(|d| is_new(d)).cloned().collect();
            show.report(&new, &sources);
        }
    }
}

impl DiffArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
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
    fn scene(&mut self, path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let compared: Vec<PathBuf> = self.a.overlays().iter().chain(self.b.overlays()).cloned().collect();
        let near = show.near.len();
        let parts = self.told.once(show, |show| InputArgs::of_scene(path).parts(show))?;
        let mut sides = Vec::new();
        for side in [self.a, self.b] {
            let parts = side.over(parts.clone(), &compared);
            let rules = self.told.once(show, |show| rules_of(&parts, show))?;
            sides.push((parts, rules));
        }
        if let (Some(other), Some(one)) = (sides.pop(), sides.pop()) {
            self.prompt(&path.display().to_string(), one, other, show)?;
        }
        show.near.truncate(near);
        Ok(())
    }

    /// Compares two prompts and tells what differs.
    fn prompt(
        &mut self,
        title: &str,
        one: (BuildParts, Ruleset),
        other: (BuildParts, Ruleset),
        show: &mut OutputStreams<'_, '_>,
    ) -> Result<(), EarlyExit> {
        // both are built at the same time of day, or else every macro of the clock would differ
        let clock = scene::clock();
        let [one, other] = [one, other].map(|(parts, rules)| (BuildParts { clock: Some(clock.clone()), ..parts }, rules));
        let one = self.told.once(show, |show| built(&one.0, one.1, show));
        let other = self.told.once(show, |show| built(&other.0, other.1, show));
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
    fn cases(&mut self, path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let files = cases::files(path);
        if files.is_empty() {
            let help = "a case file begins with `kind = \"case\"`; `tapster new case NAME` writes one";
            return Err(EarlyExit::could_not(Code::FileMissing, format!("`{}` has no cases", path.display()), help));
        }
        for path in files {
            let near = show.near.len();
            let file = cases::read(&path, show)?;
            let mut open = |over: Vec<Overlay>, show: &mut OutputStreams<'_, '_>| -> Result<[Ruleset; 2], EarlyExit> {
                let mut one = |side: &DiffSide| {
                    let mut parts = side.over(BuildParts::default(), &[]);
                    parts.overlays.extend(file.overlays.iter().cloned().chain(over.iter().cloned()));
                    self.told.once(show, |show| rules_of(&parts, show))
                };
                Ok([one(self.a)?, one(self.b)?])
            };
            let shared = open(Vec::new(), show)?;
            let mut same = 0usize;
            for case in &file.cases {
                let over = file.overlays_of(case);
                let own = if over.is_empty() { None } else { Some(open(over, show)?) };
                let [was, is] = own.as_ref().unwrap_or(&shared).each_ref().map(|rules| cases::outcome(rules, case, &file));
                if was == is {
                    same += 1;
                    continue;
                }
                self.differs = true;
                let found = prompts::values(&was, &is);
                let rules = cases::rules(case, self.rules);
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
pub(crate) fn built(parts: &BuildParts, rules: Ruleset, show: &mut OutputStreams<'_, '_>) -> Result<BuiltPrompt, EarlyExit> {
    let mut scene = scene::of(parts, &rules, show)?;
    scene.trace = true;
    let plan = planned(&rules, &scene)?;
    let mut warnings = plan.warnings.clone();
    let payload = if crate::build::dialects(&rules).is_empty() {
        Json::Null
    } else {
        let emitted = tapster::emit(&rules, &plan, &dialect(&rules, &scene)).map_err(|error| EarlyExit::build(&error, &rules))?;
        warnings.extend(emitted.warnings);
        emitted.payload
    };
    Ok(BuiltPrompt { rules, plan, payload, warnings })
}
