//! The folder in which packs are installed: what is in it, and the lock that says what should be.

use std::ffi::OsStr;
use std::io::{ErrorKind, Result as Done};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::diag::{Code, Diagnostic, DiagnosticCode, limits};
use crate::exit::{EarlyExit, Result};
use crate::inputs::files::{FileLock, refuse_link, unwritable};
use crate::inputs::pack_files::{digest_of, files_of, read_bounded, share_failure};
use crate::output::Console;
use crate::pack::files::{is_pack, packs_in};
use crate::pack::library::{files_of_shipped, shipped_names};
use crate::share::archive::folded;
use crate::share::index::LOCK_FILE;
use crate::share::{self, ManifestHeader, PackFile, PackLock};
use crate::store::disk::{self, FileReaders, LETTERS, UNFINISHED};

/// Where packs are installed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InstallFolderArgs {
    /// The folder of installed packs [default: the first one of `TAPSTER_PACKS`, else `rules`].
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// A pack in the folder.
pub(super) struct InstalledPack {
    pub(super) folder: PathBuf,
    pub(super) manifest: ManifestHeader,
}

/// The folder with its lock.
pub(super) struct PackFolder {
    pub(super) folder: PathBuf,
    pub(super) lock: PackLock,
    /// Those that can be read, by the names of their folders.
    pub(super) packs: Vec<InstalledPack>,
    hold: FolderHold,
}

/// How an installed pack stands to the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstallState {
    /// It is what was installed.
    Locked,
    /// Its files were changed since.
    Changed,
    /// It is in the folder and not in the lock.
    Unlocked,
    /// It is in the lock and not in the folder.
    Missing,
}

impl InstallState {
    pub(super) fn text(self) -> &'static str {
        match self {
            InstallState::Locked => "as installed",
            InstallState::Changed => "changed",
            InstallState::Unlocked => "not in the lock",
            InstallState::Missing => "missing",
        }
    }
}

impl InstallFolderArgs {
    /// The folder, to change it; it need not exist.
    pub(super) fn open(&self, show: &mut Console<'_>) -> Result<PackFolder> {
        let folder = self.folder(show)?;
        let hold = FolderHold::to_change(&folder, show)?;
        PackFolder::of(folder, hold)
    }

    /// The folder as it is now, to look at it; it need not exist.
    pub(super) fn look(&self, show: &mut Console<'_>) -> Result<PackFolder> {
        let folder = self.folder(show)?;
        let hold = FolderHold::to_read(&folder, show)?;
        PackFolder::of(folder, hold)
    }

    fn folder(&self, show: &Console<'_>) -> Result<PathBuf> {
        let named = (show.io.env)("TAPSTER_PACKS").unwrap_or_default();
        let first = std::env::split_paths(&named).find(|path| !path.as_os_str().is_empty());
        let folder = self.to.clone().or(first).unwrap_or_else(|| PathBuf::from("rules"));
        if folder.exists() && !folder.is_dir() {
            let message = format!("`{}` is not a folder", folder.display());
            return Err(EarlyExit::could_not(Code::FileMissing, message, "name a folder with `--to DIR`"));
        }
        Ok(folder)
    }
}

impl PackFolder {
    fn of(folder: PathBuf, hold: FolderHold) -> Result<Self> {
        let file = folder.join(LOCK_FILE);
        let mut held = PackLock::default();
        if file.exists() {
            let shown = file.display().to_string();
            let text = String::from_utf8(read_bounded(&file, limits::FILE_BYTES)?).unwrap_or_default();
            held = PackLock::read(&shown, &text).map_err(share_failure)?;
        }
        let mut packs = Vec::new();
        for name in packs_in(&folder).into_iter().filter(|name| !name.starts_with('.')) {
            let at = folder.join(&name);
            let manifests: Vec<PackFile> = ["pack.toml", "pack.json"]
                .into_iter()
                .filter(|file| at.join(file).is_file())
                .filter_map(|file| Some((file.to_owned(), read_bounded(&at.join(file), limits::FILE_BYTES).ok()?)))
                .collect();
            // a pack that cannot be read is not one that others can stand on; `check` says what is wrong with it
            if let Ok(manifest) = ManifestHeader::of(&at.display().to_string(), &manifests) {
                packs.push(InstalledPack { folder: at, manifest });
            }
        }
        Ok(Self { folder, lock: held, packs, hold })
    }

