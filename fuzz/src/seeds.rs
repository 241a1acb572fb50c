//! Where mutations begin: files of this repository, texts of its tables of cases, and `fuzz/seeds/TARGET`.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::Target;

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// The files below a folder of the repository with this ending, or any, and at most so many bytes, in the order of their paths.
#[must_use]
pub fn paths(folder: &str, ending: &str, most: u64) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == ending) || ending.is_empty() {
                found.extend(entry.metadata().is_ok_and(|about| about.len() <= most).then_some(path));
            }
        }
    }
    found.sort();
    found
}

/// What stands in those files.
#[must_use]
pub fn files(folder: &str, ending: &str, most: u64) -> Vec<Vec<u8>> {
    paths(folder, ending, most).into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// A JSON file of the repository; null if there is none.
#[must_use]
pub fn json(path: &str) -> Json {
    std::fs::read(root().join(path)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// The rows of a table of cases, `tests/text/NAME.json`.
#[must_use]
pub fn rows(name: &str) -> Vec<Json> {
    json(&format!("tests/text/{name}.json")).as_array().cloned().unwrap_or_default()
}

/// One field of each row, if it is a text.
#[must_use]
pub fn texts(name: &str, field: &str) -> Vec<Vec<u8>> {
    rows(name).iter().filter_map(|row| row[field].as_str()).map(|text| text.as_bytes().to_vec()).collect()
}

/// All that a target begins with: what was written for it, what was once found by it, and its own.
#[must_use]
pub fn of(target: &Target) -> Vec<Vec<u8>> {
    let kinds = ["seeds", "found"].map(|kind| files(&format!("fuzz/{kind}/{}", target.name), "", u64::MAX).into_iter());
    kinds.into_iter().flatten().chain((target.seeds)()).collect()
}
