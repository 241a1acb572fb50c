//! How the names of files end that were meant as rules or as scripts, although nothing reads them.

use super::kinds::KINDS;
use crate::diag::suggest;

/// The endings of rule files and of scripts.
const ENDINGS: &[&str] = &["toml", "json", "rhai"];
/// The endings of a format in which rules could be written, and in which many other files are.
const FOREIGN: &[&str] = &["yaml", "yml"];
/// The endings of data that are nearly those of rule files.
const DATA: &[&str] = &["jsonl"];
/// How many bytes from the beginning of a file say whether rules are in it.
pub(super) const HEAD: usize = 4 << 10;

/// Whether a file that is no part of a pack was probably meant as one: it is called so, or it is of a format in which rules
/// could be written, and says that it is of a kind of rules. `bytes` gives what it holds, or its first [`HEAD`] bytes.
pub(super) fn is_meant(path: &str, bytes: impl FnOnce() -> Vec<u8>) -> bool {
    let Some(ending) = ending(path) else { return false };
    let ending = ending.as_str();
    if FOREIGN.contains(&ending) {
        let bytes = bytes();
        return has_kind(bytes.get(..HEAD).unwrap_or(&bytes));
    }
    !DATA.contains(&ending) && nearest(ending).is_some()
}

/// Whether a line `kind: WORD` of a text, which is not indented, names a kind of rule files.
fn has_kind(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let words = text.trim_start_matches('\u{FEFF}').lines().filter_map(|line| line.strip_prefix("kind:"));
    let mut words = words.map(|rest| rest.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']));
    words.any(|word| KINDS.iter().any(|(kind, _)| *kind == word))
}

/// The ending of a rule file or of a script that the name of a file has, or has with a slip or in capitals.
pub(super) fn meant(path: &str) -> Option<&'static str> {
    nearest(&ending(path)?)
}

/// How the name of a file ends, in small letters; nothing for what an editor leaves behind, such as `slots.toml~`.
fn ending(path: &str) -> Option<String> {
    let (_, ending) = name_of(path).rsplit_once('.')?;
    ending.chars().all(char::is_alphanumeric).then(|| ending.to_lowercase())
}

fn nearest(ending: &str) -> Option<&'static str> {
    ENDINGS.iter().copied().find(|known| *known == ending || suggest::is_one_off(ending, known))
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
