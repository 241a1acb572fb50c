//! How the names of files end that were meant as rules or as scripts, although nothing reads them.

use crate::diag::suggest;

/// The endings of rule files and of scripts.
const ENDINGS: &[&str] = &["toml", "json", "rhai"];
/// The endings of formats in which other programs write their rules.
const FOREIGN: &[&str] = &["yaml", "yml"];
/// The endings of data that are nearly those of rule files.
const DATA: &[&str] = &["jsonl"];

/// Whether a file that is no part of a pack is called as if it was meant as one.
pub(super) fn is_meant(path: &str) -> bool {
    let Some(ending) = ending(path) else { return false };
    let ending = ending.as_str();
    !DATA.contains(&ending) && (FOREIGN.contains(&ending) || nearest(ending).is_some())
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
