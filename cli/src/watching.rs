//! Waiting for changes: of files on the disk, or of whatever a program tells by a line.
//!
//! The one who watches does its work in steps, and asks a [`ChangeSource`] in between, so that a test decides
//! itself when a step comes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use crate::diag::limits;
use crate::pack::files::packs_in;

use super::inputs::lines::LineReader;
use super::output::OutputStreams;
use super::stop::EarlyExit;

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
    fn wait(&mut self, places: &WatchedPaths, show: &mut OutputStreams<'_, '_>) -> Result<bool, EarlyExit>;
}

/// The changes of this sort.
pub(super) fn changes(how: WatchMode, show: &mut OutputStreams<'_, '_>) -> Result<Box<dyn ChangeSource>, EarlyExit> {
    Ok(match how {
        WatchMode::Files => Box::new(DiskChanges::new()),
        WatchMode::Lines => Box::new(StdinChanges(LineReader::open(Path::new("-"), show)?)),
    })
}

/// Each line of standard input is a change.
struct StdinChanges(LineReader);

impl ChangeSource for StdinChanges {
    fn begin(&mut self, _: &WatchedPaths) {}

    fn wait(&mut self, _: &WatchedPaths, show: &mut OutputStreams<'_, '_>) -> Result<bool, EarlyExit> {
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
        let wanted = folders(places);
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
        self.seen = look(places);
    }

    fn wait(&mut self, places: &WatchedPaths, show: &mut OutputStreams<'_, '_>) -> Result<bool, EarlyExit> {
        loop {
            self.arm(places);
            let mut now = look(places);
            if now != self.seen {
                for _ in 0..QUIET_TIMES {
                    std::thread::sleep(QUIET);
                    let later = look(places);
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
fn roots(places: &WatchedPaths) -> impl Iterator<Item = PathBuf> {
    let packs = places.shelves.iter().flat_map(|shelf| packs_in(shelf).into_iter().map(|name| shelf.join(name)));
    packs.chain(places.paths.iter().cloned())
}

/// Every folder in which something is watched: those of files, and all that are in a folder. Of what is not there, the
/// nearest folder above it that is.
fn folders(places: &WatchedPaths) -> BTreeSet<PathBuf> {
    let mut out: BTreeSet<PathBuf> = places.shelves.iter().filter(|shelf| shelf.is_dir()).cloned().collect();
    for root in roots(places) {
        let above = root.ancestors().skip(1).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        out.extend(above.into_iter().find(|folder| folder.is_dir()).map(Path::to_owned));
        each(&root, &mut |path, kind| {
            if kind.is_dir() {
                out.insert(path.to_owned());
            }
        });
    }
    out
}

/// How the files are now.
fn look(places: &WatchedPaths) -> FileStamps {
    let mut seen = FileStamps::new();
    for root in roots(places) {
        each(&root, &mut |path, about| {
            if about.is_file() {
                seen.insert(path.to_owned(), (about.len(), about.modified().ok()));
            }
        });
    }
    seen
}

/// Visits a path and everything below it. Hidden folders are left out, and so are links inside of folders.
fn each(root: &Path, visit: &mut dyn FnMut(&Path, &std::fs::Metadata)) {
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
