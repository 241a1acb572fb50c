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
    Path::new(env!("CHECKOUT"))
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
    for path in files(&root().join("tests/all"), "rs", true) {
        let text = std::fs::read_to_string(path).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        found.extend(words.filter(|w| ["W4-", "TS-", "VT-"].iter().any(|area| w.starts_with(area)) && w.len() > 3).map(str::to_owned));
    }
    found
}

/// The recorded cases that the harness runs, by their names.
fn recorded_names(folder: &Path) -> BTreeSet<String> {
    let adapters = std::fs::read_to_string(root().join("tests/conformance/adapters/mod.rs")).unwrap();
    let runs = |case: &Json| {
        let kind = case["kind"].as_str().unwrap_or("");
        adapters.contains(&format!("adapter({kind:?}")) || adapters.contains(&format!("kind: {kind:?}"))
    };
    let cases = files(folder, "json", true).into_iter().flat_map(|p| json(&p).as_array().cloned().unwrap_or_default());
    cases.filter(runs).filter_map(|case| case["name"].as_str().map(str::to_owned)).collect()
}

/// The folder of recorded cases and a list of clauses beside it; nothing where they are not at hand.
fn listed(name: &str) -> Option<(PathBuf, Vec<Json>)> {
    let folder = std::env::var("TAPSTER_CONFORMANCE").map_or_else(|_| root().join("../shared/conformance"), PathBuf::from);
    let list = folder.join("../spec").join(name);
    if !list.is_file() {
        println!("no clauses: {} is no file (set TAPSTER_CONFORMANCE)", list.display());
        return None;
    }
    let clauses = json(&list).as_array().unwrap().iter().filter(|c| c["testable"] == Json::Bool(true)).cloned().collect();
    Some((folder, clauses))
}

fn id(clause: &Json) -> &str {
    clause["id"].as_str().unwrap_or("")
}

fn told(missing: &[&Json]) -> String {
    missing.iter().map(|c| format!("{} {}\n", c["id"], c["clause"])).collect()
}

#[test]
fn every_testable_clause_has_a_case_that_runs() {
    let Some((folder, clauses)) = listed("clauses-wave4.json") else { return };
    let mut have = recorded(&folder.join("contract"));
    have.extend(own());
    let asked = clauses.iter().filter(|c| AREAS.contains(&id(c).split('-').nth(1).unwrap_or("")));
    let missing: Vec<&Json> = asked.filter(|c| !have.contains(id(c))).collect();
    assert!(missing.is_empty(), "clauses without a case:\n{}", told(&missing));
}

/// Each recorded case that a clause lists must run; a clause that lists none must have one of the project's own.
fn each_has_a_case(list: &str) {
    let Some((folder, clauses)) = listed(list) else { return };
    let (names, own) = (recorded_names(&folder.join("contract")), own());
    let unknown: Vec<&Json> = clauses.iter().filter(|c| ids(&c["cases"]).any(|case| !names.contains(&case))).collect();
    assert!(unknown.is_empty(), "clauses with a case that does not run:\n{}", told(&unknown));
    let missing: Vec<&Json> = clauses.iter().filter(|c| ids(&c["cases"]).next().is_none() && !own.contains(id(c))).collect();
    assert!(missing.is_empty(), "clauses without a case:\n{}", told(&missing));
}

#[test]
fn every_testable_clause_about_artifacts_has_a_case_that_runs() {
    each_has_a_case("clauses-talespinner.json");
}

#[test]
fn every_testable_clause_about_the_runner_has_a_case_that_runs() {
    each_has_a_case("clauses-vibetavern.json");
}
