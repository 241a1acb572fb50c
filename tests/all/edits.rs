//! A rule file is changed by one line, and the next build behaves differently; nothing is recompiled.
//!
//! Each file of `tests/edits/` names the line, a scene, and what the prompt is before and after the edit. Where it has an
//! `overlay` instead, no file is changed: the prompt is made without and with the overlay. `with` is a file of both. A
//! scene with `parts` is what the pack makes of them.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, ScenePart, Value, assemble_scene};

use crate::program::Folder;

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
