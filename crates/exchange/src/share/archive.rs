//! The archive of a pack: a ZIP file in which nothing is left to chance.
//!
//! Files stand in the order of their paths, are stored and not compressed, and have one time and one permission, so
//! that the same files give the same bytes with every release of the program on every machine. Compressed bytes would
//! depend on the compressor and its processor. What is read must be exactly what [`pack`] writes: there is nothing to
//! unpack, nothing declared that is not there, and no two readers can see different files in it.
//! Files have names that every system can write, inside of the pack's own folder.

use std::collections::HashMap;

use flate2::Crc;
use unicode_normalization::UnicodeNormalization;

use super::{PackFile, ShareFault, shown};
use crate::diag::{Code, Diagnostic, limits};

/// Largest archive, in bytes (64 MiB).
pub const MAX_ARCHIVE: usize = 64 << 20;

const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
/// Names are UTF-8.
const UTF8: u16 = 0x0800;
/// The first day that the format knows: 1980-01-01.
const DATE: u16 = 0x0021;
/// A file that everyone may read, as Unix writes it.
const MODE: u32 = 0o100_644;
const KIND_OF_FILE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

const REMEDY: &str = "do not use the file; ask whoever made the pack for an archive written by `tapster pack`";
const AGAIN: &str = "get the file again from where it came";

/// The bytes of the archive of these files.
///
/// # Errors
/// A name cannot be shared, there are too many files, or they are too large.
pub fn pack(mut files: Vec<PackFile>) -> Result<Vec<u8>, ShareFault> {
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    if files.len() > limits::FILES {
        return Err(refused(format!("a pack of more than {} files cannot be packed", limits::FILES), "keep other files out of its folder"));
    }
    let (mut out, mut directory, mut seen) = (Vec::new(), Vec::new(), SeenPaths::default());
    for (path, bytes) in &files {
        if let Some(why) = path_complaint(path) {
            return Err(refused(format!("the name `{}` cannot be shared: it {why}", shown(path)), "give the file another name"));
        }
        if let Err(other) = seen.add(path) {
            let message = format!("`{}` and `{}` are one file on some systems", shown(&other), shown(path));
            return Err(refused(message, "give one of them another name"));
        }
        let sum = out.len() + directory.len() + bytes.len();
        if bytes.len() > limits::FILE_BYTES || sum > MAX_ARCHIVE {
            let message = format!("`{}` is too large: a file has at most 4 MiB, and an archive 64 MiB", shown(path));
            return Err(refused(message, "keep other files out of the folder"));
        }
        let at = number(out.len());
        out.extend_from_slice(LOCAL);
        let common = common(path, bytes);
        out.extend_from_slice(&common);
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(bytes);
        directory.extend_from_slice(CENTRAL);
        // made on Unix, so that the permissions are those of a file
        directory.extend_from_slice(&0x0314_u16.to_le_bytes());
        directory.extend_from_slice(&common);
        // no comment, the first disk, no attributes
        directory.extend_from_slice(&[0; 6]);
        directory.extend_from_slice(&(MODE << 16).to_le_bytes());
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(path.as_bytes());
    }
    let (at, long, count) = (number(out.len()), number(directory.len()), u16::try_from(files.len()).unwrap_or(u16::MAX));
    out.extend_from_slice(&directory);
    out.extend_from_slice(END);
    out.extend_from_slice(&[0; 4]);
    for n in [count, count] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    for n in [long, at] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    out.extend_from_slice(&[0; 2]);
    Ok(out)
}

/// The part of a header that stands in front of a file and in the directory.
fn common(path: &str, bytes: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(bytes);
    let mut out = Vec::with_capacity(26);
    for n in [20, UTF8, 0, 0, DATE] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    for n in [crc.sum(), number(bytes.len()), number(bytes.len())] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    for n in [u16::try_from(path.len()).unwrap_or(u16::MAX), 0] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    out
}

