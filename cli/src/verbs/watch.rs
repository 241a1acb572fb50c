//! `tapster watch`: builds a prompt again whenever a file is saved, and shows what has changed in it.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, Report, Sources, render};
use crate::inputs::library::shelf;
use crate::inputs::parts::BuildParts;
use crate::inputs::{InputArgs, rules_of, scene};
use crate::layout::{head, one_line};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};
use crate::verbs::diff::page::PageLimits;
use crate::verbs::diff::paint::Paint;
use crate::verbs::diff::prompts::{BuiltPrompt, PromptDiff};
use crate::verbs::diff::rules::RuleDiff;
use crate::verbs::diff::{ReportedDiagnostics, built};
use crate::watching::{WatchMode, WatchedPaths, changes};

/// Characters of a text that are shown of a block.
const TEXT: usize = 100;

/// Build a prompt, and build it again whenever a file is saved: the scene, its files, an overlay, or a pack. What has changed
/// is shown with the rules responsible. If a build fails, its mistakes are shown, and the last good prompt is the one that
/// the next is compared with.
///
/// The time is that of the start, so that only edits change the prompt.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster watch examples/hello
  tapster watch examples/hello --overlay tweak.toml
  tapster watch --pack my-pack --message 'Good evening.' --all
  tapster watch examples/hello --on lines      a line on standard input builds again

It ends with Ctrl-C, or with the end of standard input (`--on lines`).

Exit codes: 0 the last build was good, 1 it was refused, 2 it could not run.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    inputs: InputArgs,
    /// How changes are noticed.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    on: WatchMode,
    /// Show long texts in full.
    #[arg(long)]
    all: bool,
}

impl WatchArgs {
    pub(crate) fn run(&self, show: &mut OutputStreams<'_, '_>) -> Result<RunExit, EarlyExit> {
        self.inputs.require_scene()?;
        self.inputs.refuse_previous()?;
        if self.inputs.reads_a_stream() {
            let message = "standard input can be read only once, so it cannot be watched";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "save it in a file"));
        }
        let mut changes = changes(self.on, show)?;
        let mut prompt = WatchedPrompt { watch: self, clock: scene::clock(), last: None, told: ReportedDiagnostics::default() };
        changes.begin(&self.places(show));
        loop {
            let exit = prompt.step(show);
            show.flush();
            if !changes.wait(&self.places(show), show)? {
                return Ok(exit);
            }
        }
    }

    /// Everything that the prompt may depend on.
    fn places(&self, show: &mut OutputStreams<'_, '_>) -> WatchedPaths {
        let near = show.near.len();
        let paths = self.inputs.files(show);
        let mut shelves = shelf(show).folders;
        if !shelves.iter().any(|folder| folder == Path::new("rules")) {
            shelves.push(PathBuf::from("rules"));
        }
        show.near.truncate(near);
        WatchedPaths { paths, shelves }
    }
}

/// The prompt that is watched.
struct WatchedPrompt<'w> {
    watch: &'w WatchArgs,
    /// The time of the start.
    clock: String,
    /// The last good prompt.
    last: Option<BuiltPrompt>,
    told: ReportedDiagnostics,
}

impl WatchedPrompt<'_> {
    /// Builds once, and shows what is different.
    fn step(&mut self, show: &mut OutputStreams<'_, '_>) -> RunExit {
        let near = show.near.len();
        let (result, kept) = show.keeping(|show| self.build(show));
        show.near.truncate(near);
        match result {
            Ok(new) => {
                self.told.anew(kept, show);
                self.good(new, show);
                RunExit::Done
            }
            Err(stop) => {
                let exit = stop.exit;
                let mut all = kept;
                all.push((stop.report, stop.sources));
                self.failed(&all, show);
                exit
            }
        }
    }

    fn build(&self, show: &mut OutputStreams<'_, '_>) -> Result<BuiltPrompt, EarlyExit> {
        let parts = BuildParts { clock: Some(self.clock.clone()), ..self.watch.inputs.parts(show)? };
        let rules = rules_of(&parts, show)?;
        built(&parts, rules, show)
    }

    fn good(&mut self, new: BuiltPrompt, show: &mut OutputStreams<'_, '_>) {
        let page = PageLimits { paint: Paint { on: show.paints_results() }, all: self.watch.all };
        let Some(old) = self.last.replace(new) else {
            let Some(new) = &self.last else { return };
            if show.is_json() {
                show.result(&format!("{}\n", json!({ "event": "built", "blocks": blocks(new).count(), "payload": new.payload })));
            } else {
                show.warnings(&new.warnings, new.rules.sources());
                show.result(&whole(new, page));
            }
            return;
        };
        let Some(new) = &self.last else { return };
        let rules = RuleDiff::of(old.rules.pack(), new.rules.pack());
        let prompt = PromptDiff::of(&old, new, &rules);
        if show.is_json() {
            let said = json!({ "event": "changed", "differs": prompt.differs(), "rules": rules.as_json(), "prompt": prompt.as_json() });
            show.result(&format!("{said}\n"));
            return;
        }
        let rules = if rules.is_empty() { String::new() } else { page.rules(&rules) };
        show.result(&format!("\n{rules}{}", page.prompt("prompt", &prompt)));
    }

    fn failed(&self, all: &[(Report, Sources)], show: &mut OutputStreams<'_, '_>) {
        let stays = self.last.is_some();
        if show.is_json() {
            let found = |(report, sources): &(Report, Sources)| render::json(report, sources).as_array().cloned().unwrap_or_default();
            let diagnostics: Vec<Json> = all.iter().flat_map(found).collect();
            show.result(&format!("{}\n", json!({ "event": "failed", "last_good": stays, "diagnostics": diagnostics })));
            return;
        }
        show.result(if stays { "\nthe build fails; the last good prompt stays\n" } else { "\nthe build fails\n" });
        show.flush();
        all.iter().for_each(|(report, sources)| show.report(report, sources));
    }
}

fn blocks(built: &BuiltPrompt) -> impl Iterator<Item = &crate::model::PlanBlock> {
    built.plan.blocks.iter().filter(|block| block.enabled())
}

/// The whole prompt, a line for each block.
fn whole(built: &BuiltPrompt, page: PageLimits) -> String {
    let count = blocks(built).count();
    let mut out = page.paint.title(&format!("prompt: {count} {}", if count == 1 { "block" } else { "blocks" }));
    out.push('\n');
    for (n, block) in blocks(built).enumerate() {
        let (slot, id) = (block.text("slot"), block.text("id"));
        let name = if slot.is_empty() { id } else { slot };
        let text = block.text("text");
        let text = if page.all { one_line(&text) } else { head(&text, TEXT) };
        out.push_str(&format!("  #{n} {} {}  {text}\n", one_line(&block.text("role")), one_line(&name)));
    }
    out
}
