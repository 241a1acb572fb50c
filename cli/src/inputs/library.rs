//! Where packs are searched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tapster_door::scene::find_readers;

use crate::diag::{Code, Diagnostic, Report, limits};
use crate::exit::{EarlyExit, Result};
use crate::inputs::checks::CheckFolder;
use crate::inputs::files::path_text;
use crate::inputs::pack_files::{digest_of, read_bounded};
use crate::model::{Pack, Value};
use crate::output::Console;
use crate::pack::files::{packs_in, parent, read_folder};
use crate::pack::library::{self, shipped, shipped_readers};
use crate::pack::{CheckMemory, DEFAULT_PACK, Overlay, PackShelf, Ruleset, Start};
use crate::share::index::LOCK_FILE;
use crate::share::{PackLock, ShareFault};

/// The help text of `--pack`, which names the shipped packs that read files of other programs.
pub(crate) fn pack_help() -> String {
    let readers: Vec<String> = shipped_readers().iter().map(|name| format!("`{name}`")).collect();
    format!(
        "The rules: a pack's folder or name [default: {DEFAULT_PACK}]. `{DEFAULT_PACK}` reads no cards, presets, lorebooks or chats of \
         other programs; {} does, and has all dialects of `{DEFAULT_PACK}` too",
        readers.join(" or ")
    )
}

/// The examples of a verb. `READER` is replaced by a shipped pack that reads files of other programs.
pub(crate) fn with_reader_name(text: &str) -> String {
    text.replace("READER", shipped_readers().first().map_or("PACK", String::as_str))
}

/// The packs of the library that recognise a document, as [`find_readers`] gives them.
pub(crate) fn readers(document: &Value, format: Option<&str>, show: &Console<'_>) -> Vec<(Ruleset, String)> {
    find_readers(&pack_shelf(show), document, format)
}

/// The library: the folders of `TAPSTER_PACKS`, then those beside the scene and the pack, then `./rules`, then the
/// shipped packs. A folder without packs is left out.
pub(crate) fn pack_shelf(show: &Console<'_>) -> PackShelf {
    let mut folders = named_folders(show);
    let mut near = Vec::new();
    for folder in show.near.iter().map(PathBuf::as_path).chain([Path::new("rules")]) {
        if folders.iter().any(|known| known == folder) {
            continue;
        }
        near.push(folder.to_owned());
        if !packs_in(folder).is_empty() {
            folders.push(folder.to_owned());
        }
    }
    PackShelf { folders, near, ..PackShelf::default() }
}

/// The folders of `TAPSTER_PACKS`.
pub(crate) fn named_folders(show: &Console<'_>) -> Vec<PathBuf> {
    let named = (show.io.env)("TAPSTER_PACKS").unwrap_or_default();
    std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Where the rule tests of a shipped pack are: the program does not hold them, to stay small.
pub(crate) fn shipped_cases(name: &str) -> String {
    let repository = env!("CARGO_PKG_REPOSITORY");
    format!(
        "the program does not hold the rule tests of its packs; those of `{name}` are at {repository}/tree/main/rules/{name}/cases, and \
         run once they lie in a folder `cases` of the pack's copy"
    )
}

/// The folders in which packs are searched because a scene lies there: the folder itself, and `rules` in it.
pub(crate) fn beside_scene(folder: &Path) -> [PathBuf; 2] {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    [folder.to_owned(), folder.join("rules")]
}

/// Loads and compiles a pack and shows its warnings.
pub(crate) fn open_pack(start: &Start, overlays: &[Overlay], show: &mut Console<'_>) -> Result<Ruleset> {
    let memory = CheckFolder::of(show);
    let memory = memory.as_ref().map(|memory| memory as &dyn CheckMemory);
    let rules = Ruleset::load_with_memory(start, overlays, &pack_shelf(show), memory).map_err(EarlyExit::rejected)?;
    show.report(&tapster_door::usage_warnings(&rules), &rules.pack().sources);
    Ok(rules)
}

/// The packs that are not what a lock says.
pub(crate) fn check_lock(pack: &Pack, start: &Start) -> Report {
    let mut locks: BTreeMap<PathBuf, Result<Option<PackLock>, ShareFault>> = BTreeMap::new();
    let mut report = Report::default();
    let packs: Vec<_> = pack.layers.iter().filter(|layer| !layer.overlay).collect();
    for layer in &packs {
        let Some((folder, around)) = layer.folder.as_ref().and_then(|folder| Some((folder, parent(folder)?))) else { continue };
        let file = around.join(LOCK_FILE);
        let read = locks.entry(around).or_insert_with(|| read_lock(&file));
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match read {
            Err(fault) => report.push((**fault).clone()),
            Ok(held) => {
                let row = held.as_ref().and_then(|held| held.get(&name));
                let is_own = matches!(start, Start::Folder(_)) && layer.name == pack.name;
                report.extend(
                    check_locked_pack(&file, folder, &layer.name, row.map(|row| row.digest.as_str()), is_own).into_iter().collect(),
                );
            }
        }
    }
    report
}

fn read_lock(file: &Path) -> Result<Option<PackLock>, ShareFault> {
    if !file.exists() {
        return Ok(None);
    }
    let bytes = read_bounded(file, limits::FILE_BYTES).map_err(|stop| {
        let first = stop.report.items().first().cloned();
        first.unwrap_or_else(|| Diagnostic::new(Code::ShareIndex, format!("`{}` cannot be read", path_text(file))))
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("`{}` is not valid UTF-8", path_text(file));
        Diagnostic::new(Code::ShareIndex, message).help("restore the file from your version control, or install the packs again")
    })?;
    PackLock::read(&path_text(file), &text).map(Some)
}

/// What is wrong with one pack.
fn check_locked_pack(file: &Path, folder: &Path, name: &str, digest: Option<&str>, is_own: bool) -> Option<Diagnostic> {
    let told = |what: &str, help: String| {
        let message = format!("`{}` {what} `{}`", path_text(folder), path_text(file));
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