/// A length within [`MAX_ARCHIVE`].
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The files of an archive. `name` is the name of the file in messages.
///
/// # Errors
/// It is damaged, hostile, or not written by [`pack`].
pub fn unpack(name: &str, bytes: &[u8]) -> Result<Vec<PackFile>, ShareFault> {
    let fault = |what: String, help: &str| refused(format!("`{}` {what}", shown(name)), help);
    if bytes.len() > MAX_ARCHIVE {
        return Err(fault("is larger than 64 MiB".to_owned(), REMEDY));
    }
    let entries = directory(bytes).map_err(|what| fault(what, AGAIN))?;
    let (mut files, mut seen) = (Vec::with_capacity(entries.len()), SeenPaths::default());
    for entry in &entries {
        let Ok(path) = std::str::from_utf8(entry.name) else {
            let path = String::from_utf8_lossy(entry.name);
            return Err(fault(format!("holds a file whose name is not UTF-8: `{}`", shown(&path)), REMEDY));
        };
        let member = |what: &str| fault(format!("holds `{}`, which {what}", shown(path)), REMEDY);
        if let Some(why) = path_complaint(path.strip_suffix('/').unwrap_or(path)) {
            return Err(fault(format!("holds a file whose name {why}: `{}`", shown(path)), REMEDY));
        }
        match entry.mode & KIND_OF_FILE {
            LINK => return Err(member("is a link")),
            _ if path.ends_with('/') => return Err(member("is a folder; `tapster pack` writes files only")),
            _ => {}
        }
        if let Err(other) = seen.add(path) {
            return Err(fault(format!("holds two files that are one on some systems: `{}` and `{}`", shown(&other), shown(path)), REMEDY));
        }
        if entry.method != 0 {
            return Err(member("is compressed; `tapster pack` writes files as they are"));
        }
        if entry.size > limits::FILE_BYTES || entry.packed != entry.size {
            return Err(member("declares a size that is not its own, or more than 4 MiB"));
        }
        let contents = entry.contents(bytes).ok_or_else(|| member("lies outside of the archive"))?;
        let mut crc = Crc::new();
        crc.update(contents);
        if crc.sum() != entry.crc {
            return Err(fault(format!("is damaged: the checksum of `{}` does not fit", shown(path)), AGAIN));
        }
        files.push((path.to_owned(), contents.to_vec()));
    }
    // whatever else there could be, such as bytes between the files, comments, or another order
    if pack(files.clone())? != bytes {
        return Err(fault("was not written by `tapster pack`, or was changed since".to_owned(), REMEDY));
    }
    Ok(files)
}

/// What the directory at the end says of a file.
struct ArchiveEntry<'a> {
    name: &'a [u8],
    method: u16,
    crc: u32,
    packed: usize,
    size: usize,
    mode: u32,
    at: usize,
}

impl<'a> ArchiveEntry<'a> {
    /// The bytes of the file, which follow its own header.
    fn contents(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let header = bytes.get(self.at..)?;
        if !header.starts_with(LOCAL) {
            return None;
        }
        let start = 30 + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        header.get(start..start.checked_add(self.size)?)
    }
}

/// The entries of the directory, at most [`limits::FILES`]; or what is wrong.
fn directory(bytes: &[u8]) -> Result<Vec<ArchiveEntry<'_>>, String> {
    let none = || "is not an archive of a pack".to_owned();
    if !bytes.starts_with(LOCAL) && !bytes.starts_with(END) {
        return Err(none());
    }
    let cut = || "is cut off, or something follows its end".to_owned();
    let end = bytes.len().checked_sub(22).and_then(|at| bytes.get(at..)).filter(|end| end.starts_with(END)).ok_or_else(cut)?;
    let count = usize::from(u16_at(end, 10).ok_or_else(cut)?);
    if count > limits::FILES {
        return Err(format!("holds more than {} files", limits::FILES));
    }
    let at = u32_at(end, 16).ok_or_else(cut)? as usize;
    let mut rest = bytes.get(at..bytes.len() - 22).ok_or_else(cut)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let (entry, after) = entry(rest).ok_or_else(|| "has a directory that cannot be read".to_owned())?;
        entries.push(entry);
        rest = after;
    }
    if rest.is_empty() { Ok(entries) } else { Err("has more files than it declares".to_owned()) }
}

