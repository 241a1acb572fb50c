//! Locks between processes. A file beside what is locked holds the lock, because that itself is replaced when it is written.

use std::fs::{File, TryLockError};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

/// How often a lock is asked for that somebody else has just removed.
const TRIES: usize = 8;

/// A lock, until it is dropped; its file goes away with it. The lock of a process that was killed is free.
pub(crate) struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock of this file; `None` if another process has it.
    ///
    /// # Errors
    /// The file cannot be made, something else is in its place, or the file system has no locks.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>> {
        Self::take_by(path, |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
    }

    /// Takes the lock of this file, as soon as no other process has it. `None` if it was always gone again by then.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take).
    pub(crate) fn wait(path: &Path) -> Result<Option<Self>> {
        Self::take_by(path, |file| file.lock().map(|()| true))
    }

    fn take_by(path: &Path, lock: impl Fn(&File) -> Result<bool>) -> Result<Option<Self>> {
        // a link leads elsewhere, and a pipe waits for ever
        if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
            return Err(Error::other(format!("`{}` is no file: remove it", path.display())));
        }
        for _ in 0..TRIES {
            let file = File::options().write(true).create(true).truncate(false).open(path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            // the one who had it may have removed it just before
            if is_there(&file, path) {
                return Ok(Some(Self { file, path: path.to_owned() }));
            }
        }
        Ok(None)
    }
}

impl Drop for FileLock {
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
