//! The schemas for editors: each is one file that needs no other, and editors check the shipped rule files with them.
//!
//! The editors' own checkers are taken from the folder of npm packages that `TAPSTER_EDITORS` names
//! (`npm install vscode-json-languageservice @taplo/cli` in it); without them that part is skipped.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use tapster::machinery::pack::Schemas;

use crate::support::Folder;

fn root() -> &'static Path {
    Path::new(env!("CHECKOUT"))
}

/// All texts below a folder, by their paths from the checkout.
fn files(folder: &str) -> BTreeMap<String, String> {
    let (mut open, mut all) = (vec![folder.to_owned()], BTreeMap::new());
    while let Some(name) = open.pop() {
        let path = root().join(&name);
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|e| format!("{name}/{}", e.unwrap().file_name().to_string_lossy())));
        } else {
            all.extend(std::fs::read_to_string(path).ok().map(|text| (name, text)));
        }
    }
    all
}

/// What each file of `editors/` holds.
fn bundles() -> BTreeMap<String, String> {
    let schemas = Schemas::shipped();
    let names = schemas.names().filter(|name| !name.starts_with("terms."));
    names.map(|name| (name.to_owned(), format!("{}\n", schemas.bundled(name).unwrap()))).collect()
}

#[test]
fn schemas_for_editors_are_up_to_date() {
    let folder = root().join("editors");
    let bundles = bundles();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        bundles.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    }
    // those of older versions stay as they are
    let known: BTreeMap<String, String> = files("editors").into_iter().map(|(name, text)| (name.replace("editors/", ""), text)).collect();
    assert!(
        bundles.iter().all(|(name, text)| known.get(name) == Some(text)),
        "`editors/` differs from `schemas/`; run this test with UPDATE=1"
    );
}

#[test]
fn a_schema_for_editors_refers_to_nothing_outside() {
    for (name, text) in bundles() {
        let schema: Json = serde_json::from_str(&text).unwrap();
        let mut open = vec![&schema];
        while let Some(value) = open.pop() {
            match value {
                Json::Array(list) => open.extend(list),
                Json::Object(table) => {
                    if let Some(target) = table.get("$ref").and_then(Json::as_str) {
                        let there = target.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
                        assert!(there.is_some(), "{name}: `{target}` leads nowhere");
                    }
                    open.extend(table.values());
                }
                _ => {}
            }
        }
    }
}

/// The shipped rule files as TOML, by the name of their schema, and for each schema a file with a mistake.
fn documents() -> BTreeMap<String, Vec<(String, toml::Table)>> {
    let mut all: BTreeMap<String, Vec<(String, toml::Table)>> = BTreeMap::new();
    for (name, text) in files("rules").into_iter().filter(|(name, _)| name.ends_with(".toml")) {
        let table: toml::Table = toml::from_str(&text).unwrap();
        let Some(kind) = table.get("kind").and_then(toml::Value::as_str) else { continue };
        let schema = format!("{kind}.v{}.json", table["version"]);
        all.entry(schema).or_default().push((name.replace('/', "_"), table));
    }
    for files in all.values_mut() {
        let mut wrong = files.first().unwrap().1.clone();
        wrong.insert("no_such_key".to_owned(), 1.into());
        files.push(("wrong.toml".to_owned(), wrong));
    }
    all
}

#[test]
fn editors_check_rule_files_with_them() {
    let Some(packages) = std::env::var_os("TAPSTER_EDITORS").map(PathBuf::from) else {
        eprintln!("skipped: TAPSTER_EDITORS names no folder with the npm packages vscode-json-languageservice and @taplo/cli");
        return;
    };
    let folder = Folder::new("editors");
    let (json, toml) = (folder.0.join("json"), folder.0.join("toml"));
    let schemas = folder.0.join("schemas");
    let write = |path: PathBuf, text: String| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    bundles().into_iter().for_each(|(name, text)| write(schemas.join(name), text));
    let documents = documents();
    for (schema, files) in &documents {
        for (name, table) in files {
            write(toml.join(schema).join(name), table.to_string());
            write(json.join(schema).join(name.replace(".toml", ".json")), serde_json::to_string(table).unwrap());
        }
    }
    let vscode = Command::new("node").arg(root().join("tests/editors/check.cjs")).args([&packages, &schemas, &json]).output().unwrap();
    let told = String::from_utf8(vscode.stdout).unwrap();
    assert!(vscode.status.success(), "{}", String::from_utf8_lossy(&vscode.stderr));
    let expected: Vec<String> =
        documents.keys().map(|schema| format!("{schema} wrong.json: Property no_such_key is not allowed.")).collect();
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    for schema in documents.keys() {
        let lint = |wrong: bool| taplo(&packages, &schemas.join(schema), &toml.join(schema), wrong);
        assert!(lint(false), "{schema}: taplo finds mistakes in shipped files");
        assert!(!lint(true), "{schema}: taplo finds no mistake in a wrong file");
    }
}

/// Whether taplo accepts the files of a folder, or its wrong file.
fn taplo(packages: &Path, schema: &Path, folder: &Path, wrong: bool) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.ends_with("wrong.toml") == wrong).collect();
    let program = packages.join("node_modules/.bin/taplo");
    let ran = Command::new(program).args(["lint", "--schema", &format!("file://{}", schema.display())]).args(files).output().unwrap();
    ran.status.success()
}