fn entry(bytes: &[u8]) -> Option<(ArchiveEntry<'_>, &[u8])> {
    if !bytes.starts_with(CENTRAL) {
        return None;
    }
    let name_end = 46 + usize::from(u16_at(bytes, 28)?);
    let end = name_end + usize::from(u16_at(bytes, 30)?) + usize::from(u16_at(bytes, 32)?);
    let entry = ArchiveEntry {
        name: bytes.get(46..name_end)?,
        method: u16_at(bytes, 10)?,
        crc: u32_at(bytes, 16)?,
        packed: u32_at(bytes, 20)? as usize,
        size: u32_at(bytes, 24)? as usize,
        mode: u32_at(bytes, 38)? >> 16,
        at: u32_at(bytes, 42)? as usize,
    };
    Some((entry, bytes.get(end..)?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn refused(message: String, help: &str) -> ShareFault {
    Diagnostic::new(Code::ShareArchive, message).help(help).into()
}

/// Longest path inside a pack, in bytes.
pub const MAX_PATH: usize = 200;

/// Names that some systems keep for devices, with any ending.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Why a path cannot be the path of a file of a shared pack; `None` if it can.
#[must_use]
pub fn path_complaint(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.len() > MAX_PATH {
        return Some("is longer than 200 bytes");
    }
    if path.starts_with(['/', '\\']) || path.get(1..2) == Some(":") {
        return Some("is absolute");
    }
    if path.contains('\\') {
        return Some("holds a backslash");
    }
    if path.split('/').count() > limits::CHAIN + 1 {
        return Some("is nested deeper than 16 folders");
    }
    path.split('/').find_map(part_complaint)
}

/// The complaint about one part of a path.
fn part_complaint(name: &str) -> Option<&'static str> {
    if name == ".." {
        return Some("leads out of the pack");
    }
    if name.is_empty() {
        return Some("has an empty part");
    }
    if name.starts_with('.') {
        return Some("is hidden");
    }
    if name.chars().any(|c| c.is_control() || "<>:\"|?*".contains(c) || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')) {
        return Some("holds a character that not every system can write");
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Some("begins with a space or ends in a space or a dot, which not every system keeps");
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let numbered = |device: &str| {
        let rest = stem.strip_prefix(device);
        rest.is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(|c| c.is_ascii_digit() || "¹²³".contains(c)))
    };
    if DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt") {
        return Some("is the name of a device on some systems");
    }
    None
}

/// A path as systems compare it that do not tell upper from lower case, nor the two ways to write an accent.
#[must_use]
pub fn folded(path: &str) -> String {
    // through capitals: some small letters have the capitals of others (`ς` of `σ`, `ß` of `ss`), and `ẞ` is the capital of `ß`
    path.nfd().flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
}

/// The paths seen so far, so that no two of them can be the same file, nor one a folder of the other.
#[derive(Debug, Default)]
pub struct SeenPaths {
    /// Folded path = the path, and whether it is a file.
    paths: HashMap<String, (String, bool)>,
}

impl SeenPaths {
    /// Adds the path of a file.
    ///
    /// # Errors
    /// The path that it cannot stand beside.
    pub fn add(&mut self, path: &str) -> Result<(), String> {
        let folded = folded(path);
        if let Some((other, _)) = self.paths.get(&folded) {
            return Err(other.clone());
        }
        for (at, _) in folded.match_indices('/') {
            let Some(folder) = folded.get(..at) else { continue };
            let written = path.split('/').take(folder.split('/').count()).collect::<Vec<_>>().join("/");
            match self.paths.get(folder) {
                // a folder in two spellings is one folder on some systems, and two on others
                Some((other, is_file)) if *is_file || *other != written => return Err(other.clone()),
                Some(_) => {}
                None => {
                    self.paths.insert(folder.to_owned(), (written, false));
                }
            }
        }
        self.paths.insert(folded, (path.to_owned(), true));
        Ok(())
    }
}
