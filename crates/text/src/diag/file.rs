//! The one door through which files are opened to be read. A pipe, a socket or a device that lies where a file is expected
//! would keep its reader waiting for ever, so nothing but a regular file is read.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Opens a regular file to be read. A link is followed.
///
/// # Errors
/// As [`File::open`]; and [`ErrorKind::InvalidInput`], at once, for everything that is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // a device may act when it is opened, so it is looked at before
    regular(&fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    // and what has taken its place in between must not wait
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a regular file. Of one with more than `most` bytes, the first `most + 1` are returned.
///
/// # Errors
/// As `open`, and what the system says while it reads.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn regular(data: &Metadata) -> io::Result<()> {
    if data.is_file() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {}, not a file", kind(data.file_type()))))
}

/// What there is in the place of a file.
fn kind(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        } else if kind.is_socket() {
            return "a socket";
        } else if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "something else" }
}

/// Why a file cannot be read, for a message: without the number of the system, in lower case.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        // what this door says itself
        ErrorKind::InvalidInput => error.to_string(),
        kind => kind.to_string(),
    }
}
