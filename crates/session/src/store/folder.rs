//! Templates as files of a folder: `ID.json`, with the id encoded as a safe file name.
//!
//! Lower-case ASCII letters, digits, `-`, `_` and dots (except at the start) stand for themselves; every other byte is
//! `%` and two hex digits. No id can therefore leave the folder, become a hidden file, or collide with another one on a
//! file system that ignores case.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::disk::{self, FileReaders};
use super::{StoreFuture, StoreListing, StoreRefusal, StoredTemplate, TemplateStore};
use crate::diag::{Code, Diagnostic, Help, file, limits, short};

/// The largest template, in bytes (4 MiB).
pub const MAX_TEMPLATE: u64 = 4 << 20;
/// The longest file name without its extension, in bytes; file systems allow somewhat longer ones.
const MAX_NAME: usize = 200;
/// Names that Windows reserves for devices, whatever their extension.
const DEVICES: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2", "lpt3", "lpt4",
    "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// A store that keeps each template as a file of one folder. The folder is created when the first template is stored.
#[derive(Debug, Clone)]
pub struct FolderStore {
    folder: PathBuf,
}

impl FolderStore {
    /// A store in `folder`, which need not exist yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The path of the file for an id.
    fn path(&self, id: &str) -> Result<PathBuf, StoreRefusal> {
        let name = file_name(id);
        if name.len() > MAX_NAME {
            let message = format!("the id `{}` is too long for the name of a file", short::head(id, 40));
            let help = format!(
                "make it shorter: small ASCII letters, digits, `-` and `_` count one, other bytes three, at most {MAX_NAME} in all"
            );
            return Err(refused(Code::StoreName, message, help));
        }
        Ok(self.folder.join(name + ".json"))
    }

    /// The size of the file; `None` if there is none. A link is not followed, because it may lead anywhere.
    fn size(path: &Path) -> Result<Option<u64>, StoreRefusal> {
        let shown = path.display();
        match fs::symlink_metadata(path) {
            Ok(data) if data.is_file() => Ok(Some(data.len())),
            Ok(data) if data.is_symlink() => {
                Err(refused(Code::FileOutside, format!("`{shown}` is a link, which is not followed"), "put the file itself there"))
            }
            Ok(_) => Err(refused(Code::FileMissing, format!("`{shown}` is not a file"), "remove it, or use another folder")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    fn listed(&self) -> Result<StoreListing, StoreRefusal> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(StoreListing::default()),
            Err(error) => return Err(failed("read", &self.folder, &error)),
        };
        let mut listing = StoreListing::default();
        for (count, entry) in entries.enumerate() {
            if count >= limits::ENTRIES {
                let message = format!("`{}` has more than {} entries", self.folder.display(), limits::ENTRIES);
                return Err(refused(Code::FileTooLarge, message, "use a folder that holds templates only"));
            }
            let entry = entry.map_err(|error| failed("read", &self.folder, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(stem) = name.strip_suffix(".json").filter(|stem| !stem.starts_with('.')) {
                match id_of(stem) {
                    Some(id) => listing.ids.push(id),
                    None => listing.strangers.push(name),
                }
            }
        }
        listing.ids.sort();
        listing.strangers.sort();
        Ok(listing)
    }

    fn read(&self, id: &str) -> Result<Option<StoredTemplate>, StoreRefusal> {
        let path = self.path(id)?;
        let Some(size) = Self::size(&path)? else { return Ok(None) };
        if size > MAX_TEMPLATE {
            return Err(too_large(&path));
        }
        let bytes = file::read(&path, MAX_TEMPLATE).map_err(|error| failed("read", &path, &error))?;
        if bytes.len() as u64 > MAX_TEMPLATE {
            Err(too_large(&path))
        } else {
            Ok(Some(StoredTemplate { name: path.display().to_string(), bytes }))
        }
    }

    fn write(&self, id: &str, bytes: &[u8], replace: bool) -> Result<String, StoreRefusal> {
        let path = self.path(id)?;
        if bytes.len() as u64 > MAX_TEMPLATE {
            return Err(too_large(&path));
        }
        if Self::size(&path)?.is_some() && !replace {
            return Err(taken(id, &path));
        }
        fs::create_dir_all(&self.folder).map_err(|error| failed("made", &self.folder, &error))?;
        let written = if replace { disk::replace } else { disk::create };
        written(&path, bytes, FileReaders::Owner)
            .map_err(|error| if error.kind() == ErrorKind::AlreadyExists { taken(id, &path) } else { failed("written", &path, &error) })?;
        Ok(path.display().to_string())
    }

    fn delete(&self, id: &str) -> Result<bool, StoreRefusal> {
        let path = self.path(id)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("removed", &path, &error)),
        }
    }
}

/// A folder is read and written without waiting: each future is ready when it is first polled.
impl TemplateStore for FolderStore {
    fn list(&self) -> StoreFuture<'_, StoreListing> {
        Box::pin(async move { self.listed() })
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTemplate>> {
        Box::pin(async move { self.read(id) })
    }

    fn put<'a>(&'a self, id: &'a str, bytes: &'a [u8], replace: bool) -> StoreFuture<'a, String> {
        Box::pin(async move { self.write(id, bytes, replace) })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move { self.delete(id) })
    }
}

/// The file name for an id, without the extension.
fn file_name(id: &str) -> String {
    // a file name cannot be empty
    if id.is_empty() {
        return "%".to_owned();
    }
    let device = DEVICES.contains(&id.split('.').next().unwrap_or_default());
    let mut name = String::new();
    for (at, byte) in id.bytes().enumerate() {
        let plain = matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') || (byte == b'.' && at > 0);
        if plain && !(device && at == 0) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
        if name.len() > MAX_NAME {
            break;
        }
    }
    name
}

/// The id that a file name stands for; `None` for a name that no id has.
fn id_of(name: &str) -> Option<String> {
    let id = if name == "%" { "".into() } else { percent_decode_str(name).decode_utf8().ok()? };
    (file_name(&id) == name).then(|| id.into_owned())
}

fn refused(code: Code, message: String, help: impl Into<Help>) -> StoreRefusal {
    Box::new(Diagnostic::new(code, message).help(help))
}

fn too_large(path: &Path) -> StoreRefusal {
    let message = format!("`{}` is larger than {} MiB", path.display(), MAX_TEMPLATE >> 20);
    refused(Code::FileTooLarge, message, "split the template, or move long texts into the data")
}

fn taken(id: &str, path: &Path) -> StoreRefusal {
    let message = format!("a template `{}` is stored already, in `{}`", short::head(id, 40), path.display());
    refused(Code::StoreTaken, message, "give it another `id`, or replace the stored one (`--force`)")
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> StoreRefusal {
    let reason = match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotADirectory => "it, or a folder above it, is a file".to_owned(),
        kind => kind.to_string(),
    };
    let message = format!("`{}` cannot be {what}: {reason}", path.display());
    refused(Code::FileMissing, message, "check the folder and its permissions")
}
