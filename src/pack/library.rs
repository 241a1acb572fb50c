//! Finds packs by name: in search folders, then among the shipped packs.
//!
//! Shipped packs are treated as all others, with the same files and layering. Only files that are embedded in the program are
//! not checked against their schemas again, and rule tests are not part of the library: they stay in the repository.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
#[cfg(rules_on_disk)]
use std::sync::LazyLock;
use std::sync::OnceLock;

#[cfg(not(rules_on_disk))]
use include_dir::{Dir, include_dir};

use super::DocumentMemory;
use super::files::{self, PackFiles, RuleFile};
use crate::diag::{Code, Diagnostic, Report};
use crate::reading::KeyPlace;

#[cfg(not(rules_on_disk))]
static RULES: Dir<'static> = include_dir!("$OUT_DIR/rules");
#[cfg(not(rules_on_disk))]
static TREES: Dir<'static> = include_dir!("$OUT_DIR/compact");

/// The file of a shipped pack that lists fields.
const FIELDS: &str = "fields.txt";

/// A file of a shipped pack: its path below the folder of all packs, and its contents.
type ShippedFile = (String, Cow<'static, [u8]>);

/// Every file of the shipped packs, by path.
fn shipped_files() -> &'static [ShippedFile] {
    static ALL: OnceLock<Vec<ShippedFile>> = OnceLock::new();
    ALL.get_or_init(|| {
        #[cfg(rules_on_disk)]
        let mut all = files::checkout(concat!(env!("CARGO_MANIFEST_DIR"), "/rules"), "cases");
        #[cfg(not(rules_on_disk))]
        let mut all = embedded(&RULES);
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    })
}

/// The trees of the shipped files that are embedded in the program, by path.
fn shipped_trees() -> &'static [ShippedFile] {
    static ALL: OnceLock<Vec<ShippedFile>> = OnceLock::new();
    ALL.get_or_init(|| {
        #[cfg(rules_on_disk)]
        let mut all = Vec::new();
        #[cfg(not(rules_on_disk))]
        let mut all = embedded(&TREES);
        all.sort_by(|(a, _): &ShippedFile, (b, _)| a.cmp(b));
        all
    })
}

fn find<'f>(files: &'f [ShippedFile], path: &str) -> Option<&'f [u8]> {
    let found = files.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()?;
    files.get(found).map(|(_, bytes)| &**bytes)
}

#[cfg(not(rules_on_disk))]
fn embedded(root: &'static Dir<'static>) -> Vec<ShippedFile> {
    let (mut open, mut all) = (vec![root], Vec::new());
    while let Some(dir) = open.pop() {
        open.extend(dir.dirs());
        all.extend(dir.files().map(|file| (file.path().to_string_lossy().replace('\\', "/"), Cow::Borrowed(file.contents()))));
    }
    all
}

/// Every file of one shipped pack, its README among them: the path inside the pack, and its contents.
pub fn files_of_shipped(name: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let inside = format!("{name}/");
    shipped_files().iter().filter_map(move |(path, bytes)| Some((path.strip_prefix(&inside)?, &**bytes)))
}

/// Whether a file of the pack `name` is embedded in the program as it is, so that tests have checked it.
pub(super) fn is_embedded(name: &str, file: &RuleFile) -> bool {
    cfg!(not(rules_on_disk)) && find(shipped_files(), &format!("{name}/{}", file.path_in_pack)) == Some(&file.bytes)
}

/// Whether all files of a pack are embedded in the program as they are, and no others.
pub(super) fn is_embedded_pack(pack: &PackFiles) -> bool {
    let own = || pack.files.iter().chain(pack.assets.values());
    let of_shipped = shipped(&pack.name).map_or(0, |shipped| shipped.files.len() + shipped.assets.len());
    own().count() == of_shipped && own().all(|file| is_embedded(&pack.name, file))
}

/// The names of fields that the rules of a shipped pack and of those it extends use without declaring them, one a line and
/// in the order in which they are compiled; a test writes them.
#[must_use]
pub fn fields_of_shipped(name: &str) -> &'static str {
    let fields = find(shipped_files(), &format!("{name}/{FIELDS}"));
    fields.and_then(|fields| str::from_utf8(fields).ok()).unwrap_or_default()
}

/// What [`compact`](super::compact) reads in place of a file, if it is embedded in the program as it is.
pub(super) fn embedded_tree(name: &str, file: &RuleFile) -> Option<&'static [u8]> {
    is_embedded(name, file).then(|| find(shipped_trees(), &format!("{name}/{}", file.path_in_pack))).flatten()
}

/// The pack that is used where none is named.
pub const DEFAULT_PACK: &str = "base";

/// How the places of shipped packs begin in messages.
pub const SHIPPED: &str = "rules/";

/// Something that finds packs by name.
pub trait PackLibrary {
    /// The files of the pack `name`, if the library has it. Diagnostics about its files go to the report.
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles>;

    /// The names of all packs of the library, for "did you mean".
    fn names(&self) -> Vec<String>;

    /// Whether somebody has named a folder of packs. In any other one, a pack that has the name of a shipped pack and other
    /// rules is warned of.
    fn is_named(&self, _folder: &Path) -> bool {
        true
    }

    /// The files in the folder of a pack. A library that holds newer texts than the disk, as an editor does, gives those.
    fn read_folder(&self, folder: &Path, report: &mut Report) -> Option<PackFiles> {
        files::read_folder(folder, report)
    }

    /// What files held when they were read before, where the same rules are read again and again.
    fn memory(&self) -> Option<&DocumentMemory> {
        None
    }

    /// One file, as [`read_folder`](Self::read_folder) gives those of a folder.
    fn read_file(&self, path: &Path, report: &mut Report) -> Option<RuleFile> {
        files::read_file(path, report)
    }
}

