//! Changes that maintainers of real chat programs had to make in code, made here in data: each folder of
//! `tests/replay/` holds an overlay and a case file, whose case `before` runs without the overlay and `after` with it.
//! The cases run as `tapster test tests/replay` runs them.

#![expect(clippy::panic, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tapster::Ruleset;
use tapster_testing::files::read_path;

/// The changes, as the collection numbers them.
const CHANGES: [&str; 28] = [
    "CR01", "CR02", "CR03", "CR06", "CR10", "CR11", "CR17", "CR18", "CR20", "CR21", "CR25", "CR33", "CR34", "CR38", "CR40", "CR41", "CR43",
    "CR44", "CR49", "CR50", "CR53", "CR55", "CR60", "CR65", "CR66", "CR68", "CR70", "CR75",
];

fn folder(id: &str) -> PathBuf {
    Path::new(env!("CHECKOUT")).join("tests/replay").join(id)
}

fn read_toml(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What a case expects, turn by turn.
fn expected(case: &Json) -> Vec<&Json> {
    let turns = case["turns"].as_array().map_or(std::slice::from_ref(case), Vec::as_slice);
    turns.iter().map(|turn| &turn["expect"]).collect()
}

#[test]
fn every_change_is_a_case_that_the_command_runs() {
    let (_, out, err) = crate::program::tapster(&["test", "tests/replay", "--format", "json"]);
    let tested: Json = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {err}"));
    let mut found: BTreeMap<String, Vec<(&str, bool)>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in tested["files"].as_array().unwrap() {
        let shown = file["file"].as_str().unwrap();
        let id = Path::new(shown).parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        for case in file["cases"].as_array().unwrap() {
            found.entry(id.clone()).or_default().push((case["name"].as_str().unwrap(), case["ok"] == Json::Bool(true)));
            if case["ok"] != Json::Bool(true) {
                wrong.push(format!("{shown}#{}: {:#}", case["name"], case["failures"]));
            }
        }
        if file["diagnostics"].as_array().is_some_and(|all| !all.is_empty()) {
            wrong.push(format!("{shown}: {:#}", file["diagnostics"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let wanted = CHANGES.map(|id| (id.to_owned(), vec![("before", true), ("after", true)]));
    assert_eq!(found, BTreeMap::from(wanted));
}

#[test]
fn every_overlay_compiles_without_a_warning_and_changes_something() {
    for id in CHANGES {
        let overlay = folder(id).join("overlay.toml");
        let (file, extends) = (read_toml(&folder(id).join("case.toml")), read_toml(&overlay)["extends"].clone());
        assert_eq!(file["pack"], extends, "{id}: the overlay is for the pack of the case");
        assert!(file["about"].as_str().is_some_and(|about| !about.is_empty()), "{id}: the case says what it is about");
        let pack = extends.as_str().unwrap();
        match Ruleset::open(pack, &[&overlay]) {
            Ok(rules) => assert!(
                rules.warnings().items().iter().all(|d| d.severity == tapster::diag::Severity::Note),
                "{id}: {:?}",
                rules.warnings().items()
            ),
            Err(rejected) => panic!("{id} over {pack}:\n{rejected}"),
        }
        let read = read_path(&folder(id).join("case.toml")).unwrap_or_else(|e| panic!("{id}: {:?}", e.report.items()));
        let laid: Vec<&[String]> = read.cases.iter().map(|case| case.overlays.as_slice()).collect();
        assert_eq!(laid, [&[][..], &["overlay.toml".to_owned()]], "{id}: the overlay is what differs");
        let [before, after] = file["case"].as_array().unwrap().as_slice() else { panic!("{id} has two cases") };
        assert_ne!(expected(before), expected(after), "{id}: a change that changes nothing");
    }
}
