//! Every folder of `examples/` is built, and its payload compared with its `expected.json`; `UPDATE=1` rewrites that.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, ScenePart, Value, assemble_scene};
use tapster_testing::case::read_path;

use crate::support::{Folder, tapster};
use crate::wishes::Wish;

fn built(folder: &Path) -> Result<String, String> {
    let (exit, out, err) = tapster::<OsString>(&["build".into(), OsString::from(folder)]);
    if exit == 0 && err.is_empty() { Ok(out) } else { Err(format!("exit {exit}: {err}")) }
}

fn folders() -> Vec<PathBuf> {
    let mut all = folders_in(Path::new("examples"));
    all.retain(|folder| folder.join("scene.toml").is_file());
    all
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    crate::support::in_checkout();
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

#[test]
fn every_example_gives_what_it_says() {
    let folders = folders();
    assert!(!folders.is_empty());
    for folder in folders {
        let got = built(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let expected = folder.join("expected.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &got).unwrap();
        }
        let text = std::fs::read_to_string(&expected).unwrap_or_default();
        let json: Json = serde_json::from_str(&got).unwrap();
        let same = serde_json::from_str::<Json>(&text).is_ok_and(|e| e == json);
        assert!(same, "{}:\n{}", folder.display(), similar::TextDiff::from_lines(text.as_str(), got.as_str()).unified_diff());
    }
}

/// The packs of examples that show rules of their own have rule tests of what they show.
#[test]
fn the_rule_tests_of_examples_hold() {
    for name in ["hooks", "liquid", "options", "template-in-pack"] {
        let pack = Path::new("examples").join(name).join("pack");
        // the scene of an example stands beside its pack
        let is_quiet =
            |err: &str| err.matches("warning[").count() == err.matches("warning[file.outside]").count() && !err.contains("error[");
        let (exit, out, err) = tapster::<OsString>(&["test".into(), pack.clone().into()]);
        assert!(exit == 0 && is_quiet(&err), "{name}: exit {exit}\n{out}\n{err}");
        let (exit, out, err) = tapster::<OsString>(&["check".into(), pack.into()]);
        assert!(exit == 0 && is_quiet(&err), "{name}: exit {exit}\n{out}\n{err}");
    }
}

/// Each wish is a scene, and two cases that differ by the overlay alone and expect different prompts: so the overlay is what
/// grants it. The overlay has no warning, and its scene builds without one.
#[test]
fn every_wish_is_granted_by_its_overlay() {
    let wishes = folders_in(Path::new("examples/wishes"));
    assert!(wishes.len() >= 20, "{} wishes", wishes.len());
    let (exit, out, err) = tapster::<OsString>(&["test".into(), "examples/wishes".into()]);
    assert!(exit == 0 && err.is_empty(), "exit {exit}\n{out}\n{err}");
    assert!(out.ends_with(&format!("{} passed, 0 failed\n", 2 * wishes.len())), "{out}");
    for folder in wishes {
        let shown = folder.display();
        built(&folder).unwrap_or_else(|e| panic!("{shown}: {e}"));
        let (exit, out, err) = tapster::<OsString>(&["check".into(), folder.join("overlay.toml").into()]);
        assert!(exit == 0 && err.is_empty() && out.contains("0 warnings"), "{shown}: {out}\n{err}");
        let wish = Wish::read(&folder);
        assert_eq!(wish.before.inputs, wish.granted.inputs, "{shown}");
        assert_ne!(wish.before.prompts, wish.granted.prompts, "{shown}");
        assert_eq!((wish.before.overlays, wish.granted.overlays), (None, Some(toml::Value::from(vec!["overlay.toml"]))), "{shown}");
        assert_eq!(wish.readme.lines().count(), 5, "{shown}: the README has five lines");
    }
}

/// The clock is not in the prompt: a scene that says no time of its own would give another payload every day.
#[test]
fn every_example_is_complete() {
    for folder in folders() {
        let has = |name: &str| folder.join(name).is_file();
        assert!(has("README.md") && has("scene.toml") && has("expected.json"), "{}", folder.display());
        let scene: toml::Table = toml::from_str(&std::fs::read_to_string(folder.join("scene.toml")).unwrap()).unwrap();
        assert!(scene.contains_key("now"), "{}: `now` is missing", folder.display());
    }
}

/// A provider is one rule file over a pack that does not know it, and what one of its models can do is one line.
#[test]
fn a_provider_is_one_file_and_a_flag_is_one_line() {
    crate::support::in_checkout();
    let folder = Path::new("examples/new-provider");
    let files: Vec<_> = std::fs::read_dir(folder.join("pack")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "the manifest and one rule file: {files:?}");

    let unknown: Vec<OsString> = ["build".into(), folder.into(), "--pack".into(), "sillytavern".into()].into();
    let (exit, _, err) = tapster(&unknown);
    assert!(exit != 0 && err.contains("no dialect `kite`"), "{err}");

    let turns = |args: &[OsString]| {
        let (exit, out, err) = tapster(&[&["build".into(), folder.into()], args].concat());
        assert_eq!((exit, err.as_str()), (0, ""), "{args:?}");
        serde_json::from_str::<Json>(&out).unwrap()["turns"].clone()
    };
    let begun = turns(&[]);
    assert_eq!(begun[4], serde_json::json!({ "speaker": "kite", "says": "Well," }));

    let overlay = folder.join("no-prefill.toml");
    let text = std::fs::read_to_string(&overlay).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("prefill = false")).count(), 1);
    assert_eq!(toml::from_str::<toml::Table>(&text).unwrap()["capability"].as_array().unwrap().len(), 1);
    let asked = turns(&["--overlay".into(), overlay.into()]);
    assert_eq!(asked.as_array().unwrap().len(), 4);
    assert_eq!(asked[3]["says"], "Tove: Is the ferry still running?\n\n[Begin your answer with: Well,]");
}

