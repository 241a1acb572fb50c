//! Every folder of `examples/` is built, and its payload compared with its `expected.json`; `UPDATE=1` rewrites that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tapster::cli::{Io, run};

fn built(folder: &Path) -> Result<String, String> {
    let (mut input, mut out, mut err) = (&b""[..], Vec::new(), Vec::new());
    let mut io = Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &|_| None };
    let args = ["tapster".into(), "build".into(), OsString::from(folder)];
    let exit = run(args, &mut io).code();
    let err = String::from_utf8_lossy(&err).into_owned();
    if exit == 0 && err.is_empty() { Ok(String::from_utf8_lossy(&out).into_owned()) } else { Err(format!("exit {exit}: {err}")) }
}

fn folders() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir("examples").unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
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