    /// Begins a change of the folder.
    pub(super) fn stage(&self) -> Result<StagedChange<'_>> {
        self.hold.stage()
    }

    /// The folder of a pack of this name, also where only the case of its letters differs.
    pub(super) fn taken(&self, name: &str) -> Option<PathBuf> {
        let wanted = folded(name);
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|e| e.path()).find(|path| path.file_name().is_some_and(|n| folded(&n.to_string_lossy()) == wanted))
    }

    /// The installed pack of this name.
    pub(super) fn get(&self, name: &str) -> Option<&InstalledPack> {
        self.packs.iter().find(|pack| pack.manifest.name == name)
    }

    /// How the pack of this name stands to the lock.
    pub(super) fn state(&self, name: &str) -> Result<InstallState> {
        let folder = self.folder.join(name);
        Ok(match (self.lock.get(name), is_pack(&folder)) {
            (Some(locked), true) if digest_of(&folder).is_ok_and(|digest| digest.as_ref() == Some(&locked.digest)) => InstallState::Locked,
            (Some(_), true) => InstallState::Changed,
            (None, _) => InstallState::Unlocked,
            (Some(_), false) => InstallState::Missing,
        })
    }

    /// The names of all packs in the folder and in the lock, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let there = self.packs.iter().filter_map(|pack| Some(pack.folder.file_name()?.to_string_lossy().into_owned()));
        let mut names: Vec<String> = there.chain(self.lock.packs.iter().map(|pack| pack.name.clone())).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The installed packs that extend this one.
    pub(super) fn above(&self, name: &str) -> Vec<&InstalledPack> {
        self.packs.iter().filter(|pack| pack.manifest.extends.iter().any(|need| need.name == name)).collect()
    }

    /// Removes packs, or the links in their places, and their rows of the lock.
    pub(super) fn discard(&mut self, names: &[String]) -> Result<()> {
        let mut lock = self.lock.clone();
        names.iter().for_each(|name| lock.remove(name));
        self.stage()?.commit(Vec::new(), names.to_vec(), lock.write())?;
        self.lock = lock;
        Ok(())
    }
}

/// The manifest of a shipped pack.
pub(super) fn shipped(name: &str) -> Option<ManifestHeader> {
    if !shipped_names().iter().any(|known| known == name) {
        return None;
    }
    let manifest = files_of_shipped(name).filter(|(path, _)| *path == "pack.toml").map(|(path, bytes)| (path.to_owned(), bytes.to_vec()));
    ManifestHeader::of(name, &manifest.collect::<Vec<_>>()).ok()
}

/// The files of a pack in a folder, with the archive that they make.
pub(super) fn packed(folder: &Path) -> Result<Vec<u8>> {
    let (files, _) = files_of(folder)?;
    share::pack(files).map_err(share_failure)
}

/// The file whose lock the folder has while it is read or changed.
const LOCK: &str = ".tapster.lock~";
/// The hidden folder of a change. Its name begins like those of all files that are not finished.
const STAGE: &str = ".tapster-change";
const JOURNAL: &str = "journal.json";

/// What is moved, by the names of entries of the folder.
#[derive(Debug, Serialize, Deserialize)]
struct MoveJournal {
    /// These come from `new` to their places.
    put: Vec<String>,
    /// These go away.
    gone: Vec<String>,
    /// The text of `tapster.lock` afterwards, empty if nothing is locked. Without it, everything is moved back.
    lock: Option<String>,
}

