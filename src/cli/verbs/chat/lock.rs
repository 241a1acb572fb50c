//! One chat at a time has a file. A lock beside the file says so, because the file itself is replaced when it is written.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::cli::inputs::files::shown;
use crate::cli::stop::Stop;
use crate::diag::Code;

/// How often a lock is asked for that somebody else has just removed.
const TRIES: usize = 8;

/// The lock of a chat's file, until it is dropped.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks the file of a chat, which need not exist.
    pub(super) fn of(chat: &Path) -> Result<Self, Stop> {
        let mut path = chat.as_os_str().to_owned();
        path.push(".lock~");
        let path = PathBuf::from(path);
        let failed = |error: &std::io::Error| {
            let message = format!("`{}` cannot be locked for this chat: {error}", shown(chat));
            Stop::could_not(Code::FileMissing, message, "check the folder and its permissions")
        };
        for _ in 0..TRIES {
            let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(|error| failed(&error))?;
            match file.try_lock() {
                // the one who had it may have removed it just before
                Ok(()) if is_there(&file, &path) => return Ok(Self { file, path }),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
        let message = format!("`{}` belongs to another chat that is still open", shown(chat));
        Err(Stop::could_not(Code::FileMissing, message, "end that chat first, or name another file with `--log`"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // without the file the lock is free as well, so whether it can be removed does not matter
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether an open file is still the one of this name.
#[cfg(unix)]
fn is_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().is_ok_and(|own| std::fs::metadata(path).is_ok_and(|named| same(&own, &named)))
}

/// Whether an open file is still the one of this name: elsewhere, an open file cannot be removed by others.
#[cfg(not(unix))]
fn is_there(_: &File, _: &Path) -> bool {
    true
}
