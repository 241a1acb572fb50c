//! `tapster watch`: builds a prompt again whenever a file is saved, and shows what has changed in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use serde_json::{Value as Json, json};

use crate::diag::limits;
use crate::diag::{Code, Report, Sources, render};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::LineReader;
use crate::inputs::library::pack_shelf;
use crate::inputs::{BuildParts, InputArgs, load_rules, scene};
use crate::layout::{head, one_line};
use crate::output::Console;
use crate::pack::files::packs_in;
use crate::verbs::diff::page::{PageLimits, Paint};
use crate::verbs::diff::{ReportedDiagnostics, build_prompt};
use tapster_door::diff::prompts::{BuiltPrompt, PromptDiff};
use tapster_door::diff::rules::RuleDiff;

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
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        self.inputs.require_scene()?;
        self.inputs.refuse_previous()?;
        if self.inputs.reads_a_stream() {
            let message = "standard input can be read only once, so it cannot be watched";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "save it in a file"));
        }
        let mut changes = open_change_source(self.on, show)?;
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
    fn places(&self, show: &mut Console<'_>) -> WatchedPaths {
        let near = show.near.len();
        let paths = self.inputs.files(show);
        let mut shelves = pack_shelf(show).folders;
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
    fn step(&mut self, show: &mut Console<'_>) -> RunExit {
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

    fn build(&self, show: &mut Console<'_>) -> Result<BuiltPrompt> {
        let parts = BuildParts { clock: Some(self.clock.clone()), ..self.watch.inputs.parts(show)? };
        let rules = load_rules(&parts, show)?;
        build_prompt(&parts, rules, show)
    }

    fn good(&mut self, new: BuiltPrompt, show: &mut Console<'_>) {
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

    fn failed(&self, all: &[(Report, Sources)], show: &mut Console<'_>) {
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

/// How often the disk is looked at although it tells nothing: a folder that was removed and made again tells nothing.
const PAUSE: Duration = Duration::from_secs(2);
/// How often it is looked at where it cannot tell anything.
const SHORT_PAUSE: Duration = Duration::from_millis(300);
/// How long nothing must change before a change is complete, and how often that is waited for: editors write in parts.
const QUIET: Duration = Duration::from_millis(40);
const QUIET_TIMES: usize = 25;

/// How changes are noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum WatchMode {
    /// A file that was read, or one of a pack, changes on the disk.
    #[default]
    Files,
    /// A line arrives on standard input; its end ends the watching. For editors, which know when a file was saved.
    Lines,
}

/// What is watched.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchedPaths {
    /// Files, and folders with all that is in them.
    pub(super) paths: Vec<PathBuf>,
    /// Folders whose packs are watched, with all that is in them.
    pub(super) shelves: Vec<PathBuf>,
}

/// A source of changes.
pub(super) trait ChangeSource {
    /// Notes how things are before the first step.
    fn begin(&mut self, places: &WatchedPaths);

    /// Waits for a change since the step that came last. False: no more changes will come.
    fn wait(&mut self, places: &WatchedPaths, show: &mut Console<'_>) -> Result<bool>;
}

/// The changes of this sort.
pub(super) fn open_change_source(how: WatchMode, show: &mut Console<'_>) -> Result<Box<dyn ChangeSource>> {
    Ok(match how {
        WatchMode::Files => Box::new(DiskChanges::new()),
        WatchMode::Lines => Box::new(StdinChanges(LineReader::open(Path::new("-"), show)?)),
    })
}

/// Each line of standard input is a change.
struct StdinChanges(LineReader);

impl ChangeSource for StdinChanges {
    fn begin(&mut self, _: &WatchedPaths) {}

    fn wait(&mut self, _: &WatchedPaths, show: &mut Console<'_>) -> Result<bool> {
        Ok(self.0.next(show)?.is_some())
    }
}

/// What the disk says of a file: its length, and when it was written.
type FileStamps = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Files on the disk. The system tells that something has happened, and a look at the files tells what.
struct DiskChanges {
    seen: FileStamps,
    told: Receiver<()>,
    /// `None` where the system cannot tell.
    watcher: Option<RecommendedWatcher>,
    armed: BTreeSet<PathBuf>,
}

impl DiskChanges {
    fn new() -> Self {
        let (tell, told) = channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // reading is an event too
            if !event.is_ok_and(|event| event.kind.is_access()) {
                let _ = tell.send(());
            }
        });
        Self { seen: FileStamps::new(), told, watcher: watcher.ok(), armed: BTreeSet::new() }
    }

    /// Lets the system tell of the folders of everything that is watched. A folder that is gone is forgotten, so that it is
    /// watched again once it is back.
    fn arm(&mut self, places: &WatchedPaths) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted = watched_folders(places);
        for gone in self.armed.iter().filter(|folder| !wanted.contains(*folder)) {
            // of a folder that was removed, the system has forgotten it already
            let _ = watcher.unwatch(gone);
        }
        self.armed.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            if !self.armed.contains(&folder) && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                self.armed.insert(folder);
            }
        }
    }
}

