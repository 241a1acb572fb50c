//! What lies where the file of a store is said to be. SQLite takes a short file for an empty database, and would write
//! over it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use super::refused;
use crate::diag::{Code, file};
use crate::store::StoreRefusal;

/// The first bytes of every database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The length of the header of a database.
const HEADER: u64 = 100;

/// Refuses what is there and is neither a database nor empty. Unless it `may_be_made`, there must be a file.
pub(super) fn check_file(path: &str, may_be_made: bool) -> Result<(), StoreRefusal> {
    let failed = |error: &std::io::Error| {
        let message = format!("`{path}` cannot be read: {error}");
        refused(Code::StoreUnreachable, message, "check the path and its permissions")
    };
    let data = match fs::metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == ErrorKind::NotFound && may_be_made => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = format!("there is no store `{path}`");
            let help = "check the path; `tapster artifact put` and `tapster turn` make a store where there is none";
            return Err(refused(Code::StoreUnreachable, message, help));
        }
        Err(error) => return Err(failed(&error)),
    };
    if !data.is_file() {
        let message = format!("`{path}` is not a file");
        return Err(refused(Code::StoreUnreachable, message, "name a file that is a database, or that does not exist yet"));
    }
    if data.len() == 0 {
        return Ok(());
    }
    let start = file::read(Path::new(path), HEADER).map_err(|error| failed(&error))?;
    if !start.starts_with(MAGIC) || data.len() < HEADER {
        let message = format!("`{path}` is not a database");
        return Err(refused(Code::StoreDamaged, message, "name another file; this one is left as it is"));
    }
    Ok(())
}

/// Makes an empty file where there is none, which only its owner may read; the files beside it get the same mode from
/// SQLite. What cannot be made is told when it is opened.
pub(super) fn create_file(path: &str) {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Whether there are changes beside a database that are not yet in its own file.
pub(super) fn has_journal(path: &str) -> bool {
    ["-wal", "-journal"].iter().any(|end| fs::metadata(format!("{path}{end}")).is_ok_and(|data| data.len() > 0))
}
