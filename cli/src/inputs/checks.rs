//! What checks of rules have found, kept from one start to the next: rules without mistakes are not checked again until a text of
//! theirs, or the program, changes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use tapster::fingerprint;

use crate::inputs::pack_files::read_bounded;
use crate::model::Value;
use crate::output::Console;
use crate::pack::CheckMemory;
use crate::store::disk::{self, FileReaders};

/// The variable that names the folder; empty to keep nothing.
const CACHE_VARIABLE: &str = "TAPSTER_CACHE";
/// The most rules that are remembered.
const MAX_FILES: usize = 256;
/// The largest file, in bytes.
const FILE_BYTES: usize = 1 << 20;
const FIRST_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder `tapster` among the user's caches.
pub(crate) fn cache_folder(show: &Console<'_>) -> Option<PathBuf> {
    // a relative path says nothing here, as the standard has it
    let env = |name: &str| (show.io.env)(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = env("XDG_CACHE_HOME").or_else(|| env("LOCALAPPDATA")).or_else(|| Some(env("HOME")?.join(".cache")))?;
    Some(caches.join("tapster"))
}

/// A folder with a file for each pack, with its overlays, that a check has found nothing in. Whoever removes it loses nothing but
/// the time of a check.
pub(crate) struct CheckFolder {
    folder: PathBuf,
    /// The program that checks: another one may find more.
    program: String,
}

impl CheckFolder {
    /// The folder that the environment names, or the user's folder of caches. A debug build has none by itself: it changes often.
    pub(crate) fn of(show: &Console<'_>) -> Option<Self> {
        let folder = match (show.io.env)(CACHE_VARIABLE) {
            Some(named) => Some(PathBuf::from(named)).filter(|folder| !folder.as_os_str().is_empty()),
            None if cfg!(debug_assertions) => None,
            None => cache_folder(show),
        }?;
        let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
        let changed = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        // some packages give all files the first second of all
        let is_told_apart = changed > FIRST_DAY;
        let program = format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), changed.as_nanos());
        is_told_apart.then(|| Self { folder: folder.join("checks"), program })
    }

    /// The name of a file.
    fn key(&self, digest: &str) -> String {
        hash(&[&self.program, digest])
    }
}

impl CheckMemory for CheckFolder {
    fn undeclared_fields(&self, digest: &str) -> Option<String> {
        let key = self.key(digest);
        let text = String::from_utf8(read_bounded(&self.folder.join(&key), FILE_BYTES).ok()?).ok()?;
        let (sum, fields) = text.split_once('\n')?;
        (sum == hash(&[&key, fields])).then(|| fields.to_owned())
    }

    /// What cannot be written is checked again.
    fn remember(&self, digest: &str, fields: &str) {
        let key = self.key(digest);
        let names = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|file| file.file_name());
        // what is called otherwise is not from here
        let is_key = |name: &OsString| name.len() == key.len() && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
        let old: Vec<OsString> = names.filter(is_key).collect();
        if old.len() >= MAX_FILES {
            old.iter().for_each(|name| _ = std::fs::remove_file(self.folder.join(name)));
        }
        // the first line says that the file is whole
        let text = format!("{}\n{fields}", hash(&[&key, fields]));
        if text.len() <= FILE_BYTES && std::fs::create_dir_all(&self.folder).is_ok() {
            let _ = disk::replace(&self.folder.join(&key), text.as_bytes(), FileReaders::Usual);
        }
    }
}

fn hash(texts: &[&str]) -> String {
    fingerprint(&Value::list(texts.iter().map(|text| Value::text(*text)).collect()))
}
