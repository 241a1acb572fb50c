//! Reading folders and files: the only place of this room that touches a disk.
//!
//! A pack may come from anyone, so every size is bounded and checked before a byte is read, special files are not
//! opened, and links that lead out of the pack's own folder are not followed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::KINDS;
use crate::diag::{Code, Diagnostic, Report, file, limits, memory, suggest};

/// One rule file as read.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleFile {
    /// The path shown in messages.
    pub name: String,
    /// The path inside the pack, with `/`: `dialect/openai.toml`.
    pub path_in_pack: String,
    /// What it holds, unchecked.
    pub bytes: Vec<u8>,
}

/// All files of one pack as read: by folder, the pack's own folder first, then by name.
#[derive(Debug, Clone, Default)]
pub struct PackFiles {
    /// The folder that the pack was read from, if any; packs beside it can be extended by name.
    pub folder: Option<PathBuf>,
    /// The name by which the pack was searched.
    pub name: String,
    /// The rule files, `pack.toml` among them.
    pub files: Vec<RuleFile>,
    /// Rule tests: the rule files under `cases/`, which are not part of the rules.
    pub cases: Vec<RuleFile>,
    /// Scripts (`*.rhai`), and files under `templates/` that are not rule files, by path inside the pack.
    pub assets: IndexMap<String, RuleFile>,
    /// Files that nothing reads although their names say that they were meant as rules or scripts, without their contents.
    pub(super) strays: Vec<RuleFile>,
}

impl PackFiles {
    /// A pack whose files have already been read: paths inside the pack, with `/`, and their contents.
    #[must_use]
    pub fn of(name: &str, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut pack = Self { name: name.to_owned(), ..Self::default() };
        for (path, bytes) in files {
            pack.sort_in(RuleFile { name: format!("{name}/{path}"), path_in_pack: path, bytes });
        }
        pack.sort();
        pack
    }

    /// Puts a file in the place of the one with its path, or adds it.
    pub fn put(&mut self, file: RuleFile) {
        self.files.retain(|known| known.path_in_pack != file.path_in_pack);
        self.cases.retain(|known| known.path_in_pack != file.path_in_pack);
        self.sort_in(file);
        self.sort();
    }

    /// Adds a file to the list that its path says; a file of an unknown sort is left out.
    pub(super) fn sort_in(&mut self, file: RuleFile) {
        match role(&file.path_in_pack) {
            // schemas for an editor lie beside the rules that they are for
            FileRole::Rules if is_schema(&file.path_in_pack, &file.bytes) => {}
            FileRole::Rules => self.files.push(file),
            FileRole::Case => self.cases.push(file),
            FileRole::Asset => {
                self.assets.insert(file.path_in_pack.clone(), file);
            }
            FileRole::Other => self.stray(file.name, file.path_in_pack, || file.bytes),
        }
    }

    /// Remembers a file that is left out, if it was probably not meant to be. `bytes` gives what it holds, or how it begins.
    fn stray(&mut self, name: String, path_in_pack: String, bytes: impl FnOnce() -> Vec<u8>) {
        if is_meant(&path_in_pack, bytes) {
            self.strays.push(RuleFile { name, path_in_pack, bytes: Vec::new() });
        }
    }

    pub(super) fn sort(&mut self) {
        self.files.sort_by(|a, b| in_order(&a.path_in_pack).cmp(&in_order(&b.path_in_pack)));
        self.cases.sort_by(|a, b| in_order(&a.path_in_pack).cmp(&in_order(&b.path_in_pack)));
        self.assets.sort_keys();
        self.strays.sort_by(|a, b| in_order(&a.path_in_pack).cmp(&in_order(&b.path_in_pack)));
    }
}

