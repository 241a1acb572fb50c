//! Writing files completely or not at all: under a new name that nobody can guess, which then takes the place of the old file.

use std::fs::Metadata;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// How the files begin that have not got their names yet: they are hidden, and left behind only by a process that was killed.
pub const UNFINISHED: &str = ".tapster-";
/// So many letters follow it.
pub const LETTERS: usize = 6;

/// Who may read a file that did not exist before. The permissions of one that did are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReaders {
    /// Whom the user lets read new files.
    Usual,
    /// The user alone. Such a file cannot be made again, so it is on the disk before the old one goes.
    Owner,
}

/// Writes a file, in the place of one that may be there. A link of this name is replaced, and what it leads to stays.
///
/// # Errors
/// It cannot be written, or what is there is no file.
pub fn replace(path: &Path, bytes: &[u8], readers: FileReaders) -> Result<()> {
    unnamed(path, bytes, readers)?.persist(path)?;
    Ok(())
}

/// Writes a file that does not exist yet.
///
/// # Errors
/// It cannot be written, or something of this name is there ([`ErrorKind::AlreadyExists`]), even since a moment ago.
pub(crate) fn create(path: &Path, bytes: &[u8], readers: FileReaders) -> Result<()> {
    unnamed(path, bytes, readers)?.persist_noclobber(path)?;
    Ok(())
}

/// A finished file in the folder of `path`, with the permissions that it will have. It goes away unless it gets its name.
fn unnamed(path: &Path, bytes: &[u8], readers: FileReaders) -> Result<NamedTempFile> {
    let there = std::fs::symlink_metadata(path).ok().filter(|there| !there.is_symlink());
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return Err(Error::other("it is not a regular file"));
    }
    let folder = path.parent().ok_or(ErrorKind::InvalidFilename)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut builder = Builder::new();
    builder.prefix(UNFINISHED).rand_bytes(LETTERS);
    // until it is finished, a file that takes the place of another one is private
    #[cfg(unix)]
    if readers == FileReaders::Usual && there.is_none() {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(there) = there.as_ref().filter(|_| cfg!(unix)).map(Metadata::permissions) {
        file.as_file().set_permissions(there)?;
    }
    if readers == FileReaders::Owner {
        file.as_file().sync_all()?;
    }
    Ok(file)
}
