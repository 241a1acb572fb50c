//! Putting packs into their folder: all of them or none, and never half of one.
//!
//! Everything is written to a hidden folder beside, checked there, and then renamed into its place.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, Sources};
use crate::pack::{Ruleset, Start};
use crate::share::{self, signature};

use crate::cli::inputs::library::shelf;
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};

use super::shelf::{Home, State, shipped};
use super::sources::Brought;

/// A hidden folder that goes away with its owner, with the folders that were made for it and have stayed empty.
struct Beside {
    folder: PathBuf,
    /// The folders above it that did not exist, the innermost first.
    made: Vec<PathBuf>,
}

impl Beside {
    fn of(home: &Home) -> Self {
        let above = home.folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = above.map(Path::to_owned).collect();
        Self { folder: home.folder.join(format!(".tapster-{}", std::process::id())), made }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // what cannot be removed is hidden, and no pack is read from it
        let _ = std::fs::remove_dir_all(&self.folder);
        for folder in &self.made {
            // this removes empty folders only: one with a pack in it stays
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Stop {
    let message = format!("`{}` cannot be written: {error}", path.display());
    Stop::could_not(Code::FileMissing, message, "check the folder and its permissions")
}

/// Refuses packs whose names are taken, unless they are to replace what is there; removes those that are there already
/// from the list.
pub(super) fn free(home: &Home, packs: &mut Vec<Brought>, replace: bool) -> Result<Vec<String>, Stop> {
    let (mut there, mut fault) = (Vec::new(), None);
    packs.retain(|pack| {
        let name = &pack.manifest.name;
        let same = home.lock.get(name).is_some_and(|locked| locked.digest == pack.locked.digest);
        if same && home.state(name).is_ok_and(|state| state == State::Locked) {
            there.push(format!("{name} {}", pack.manifest.release));
            return false;
        }
        if !replace && fault.is_none() {
            fault = taken(home, name);
        }
        true
    });
    match fault {
        Some(complaint) => Err(Stop::new(Exit::No, complaint)),
        None => Ok(there),
    }
}

/// Why a pack cannot have its name.
fn taken(home: &Home, name: &str) -> Option<Diagnostic> {
    if let Some(folder) = home.taken(name) {
        let message = format!("`{name}` is there already: `{}`", folder.display());
        let help = format!("`tapster update {name}` takes a newer release, `tapster remove {name}` removes it; `--replace` replaces it");
        return Some(Diagnostic::new(Code::ShareTaken, message).help(help));
    }
    // a pack of this name was installed before, on purpose
    if home.lock.get(name).is_some() {
        return None;
    }
    shipped(name)?;
    let message =
        format!("`{name}` is the name of a pack that is shipped with the program, and would stand in its place for all that extend it");
    Some(Diagnostic::new(Code::ShareTaken, message).help("do not install it, unless you want just that: `--replace`"))
}

/// Refuses a pack that is not signed by the key of the release that is installed, or was when it was locked.
pub(super) fn same_signer(home: &Home, pack: &Brought) -> Result<(), Stop> {
    let name = &pack.manifest.name;
    let Some(before) = home.lock.get(name).and_then(|row| row.signed_by.as_ref()) else { return Ok(()) };
    if pack.locked.signed_by.as_ref() == Some(before) {
        return Ok(());
    }
    let by = pack.signer.as_ref().map_or_else(|| "not signed by a trusted key".to_owned(), |who| format!("signed by {who}"));
    let (release, key) = (&pack.manifest.release, signature::key_id(before));
    let message = format!("`{name}` {release} is {by}, but the installed release is signed by key {key}");
    let help = "ask whoever made the pack; if it is right, install it with `tapster install --replace --allow-other-signer`";
    Err(Stop::new(Exit::No, Diagnostic::new(Code::ShareSignature, message).help(help)))
}

/// Installs packs, and writes the lock. A folder that is there is thrown away only if it is as it was installed, or if
/// `replaces` says so for the pack.
pub(super) fn put(home: &mut Home, packs: Vec<Brought>, replaces: &dyn Fn(&str) -> bool, show: &mut Show<'_, '_>) -> Result<(), Stop> {
    for name in packs.iter().map(|pack| pack.manifest.name.as_str()).filter(|name| !replaces(name)) {
        if home.state(name)? != State::Locked
            && let Some(complaint) = taken(home, name)
        {
            return Err(Stop::new(Exit::No, complaint));
        }
    }
    if packs.is_empty() {
        return Ok(());
    }
    let beside = Beside::of(home);
    let (new, old) = (beside.folder.join("new"), beside.folder.join("old"));
    // what a run that was killed has left
    let _ = std::fs::remove_dir_all(&beside.folder);
    for folder in [&new, &old] {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    for pack in &packs {
        let folder = new.join(&pack.manifest.name);
        for (path, bytes) in &pack.files {
            let path = folder.join(path);
            let parent = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
            std::fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
        }
    }
    let mut library = shelf(show);
    library.folders.insert(0, home.folder.clone());
    for pack in &packs {
        // packs beside it are found first, so that all new ones are checked together
        let start = Start::Folder(new.join(&pack.manifest.name));
        if let Err(rejected) = Ruleset::load(&start, &[], &library) {
            let mut stop = Stop::rejected(rejected);
            let message = format!("`{}` {} is not installed, because it has mistakes", pack.manifest.name, pack.manifest.release);
            stop.report.push(Diagnostic::new(Code::ShareArchive, message).help("tell whoever made it, or take another release"));
            return Err(stop);
        }
    }
    let mut done: Vec<(PathBuf, Option<PathBuf>)> = Vec::new();
    for pack in &packs {
        let name = &pack.manifest.name;
        let there = home.taken(name);
        let place = home.folder.join(name);
        let moved = match &there {
            Some(there) => std::fs::rename(there, old.join(name)).map(|()| Some(there.clone())),
            None => Ok(None),
        };
        let result = moved.and_then(|moved| {
            let placed = std::fs::rename(new.join(name), &place);
            done.push((place.clone(), moved));
            placed
        });
        if let Err(error) = result {
            back(&done, &old);
            return Err(failed(&place, &error));
        }
    }
    let before = home.lock.clone();
    packs.iter().for_each(|pack| home.lock.put(pack.locked.clone()));
    if let Err(stop) = home.write_lock() {
        home.lock = before;
        back(&done, &old);
        return Err(stop);
    }
    for pack in &packs {
        let remarks = pack.remark.clone().into_iter().collect();
        show.report(&remarks, &Sources::default());
    }
    Ok(())
}

/// Puts back what was there. Errors are of no use to anyone: the first one is told.
fn back(done: &[(PathBuf, Option<PathBuf>)], old: &Path) {
    for (place, moved) in done.iter().rev() {
        let _ = std::fs::remove_dir_all(place);
        if let (Some(there), Some(name)) = (moved, place.file_name()) {
            let _ = std::fs::rename(old.join(name), there);
        }
    }
}

/// Removes the folder of a pack: it is renamed first, so that it is never there by half.
pub(super) fn discard(home: &Home, name: &str) -> Result<(), Stop> {
    let folder = home.folder.join(name);
    let kind = std::fs::symlink_metadata(&folder);
    if kind.as_ref().is_ok_and(std::fs::Metadata::is_symlink) {
        // the link goes, and what it leads to stays
        return std::fs::remove_file(&folder).map_err(|error| failed(&folder, &error));
    }
    if kind.is_err() {
        return Ok(());
    }
    let beside = Beside::of(home);
    std::fs::create_dir_all(&beside.folder).map_err(|error| failed(&beside.folder, &error))?;
    std::fs::rename(&folder, beside.folder.join(name)).map_err(|error| failed(&folder, &error))
}

/// What is said of a pack that was installed.
pub(super) fn line(verb: &str, pack: &Brought, home: &Home) -> String {
    let scripts = pack.files.iter().filter(|(path, _)| path.ends_with(".rhai")).count();
    let with = match scripts {
        0 => String::new(),
        1 => ", with a script".to_owned(),
        n => format!(", with {n} scripts"),
    };
    let signed = pack.signer.as_ref().map(|who| format!(", signed by {who}")).unwrap_or_default();
    let folder = home.folder.join(&pack.manifest.name);
    let about = share::shown(&pack.manifest.about);
    let about = if about.is_empty() { String::new() } else { format!(": {about}") };
    format!("{verb} {} {} in {}{signed}{with}{about}\n", pack.manifest.name, pack.manifest.release, folder.display())
}
