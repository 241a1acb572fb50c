//! Foreign formats of the shipped packs: documents of SillyTavern become parts of a scene, and a whole prompt comes
//! out as SillyTavern sends it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tapster::{Ruleset, Scene, bring, build, emit};

fn rules(pack: &str) -> Ruleset {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules").join(pack);
    Ruleset::open(folder.to_str().unwrap(), &[]).unwrap_or_else(|rejected| panic!("{pack}:\n{rejected}"))
}

/// The folder of recorded data, or nothing (with a notice) where there is none.
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("TAPSTER_SHARED").map_or(beside, PathBuf::from);
    let found = folder.join("real/sillytavern").is_dir();
    if !found {
        eprintln!("skipped: no recorded data at {}; set TAPSTER_SHARED", folder.display());
    }
    found.then_some(folder)
}

#[test]
fn each_format_brings_what_its_sample_says() {
    let rules = rules("sillytavern-exact");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let sample: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let brought = bring(&rules, None, &sample["document"]).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(brought.format, sample["format"].as_str().unwrap(), "{name}");
        let scene = brought.scene.to_json();
        assert_eq!(scene, sample["scene"], "{name}:\n{}", serde_json::to_string_pretty(&scene).unwrap());
        assert_eq!(brought.rest.to_json(), sample["rest"], "{name}: what no rule reads");
        let warnings = sample["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(brought.warnings.len(), warnings, "{name}: {:?}", brought.warnings);
    }
}

#[test]
fn hello_is_sent_as_the_real_program_sends_it() {
    let Some(shared) = shared() else { return };
    let real = shared.join("real/sillytavern");
    let rules = rules("sillytavern-exact");
    let mut scene = Scene::default();
    for file in ["default_Seraphina.png", "openai/Default.json"] {
        let bytes = std::fs::read(real.join(file)).unwrap();
        let imported = tapster::import::read(file, &bytes).unwrap();
        scene.merge(bring(&rules, None, &imported.main().unwrap().json).unwrap().scene);
    }
    let persona = json!({ "name": "Alex", "description": "", "position": 0, "depth": 2, "role": 0 });
    scene.merge(bring(&rules, None, &persona).unwrap().scene);
    scene.merge((&json!({ "input": "Hello", "chat": { "greeting": 0 } })).into());
    let plan = build(&rules, &scene).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.warnings, []);
    let sent = emit(&rules, &plan, "openai").unwrap();
    let expected: Value = serde_json::from_slice(&std::fs::read(real.join("expected-hello.json")).unwrap()).unwrap();
    let (sent, expected) = (sent["messages"].as_array().unwrap(), expected["messages"].as_array().unwrap());
    for (n, (sent, expected)) in sent.iter().zip(expected).enumerate() {
        assert_eq!(sent, expected, "message {n}");
    }
    assert_eq!(sent.len(), expected.len());
}
