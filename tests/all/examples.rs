//! Every folder of `examples/` is built, and its payload compared with its `expected.json`; `UPDATE=1` rewrites that.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::program::tapster;
use crate::wishes::Wish;

fn built(folder: &Path) -> Result<String, String> {
    let (exit, out, err) = tapster::<OsString>(&["build".into(), OsString::from(folder)]);
    if exit == 0 && err.is_empty() { Ok(out) } else { Err(format!("exit {exit}: {err}")) }
}

fn folders() -> Vec<PathBuf> {
    let mut all = folders_in(Path::new("examples"));
    all.retain(|folder| !folder.ends_with("wishes"));
    all
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    crate::program::in_checkout();
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
    crate::program::in_checkout();
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
