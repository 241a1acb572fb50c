//! Finds packs by name: in search folders, then among the shipped packs.
//!
//! Shipped packs are treated as all others: with the same files, checks and layering.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::files::{self, PackFiles, RuleFile};
use crate::diag::Report;
use crate::reading::KeyPlace;

static RULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/rules");

/// Something that finds packs by name.
pub trait Library {
    /// The files of the pack `name`, if the library has it. Diagnostics about its files go to the report.
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles>;

    /// The names of all packs of the library, for "did you mean".
    fn names(&self) -> Vec<String>;
}

/// The usual library: folders that hold packs by name, searched in order, then the shipped packs.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// Folders that hold pack folders.
    pub folders: Vec<PathBuf>,
    /// Whether the shipped packs are left out.
    pub bare: bool,
}

impl Library for Shelf {
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles> {
        let found = self.folders.iter().find_map(|folder| find_in(folder, name, report));
        found.or_else(|| if self.bare { None } else { shipped(name) })
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.folders.iter().flat_map(|f| files::packs_in(f)).collect();
        if !self.bare {
            names.extend(shipped_names());
        }
        names.sort();
        names.dedup();
        names
    }
}

/// The pack `name` inside `folder`. A name is one word, so it cannot lead to another folder.
pub(super) fn find_in(folder: &Path, name: &str, report: &mut Report) -> Option<PackFiles> {
    let path = folder.join(name);
    if !is_name(name) || !files::is_pack(&path) {
        return None;
    }
    files::read_folder(&path, report)
}

/// Whether a text can name a pack: letters, digits, `-`, `_`, `.`, and not only dots.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// The names of the shipped packs, sorted.
#[must_use]
pub fn shipped_names() -> Vec<String> {
    let mut names: Vec<String> = RULES.dirs().filter_map(|d| Some(d.path().file_name()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// The names of the shipped packs that say how files of other programs are read, those with most formats first; packs
/// that extend them can read the same files.
#[must_use]
pub fn shipped_readers() -> Vec<String> {
    // a format that makes another one is a conversion, and reads nothing into a scene
    let formats = |name: &String| {
        let files = shipped(name).map(|pack| pack.files).unwrap_or_default();
        let count = |file: &RuleFile| {
            let text = String::from_utf8_lossy(&file.bytes);
            let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
            lines("[[format]]").saturating_sub(lines("makes ="))
        };
        files.iter().map(count).sum::<usize>()
    };
    let mut readers: Vec<(usize, String)> = shipped_names().into_iter().map(|name| (formats(&name), name)).collect();
    readers.retain(|(count, _)| *count > 0);
    readers.sort_by(|(a, _), (b, _)| b.cmp(a));
    readers.into_iter().map(|(_, name)| name).collect()
}

/// Whether a shipped pack says this of where the key of a dialect goes. A pack of the library may have the name of a
/// shipped one, so it is the row that counts, not the name.
#[must_use]
pub fn is_shipped_key(dialect: &str, place: &KeyPlace) -> bool {
    let has = |row: &toml::Value| {
        let is = |key: &str, value: &str| row.get(key).and_then(toml::Value::as_str).unwrap_or_default().eq_ignore_ascii_case(value);
        let list = |key: &str| row.get(key).and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_str);
        row.get("name").and_then(toml::Value::as_str) == Some(dialect)
            && is("header", &place.header)
            && row.get("prefix").and_then(toml::Value::as_str).unwrap_or_default() == &*place.prefix
            && list("env").eq(place.env.iter().map(AsRef::as_ref))
            && list("origins").eq(place.origins.iter().map(AsRef::as_ref))
    };
    shipped_names().iter().filter_map(|name| shipped(name)).flat_map(|pack| pack.files).any(|file| {
        let text = String::from_utf8_lossy(&file.bytes);
        let document = text.contains("[[key]]").then(|| toml::from_str::<toml::Table>(&text).ok()).flatten();
        let rows = document.as_ref().and_then(|document| document.get("key")).and_then(toml::Value::as_array);
        rows.is_some_and(|rows| rows.iter().any(has))
    })
}

/// A shipped pack by name.
#[must_use]
pub fn shipped(name: &str) -> Option<PackFiles> {
    let dir = RULES.dirs().find(|d| d.path().to_str() == Some(name))?;
    let mut pack = PackFiles { name: name.to_owned(), ..PackFiles::default() };
    let mut open = vec![dir];
    while let Some(dir) = open.pop() {
        open.extend(dir.dirs());
        for file in dir.files() {
            let path = file.path().to_string_lossy().replace('\\', "/");
            let inner = path.strip_prefix(&format!("{name}/")).unwrap_or(&path).to_owned();
            pack.sort_in(RuleFile { name: format!("rules/{path}"), path_in_pack: inner, bytes: file.contents().to_vec() });
        }
    }
    pack.sort();
    Some(pack)
}
