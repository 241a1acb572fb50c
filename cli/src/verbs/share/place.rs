//! Putting packs into their folder: all of them or none, and never half of one.
//!
//! Everything is written to a hidden folder inside, checked there, and then moved into its place (`journal`).

use std::path::Path;

use crate::diag::{Code, Diagnostic, Sources};
use crate::pack::{Ruleset, Start};
use crate::share::{self, PackFile, signature};

use crate::inputs::library::shelf;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::journal::failed;
use super::shelf::{InstallState, PackFolder, shipped};
use super::sources::IncomingPack;

/// Refuses packs whose names are taken, unless they are to replace what is there; removes those that are there already
/// from the list.
pub(super) fn free(home: &PackFolder, packs: &mut Vec<IncomingPack>, replaces: &dyn Fn(&str) -> bool) -> Result<Vec<String>, EarlyExit> {
    let (mut there, mut fault) = (Vec::new(), None);
    packs.retain(|pack| {
        let name = &pack.manifest.name;
        let same = home.lock.get(name).filter(|locked| locked.digest == pack.locked.digest);
        if let Some(row) = same.filter(|_| home.state(name).is_ok_and(|state| state == InstallState::Locked)) {
            // a signature that is verified only now is put into the lock
            let is_whole = row.signed_by.is_some() || pack.locked.signed_by.is_none();
            there.extend(is_whole.then(|| format!("{name} {}", pack.manifest.release)));
            return !is_whole;
        }
        if !replaces(name) && fault.is_none() {
            fault = taken(home, name);
        }
        true
    });
    match fault {
        Some(complaint) => Err(EarlyExit::new(RunExit::No, complaint)),
        None => Ok(there),
    }
}

/// Why a pack cannot have its name.
fn taken(home: &PackFolder, name: &str) -> Option<Diagnostic> {
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
pub(super) fn same_signer(home: &PackFolder, pack: &IncomingPack) -> Result<(), EarlyExit> {
    let name = &pack.manifest.name;
    let Some(before) = home.lock.get(name).and_then(|row| row.signed_by.as_ref()) else { return Ok(()) };
    if pack.locked.signed_by.as_ref() == Some(before) {
        return Ok(());
    }
    let by = pack.signer.as_ref().map_or_else(|| "not signed by a trusted key".to_owned(), |who| format!("signed by {who}"));
    let (release, key) = (&pack.manifest.release, signature::key_id(before));
    let message = format!("`{name}` {release} is {by}, but the installed release is signed by key {key}");
    let help = "ask whoever made the pack; if it is right, install it with `tapster install --replace --allow-other-signer`";
    Err(EarlyExit::new(RunExit::No, Diagnostic::new(Code::ShareSignature, message).help(help)))
}

/// Installs packs, and writes the lock. A folder that is there is thrown away only if it is as it was installed, or if
/// `replaces` says so for the pack.
pub(super) fn put(
    home: &mut PackFolder,
    packs: Vec<IncomingPack>,
    replaces: &dyn Fn(&str) -> bool,
    show: &mut OutputStreams<'_, '_>,
) -> Result<(), EarlyExit> {
    for name in packs.iter().map(|pack| pack.manifest.name.as_str()).filter(|name| !replaces(name)) {
        if home.state(name)? != InstallState::Locked
            && let Some(complaint) = taken(home, name)
        {
            return Err(EarlyExit::new(RunExit::No, complaint));
        }
    }
    if packs.is_empty() {
        return Ok(());
    }
    let stage = home.stage()?;
    let new = stage.new_packs();
    for pack in &packs {
        write_new(&new.join(&pack.manifest.name), &pack.files)?;
    }
    let mut library = shelf(show);
    library.folders.insert(0, home.folder.clone());
    for pack in &packs {
        // packs beside it are found first, so that all new ones are checked together
        let start = Start::Folder(new.join(&pack.manifest.name));
        if let Err(rejected) = Ruleset::load(&start, &[], &library) {
            let mut stop = EarlyExit::rejected(rejected);
            let message = format!("`{}` {} is not installed, because it has mistakes", pack.manifest.name, pack.manifest.release);
            stop.report.push(Diagnostic::new(Code::ShareArchive, message).help("tell whoever made it, or take another release"));
            return Err(stop);
        }
    }
    let (mut lock, mut put, mut gone) = (home.lock.clone(), Vec::new(), Vec::new());
    for pack in &packs {
        let name = &pack.manifest.name;
        // what lies there may have the name in other letters
        let there = home.taken(name).and_then(|there| Some(there.file_name()?.to_string_lossy().into_owned()));
        if let Some(other) = there.filter(|there| there != name) {
            lock.remove(&other);
            gone.push(other);
        }
        lock.put(pack.locked.clone());
        put.push(name.clone());
    }
    stage.commit(put, gone, lock.write())?;
    home.lock = lock;
    for pack in &packs {
        let remarks = pack.remark.clone().into_iter().collect();
        show.report(&remarks, &Sources::default());
    }
    Ok(())
}

/// Writes the files of a pack into a new folder.
fn write_new(folder: &Path, files: &[PackFile]) -> Result<(), EarlyExit> {
    for (path, bytes) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
        std::fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// Removes packs, or the links in their places, and their rows of the lock.
pub(super) fn discard(home: &mut PackFolder, names: &[String]) -> Result<(), EarlyExit> {
    let mut lock = home.lock.clone();
    names.iter().for_each(|name| lock.remove(name));
    home.stage()?.commit(Vec::new(), names.to_vec(), lock.write())?;
    home.lock = lock;
    Ok(())
}

/// What is said of a pack that was installed.
pub(super) fn line(verb: &str, pack: &IncomingPack, home: &PackFolder) -> String {
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
