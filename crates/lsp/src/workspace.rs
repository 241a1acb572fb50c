//! The files of the workspace that may name rules.

use std::path::PathBuf;

/// The most files and folders that are looked through.
const MOST_ENTRIES: usize = 50_000;
/// How deep folders are followed.
const MOST_DEPTH: usize = 32;
/// The endings of rule files and of what they use.
const ENDINGS: [&str; 6] = ["toml", "json", "rhai", "hbs", "handlebars", "liquid"];
/// Folders of other programs, which hold no rules.
const OTHERS: [&str; 2] = ["node_modules", "target"];

/// The files in folders and their subfolders that may name rules, sorted; links and hidden files are left out. `None` if there are
/// too many to look through.
pub(crate) fn rule_texts(folders: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let mut open: Vec<(PathBuf, usize)> = folders.iter().map(|folder| (folder.clone(), 0)).collect();
    let (mut found, mut entries) = (Vec::new(), 0);
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES || depth > MOST_DEPTH {
                return None;
            }
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let is_text = path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending));
            match entry.file_type() {
                _ if name.starts_with('.') => {}
                Ok(kind) if kind.is_dir() && !OTHERS.contains(&name.as_str()) => open.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && is_text => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found.dedup();
    Some(found)
}