/// The folder and the name of a path. Sorting by them puts the files of a folder before those of its subfolders.
fn in_order(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

enum FileRole {
    Rules,
    Case,
    Asset,
    Other,
}

/// What a file is, by its path inside the pack.
fn role(path: &str) -> FileRole {
    let rules = is_rule_file(Path::new(path));
    let folders: Vec<&str> = path.split('/').rev().skip(1).collect();
    if path.ends_with(".rhai") || (folders.contains(&"templates") && !rules) {
        FileRole::Asset
    } else if folders.contains(&"cases") {
        if rules { FileRole::Case } else { FileRole::Other }
    } else if rules && !folders.contains(&"scripts") {
        FileRole::Rules
    } else {
        FileRole::Other
    }
}

/// Whether a file is a JSON Schema: it names a draft, and no kind of rules.
pub fn is_schema(path: &str, bytes: &[u8]) -> bool {
    let start = bytes.get(..HEAD).unwrap_or(bytes);
    if !path.ends_with(".json") || !String::from_utf8_lossy(start).contains("://json-schema.org/") {
        return false;
    }
    // the reader of rule files refuses what would take too much
    if memory::exceeds(bytes, limits::INPUT_MEMORY) {
        return false;
    }
    let root = serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
    root.get("$schema").is_some() && !root.get("kind").is_some_and(serde_json::Value::is_string)
}

/// Whether a path is that of a rule file, by its ending.
#[must_use]
pub fn is_rule_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml" || ending == "json")
}

/// Whether a folder looks like a pack.
#[must_use]
pub fn is_pack(folder: &Path) -> bool {
    folder.join("pack.toml").is_file() || folder.join("pack.json").is_file()
}

/// Names of the folders right inside `folder` that look like packs, sorted.
#[must_use]
pub fn packs_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let packs = entries.take(limits::ENTRIES).flatten().filter(|e| is_pack(&e.path()));
    let mut names: Vec<String> = packs.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The folder of the pack that a file lies in.
#[must_use]
pub fn pack_around(path: &Path) -> Option<PathBuf> {
    let named = |folder: &Path| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    path.ancestors().skip(1).take(limits::CHAIN).map(named).find(|folder| is_pack(folder))
}

/// Whether a path is an existing folder.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The parent folder of a folder.
#[must_use]
pub fn parent(folder: &Path) -> Option<PathBuf> {
    if folder.file_name().is_some() {
        return folder.parent().map(Path::to_owned);
    }
    // `.` and `..` have no last part to remove
    fs::canonicalize(folder).ok()?.parent().map(Path::to_owned)
}

/// Every file below a folder of the checkout that the program was compiled in: the path below the folder, and its
/// contents. Folders named `without` are left out, as the build script leaves them out of what it embeds.
#[cfg(rules_on_disk)]
pub(super) fn checkout(root: &str, without: &str) -> Vec<(String, std::borrow::Cow<'static, [u8]>)> {
    let (mut open, mut all) = (vec![String::new()], Vec::new());
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(Path::new(root).join(&inside)).into_iter().flatten().flatten().take(limits::ENTRIES) {
            let path = format!("{inside}{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() == without => {}
                Ok(kind) if kind.is_dir() => open.push(format!("{path}/")),
                Ok(_) => all.extend(fs::read(entry.path()).ok().map(|bytes| (path, bytes.into()))),
                Err(_) => {}
            }
        }
    }
    all
}

/// The last part of a folder's path, also for `.` and `..`.
#[must_use]
pub fn folder_name(folder: &Path) -> String {
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    real.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_else(|| folder.display().to_string())
}

/// Reads one file, at most [`limits::FILE_BYTES`] bytes. `None`, with a diagnostic, if it cannot be read.
#[must_use]
pub fn read_file(path: &Path, report: &mut Report) -> Option<RuleFile> {
    let shown = shown(path);
    let bytes = read_bounded(path, &shown, limits::FILE_BYTES as u64, report)?;
    let path_in_pack = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Some(RuleFile { name: shown, path_in_pack, bytes })
}

