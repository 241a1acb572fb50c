//! `--locked`: the packs of a build are compared with the `tapster.lock` of the folders that they were found in.
//!
//! A pack that was given as a folder is being worked on, and need not be locked; the packs that come with the program are not.
//! Every other pack must have the digest that its lock says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, Report};
use crate::model::Pack;
use crate::pack::Start;
use crate::pack::files::{parent, read_folder};
use crate::pack::library::{self, shipped};
use crate::share::index::{LOCK_FILE, MAX_LOCK};
use crate::share::{PackLock, ShareFault};

use super::files::shown;
use super::shared::{bounded, digest_of};

/// The packs that are not what a lock says.
pub(crate) fn complaints(pack: &Pack, start: &Start) -> Report {
    let mut locks: BTreeMap<PathBuf, Result<Option<PackLock>, ShareFault>> = BTreeMap::new();
    let mut report = Report::default();
    let packs: Vec<_> = pack.layers.iter().filter(|layer| !layer.overlay).collect();
    for layer in &packs {
        let Some((folder, around)) = layer.folder.as_ref().and_then(|folder| Some((folder, parent(folder)?))) else { continue };
        let file = around.join(LOCK_FILE);
        let read = locks.entry(around).or_insert_with(|| read(&file));
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match read {
            Err(fault) => report.push((**fault).clone()),
            Ok(held) => {
                let row = held.as_ref().and_then(|held| held.get(&name));
                let is_own = matches!(start, Start::Folder(_)) && layer.name == pack.name;
                report.extend(complaint(&file, folder, &layer.name, row.map(|row| row.digest.as_str()), is_own).into_iter().collect());
            }
        }
    }
    report
}

fn read(file: &Path) -> Result<Option<PackLock>, ShareFault> {
    if !file.exists() {
        return Ok(None);
    }
    let bytes = bounded(file, MAX_LOCK).map_err(|stop| {
        let first = stop.report.items().first().cloned();
        first.unwrap_or_else(|| Diagnostic::new(Code::ShareIndex, format!("`{}` cannot be read", shown(file))))
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("`{}` is not valid UTF-8", shown(file));
        Diagnostic::new(Code::ShareIndex, message).help("restore the file from your version control, or install the packs again")
    })?;
    PackLock::read(&shown(file), &text).map(Some)
}

/// What is wrong with one pack.
fn complaint(file: &Path, folder: &Path, name: &str, digest: Option<&str>, is_own: bool) -> Option<Diagnostic> {
    let told = |what: &str, help: String| {
        let message = format!("`{}` {what} `{}`", shown(folder), shown(file));
        Some(Diagnostic::new(Code::ShareDigest, message).help(help))
    };
    match digest {
        Some(digest) if digest_of(folder).is_ok_and(|own| own.as_deref() == Some(digest)) => None,
        Some(_) => told("has other files than those in", "restore it, or remove the folder and run `tapster install --locked`".to_owned()),
        None if is_own || is_shipped(folder, name) => None,
        None => told("is not in", format!("install `{name}` with `tapster install`, which writes the lock")),
    }
}

/// Whether a folder holds just the pack that comes with the program.
pub(crate) fn is_shipped(folder: &Path, name: &str) -> bool {
    let Some(own) = shipped(name) else { return false };
    read_folder(folder, &mut Report::default()).is_some_and(|found| library::is_shipped(&found, &own))
}
