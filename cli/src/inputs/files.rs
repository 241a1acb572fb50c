//! Reads and writes the files that are named on the command line.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::diag::{Code, Diagnostic, file, limits, memory};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::import;
use crate::output::Console;
use crate::store::disk::{self, FileReaders};

/// The streams among the arguments of the program, such as `/dev/fd/63`, which a shell writes for `<(command)`. Only what
/// stands there itself is read as a stream: a path inside of a file leads to a regular file.
pub(crate) fn find_streams(arguments: &[OsString]) -> Vec<PathBuf> {
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
pub(crate) fn read_bytes(path: &Path, show: &mut Console<'_>) -> Result<Vec<u8>> {
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
        EarlyExit::could_not(Code::FileMissing, format!("`{}` cannot be read: {}", path_text(path), file::reason(&error)), help)
    })
}

/// The complaint about data whose values would take too much memory, which must not be read then. `what` is its name.
pub(crate) fn too_costly(what: &str, bytes: &[u8]) -> Option<Diagnostic> {
    costly(what, bytes).map(|told| told.help("name chats and lorebooks by their paths, which are read with less"))
}

fn costly(what: &str, bytes: &[u8]) -> Option<Diagnostic> {
    memory::exceeds(bytes, limits::SCENE_MEMORY).then(|| {
        let message = format!("the values of {what} take more than {} MiB of memory", limits::SCENE_MEMORY >> 20);
        Diagnostic::new(Code::FileTooLarge, message)
    })
}

/// The bytes of a file of JSON or TOML, whose values take no more memory than is bearable.
pub(crate) fn read_values(path: &Path, show: &mut Console<'_>) -> Result<Vec<u8>> {
    let bytes = read_bytes(path, show)?;
    if bytes.len() > import::MAX_FILE {
        let message = format!("`{}` is larger than {} MiB", path_text(path), import::MAX_FILE >> 20);
        return Err(EarlyExit::could_not(Code::FileTooLarge, message, "split it"));
    }
    match costly(&format!("`{}`", path_text(path)), &bytes) {
        Some(told) => Err(EarlyExit::new(RunExit::CouldNot, told.help("make it smaller"))),
        None => Ok(bytes),
    }
}

/// The text of a file.
pub(crate) fn read_text(path: &Path, show: &mut Console<'_>) -> Result<String> {
    decode_utf8(path, read_bytes(path, show)?)
}

/// The text that the bytes of a file are.
pub(crate) fn decode_utf8(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| EarlyExit::could_not(Code::FileEncoding, format!("`{}` is not valid UTF-8", path_text(path)), "save it as UTF-8"))
}

/// A path as messages show it.
pub(crate) fn path_text(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// That a file cannot be written where it is to be.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> EarlyExit {
    let message = format!("`{}` cannot be written: {error}", path.display());
    EarlyExit::could_not(Code::FileMissing, message, "check the folder and its permissions")
}

/// Makes the folder of a file that is to be written.
pub(crate) fn make_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), make_folder)
}

/// Makes a folder with those above it, if it does not exist.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("folder `{}` cannot be made: {error}", folder.display());
        EarlyExit::could_not(Code::FileMissing, message, "check the path and its permissions")
    })
}

/// Writes a file completely or not at all. The permissions of one that is there are kept.
pub(crate) fn write_file(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    replace_file(path, text.as_ref(), FileReaders::Usual)
}

/// [`write_file`] for what is nobody else's business, such as chats: a new file can be read by its owner alone.
pub(crate) fn write_private(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    replace_file(path, text.as_ref(), FileReaders::Owner)
}

fn replace_file(path: &Path, bytes: &[u8], readers: FileReaders) -> Result<()> {
    refuse_link(path)?;
    disk::replace(path, bytes, readers).map_err(|error| unwritable(path, &error))
}

/// A new file that only its owner may read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Refuses a link in the place of a file that is to be written: a folder may come from anyone, and its links lead anywhere.
pub(crate) fn refuse_link(path: &Path) -> Result<()> {
    if !path.is_symlink() {
        return Ok(());
    }
    let message = format!("`{}` is a link, and nothing is written through links", path.display());
    Err(EarlyExit::could_not(Code::FileOutside, message, "name the file that it leads to, or remove the link"))
}