/// The pack `name` inside `folder`, as a library reads it. A name is one word, so it cannot lead to another folder.
pub fn find_in(folder: &Path, name: &str, library: &dyn PackLibrary, report: &mut Report) -> Option<PackFiles> {
    let path = folder.join(name);
    if !is_name(name) || !files::is_pack(&path) {
        return None;
    }
    library.read_folder(&path, report)
}

/// The usual library: packs that are held in memory, folders that hold packs by name, searched in order, then the shipped
/// packs.
#[derive(Debug, Clone, Default)]
pub struct PackShelf {
    /// Packs that are held in memory, which count before all others.
    pub packs: Vec<PackFiles>,
    /// Folders that hold pack folders.
    pub folders: Vec<PathBuf>,
    /// Those of the folders that nobody has named: they are searched because of where they lie.
    pub near: Vec<PathBuf>,
    /// Whether the shipped packs are left out.
    pub bare: bool,
}

impl PackLibrary for PackShelf {
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles> {
        let held = self.packs.iter().find(|pack| pack.name == name).cloned();
        let found = held.or_else(|| self.folders.iter().find_map(|folder| find_in(folder, name, self, report)));
        found.or_else(|| if self.bare { None } else { shipped(name) })
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.packs.iter().map(|pack| pack.name.clone()).collect();
        names.extend(self.folders.iter().flat_map(|f| files::packs_in(f)));
        if !self.bare {
            names.extend(shipped_names());
        }
        names.sort();
        names.dedup();
        names
    }

    /// Rules that are read from the checkout have no trees that are made before, and tests read them again and again.
    #[cfg(rules_on_disk)]
    fn memory(&self) -> Option<&DocumentMemory> {
        static READ: LazyLock<DocumentMemory> = LazyLock::new(DocumentMemory::default);
        Some(&READ)
    }

    fn is_named(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut named = self.folders.iter().filter(|known| !self.near.contains(known));
        self.near.is_empty() || named.any(|known| real(known) == real(folder))
    }
}

/// The warning about a pack that stands in the place of a shipped one with other rules, in a folder that nobody has named.
pub(super) fn shadow(pack: &PackFiles, library: &dyn PackLibrary) -> Option<Diagnostic> {
    let folder = pack.folder.as_ref()?;
    let around = files::parent(folder)?;
    let around = if around.as_os_str().is_empty() { Path::new(".") } else { &around };
    if library.is_named(around) || is_shipped(pack, &shipped(&pack.name)?) {
        return None;
    }
    let shown = folder.display().to_string().replace('\\', "/");
    let message = format!("`{shown}` stands in the place of the shipped pack `{}`", pack.name);
    let around = around.display().to_string().replace('\\', "/");
    let help = format!("if that is not meant, remove `{shown}`; if it is, name its folder in the environment: `TAPSTER_PACKS={around}`");
    Some(Diagnostic::new(Code::PackShadow, message).help(help))
}

/// Whether a pack holds the same rules, scripts and templates as a shipped one.
pub fn is_shipped(pack: &PackFiles, shipped: &PackFiles) -> bool {
    let parts = |pack: &'_ PackFiles| -> Vec<(String, Vec<u8>)> {
        pack.files.iter().chain(pack.assets.values()).map(|file| (file.path_in_pack.clone(), file.bytes.clone())).collect()
    };
    parts(pack) == parts(shipped)
}

/// Whether a text can name a pack: letters, digits, `-`, `_`, `.`, and not only dots.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether a pack may call itself so, as the schema of its manifest says: small letters, digits, `-` and `_`.
#[must_use]
pub fn is_own_name(name: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(small) && name.chars().all(|c| small(c) || matches!(c, '-' | '_'))
}

/// The names of the shipped packs, sorted.
#[must_use]
pub fn shipped_names() -> Vec<String> {
    let mut names: Vec<String> = shipped_files().iter().filter_map(|(path, _)| Some(path.split_once('/')?.0.to_owned())).collect();
    names.dedup();
    names
}

/// The names of the shipped packs that are recommended for files of other programs, those for most formats first.
#[must_use]
pub fn shipped_readers() -> &'static [String] {
    // the help of every verb names them, and is made each time the program starts
    static READERS: OnceLock<Vec<String>> = OnceLock::new();
    READERS.get_or_init(|| {
        let formats = |name: &str| recommended_formats(files_of_shipped(name)).len();
        let mut readers: Vec<(usize, String)> = shipped_names().into_iter().map(|name| (formats(&name), name)).collect();
        readers.retain(|(count, _)| *count > 0);
        readers.sort_by(|(a, _), (b, _)| b.cmp(a));
        readers.into_iter().map(|(_, name)| name).collect()
    })
}

/// The formats for whose files a pack is recommended, by the manifest among its files.
pub fn recommended_formats<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Vec<String> {
    #[derive(Default, serde::Deserialize)]
    struct Manifest {
        #[serde(default)]
        recommended: Vec<String>,
    }
    let read = |(path, bytes): (&str, &[u8])| match path {
        "pack.toml" => toml::from_slice::<Manifest>(bytes).ok(),
        "pack.json" => serde_json::from_slice(bytes).ok(),
        _ => None,
    };
    files.into_iter().find_map(read).unwrap_or_default().recommended
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
    let mut pack = PackFiles { name: name.to_owned(), ..PackFiles::default() };
    let mut is_shipped = false;
    for (inner, bytes) in files_of_shipped(name) {
        is_shipped = true;
        pack.sort_in(RuleFile { name: format!("{SHIPPED}{name}/{inner}"), path_in_pack: inner.to_owned(), bytes: bytes.to_vec() });
    }
    pack.sort();
    is_shipped.then_some(pack)
}