/// The folder of installed packs, which no other process reads or changes as long as this is there.
pub(super) struct FolderHold {
    folder: PathBuf,
    /// `None` while a folder is read that does not exist or cannot be written.
    lock: Option<FileLock>,
    /// The folders that did not exist, the innermost first. They go away again if they stay empty.
    made: Vec<PathBuf>,
}

impl FolderHold {
    /// Takes the folder, which is made if it does not exist, and finishes what a killed process has begun there.
    pub(super) fn to_change(folder: &Path, show: &mut Console<'_>) -> Result<Self> {
        let above = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let mut hold = Self { folder: folder.to_owned(), lock: None, made: above.map(Path::to_owned).collect() };
        hold.lock = Some(hold.locked(show).map_err(|error| unwritable(folder, &error))?);
        settle(folder)?;
        Ok(hold)
    }

    /// Takes the folder to read it. One that does not exist or cannot be written is read as it is.
    pub(super) fn to_read(folder: &Path, show: &mut Console<'_>) -> Result<Self> {
        let mut hold = Self { folder: folder.to_owned(), lock: None, made: Vec::new() };
        if !folder.is_dir() {
            return Ok(hold);
        }
        match hold.locked(show) {
            Ok(lock) => hold.lock = Some(lock),
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => return Ok(hold),
            Err(error) => return Err(unwritable(folder, &error)),
        }
        settle(folder)?;
        Ok(hold)
    }