/// The file that a name stands for, if it may be changed: where the name is a link, the file that it leads to, which must
/// lie in the folder of the link.
pub(crate) fn resolve_own_file(path: &Path) -> Result<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = real(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_symlink() && !file.starts_with(real(folder)) {
        refuse_link(path)?;
    }
    Ok(file)
}

/// What `--store` or an environment variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// A database: an address, or a path that ends in `.db` or `.sqlite` and is not a folder.
    Database(String),
    /// A folder of templates: every other path.
    Folder(PathBuf),
}

impl StoreLocation {
    pub(crate) fn of(name: OsString) -> Self {
        // an address is text; a path may be anything
        let text = match name.into_string() {
            Ok(text) => text,
            Err(name) => return Self::Folder(name.into()),
        };
        let address = ["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme)) || text.contains("://");
        let file = [".db", ".sqlite", ".sqlite3"].iter().any(|end| text.ends_with(end)) && !Path::new(&text).is_dir();
        if address || file { Self::Database(text) } else { Self::Folder(text.into()) }
    }
}

/// The value of an environment variable that is set and not empty.
pub(crate) fn from_env(name: &str, show: &Console<'_>) -> Option<OsString> {
    (show.io.env)(name).filter(|value| !value.is_empty())
}

/// The longest line, in bytes (16 MiB).
const MAX_LINE: usize = 16 << 20;
/// How much is read at once.
const CHUNK: usize = 8 << 10;

/// Lines that are read one at a time. Blank lines are passed over.
pub(crate) struct LineReader {
    name: String,
    number: usize,
    /// What has been read.
    read: Vec<u8>,
    /// Where in it the next line begins.
    start: usize,
    /// Up to here there is no end of a line behind `start`.
    searched: usize,
    /// Whether more may come from standard input.
    open: bool,
}

impl LineReader {
    /// The lines of a file; `-` is standard input.
    pub(crate) fn open(path: &Path, show: &mut Console<'_>) -> Result<Self> {
        let open = path == Path::new("-");
        let read = if open { Vec::new() } else { read_bytes(path, show)? };
        Ok(Self { name: path_text(path), number: 0, read, start: 0, searched: 0, open })
    }

    /// The place of the line that was handed out last, for messages.
    pub(crate) fn place(&self) -> String {
        format!("line {} of `{}`", self.number, self.name)
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self, show: &mut Console<'_>) -> Result<Option<String>> {
        loop {
            let behind = self.read.get(self.searched..).unwrap_or_default();
            let end = behind.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at + 1);
            self.searched = end.unwrap_or(self.read.len());
            if end.is_none() && self.open {
                self.more(show)?;
                continue;
            }
            let line = self.read.get(self.start..self.searched).unwrap_or_default().to_vec();
            if line.is_empty() {
                return Ok(None);
            }
            self.start = self.searched;
            self.number += 1;
            let line = String::from_utf8(line).map_err(|_| {
                EarlyExit::could_not(Code::FileEncoding, format!("{} is not valid UTF-8", self.place()), "save it as UTF-8")
            })?;
            if !line.trim().is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn more(&mut self, show: &mut Console<'_>) -> Result<()> {
        // only the beginning of a line is left
        self.read.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        let mut chunk = [0; CHUNK];
        let read = show.io.input.read(&mut chunk).map_err(|error| {
            EarlyExit::could_not(Code::FileMissing, format!("`{}` cannot be read: {error}", self.name), "check the program that writes it")
        })?;
        self.open = read > 0;
        self.read.extend(chunk.iter().take(read));
        if self.read.len() > MAX_LINE {
            let message = format!("a line of `{}` is longer than {} MiB", self.name, MAX_LINE >> 20);
            return Err(EarlyExit::could_not(Code::FileTooLarge, message, "write one turn a line"));
        }
        Ok(())
    }
}

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
    pub(crate) fn try_take(path: &Path) -> std::io::Result<Option<Self>> {
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
    pub(crate) fn wait(path: &Path) -> std::io::Result<Option<Self>> {
        Self::take_by(path, |file| file.lock().map(|()| true))
    }

    fn take_by(path: &Path, lock: impl Fn(&File) -> std::io::Result<bool>) -> std::io::Result<Option<Self>> {
        // a link leads elsewhere, and a pipe waits for ever
        if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
            return Err(std::io::Error::other(format!("`{}` is no file: remove it", path.display())));
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
