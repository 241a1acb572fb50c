//! The folder in which packs are installed: what is in it, and the lock that says what should be.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::diag::Code;
use crate::pack::files::{is_pack, packs_in};
use crate::pack::library::{files_of_shipped, shipped_names};
use crate::share::archive::folded;
use crate::share::index::{LOCK_FILE, MAX_LOCK};
use crate::share::{self, ManifestHeader, PackFile, PackLock};

use crate::inputs::shared::{bounded, digest_of, files_of, refused};
use crate::output::OutputStreams;
use crate::stop::EarlyExit;

use super::journal::{FolderHold, StagedChange};

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
    pub(super) fn open(&self, show: &mut OutputStreams<'_, '_>) -> Result<PackFolder, EarlyExit> {
        let folder = self.folder(show)?;
        let hold = FolderHold::to_change(&folder, show)?;
        PackFolder::of(folder, hold)
    }

    /// The folder as it is now, to look at it; it need not exist.
    pub(super) fn look(&self, show: &mut OutputStreams<'_, '_>) -> Result<PackFolder, EarlyExit> {
        let folder = self.folder(show)?;
        let hold = FolderHold::to_read(&folder, show)?;
        PackFolder::of(folder, hold)
    }

    fn folder(&self, show: &OutputStreams<'_, '_>) -> Result<PathBuf, EarlyExit> {
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
    fn of(folder: PathBuf, hold: FolderHold) -> Result<Self, EarlyExit> {
        let file = folder.join(LOCK_FILE);
        let mut held = PackLock::default();
        if file.exists() {
            let shown = file.display().to_string();
            let text = String::from_utf8(bounded(&file, MAX_LOCK)?).unwrap_or_default();
            held = PackLock::read(&shown, &text).map_err(refused)?;
        }
        let mut packs = Vec::new();
        for name in packs_in(&folder).into_iter().filter(|name| !name.starts_with('.')) {
            let at = folder.join(&name);
            let manifests: Vec<PackFile> = ["pack.toml", "pack.json"]
                .into_iter()
                .filter(|file| at.join(file).is_file())
                .filter_map(|file| Some((file.to_owned(), bounded(&at.join(file), share::archive::MAX_FILE).ok()?)))
                .collect();
            // a pack that cannot be read is not one that others can stand on; `check` says what is wrong with it
            if let Ok(manifest) = ManifestHeader::of(&at.display().to_string(), &manifests) {
                packs.push(InstalledPack { folder: at, manifest });
            }
        }
        Ok(Self { folder, lock: held, packs, hold })
    }

    /// Begins a change of the folder.
    pub(super) fn stage(&self) -> Result<StagedChange<'_>, EarlyExit> {
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
    pub(super) fn state(&self, name: &str) -> Result<InstallState, EarlyExit> {
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
pub(super) fn packed(folder: &Path) -> Result<Vec<u8>, EarlyExit> {
    let (files, _) = files_of(folder)?;
    share::pack(files).map_err(refused)
}