    fn locked(&self, show: &mut Console<'_>) -> Done<FileLock> {
        let file = self.folder.join(LOCK);
        let made = || std::fs::create_dir_all(&self.folder);
        made()?;
        if let Some(lock) = FileLock::try_take(&file)? {
            return Ok(lock);
        }
        let message = format!("another process changes `{}`; this one waits until it is done", self.folder.display());
        show.note(Diagnostic::note(DiagnosticCode::Known(Code::ShareBusy), message));
        loop {
            // one that was refused takes the folder away again that it has made
            made()?;
            match FileLock::wait(&file) {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins a change.
    pub(super) fn stage(&self) -> Result<StagedChange<'_>> {
        let stage = StagedChange { folder: &self.folder, path: self.folder.join(STAGE) };
        // the folder is new, so that no link in it leads elsewhere
        for folder in [&stage.path, &stage.new_packs(), &stage.path.join("old")] {
            std::fs::create_dir(folder).map_err(|error| unwritable(folder, &error))?;
        }
        Ok(stage)
    }
}

impl Drop for FolderHold {
    fn drop(&mut self) {
        self.lock = None;
        for folder in &self.made {
            // this removes empty folders only: one with a pack in it stays
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// A change that is being prepared: dropped, it leaves everything as it was.
pub(super) struct StagedChange<'h> {
    folder: &'h Path,
    path: PathBuf,
}

impl StagedChange<'_> {
    /// Where the new packs are written.
    pub(super) fn new_packs(&self) -> PathBuf {
        self.path.join("new")
    }

    /// Puts new packs into the folder, removes these entries, and writes the lock: all of it or nothing.
    pub(super) fn commit(self, put: Vec<String>, gone: Vec<String>, lock: String) -> Result<()> {
        refuse_link(&self.folder.join(LOCK_FILE))?;
        let mut journal = MoveJournal { put, gone, lock: Some(lock) };
        journal.write(&self.path).map_err(|error| unwritable(&self.path, &error))?;
        let moved = journal.finish(self.folder, &self.path);
        if moved.is_err() {
            journal.lock = None;
            // what cannot be moved back now is moved back by the next one; the first error is told
            let _ = journal.write(&self.path).and_then(|()| journal.finish(self.folder, &self.path));
        }
        moved.map_err(|error| unwritable(self.folder, &error))
    }
}

impl Drop for StagedChange<'_> {
    fn drop(&mut self) {
        // with a journal it is the only place where some packs are
        if !exists(&self.path.join(JOURNAL)) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl MoveJournal {
    fn write(&self, stage: &Path) -> Done<()> {
        disk::replace(&stage.join(JOURNAL), serde_json::to_string(self)?.as_bytes(), FileReaders::Owner)
    }

    /// The journal of a change that was not finished.
    fn read(stage: &Path) -> Result<Option<Self>> {
        let file = stage.join(JOURNAL);
        // we make folders and a file: a link in the place of one is a stranger's, and would lead elsewhere
        let folders = [stage.to_owned(), stage.join("new"), stage.join("old")];
        let ours = folders.iter().all(|folder| folder.symlink_metadata().is_ok_and(|about| about.is_dir()));
        if !ours || !file.symlink_metadata().is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        let journal: Option<Self> = serde_json::from_slice(&read_bounded(&file, 4 * limits::FILE_BYTES)?).ok();
        let is_entry = |name: &String| Path::new(name).file_name() == Some(OsStr::new(name));
        match journal.filter(|journal| journal.put.iter().chain(&journal.gone).all(is_entry)) {
            Some(journal) => Ok(Some(journal)),
            None => {
                let message = format!("`{}` does not say how an interrupted change is to be finished", file.display());
                let help = format!("remove `{}`, and run `tapster list --locked` to see what is missing", stage.display());
                Err(EarlyExit::could_not(Code::ShareIndex, message, help))
            }
        }
    }

    /// Moves what has not been moved yet, forwards or back.
    fn finish(&self, folder: &Path, stage: &Path) -> Done<()> {
        let (new, old) = (stage.join("new"), stage.join("old"));
        let Some(lock) = &self.lock else {
            for name in self.put.iter().rev() {
                shift(&folder.join(name), &new.join(name))?;
            }
            for name in self.put.iter().chain(&self.gone) {
                shift(&old.join(name), &folder.join(name))?;
            }
            self.end(stage);
            return Ok(());
        };
        for name in &self.gone {
            shift(&folder.join(name), &old.join(name))?;
        }
        for name in self.put.iter().filter(|name| exists(&new.join(name))) {
            shift(&folder.join(name), &old.join(name))?;
            // somebody has put it back by hand
            if exists(&folder.join(name)) {
                shift(&folder.join(name), &stage.join(format!("put-back-{name}")))?;
            }
            std::fs::rename(new.join(name), folder.join(name))?;
        }
        let file = folder.join(LOCK_FILE);
        if !lock.is_empty() {
            disk::replace(&file, lock.as_bytes(), FileReaders::Usual)?;
        } else if exists(&file) {
            std::fs::remove_file(&file)?;
        }
        self.end(stage);
        Ok(())
    }

    /// Removes the journal. If it stays, the next one finds everything moved already.
    fn end(&self, stage: &Path) {
        let _ = std::fs::remove_file(stage.join(JOURNAL));
    }
}

/// Finishes a change in whose middle a process was killed, and removes what it has left.
fn settle(folder: &Path) -> Result<()> {
    let stage = folder.join(STAGE);
    if let Some(journal) = MoveJournal::read(&stage)? {
        journal.finish(folder, &stage).map_err(|error| unwritable(folder, &error))?;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // what cannot be removed is hidden, and no pack is read from it
        let _ = match name == STAGE {
            true if is_folder => std::fs::remove_dir_all(entry.path()),
            true => std::fs::remove_file(entry.path()),
            false if !is_folder && is_unfinished(&name) => std::fs::remove_file(entry.path()),
            false => Ok(()),
        };
    }
    Ok(())
}

/// Whether a file has such a name as unfinished ones get.
fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.strip_prefix(UNFINISHED).is_some_and(|rest| rest.len() == LETTERS && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Moves an entry, unless it is not there or has been moved before.
fn shift(from: &Path, to: &Path) -> Done<()> {
    if exists(from) && !exists(to) { std::fs::rename(from, to) } else { Ok(()) }
}

/// Whether there is something of this name, also if it is a link to nothing.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
