//! Reads and writes the files that are named on the command line.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, file, memory};
use crate::import;
use crate::store::disk::{self, FileReaders};

use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

/// The streams among the arguments of the program, such as `/dev/fd/63`, which a shell writes for `<(command)`. Only what
/// stands there itself is read as a stream: a path inside of a file leads to a regular file.
pub(crate) fn streams(arguments: &[OsString]) -> Vec<PathBuf> {
    let path = |argument: &OsString| {
        let text = argument.to_str()?;
        let path = Path::new(if text.starts_with("--") { text.split_once('=')?.1 } else { text });
        let number = path.file_name()?.to_str()?.bytes().all(|byte| byte.is_ascii_digit());
        let opened = number && ["/dev/fd", "/proc/self/fd"].map(Path::new).contains(&path.parent()?);
        (opened || ["/dev/stdin", "/dev/null"].map(Path::new).contains(&path)).then(|| path.to_owned())
    };
    arguments.iter().filter_map(path).collect()
}

/// The bytes of a regular file, or of a stream that the command line names; `-` is standard input. The size is limited as
/// for every foreign file.
pub(crate) fn bytes_of(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Vec<u8>, EarlyExit> {
    let most = import::MAX_FILE as u64;
    let mut bytes = Vec::new();
    let mut stream = |from: &mut dyn Read| from.take(most + 1).read_to_end(&mut bytes).map(|_| std::mem::take(&mut bytes));
    let read = if path == Path::new("-") {
        stream(&mut *show.io.input)
    } else if show.streams.iter().any(|named| named == path) {
        File::open(path).and_then(|mut file| stream(&mut file))
    } else {
        file::read(path, most)
    };
    read.map_err(|error| {
        let help = match error.kind() {
            ErrorKind::InvalidInput => "name a file, or `-` for standard input where that is taken",
            _ => "check the path and its permissions",
        };
        EarlyExit::could_not(Code::FileMissing, format!("`{}` cannot be read: {}", shown(path), file::reason(&error)), help)
    })
}

/// The most memory that the values of one input may take, in bytes (128 MiB), as [`crate::diag::memory`] estimates it: of a
/// scene, a line of `serve`, the data of a task, and files such as lists, turns, states and exported sessions.
const MAX_MEMORY: usize = 128 << 20;

/// The complaint about data whose values would take too much memory, which must not be read then. `what` is its name.
pub(crate) fn too_costly(what: &str, bytes: &[u8]) -> Option<Diagnostic> {
    costly(what, bytes).map(|told| told.help("name chats and lorebooks by their paths, which are read with less"))
}

fn costly(what: &str, bytes: &[u8]) -> Option<Diagnostic> {
    memory::exceeds(bytes, MAX_MEMORY).then(|| {
        let message = format!("the values of {what} take more than {} MiB of memory", MAX_MEMORY >> 20);
        Diagnostic::new(Code::FileTooLarge, message)
    })
}

/// The bytes of a file of JSON or TOML, whose values take no more memory than is bearable.
pub(crate) fn values_of(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Vec<u8>, EarlyExit> {
    let bytes = bytes_of(path, show)?;
    if bytes.len() > import::MAX_FILE {
        let message = format!("`{}` is larger than {} MiB", shown(path), import::MAX_FILE >> 20);
        return Err(EarlyExit::could_not(Code::FileTooLarge, message, "split it"));
    }
    match costly(&format!("`{}`", shown(path)), &bytes) {
        Some(told) => Err(EarlyExit::new(RunExit::CouldNot, told.help("make it smaller"))),
        None => Ok(bytes),
    }
}

/// The text of a file.
pub(crate) fn text_of(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<String, EarlyExit> {
    utf8(path, bytes_of(path, show)?)
}

/// The text that the bytes of a file are.
pub(crate) fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, EarlyExit> {
    String::from_utf8(bytes)
        .map_err(|_| EarlyExit::could_not(Code::FileEncoding, format!("`{}` is not valid UTF-8", shown(path)), "save it as UTF-8"))
}

/// A path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Makes the folder of a file that is to be written.
pub(crate) fn folder_of(path: &Path) -> Result<(), EarlyExit> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("folder `{}` cannot be made: {error}", folder.display());
        EarlyExit::could_not(Code::FileMissing, message, "check the path and its permissions")
    })
}

/// Writes a file completely or not at all. The permissions of one that is there are kept.
pub(crate) fn write_file(path: &Path, text: impl AsRef<[u8]>) -> Result<(), EarlyExit> {
    write(path, text.as_ref(), FileReaders::Usual)
}

/// [`write_file`] for what is nobody else's business, such as chats: a new file can be read by its owner alone.
pub(crate) fn write_private(path: &Path, text: impl AsRef<[u8]>) -> Result<(), EarlyExit> {
    write(path, text.as_ref(), FileReaders::Owner)
}

fn write(path: &Path, bytes: &[u8], readers: FileReaders) -> Result<(), EarlyExit> {
    no_link(path)?;
    disk::replace(path, bytes, readers).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", path.display());
        EarlyExit::could_not(Code::FileMissing, message, "check the folder and its permissions")
    })
}

/// Refuses a link in the place of a file that is to be written: a folder may come from anyone, and its links lead anywhere.
pub(crate) fn no_link(path: &Path) -> Result<(), EarlyExit> {
    if !path.is_symlink() {
        return Ok(());
    }
    let message = format!("`{}` is a link, and nothing is written through links", path.display());
    Err(EarlyExit::could_not(Code::FileOutside, message, "name the file that it leads to, or remove the link"))
}

/// The file that a name stands for, if it may be changed: where the name is a link, the file that it leads to, which must
/// lie in the folder of the link.
pub(crate) fn own_file(path: &Path) -> Result<PathBuf, EarlyExit> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = real(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_symlink() && !file.starts_with(real(folder)) {
        no_link(path)?;
    }
    Ok(file)
}
