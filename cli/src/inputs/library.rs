//! Where packs are searched.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Report};
use crate::model::Value;
use crate::pack::files::packs_in;
use crate::pack::library::{recommended_formats, shipped_readers};
use crate::pack::{Overlay, PackLibrary, PackShelf, Ruleset, Start};

use crate::output::OutputStreams;
use crate::stop::EarlyExit;

/// The pack that is used if none is named.
pub(crate) const DEFAULT_PACK: &str = "base";

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
pub(crate) fn examples(text: &str) -> String {
    text.replace("READER", shipped_readers().first().map_or("PACK", String::as_str))
}

/// The packs of the library that recognise a document, each with the format that it recognises: those that are recommended
/// for it, those for most formats first, or all if none is, by name.
pub(crate) fn readers(document: &Value, format: Option<&str>, show: &OutputStreams<'_, '_>) -> Vec<(Ruleset, String)> {
    let shelf = shelf(show);
    let read = |name: String| {
        let files = shelf.find(&name, &mut Report::default())?.files;
        let recommended = recommended_formats(files.iter().map(|file| (&*file.path_in_pack, &*file.bytes)));
        let rules = Ruleset::load(&Start::Name(name), &[], &shelf).ok()?;
        let brought = tapster::import_document(&rules, format, document.clone()).ok()?;
        let rank = if recommended.contains(&brought.format) { recommended.len() } else { 0 };
        Some((rank, (rules, brought.format)))
    };
    let mut all: Vec<_> = shelf.names().into_iter().filter_map(read).collect();
    if all.iter().any(|(rank, _)| *rank > 0) {
        all.retain(|(rank, _)| *rank > 0);
    }
    all.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    all.into_iter().map(|(_, reader)| reader).collect()
}

/// The library: the folders of `TAPSTER_PACKS`, then those beside the scene and the pack, then `./rules`, then the
/// shipped packs. A folder without packs is left out.
pub(crate) fn shelf(show: &OutputStreams<'_, '_>) -> PackShelf {
    let mut folders = named(show);
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
pub(crate) fn named(show: &OutputStreams<'_, '_>) -> Vec<PathBuf> {
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
pub(crate) fn open(start: &Start, overlays: &[Overlay], show: &mut OutputStreams<'_, '_>) -> Result<Ruleset, EarlyExit> {
    let rules = Ruleset::load(start, overlays, &shelf(show)).map_err(EarlyExit::rejected)?;
    // advice to authors of templates and overlays is only shown by `check`
    let mut warnings = rules.warnings().clone();
    let is_advice =
        |code| matches!(code, Code::TemplateUnused | Code::TemplateBudget | Code::TemplateDoubtful | Code::LayerPatches | Code::LayerDrops);
    warnings.retain(|d| !d.code.known().is_some_and(is_advice));
    show.report(&warnings, &rules.pack().sources);
    Ok(rules)
}