// A rule file is changed by one line, and the next build behaves differently; nothing is recompiled.
//
// Each file of `tests/edits/` names the line, a scene, and what the prompt is before and after the edit. Where it has an
// `overlay` instead, no file is changed: the prompt is made without and with the overlay. `with` is a file of both. A
// scene with `parts` is what the pack makes of them.

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

fn prompt(pack: &Path, files: &[(&str, &str)], scene: &Json) -> Json {
    let rules = Ruleset::open_with(&pack.display().to_string(), files).unwrap_or_else(|rejected| panic!("{rejected}"));
    match tapster::build(&rules, &given(&rules, scene)) {
        Ok(plan) => {
            let live = plan.blocks.iter().filter(|b| b.enabled()).map(|b| b.fields.to_json());
            live.map(|b| json!(format!("{}: {}", b["role"].as_str().unwrap_or(""), b["text"].as_str().unwrap_or("")))).collect()
        }
        Err(error) => json!(error.to_string()),
    }
}

/// The scene of an edit, or what the pack makes of its parts.
fn given(rules: &Ruleset, scene: &Json) -> Scene {
    let Some(parts) = scene["parts"].as_array() else { return Scene::new(scene) };
    let text = |part: &Json, key: &str| part[key].as_str().unwrap_or("").to_owned();
    let part = |part: &Json| ScenePart { kind: text(part, "kind"), stem: text(part, "stem"), scene: Value::from(&part["scene"]) };
    let parts: Vec<ScenePart> = parts.iter().map(part).collect();
    let made = assemble_scene(rules, &parts).unwrap_or_else(|error| panic!("{error}"));
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    made.scene
}

/// The text with the edit made, once and in one line.
fn edited(text: &str, edit: &Json) -> String {
    let (from, to) = (edit["from"].as_str().unwrap(), edit["to"].as_str().unwrap());
    assert_eq!(text.matches(from).count(), 1, "`{from}` must stand in the file once");
    let changed = text.replace(from, to);
    assert_eq!(text.lines().count(), changed.lines().count(), "an edit changes a line and adds none");
    assert_eq!(text.lines().zip(changed.lines()).filter(|(a, b)| a != b).count(), 1, "an edit changes one line");
    changed
}

