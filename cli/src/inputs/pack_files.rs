//! Files of packs that are shared: those of a folder, of an archive, and those at an address.

use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, file, limits};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::full::{fetch, file_of_address};
use crate::pack::files::is_schema;
use crate::share::{self, PackFile, ShareFault};

/// What files without rules are called that go along: whatever follows.
const ALONG: &[&str] = &["readme", "license", "licence", "copying", "notice", "changelog", "authors"];

/// A file that stays out of an archive, and why.
pub(crate) struct OmittedFile {
    pub(crate) path: String,
    pub(crate) why: &'static str,
}

impl OmittedFile {
    /// Whether it can be made again or is written by the system: nobody misses it, and no rule reads it.
    fn is_nothing(&self) -> bool {
        self.why == SCHEMA || JUNK.contains(&self.path.rsplit('/').next().unwrap_or(&self.path))
    }
}

/// Why a schema for editors stays out.
const SCHEMA: &str = "it is a schema for editors, which `tapster schema` writes";
/// Files that systems put into every folder.
const JUNK: &[&str] = &[".DS_Store", "Thumbs.db", "desktop.ini"];

/// The end of a verb because of something that is refused: 2 if it is not there, else 1.
pub(crate) fn share_failure(fault: ShareFault) -> EarlyExit {
    let missing = fault.code.known().is_some_and(|c| matches!(c, Code::ShareUnmet | Code::ShareUnreachable | Code::FileMissing));
    EarlyExit::new(if missing { RunExit::CouldNot } else { RunExit::No }, *fault)
}

/// Calls `each` for every entry below a folder, with its path from there, and whether it is a folder, a file or something
/// else. A folder is entered if `each` says so. Links are not followed.
fn walk(folder: &Path, each: &mut dyn FnMut(&DirEntry, &str, FileType) -> Result<bool>) -> Result<()> {
    let mut open = vec![String::new()];
    let mut entries = 0;
    while let Some(inside) = open.pop() {
        let at = folder.join(&inside);
        let list = std::fs::read_dir(&at).map_err(|error| unreadable(&at, &error))?;
        for entry in list.flatten() {
            entries += 1;
            if entries > limits::ENTRIES {
                let message = format!("`{}` has more than {} entries", folder.display(), limits::ENTRIES);
                return Err(EarlyExit::could_not(Code::FileTooLarge, message, "keep other files out of the pack's folder"));
            }
            let path = format!("{inside}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
            if each(&entry, &path, kind)? {
                open.push(format!("{path}/"));
            }
        }
    }
    Ok(())
}

/// Every file below a folder with its size, hidden ones and links among them, sorted. `None` is the size of what is no file.
pub(crate) fn everything_in(folder: &Path) -> Result<Vec<(String, Option<u64>)>> {
    let mut found = Vec::new();
    walk(folder, &mut |entry, path, kind| {
        if !kind.is_dir() {
            let size = if kind.is_file() { Some(entry.metadata().map_err(|error| unreadable(&entry.path(), &error))?.len()) } else { None };
            found.push((path.to_owned(), size));
        }
        Ok(kind.is_dir())
    })?;
    found.sort();
    Ok(found)
}

/// Settings for Tombi, which are not shared.
pub(crate) const TOMBI_FILE: &str = ".tombi.toml";

/// The files of a pack's folder that are shared, and those that are not. Links are not followed.
pub(crate) fn files_of(folder: &Path) -> Result<(Vec<PackFile>, Vec<OmittedFile>)> {
    let (mut files, mut left) = (Vec::new(), Vec::new());
    walk(folder, &mut |entry, path, kind| {
        let mut leave = |why| left.push(OmittedFile { path: path.to_owned(), why });
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            leave("its name is not UTF-8");
            return Ok(false);
        };
        if name.starts_with('.') {
            // every new pack has the settings for Tombi
            if path != TOMBI_FILE {
                leave("it is hidden");
            }
        } else if kind.is_symlink() {
            leave("it is a link");
        } else if kind.is_dir() && path.split('/').count() > limits::CHAIN {
            leave("it is nested deeper than 16 folders");
        } else if kind.is_dir() {
            return Ok(true);
        } else if !kind.is_file() {
            leave("it is not a regular file");
        } else if let Some(why) = unshared(path, None) {
            leave(why);
        } else {
            if files.len() >= limits::FILES {
                let message = format!("`{}` has more than {} files", folder.display(), limits::FILES);
                return Err(EarlyExit::could_not(Code::FileTooLarge, message, "keep other files out of the pack's folder"));
            }
            let bytes = read_bounded(&entry.path(), limits::FILE_BYTES)?;
            match unshared(path, Some(&bytes)) {
                Some(why) => leave(why),
                None => files.push((path.to_owned(), bytes)),
            }
        }
        Ok(false)
    })?;
    files.sort();
    left.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((files, left))
}

