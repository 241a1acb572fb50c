//! Whether files of packs have changed since they were read.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::pack::Ruleset;

/// The most files that are looked at.
const MOST: usize = 2_000;

/// The files below the folders of a pack and of those that it extends, with their times and sizes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStamps(Vec<(PathBuf, Option<SystemTime>, u64)>);

impl FileStamps {
    /// The files of these rules as they are now; `folders` hold packs by name.
    pub(crate) fn of(rules: &Ruleset, folders: &[PathBuf]) -> Self {
        let mut all = Vec::new();
        for layer in rules.pack().layers.iter().filter(|layer| !layer.overlay) {
            folders.iter().map(|folder| folder.join(&*layer.name)).for_each(|folder| add_files(&folder, &mut all));
        }
        all.sort();
        Self(all)
    }
}

fn add_files(folder: &Path, all: &mut Vec<(PathBuf, Option<SystemTime>, u64)>) {
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = file.metadata() else { continue };
        if about.is_dir() {
            add_files(&file.path(), all);
        } else if all.len() < MOST {
            all.push((file.path(), about.modified().ok(), about.len()));
        }
    }
}
