//! The schemas for editors: each is one file that needs no other. `tests/lsp` (Tombi) and `editors/vscode/test` (the JSON service of
//! VS Code) check the shipped rule files with them.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;
use tapster::machinery::pack::Schemas;

fn root() -> &'static Path {
    Path::new(env!("CHECKOUT"))
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
    assert!(
        bundles.iter().all(|(name, text)| std::fs::read_to_string(folder.join(name)).ok().as_ref() == Some(text)),
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