/// Why a file is no part of a pack for those who install it, by its path or by what it holds; `None` if it is one.
pub(crate) fn unshared(path: &str, bytes: Option<&[u8]>) -> Option<&'static str> {
    if !is_shared(path) {
        return Some("it is neither rules, nor a script, a template or a text about the pack");
    }
    bytes.filter(|bytes| is_schema(path, bytes)).map(|_| SCHEMA)
}

/// Whether a file is a part of a pack for those who install it, by its name.
fn is_shared(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    [".toml", ".json", ".rhai", ".md", ".txt"].iter().any(|ending| name.ends_with(ending))
        || path.split('/').rev().skip(1).any(|folder| folder == "templates")
        || ALONG.iter().any(|along| name.starts_with(along))
}

/// The digest of a pack in a folder: that of its archive. `None` if other files lie there than an archive has: an
/// installed pack has none, the loader might read them, and somebody might miss them.
pub(crate) fn digest_of(folder: &Path) -> Result<Option<String>> {
    let (files, left) = files_of(folder)?;
    if left.iter().any(|file| !file.is_nothing()) {
        return Ok(None);
    }
    Ok(Some(share::digest(&share::pack(files).map_err(share_failure)?)))
}

/// The bytes of a file, at most `limit`.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>> {
    match file::read(path, limit as u64) {
        Err(error) => Err(unreadable(path, &error)),
        Ok(bytes) if bytes.len() > limit => {
            let message = format!("`{}` is larger than {limit} bytes", path.display());
            Err(EarlyExit::could_not(Code::FileTooLarge, message, "name another file, or split it"))
        }
        Ok(bytes) => Ok(bytes),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> EarlyExit {
    let message = format!("`{}` cannot be read: {}", path.display(), file::reason(error));
    EarlyExit::could_not(Code::FileMissing, message, "check the path and its permissions")
}

/// Where a file lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileLocation {
    Path(PathBuf),
    Url(String),
}

impl std::fmt::Display for FileLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileLocation::Path(path) => write!(f, "{}", path.display().to_string().replace('\\', "/")),
            FileLocation::Url(url) => f.write_str(url),
        }
    }
}

impl FileLocation {
    /// What a person or a lock wrote.
    pub(crate) fn typed(text: &str) -> Self {
        if text.starts_with("file:") {
            return FileLocation::Path(file_of_address(text).unwrap_or_else(|| text.into()));
        }
        if is_url(text) { FileLocation::Url(text.to_owned()) } else { FileLocation::Path(text.into()) }
    }

    /// A file beside this one. In an address, `%` stands for itself, so that no part of it leads elsewhere.
    pub(crate) fn beside(&self, file: &str) -> Self {
        match self {
            FileLocation::Path(path) => FileLocation::Path(path.parent().unwrap_or(Path::new("")).join(file)),
            FileLocation::Url(url) => FileLocation::Url(format!(
                "{}/{}",
                url.rsplit_once('/').map_or(url.as_str(), |(folder, _)| folder),
                file.replace('%', "%25").replace('#', "%23")
            )),
        }
    }

    /// The same place with something behind its name.
    pub(crate) fn with(&self, ending: &str) -> Self {
        match self {
            FileLocation::Path(path) => {
                let mut name = path.clone().into_os_string();
                name.push(ending);
                FileLocation::Path(name.into())
            }
            FileLocation::Url(url) => FileLocation::Url(format!("{url}{ending}")),
        }
    }

    /// The bytes there, at most `limit`; `None` if there is nothing.
    pub(crate) fn get(&self, limit: usize) -> Result<Option<Vec<u8>>> {
        match self {
            FileLocation::Path(path) if !path.exists() => Ok(None),
            FileLocation::Path(path) => read_bounded(path, limit).map(Some),
            FileLocation::Url(url) => fetch(url, limit),
        }
    }

    /// The bytes there, which must be there.
    pub(crate) fn need(&self, limit: usize) -> Result<Vec<u8>> {
        self.get(limit)?.ok_or_else(|| {
            let message = format!("there is nothing at `{}`", share::shown(&self.to_string()));
            share_failure(Diagnostic::new(Code::ShareUnreachable, message).help("check the path or the address").into())
        })
    }
}

/// Whether a text is an address of the web.
pub(crate) fn is_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}