impl ChangeSource for DiskChanges {
    fn begin(&mut self, places: &WatchedPaths) {
        self.arm(places);
        self.seen = file_stamps(places);
    }

    fn wait(&mut self, places: &WatchedPaths, show: &mut Console<'_>) -> Result<bool> {
        loop {
            self.arm(places);
            let mut now = file_stamps(places);
            if now != self.seen {
                for _ in 0..QUIET_TIMES {
                    std::thread::sleep(QUIET);
                    let later = file_stamps(places);
                    if std::mem::replace(&mut now, later) == now {
                        break;
                    }
                }
                while self.told.try_recv().is_ok() {}
                self.seen = now;
                return Ok(true);
            }
            if show.is_closed() {
                return Ok(false);
            }
            let pause = if self.watcher.is_some() { PAUSE } else { SHORT_PAUSE };
            if self.told.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                self.watcher = None;
                std::thread::sleep(SHORT_PAUSE);
            }
        }
    }
}

/// The packs on shelves, and the other paths.
fn watched_roots(places: &WatchedPaths) -> impl Iterator<Item = PathBuf> {
    let packs = places.shelves.iter().flat_map(|shelf| packs_in(shelf).into_iter().map(|name| shelf.join(name)));
    packs.chain(places.paths.iter().cloned())
}

/// Every folder in which something is watched: those of files, and all that are in a folder. Of what is not there, the
/// nearest folder above it that is.
fn watched_folders(places: &WatchedPaths) -> BTreeSet<PathBuf> {
    let mut out: BTreeSet<PathBuf> = places.shelves.iter().filter(|shelf| shelf.is_dir()).cloned().collect();
    for root in watched_roots(places) {
        let above = root.ancestors().skip(1).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        out.extend(above.into_iter().find(|folder| folder.is_dir()).map(Path::to_owned));
        visit_path(&root, &mut |path, kind| {
            if kind.is_dir() {
                out.insert(path.to_owned());
            }
        });
    }
    out
}

/// How the files are now.
fn file_stamps(places: &WatchedPaths) -> FileStamps {
    let mut seen = FileStamps::new();
    for root in watched_roots(places) {
        visit_path(&root, &mut |path, about| {
            if about.is_file() {
                seen.insert(path.to_owned(), (about.len(), about.modified().ok()));
            }
        });
    }
    seen
}

/// Visits a path and everything below it. Hidden folders are left out, and so are links inside of folders.
fn visit_path(root: &Path, visit: &mut dyn FnMut(&Path, &std::fs::Metadata)) {
    let Ok(about) = std::fs::metadata(root) else { return };
    visit(root, &about);
    let (mut open, mut entries) = (vec![(root.to_owned(), 0)], 0);
    while let Some((folder, depth)) = open.pop().filter(|_| about.is_dir()) {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let Some(about) = entry.metadata().ok().filter(|_| !is_hidden && entries <= limits::ENTRIES) else { continue };
            visit(&entry.path(), &about);
            if about.is_dir() && depth < limits::CHAIN {
                open.push((entry.path(), depth + 1));
            }
        }
    }
}