#[test]
fn one_line_of_a_rule_file_changes_the_prompt() {
    let root = Path::new(env!("CHECKOUT"));
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("tests/edits")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10);
    let folder = Folder::new("rules");
    let mut wrong = Vec::new();
    copy(&root.join("rules"), &folder.0);
    for file in files {
        let edit: Json = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let with: Vec<(&str, &str)> = edit["with"].as_str().map(|text| ("with.toml", text)).into_iter().collect();
        let mut check = |side: &str, got: Json| {
            if got != edit[side] {
                wrong.push(format!("{} {side}\n  got      {got:#}\n  expected {:#}", file.display(), edit[side]));
            }
        };
        assert_ne!(edit["before"], edit["after"], "{}", file.display());
        if let Some(overlay) = edit["overlay"].as_str() {
            let pack = folder.0.join(edit["pack"].as_str().unwrap());
            check("before", prompt(&pack, &with, &edit["scene"]));
            check("after", prompt(&pack, &[&with[..], &[("overlay.toml", overlay)]].concat(), &edit["scene"]));
            continue;
        }
        let rule_file = folder.0.join(edit["file"].as_str().unwrap());
        let pack = folder.0.join(edit["pack"].as_str().unwrap());
        let text = std::fs::read_to_string(&rule_file).unwrap();
        check("before", prompt(&pack, &with, &edit["scene"]));
        std::fs::write(&rule_file, edited(&text, &edit)).unwrap();
        check("after", prompt(&pack, &with, &edit["scene"]));
        std::fs::write(&rule_file, text).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// Changes that maintainers of real chat programs had to make in code, made here in data: each folder of
// `tests/replay/` holds an overlay and a case file, whose case `before` runs without the overlay and `after` with it.
// The cases run as `tapster test tests/replay` runs them.

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
    let (_, out, err) = crate::support::tapster(&["test", "tests/replay", "--format", "json"]);
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

/// Changes of real programs as overlays of version 2 (`tests/replay-fresh/`), and of version 1 (beside the cases in `../shared`).
#[test]
fn changes_hold_in_both_versions_of_the_language() {
    let shared = Path::new(env!("CHECKOUT")).join("../shared/replay-fresh");
    if !shared.is_dir() {
        eprintln!("skipped: there is no `../shared/replay-fresh`");
        return;
    }
    let (mut lines, mut wrong) = ([0, 0], Vec::new());
    for entry in std::fs::read_dir(Path::new(env!("CHECKOUT")).join("tests/replay-fresh")).unwrap() {
        let new = entry.unwrap().path();
        let id = new.file_stem().unwrap().to_string_lossy().into_owned();
        let old = shared.join(&id).join("overlay.toml");
        for (version, overlay) in [old, new].iter().enumerate() {
            let folder = Folder::new(&format!("fresh-{id}-{version}"));
            std::fs::copy(overlay, folder.0.join("overlay.toml")).unwrap();
            std::fs::copy(shared.join(&id).join("case.toml"), folder.0.join("case.toml")).unwrap();
            *lines.get_mut(version).unwrap() += std::fs::read_to_string(overlay).unwrap().lines().count();
            let (_, out, err) = crate::support::tapster(&["test", &folder.0.to_string_lossy(), "--format", "json"]);
            let tested: Json = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {err}"));
            let cases = tested["files"][0]["cases"].as_array().unwrap();
            // some cases compare with an overlay that is not there
            let failed = cases.iter().filter(|case| case["ok"] != Json::Bool(true) && !case.to_string().contains("old.toml"));
            wrong.extend(failed.map(|case| format!("{id}, version {}: {case:#}", version + 1)));
            assert!(cases.iter().any(|case| case["ok"] == Json::Bool(true)), "{id}: {out}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    eprintln!("lines in version 1 and 2: {lines:?}");
    assert!(lines[1] * 100 < lines[0] * 70, "{lines:?}");
}
