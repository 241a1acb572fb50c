//! What checks of rules have found, kept from one start to the next: rules without mistakes are not checked again until a text of
//! theirs, or the program, changes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use tapster::fingerprint;

use crate::inputs::pack_files::read_bounded;
use crate::model::Value;
use crate::output::Console;
use crate::pack::CheckMemory;
use crate::store::disk::{self, FileReaders};

/// The folder that holds it; empty to keep nothing.
const FOLDER: &str = "TAPSTER_CACHE";
/// The most rules that are remembered.
const MOST: usize = 256;
/// The largest file that is read, in bytes.
const FILE_BYTES: usize = 1 << 20;

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
        let env = |name: &str| (show.io.env)(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
        let home = || env("HOME").map(|home| home.join(".cache"));
        let folder = match (show.io.env)(FOLDER) {
            Some(named) => Some(PathBuf::from(named)).filter(|folder| !folder.as_os_str().is_empty()),
            None if cfg!(debug_assertions) => None,
            None => env("XDG_CACHE_HOME").or_else(|| env("LOCALAPPDATA")).or_else(home).map(|folder| folder.join("tapster")),
        }?;
        let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
        let changed = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(Self { folder: folder.join("checks"), program: format!("{} {} {changed}", env!("CARGO_PKG_VERSION"), file.len()) })
    }

    /// The name of a file.
    fn key(&self, digest: &str) -> String {
        hash(&[&self.program, digest])
    }
}

impl CheckMemory for CheckFolder {
    fn fields_of(&self, digest: &str) -> Option<String> {
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
        let old: Vec<OsString> = names.filter(|name| name.len() == key.len()).collect();
        if old.len() >= MOST {
            old.iter().for_each(|name| _ = std::fs::remove_file(self.folder.join(name)));
        }
        if std::fs::create_dir_all(&self.folder).is_ok() {
            // the first line says that the file is whole
            let text = format!("{}\n{fields}", hash(&[&key, fields]));
            let _ = disk::replace(&self.folder.join(&key), text.as_bytes(), FileReaders::Usual);
        }
    }
}

fn hash(texts: &[&str]) -> String {
    fingerprint(&Value::list(texts.iter().map(|text| Value::text(*text)).collect()))
}