/// Reads a pack's folder with all folders in it. `None`, with a diagnostic, if there is no such folder. Hidden files
/// and folders (`.git`) are skipped.
#[must_use]
pub fn read_folder(folder: &Path, report: &mut Report) -> Option<PackFiles> {
    let root = match fs::canonicalize(folder) {
        Ok(root) if root.is_dir() => root,
        Ok(_) => {
            report.push(no_folder(&shown(folder)));
            return None;
        }
        Err(error) => {
            missing(&shown(folder), &error, report);
            return None;
        }
    };
    let pack = PackFiles { folder: Some(folder.to_owned()), name: folder_name(folder), ..PackFiles::default() };
    let mut walk = FolderWalk { root, base: folder, pack, seen: HashSet::new(), entries: 0, files: 0, total: 0, report };
    walk.all();
    walk.pack.sort();
    Some(walk.pack)
}

/// The diagnostic about a file where the folder of a pack is expected.
pub(super) fn no_folder(path: &str) -> Diagnostic {
    Diagnostic::new(Code::FileMissing, format!("`{path}` is a file, not the folder of a pack")).help(
        "a pack is a folder with a `pack.toml`; a single rule file ends in `.toml` or `.json`, and other files are for `tapster import`",
    )
}

struct FolderWalk<'a> {
    /// The real path of the folder: nothing outside of it is read.
    root: PathBuf,
    base: &'a Path,
    pack: PackFiles,
    /// Real paths of folders already read, so that links in a circle end.
    seen: HashSet<PathBuf>,
    entries: usize,
    files: usize,
    total: u64,
    report: &'a mut Report,
}

impl FolderWalk<'_> {
    fn all(&mut self) {
        let mut open = vec![(String::new(), 0)];
        while let Some((inside, depth)) = open.pop() {
            for (path, is_folder) in self.entries_of(&inside) {
                if self.entries >= limits::ENTRIES {
                    self.refuse(&inside, format!("the pack's folder has more than {} entries", limits::ENTRIES));
                    return;
                }
                self.entries += 1;
                if !is_folder {
                    if !self.file(path) {
                        return;
                    }
                } else if depth >= limits::CHAIN {
                    self.refuse(&path, format!("folders are nested deeper than {} levels", limits::CHAIN));
                } else {
                    open.push((path, depth + 1));
                }
            }
        }
    }

    /// The entries of a folder: the path inside the pack, and whether it is a folder. They are sorted, so that every
    /// run gives the same result.
    fn entries_of(&mut self, inside: &str) -> Vec<(String, bool)> {
        let path = if inside.is_empty() { self.base.to_owned() } else { self.base.join(inside) };
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if !self.seen.insert(real) {
            return Vec::new();
        }
        let list = match fs::read_dir(&path) {
            Ok(list) => list,
            Err(error) => {
                missing(&shown(&path), &error, self.report);
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for entry in list.flatten().take(limits::ENTRIES + 1) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            let inner = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            if let Some(is_folder) = self.sort_of(&entry, &inner) {
                found.push((inner, is_folder));
            }
        }
        found.sort();
        found
    }

    /// Whether an entry is a folder; `None` for entries that are not read: special files, and links that lead outside.
    fn sort_of(&mut self, entry: &fs::DirEntry, inner: &str) -> Option<bool> {
        let kind = entry.file_type().ok()?;
        if !kind.is_symlink() {
            return if kind.is_dir() { Some(true) } else { kind.is_file().then_some(false) };
        }
        let path = entry.path();
        match fs::canonicalize(&path) {
            Ok(real) if real.starts_with(&self.root) => Some(real.is_dir()).filter(|dir| *dir || real.is_file()),
            Ok(_) => {
                let message = format!("`{}` is a link that leads out of the pack", shown(&path));
                self.report.push(Diagnostic::new(Code::FileOutside, message).help("copy the file into the pack"));
                None
            }
            Err(error) => {
                // a broken link is only reported in the place of a rule file
                if !matches!(role(inner), FileRole::Other) {
                    missing(&shown(&path), &error, self.report);
                }
                None
            }
        }
    }

    /// Reads one file of the pack; `false` if the whole pack has become too large to continue.
    fn file(&mut self, inner: String) -> bool {
        if matches!(role(&inner), FileRole::Other) {
            let path = self.base.join(&inner);
            self.pack.stray(shown(&path), inner, || head(&path));
            return true;
        }
        if self.files >= limits::FILES {
            self.refuse(&inner, format!("the pack has more than {} files", limits::FILES));
            return false;
        }
        let path = self.base.join(&inner);
        let shown = shown(&path);
        self.files += 1;
        let Some(bytes) = read_bounded(&path, &shown, limits::FILE_BYTES as u64, self.report) else { return true };
        self.total += bytes.len() as u64;
        if self.total > limits::PACK_BYTES as u64 {
            self.refuse(&inner, format!("the pack's files are larger than {} MiB together", limits::PACK_BYTES >> 20));
            return false;
        }
        self.pack.sort_in(RuleFile { name: shown, path_in_pack: inner, bytes });
        true
    }

    fn refuse(&mut self, inner: &str, message: String) {
        let place = shown(&self.base.join(inner));
        self.report.push(
            Diagnostic::new(Code::FileTooLarge, format!("{message} (at `{place}`)")).help("keep other files out of the pack's folder"),
        );
    }
}

