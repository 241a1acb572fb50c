//! Changes that maintainers of real chat programs had to make in code, made here in data: each folder of
//! `tests/replay/` holds an overlay and a case that says what a program gives without it and with it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use tapster::{Ruleset, Scene, Value};

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay");
    let mut found: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    found.sort();
    found
}

fn id(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn read_toml(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn open(pack: &str, overlays: &[(&str, &str)]) -> Ruleset {
    Ruleset::open_with(pack, overlays).unwrap_or_else(|rejected| panic!("{pack}:\n{rejected}"))
}

#[test]
fn every_overlay_compiles_over_its_pack() {
    let folders = folders();
    assert_eq!(folders.len(), 28);
    for folder in folders {
        let file = folder.join("overlay.toml");
        let pack = read_toml(&file)["extends"].as_str().unwrap().to_owned();
        match Ruleset::open(&pack, &[&file]) {
            Ok(rules) => assert!(rules.warnings().is_empty(), "{}: {:?}", id(&folder), rules.warnings().items()),
            Err(rejected) => panic!("{} over {pack}:\n{rejected}", id(&folder)),
        }
    }
}

#[test]
fn every_case_gives_what_the_old_and_the_new_program_gave() {
    let mut wrong = Vec::new();
    for folder in folders() {
        let id = id(&folder);
        let overlay = std::fs::read_to_string(folder.join("overlay.toml")).unwrap();
        let pack = read_toml(&folder.join("overlay.toml"))["extends"].as_str().unwrap().to_owned();
        let case = read_toml(&folder.join("case.toml"));
        assert_ne!(case["without"], case["with"], "{id}: a change that changes nothing");
        let setup = case["rules"].as_str().map(|text| ("rules.toml", text));
        let without: Vec<_> = setup.into_iter().collect();
        let with: Vec<_> = setup.into_iter().chain([("overlay.toml", overlay.as_str())]).collect();
        for (side, overlays, programs) in [("without", without, &["run"][..]), ("with", with, &["run", "run_with"][..])] {
            let got = results(&open(&pack, &overlays), &case, programs);
            if got != case[side] {
                wrong.push(format!("{id} {side}\n  got      {got}\n  expected {}", case[side]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the case reads after its programs ran: once, or once a turn, each with the store that the turn before left.
fn results(rules: &Ruleset, case: &Json, programs: &[&str]) -> Json {
    let programs: Vec<&str> = programs.iter().filter_map(|key| case[key].as_array()).flatten().map(|p| p.as_str().unwrap()).collect();
    let Some(turns) = case["turn"].as_array() else {
        return result(rules, case, &programs, Scene::new(&case["scene"])).0;
    };
    let mut state = Value::from(&json!({}));
    let mut all = Vec::new();
    for turn in turns {
        let mut scene = Scene::new(&case["scene"]);
        scene.merge(Value::from(turn));
        scene.set("state", state.clone());
        let (got, patch) = result(rules, case, &programs, scene);
        state = patch.over(state);
        all.push(got);
    }
    Json::Array(all)
}

fn result(rules: &Ruleset, case: &Json, programs: &[&str], mut scene: Scene) -> (Json, Value) {
    scene.draws = case["draws"].as_array().map(|d| d.iter().map(|n| n.as_f64().unwrap()).collect());
    let nothing = Map::new();
    let lists = case["lists"].as_object().unwrap_or(&nothing);
    let lists: Vec<(&str, Json)> = lists.iter().map(|(name, rows)| (name.as_str(), rows.clone())).collect();
    match tapster::run_all(rules, programs, &scene, &lists) {
        Ok(outcome) => (read(&case["read"], &outcome), outcome.patch()),
        Err(error) => (json!({ "error": error.to_string() }), Value::default()),
    }
}

/// `path`: a value. `list`: a line for each live item, `{R}` the role's letter, `{a.b}` a field; lines whose holes are
/// all empty are left out; `where`: only items that have this field; `sort`; `first`: the first line alone.
fn read(how: &Json, outcome: &tapster::assemble::Outcome) -> Json {
    if let Some(path) = how["path"].as_str() {
        return outcome.get(path).to_json();
    }
    let items = outcome.list(how["list"].as_str().unwrap());
    let items = items.iter().map(Value::to_json).filter(|item| item["enabled"] != json!(false));
    let wanted = |item: &Json| how["where"].as_str().is_none_or(|path| field(item, path).is_some_and(|v| v == json!(true)));
    let mut lines: Vec<String> = items.filter(wanted).filter_map(|item| line(how["line"].as_str().unwrap(), &item)).collect();
    if how["sort"] == json!(true) {
        lines.sort();
    }
    if how["first"] == json!(true) { json!(lines.first()) } else { json!(lines) }
}

fn field(item: &Json, path: &str) -> Option<Json> {
    path.split('.').try_fold(item, |at, name| at.get(name)).filter(|v| !v.is_null()).cloned()
}

fn line(template: &str, item: &Json) -> Option<String> {
    let (mut out, mut rest, mut last) = (String::new(), template, String::new());
    while let Some((before, tail)) = rest.split_once('{') {
        let (name, tail) = tail.split_once('}').unwrap();
        let text = |path: &str| field(item, path).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).unwrap_or_default();
        last = match name {
            "R" => text("role").chars().take(1).flat_map(char::to_uppercase).collect(),
            path => text(path),
        };
        out.push_str(before);
        out.push_str(&last);
        rest = tail;
    }
    (!last.is_empty()).then(|| out + rest)
}
