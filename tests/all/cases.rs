//! Runs every rule test of the repository by `tapster test`, as an author of a pack does: those in `tests/cases`, which pin
//! the language and what no single pack owns, and those of the shipped packs, which must cover them.
//!
//! The variable `CASE` chooses cases by a part of `file#name`. Cases under a folder `fixme` say what does not hold yet: they
//! must fail, and turn red once they hold.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, Value as Json};
use tapster::machinery::pack::library::shipped_names;
use tapster::machinery::pack::{Schemas, load_file};
use tapster::machinery::verbs::VERBS;
use tapster_testing::case::{in_folder, is_case_file};

use crate::support::tapster;

/// The least share of its passes, in percent, that the cases of each shipped pack exercise.
const FLOORS: &str = include_str!("cases_floors.toml");

/// What `tapster test` says in JSON; `None` if there is nothing to run.
fn tested(args: &[&str]) -> Option<Value> {
    let (exit, out, err) = tapster(&[&["test", "--format", "json"], args].concat());
    assert!(exit < 2 || err.starts_with("error["), "{err}");
    serde_json::from_str(&out).ok()
}

/// The cases of all shipped packs, with what they cover.
static OF_PACKS: LazyLock<Value> = LazyLock::new(|| tested(&["--coverage"]).unwrap_or_default());

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// What is wrong with the cases whose title contains `only`, and how many there are.
fn complaints(tested: &Value, only: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in list(tested, "files") {
        let shown = file["file"].as_str().unwrap();
        if !list(file, "diagnostics").is_empty() {
            wrong.push(format!("{shown}: {:#}", file["diagnostics"]));
        }
        for case in list(file, "cases") {
            let title = format!("{shown}#{}", case["name"].as_str().unwrap());
            if !title.contains(only) {
                continue;
            }
            count += 1;
            let said = list(case, "failures");
            match (said.is_empty(), Path::new(shown).iter().any(|part| part == "fixme")) {
                (false, false) => wrong.push(said.iter().fold(title, |all, one| format!("{all}\n    {one}"))),
                (true, true) => wrong.push(format!("{title}\n    holds now: move it out of `fixme`")),
                _ => {}
            }
        }
    }
    (wrong, count)
}

#[test]
fn every_case_holds() {
    let only = std::env::var("CASE").unwrap_or_default();
    let (mut wrong, mut count) = tested(&["tests/cases", "--filter", &only]).map(|all| complaints(&all, "")).unwrap_or_default();
    let (of_packs, more) = complaints(&OF_PACKS, &only);
    wrong.extend(of_packs);
    count += more;
    assert!(wrong.is_empty(), "{} of {count} cases fail:\n\n{}\n", wrong.len(), wrong.join("\n\n"));
    assert!(count > 0, "no case is called `{only}`");
}

#[test]
fn cases_cover_the_shipped_packs() {
    let floors: BTreeMap<String, f64> = toml::from_str(FLOORS).unwrap();
    let mut wrong = String::new();
    for pack in shipped_names() {
        let measured = list(&OF_PACKS, "packs").iter().find(|measured| measured["pack"] == pack.as_str());
        let count = |key: &str| measured.and_then(|measured| measured["passes"][key].as_f64()).unwrap_or_default();
        // a pack without passes of its own has nothing to cover
        let all_covered = measured.is_some() && count("all") == 0.0;
        let share = if all_covered { 100.0 } else { 100.0 * count("covered") / count("all").max(1.0) };
        match floors.get(&pack) {
            None => drop(writeln!(wrong, "{pack} has no floor in tests/all/cases_floors.toml; its cases cover {share:.1} %")),
            Some(floor) if share < *floor => {
                let missing: Vec<&str> =
                    measured.map_or(&[][..], |m| list(&m["passes"], "missing")).iter().filter_map(|p| p["what"].as_str()).collect();
                let _ = writeln!(wrong, "cases cover {share:.1} % of the passes of {pack}, not {floor} %: {missing:#?}");
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let unknown: Vec<&String> = floors.keys().filter(|pack| !shipped_names().contains(pack)).collect();
    assert!(unknown.is_empty(), "floors of packs that are not shipped: {unknown:?}");
}

#[test]
fn case_files_fit_their_schema() {
    crate::support::in_checkout();
    let mut files = in_folder(Path::new("tests/cases"));
    assert!(!files.is_empty());
    files.extend(shipped_names().iter().flat_map(|pack| in_folder(&Path::new("rules").join(pack).join("cases"))));
    let mut complaints = String::new();
    for path in files.iter().filter(|path| is_case_file(path)) {
        let (_, report, sources) = load_file(path, Schemas::shipped());
        if !report.is_empty() {
            let _ = writeln!(complaints, "{}", tapster::diag::render::plain(&report, &sources));
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn every_verb_has_cases() {
    crate::support::in_checkout();
    let has = |verb: &str| PathBuf::from(format!("tests/cases/verbs/{verb}.toml")).exists();
    let missing: Vec<&str> = VERBS.iter().map(|v| v.name).filter(|v| !has(v)).collect();
    assert!(missing.is_empty(), "verbs without cases: {missing:?}");
}

// Every testable clause of the contract has a case that runs: one of the recorded cases whose kind the harness has an
// adapter for, one of the project's own (`clauses = […]` in `tests/cases`), or a test in Rust that names it.
//
// Skips with a notice where the recorded cases are not at hand (`$TAPSTER_CONFORMANCE`, else `../shared/conformance`).

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
