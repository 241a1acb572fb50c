//! Whether files have changed since they were read.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::pack::Ruleset;

/// The most files that are looked at.
const MOST: usize = 2_000;
/// How far the time of a file may lie behind the clock when it is written.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// The files that rules were read from, with their times and sizes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileStamps(Vec<(PathBuf, Option<SystemTime>, u64)>);

/// When files begin to be read.
#[derive(Debug, Clone, Copy)]
pub struct ReadStart(SystemTime);

impl ReadStart {
    /// The present.
    #[must_use]
    pub fn now() -> Self {
        // wasm has no clock, and no files to compare with it
        Self(if cfg!(target_family = "wasm") { SystemTime::UNIX_EPOCH } else { SystemTime::now() })
    }
}

impl FileStamps {
    /// The files of these rules as they are now, and `others`: files, and folders with all that is in them. `folders` hold packs
    /// by name.
    #[must_use]
    pub fn of(rules: &Ruleset, folders: &[PathBuf], others: &[PathBuf]) -> Self {
        let mut all = Vec::new();
        for layer in rules.pack().layers.iter().filter(|layer| !layer.overlay) {
            folders.iter().map(|folder| folder.join(&*layer.name)).for_each(|folder| add_files(&folder, &mut all));
        }
        others.iter().for_each(|path| add_files(path, &mut all));
        all.sort();
        Self(all)
    }

    /// The same for what was read since `started`: nothing, so that it is read again, where a file was written meanwhile.
    #[must_use]
    pub fn of_read(started: ReadStart, rules: &Ruleset, folders: &[PathBuf], others: &[PathBuf]) -> Self {
        let stamps = Self::of(rules, folders, others);
        let is_newer = |written: &SystemTime| *written + CLOCK_STEP >= started.0;
        if stamps.0.iter().any(|(_, written, _)| written.as_ref().is_some_and(is_newer)) { Self::default() } else { stamps }
    }
}

fn add_files(path: &Path, all: &mut Vec<(PathBuf, Option<SystemTime>, u64)>) {
    let Ok(about) = path.metadata() else { return };
    if about.is_dir() {
        std::fs::read_dir(path).into_iter().flatten().flatten().for_each(|file| add_files(&file.path(), all));
    } else if all.len() < MOST {
        all.push((path.to_owned(), about.modified().ok(), about.len()));
    }
}
