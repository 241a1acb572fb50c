//! The folders below which the lines of `serve` may name files: whoever writes a line need not be the one who started it.

use std::path::{Component, Path, PathBuf};

use crate::diag::{Code, Diagnostic};
use crate::inputs::library;
use crate::inputs::parts::BuildParts;
use crate::output::OutputStreams;
use crate::pack::Start;
use crate::pack::files::is_pack;
use crate::stop::{EarlyExit, RunExit};

/// Folders by their real paths.
pub(super) struct RealFolders {
    /// For all files.
    all: Vec<PathBuf>,
    /// For packs: the folders of `TAPSTER_PACKS`.
    packs: Vec<PathBuf>,
}

impl RealFolders {
    /// The working folder, and those that are allowed besides.
    pub(super) fn new(allowed: &[PathBuf], show: &OutputStreams<'_, '_>) -> Result<Self, EarlyExit> {
        let here = [PathBuf::from(".")];
        let real = |folder: &PathBuf| {
            folder.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
                let message = format!("`{}` is not a folder", folder.display());
                EarlyExit::could_not(Code::FileMissing, message, "name a folder that exists")
            })
        };
        let all = here.iter().chain(allowed).map(real).collect::<Result<_, _>>()?;
        Ok(Self { all, packs: library::named(show).iter().filter_map(|folder| folder.canonicalize().ok()).collect() })
    }

    /// Refuses the parts of a scene if a path of them leads out of the folders.
    pub(super) fn check(&self, parts: &BuildParts, show: &OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let packs = match &parts.pack {
            Some(Start::Folder(folder)) => vec![folder.clone()],
            Some(Start::Name(name)) => library::shelf(show).folders.iter().map(|folder| folder.join(name)).filter(|f| is_pack(f)).collect(),
            _ => Vec::new(),
        };
        let is_below =
            |path: &Path, folders: &[PathBuf]| real(path).is_some_and(|real| folders.iter().any(|folder| real.starts_with(folder)));
        let lost = |path: &&PathBuf| !(is_below(path, &self.all) || packs.contains(path) && is_below(path, &self.packs));
        let files = parts.paths();
        let Some(path) = files.iter().chain(&packs).find(lost) else { return Ok(()) };
        let message = format!("`{}` does not lie below a folder that lines may read", path.display());
        let help = "start `tapster serve` in the folder of the files, or with `--allow FOLDER`";
        Err(EarlyExit::new(RunExit::No, Diagnostic::error(Code::FileOutside, message).help(help)))
    }
}

/// Where a path leads when links are followed, also if its last parts do not exist. `None` if that cannot be said.
fn real(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    whole.ancestors().find_map(|there| {
        let rest = whole.strip_prefix(there).ok()?;
        let real = there.canonicalize().ok()?;
        rest.components().all(|part| matches!(part, Component::Normal(_))).then(|| real.join(rest))
    })
}