/// Reads a file of at most `limit` bytes.
fn read_bounded(path: &Path, shown: &str, limit: u64, report: &mut Report) -> Option<Vec<u8>> {
    match file::read(path, limit) {
        Ok(bytes) if bytes.len() as u64 > limit => {
            let message = format!("`{shown}` is larger than {} MiB", limit >> 20);
            report.push(Diagnostic::new(Code::FileTooLarge, message).help("split it into several files"));
            None
        }
        Ok(bytes) => Some(bytes),
        Err(error) => {
            missing(shown, &error, report);
            None
        }
    }
}

/// How a file begins; nothing of one that cannot be read, because it is no part of the pack.
fn head(path: &Path) -> Vec<u8> {
    file::read(path, HEAD as u64).unwrap_or_default()
}

fn missing(shown: &str, error: &std::io::Error, report: &mut Report) {
    let message = format!("`{shown}` cannot be read: {}", file::reason(error));
    report.push(Diagnostic::new(Code::FileMissing, message).help("check the path and its permissions"));
}

/// A path as the user would type it, with `/`.
pub fn shown(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

/// The endings of rule files and of scripts.
const ENDINGS: &[&str] = &["toml", "json", "rhai"];
/// The endings of a format in which rules could be written, and in which many other files are.
const FOREIGN: &[&str] = &["yaml", "yml"];
/// The endings of data that are nearly those of rule files.
const DATA: &[&str] = &["jsonl"];
/// How many bytes from the beginning of a file say whether rules are in it.
const HEAD: usize = 4 << 10;

/// Whether a file that is no part of a pack was probably meant as one: it is called so, or it is of a format in which rules
/// could be written, and says that it is of a kind of rules. `bytes` gives what it holds, or its first [`HEAD`] bytes.
fn is_meant(path: &str, bytes: impl FnOnce() -> Vec<u8>) -> bool {
    let Some(ending) = ending(path) else { return false };
    let ending = ending.as_str();
    if FOREIGN.contains(&ending) {
        let bytes = bytes();
        return has_kind(bytes.get(..HEAD).unwrap_or(&bytes));
    }
    !DATA.contains(&ending) && nearest(ending).is_some()
}

/// Whether a line `kind: WORD` of a text, which is not indented, names a kind of rule files.
fn has_kind(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let words = text.trim_start_matches('\u{FEFF}').lines().filter_map(|line| line.strip_prefix("kind:"));
    let mut words = words.map(|rest| rest.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']));
    words.any(|word| KINDS.iter().any(|(kind, _)| *kind == word))
}

/// The ending of a rule file or of a script that the name of a file has, or has with a slip or in capitals.
pub(super) fn meant_ending(path: &str) -> Option<&'static str> {
    nearest(&ending(path)?)
}

/// How the name of a file ends, in small letters; nothing for what an editor leaves behind, such as `slots.toml~`.
fn ending(path: &str) -> Option<String> {
    let (_, ending) = name_of(path).rsplit_once('.')?;
    ending.chars().all(char::is_alphanumeric).then(|| ending.to_lowercase())
}

fn nearest(ending: &str) -> Option<&'static str> {
    ENDINGS.iter().copied().find(|known| *known == ending || suggest::is_one_off(ending, known))
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
