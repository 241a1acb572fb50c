//! Files of packs as the editor sees them: the texts of open documents stand in the place of those on disk.

use std::path::{Component, Path, PathBuf};

use tapster::diag::Report;
use tapster::machinery::pack::files::{read_file, read_folder, shown};
use tapster::machinery::pack::library::find_in;
use tapster::machinery::pack::{DocumentMemory, PackFiles, PackLibrary, PackShelf, RuleFile};

use crate::document::OpenDocuments;

/// Finds packs by name near a folder and among the shipped ones, with the texts of open documents.
pub(crate) struct EditedPacks<'d> {
    shelf: PackShelf,
    documents: &'d OpenDocuments,
}

impl<'d> EditedPacks<'d> {
    /// The packs of the named folders, those beside `near` and in `rules` there, and the shipped ones.
    pub(crate) fn new(named: &[PathBuf], near: Option<&Path>, documents: &'d OpenDocuments) -> Self {
        let beside: Vec<PathBuf> = near.into_iter().flat_map(|folder| [folder.to_owned(), folder.join("rules")]).collect();
        let folders = named.iter().chain(&beside).cloned().collect();
        Self { shelf: PackShelf { folders, near: beside, ..PackShelf::default() }, documents }
    }
}

impl PackLibrary for EditedPacks<'_> {
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles> {
        let found = self.shelf.folders.iter().find_map(|folder| find_in(folder, name, self, report));
        found.or_else(|| PackShelf::default().find(name, report))
    }

    fn names(&self) -> Vec<String> {
        self.shelf.names()
    }

    fn is_named(&self, folder: &Path) -> bool {
        self.shelf.is_named(folder)
    }

    fn read_folder(&self, folder: &Path, report: &mut Report) -> Option<PackFiles> {
        let mut files = read_folder(folder, report)?;
        for document in self.documents.iter() {
            let Some(path) = &document.path else { continue };
            let Some(inside) = path.strip_prefix(folder).ok().map(shown) else { continue };
            // what is hidden is no part of a pack
            if !inside.split('/').any(|part| part.starts_with('.')) {
                files.put(RuleFile { name: shown(path), path_in_pack: inside, bytes: document.text.as_bytes().to_vec() });
            }
        }
        Some(files)
    }

    fn memory(&self) -> Option<&DocumentMemory> {
        Some(&self.documents.memory)
    }

    fn read_file(&self, path: &Path, report: &mut Report) -> Option<RuleFile> {
        let Some(document) = self.documents.of_path(path) else { return read_file(path, report) };
        let path_in_pack = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Some(RuleFile { name: shown(path), path_in_pack, bytes: document.text.as_bytes().to_vec() })
    }
}

/// A path without the steps that lead back, so that an open document is found by it.
pub(crate) fn clean_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => _ = out.pop(),
            other => out.push(other),
        }
    }
    out
}
