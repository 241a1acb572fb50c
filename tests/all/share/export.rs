//! Back to the files of another program: import, export, import gives the same for every published file.

use std::path::Path;

use serde_json::{Value as Json, json};
use tapster::{convert_document, import_document};

use crate::shipped::SILLYTAVERN;

/// What is said of a document: the part of a scene, and the fields that no rule reads.
fn imported(document: &Json) -> Json {
    let brought = import_document(&SILLYTAVERN, None, document).unwrap();
    json!({ "format": brought.format, "scene": brought.scene.to_json(), "rest": brought.rest.to_json() })
}

#[test]
fn published_files_come_back() {
    let folder = Path::new(env!("CHECKOUT")).join("../shared/real/sillytavern");
    if !folder.is_dir() {
        eprintln!("skipped: no published files at {}", folder.display());
        return;
    }
    let (mut open, mut files) = (vec![folder], 0);
    while let Some(at) = open.pop() {
        if at.is_dir() {
            open.extend(std::fs::read_dir(&at).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        let name = at.display().to_string();
        // a prompt that was sent, and no file of the program
        if name.ends_with("expected-hello.json") {
            continue;
        }
        let contents = tapster_exchange::import::read(&name, &std::fs::read(&at).unwrap()).unwrap();
        for document in &contents.documents {
            let before = imported(&document.json());
            let made = convert_document(&SILLYTAVERN, None, &before).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(imported(&made.scene.to_json()), before, "{name}");
            files += 1;
        }
    }
    assert!(files >= 95, "{files}");
}

#[test]
fn what_was_changed_is_in_the_file() {
    let file = json!({ "prefix": "<think>", "suffix": "</think>", "separator": "\n", "name": "x" });
    let mut changed = imported(&file);
    changed["scene"]["reasoning"]["prefix"] = json!("<reason>");
    changed["scene"]["names"] = json!({ "char": "Ines" });
    let made = convert_document(&SILLYTAVERN, Some("st_reasoning"), &changed).unwrap();
    assert_eq!(made.scene.to_json()["prefix"], "<reason>");
    let fields = serde_json::to_value(&made.fields).unwrap();
    let lost = fields.as_array().unwrap().iter().any(|f| f["fate"] == "dropped" && f["field"].as_str().unwrap().contains("names"));
    assert!(lost, "what cannot be said there is told: {fields}");
}

#[test]
fn a_changed_number_counts_and_an_unchanged_one_keeps_its_spelling() {
    let card = json!({ "spec": "chara_card_v2", "data": { "name": "Ines", "extensions": { "talkativeness": "0.5" } } });
    let mut changed = imported(&card);
    for (number, expected) in [(json!(0.5), json!("0.5")), (json!(0.9), json!(0.9))] {
        changed["scene"]["card"]["talkativeness"] = number;
        let made = convert_document(&SILLYTAVERN, None, &changed).unwrap();
        assert_eq!(made.scene.to_json()["data"]["extensions"]["talkativeness"], expected);
        assert!(!made.fields.iter().any(|field| field.field == "format"), "the kind of the file is no loss: {:?}", made.fields);
    }
}
