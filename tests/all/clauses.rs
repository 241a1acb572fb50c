//! Every testable clause of the contract has a case that runs: one of the recorded cases whose kind the harness has an
//! adapter for, one of the project's own (`clauses = […]` in `tests/cases`), or a test in Rust that names it.
//!
//! Skips with a notice where the recorded cases are not at hand (`$TAPSTER_CONFORMANCE`, else `../shared/conformance`).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// The parts of the contract whose clauses are held to this.
const AREAS: &[&str] = &["STRICT", "DEBUG", "MSG", "TRIM", "INJREG", "HOOK", "STAGE", "AN", "PERSONA", "INCHAT", "OUTPUT"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, ending: &str, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() && deep {
            found.extend(files(&path, ending, deep));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found
}

fn json(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn ids(list: &Json) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned)
}

/// Clauses of recorded cases that the harness runs.
fn recorded(folder: &Path) -> BTreeSet<String> {
    let adapters = std::fs::read_to_string(root().join("tests/conformance/adapters/mod.rs")).unwrap();
    let runs = |case: &Json| adapters.contains(&format!("adapter({:?}", case["kind"].as_str().unwrap_or("")));
    let cases = files(folder, "json", true).into_iter().flat_map(|p| json(&p).as_array().cloned().unwrap_or_default());
    cases.filter(runs).flat_map(|case| ids(&case["clauses"]).collect::<Vec<_>>()).collect()
}

/// Clauses of the project's own cases.
fn own() -> BTreeSet<String> {
    let cases = files(&root().join("tests/cases"), "toml", true).into_iter().flat_map(|path| {
        let file: Json = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        file["case"].as_array().cloned().unwrap_or_default()
    });
    let mut found: BTreeSet<String> = cases.flat_map(|case| ids(&case["clauses"]).collect::<Vec<_>>()).collect();
    for path in files(&root().join("tests/all"), "rs", false) {
        let text = std::fs::read_to_string(path).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        found.extend(words.filter(|w| w.starts_with("W4-") && w.len() > 3).map(str::to_owned));
    }
    found
}

#[test]
fn every_testable_clause_has_a_case_that_runs() {
    let folder = std::env::var("TAPSTER_CONFORMANCE").map_or_else(|_| root().join("../shared/conformance"), PathBuf::from);
    let list = folder.join("../spec/clauses-wave4.json");
    if !list.is_file() {
        println!("no clauses: {} is no file (set TAPSTER_CONFORMANCE)", list.display());
        return;
    }
    let mut have = recorded(&folder.join("contract"));
    have.extend(own());
    let clauses = json(&list);
    let asked = clauses.as_array().unwrap().iter().filter(|c| {
        let area = c["id"].as_str().unwrap_or("").split('-').nth(1).unwrap_or("");
        c["testable"] == Json::Bool(true) && AREAS.contains(&area)
    });
    let missing: Vec<String> =
        asked.filter(|c| !have.contains(c["id"].as_str().unwrap_or(""))).map(|c| format!("{} {}", c["id"], c["clause"])).collect();
    assert!(missing.is_empty(), "clauses without a case:\n{}", missing.join("\n"));
}
