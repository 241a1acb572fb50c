//! No field that the real program reads for a prompt is left unread: every file of the published content and of the
//! suite of this project is imported, and each field that no rule reads needs a reason in `tests/foreign/unread.toml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tapster::import_document;
use tapster_exchange::import::read;

use crate::shipped::EXACT;

/// The reasons, by format and field.
type Reasons = toml::Table;

/// The files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Whether a field is one that a row means: the same text, but for one `*`.
fn means(row: &str, field: &str) -> bool {
    row.split_once('*')
        .map_or(row == field, |(head, tail)| field.len() >= head.len() + tail.len() && field.starts_with(head) && field.ends_with(tail))
}

/// The row that gives a reason for a field of a format.
fn row<'a>(reasons: &'a Reasons, format: &str, field: &str) -> Option<&'a str> {
    let rows = reasons.get(format)?.as_table()?;
    rows.keys().find(|row| means(row, field)).map(String::as_str)
}

#[test]
fn fields_that_no_rule_reads_have_a_reason() {
    let root = Path::new(env!("CHECKOUT"));
    let shared = std::env::var_os("TAPSTER_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    if !shared.join("real").is_dir() {
        eprintln!("skipped: no published files at {}; set TAPSTER_SHARED", shared.display());
        return;
    }
    let reasons: Reasons = std::fs::read_to_string(root.join("tests/foreign/unread.toml")).unwrap().parse().unwrap();
    let mut needed = BTreeSet::new();
    let mut failures = Vec::new();
    let found = [files(&shared.join("real")), files(&root.join("tests/recorded/files"))].concat();
    for path in &found {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(row) = row(&reasons, "files", &name) {
            needed.insert(("files".to_owned(), row.to_owned()));
            continue;
        }
        let contents = read(&name, &std::fs::read(path).unwrap()).unwrap_or_else(|report| panic!("{name}: {report:?}"));
        let document = contents.main().unwrap();
        let brought = match import_document(&EXACT, None, document.value.clone()) {
            Ok(brought) => brought,
            Err(why) => {
                failures.push(format!("{}: {why}", path.display()));
                continue;
            }
        };
        for field in brought.fields.iter().filter(|field| field.note == "no rule reads it") {
            match row(&reasons, &brought.format, &field.field) {
                Some(row) => drop(needed.insert((brought.format.clone(), row.to_owned()))),
                None => failures.push(format!("{}: `{}` of {} is read by no rule", path.display(), field.field, brought.format)),
            }
        }
    }
    for (format, rows) in &reasons {
        for (row, reason) in rows.as_table().unwrap() {
            if reason.as_str().is_none_or(str::is_empty) {
                failures.push(format!("unread.toml: {format} `{row}` has no reason"));
            }
            if !needed.contains(&(format.clone(), row.clone())) {
                failures.push(format!("unread.toml: no file needs {format} `{row}`"));
            }
        }
    }
    assert!(found.len() > 100, "only {} files were found", found.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
