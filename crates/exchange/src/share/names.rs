//! Which names files of a shared pack may have: those that every system can write, inside of the pack's own folder.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

/// Longest path inside a pack, in bytes.
pub const MAX_PATH: usize = 200;
/// Deepest folder inside a pack.
pub const MAX_FOLDERS: usize = 16;

/// Names that some systems keep for devices, with any ending.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Why a path cannot be the path of a file of a shared pack; `None` if it can.
#[must_use]
pub fn complaint(path: &str) -> Option<&'static str> {
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
    if path.split('/').count() > MAX_FOLDERS + 1 {
        return Some("is nested deeper than 16 folders");
    }
    path.split('/').find_map(part)
}

/// The complaint about one part of a path.
fn part(name: &str) -> Option<&'static str> {
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
