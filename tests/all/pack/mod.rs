//! Packs as their authors meet them: what bad files are answered with, how layers merge, where values come from.
//!
//! The schemas here are small ones of the test's own, so that layering is tested apart from the real ones.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod bad_input;
mod layering;
mod memory;
mod options;
mod rendering;
mod tables;

use tapster::diag::{Code, Diagnostic, Severity, render};
use tapster::machinery::pack::KINDS;
use tapster::machinery::pack::fingerprint;
use tapster::machinery::pack::{LoadedPack, Overlay, PackShelf, RuleFile, Schemas, Start, load_file, load_with};

use crate::support::Folder;

impl Folder {
    fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        self.write(path, text);
        self
    }

    /// A pack with a manifest and one file of rules.
    fn pack(&self, name: &str, extends: &str, rules: &str) -> &Self {
        let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"1.2.3\"\nengine = \">=0.1\"\n{extends}");
        self.file(&format!("{name}/pack.toml"), manifest);
        self.file(&format!("{name}/rules.toml"), format!("kind = \"lore\"\nversion = 1\n{rules}"))
    }

    fn load(&self, name: &str) -> LoadedPack {
        self.load_over(name, &[])
    }

    fn load_over(&self, name: &str, overlays: &[&str]) -> LoadedPack {
        let overlays: Vec<Overlay> = overlays.iter().enumerate().map(|(n, text)| overlay(n, text)).collect();
        load_with(&Start::Folder(self.path(name)), &overlays, &bare(), &schemas())
    }
}

fn overlay(number: usize, text: &str) -> Overlay {
    let name = format!("over{}.toml", number + 1);
    let text = format!("kind = \"overlay\"\nversion = 1\n{text}");
    Overlay::File(RuleFile { name: name.clone(), path_in_pack: name, bytes: text.into_bytes() })
}

/// A library without the shipped packs.
fn bare() -> PackShelf {
    PackShelf { bare: true, ..PackShelf::default() }
}

const ROW: &str = r#"{
  "$id": "https://test.invalid/terms.v1.json",
  "definitions": { "row": {
    "type": "object", "required": ["name"], "additionalProperties": false,
    "properties": {
      "name": { "type": "string" }, "text": { "type": "string" }, "depth": { "type": "integer", "minimum": 0 },
      "role": { "enum": ["system", "user", "assistant"] },
      "keys": { "anyOf": [ { "type": "string" }, { "type": "array", "items": { "type": "string" } } ] }
    }
  } }
}"#;

const TASK: &str = r#"{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "$id": "https://test.invalid/task.v1.json",
  "type": "object", "required": ["kind", "version"], "additionalProperties": false,
  "properties": {
    "kind": {}, "version": {}, "about": { "type": "string" },
    "task": { "type": "array", "items": { "$ref": "terms.v1.json#/definitions/row" } }
  }
}"#;

/// Every kind takes anything; `task` is strict; `case` is the real one.
fn schemas() -> Schemas {
    let any: Vec<(String, String)> = KINDS.iter().map(|(kind, _)| (format!("{kind}.v1.json"), "{}".to_owned())).collect();
    let any = any.iter().filter(|(name, _)| !name.starts_with("task") && !name.starts_with("case"));
    let strict = [("terms.v1.json", ROW), ("task.v1.json", TASK), ("case.v3.json", include_str!("../../../schemas/case.v3.json"))];
    Schemas::new(any.map(|(name, text)| (name.as_str(), text.as_str())).chain(strict))
}

/// The only complaint of a code.
#[track_caller]
fn one(loaded: &LoadedPack, code: Code) -> &Diagnostic {
    let all: Vec<_> = loaded.report.items().iter().filter(|d| d.code == code).collect();
    assert_eq!(all.len(), 1, "{}", render::human(&loaded.report, &loaded.sources, false));
    all[0]
}

/// `line:column` of a complaint, and the text that it covers.
fn at<'a>(loaded: &'a LoadedPack, d: &Diagnostic) -> (String, &'a str) {
    let span = d.span.expect("a place");
    let place = loaded.sources.place(span).expect("a known source");
    (format!("{}:{}", place.line, place.column), loaded.sources.snippet(span))
}

#[track_caller]
fn clean(loaded: &LoadedPack) {
    assert!(loaded.report.is_empty(), "{}", render::human(&loaded.report, &loaded.sources, false));
}

/// What a case of `tests/packs` gives: the diagnostics, and the merged pack. Packs `p` and `low` need no manifest.
fn merged(case: &serde_json::Value) -> String {
    let mut case = case.clone();
    let files = case["files"].as_object_mut().unwrap();
    let has_low = files.keys().any(|path| path.starts_with("low:"));
    let manifest = |pack: &str| format!("kind = \"pack\"\nversion = 1\nname = \"{pack}\"\nrelease = \"1.2.3\"\nengine = \">=0.1\"\n");
    files.entry("pack.toml").or_insert_with(|| (manifest("p") + if has_low { BASE } else { "" }).into());
    if has_low {
        files.entry("low:pack.toml").or_insert_with(|| manifest("low").into());
    }
    let case = &case;
    let library = PackShelf { packs: crate::diagnostics::packs(case), bare: true, ..PackShelf::default() };
    let start = Start::Name(case["open"].as_str().unwrap_or("p").to_owned());
    let loaded = load_with(&start, &crate::diagnostics::overlays(case), &library, &schemas());
    let mut out = render::human(&loaded.report, &loaded.sources, false);
    let Some(pack) = &loaded.pack else { return out };
    let layer = |span| loaded.sources.place(span).map(|place| place.layer.to_string()).unwrap_or_default();
    let mut line = |text: String| out.extend([text.as_str(), "\n"]);
    line(format!("layers: {}", pack.layers.iter().map(|layer| &*layer.name).collect::<Vec<_>>().join(", ")));
    for (table, rows) in &pack.tables {
        for (name, row) in rows {
            let fields: serde_json::Map<_, _> = row.fields.iter().map(|(key, field)| (key.to_string(), field.node.to_json())).collect();
            let patched: String = row.patched.iter().map(|span| format!(", patched by {}", layer(*span))).collect();
            line(format!("{table} {name}{patched}: {}", serde_json::Value::from(fields)));
        }
    }
    pack.values.iter().for_each(|(name, value)| line(format!("{name} = {}", value.node.to_json())));
    let text = |span| loaded.sources.snippet(span);
    for hidden in &pack.shadowed {
        let how = if hidden.edited { "edited by" } else { "hidden by" };
        line(format!("`{}` of {} is {how} `{}` of {}", text(hidden.old), layer(hidden.old), text(hidden.by), layer(hidden.by)));
    }
    pack.assets.iter().for_each(|(path, id)| line(format!("{path}: {}", pack.sources.get(*id).unwrap().text)));
    out
}

/// Each case of `tests/packs/*.toml` is a few packs and overlays with the whole answer to them; those that are `bare` are
/// read by the small schemas of this room. `UPDATE=1` writes the answers anew.
#[test]
fn packs_are_answered_as_written() {
    crate::support::in_checkout();
    let mut wrong = String::new();
    for path in std::fs::read_dir("tests/packs").unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&path).unwrap();
        let cases: serde_json::Value = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut pieces = text.split("expected = '''\n");
        let mut fresh = pieces.next().unwrap().to_owned();
        for (case, piece) in cases["case"].as_array().unwrap().iter().zip(pieces) {
            let answer = crate::diagnostics::stable(&if case["bare"] == true { merged(case) } else { crate::diagnostics::answer(case) });
            if case["expected"] != answer.as_str() {
                wrong += &format!(
                    "{} {}\n--- got\n{answer}--- expected\n{}\n",
                    path.display(),
                    case["name"],
                    case["expected"].as_str().unwrap()
                );
            }
            fresh += &format!("expected = '''\n{answer}'''{}", piece.split_once("'''").unwrap().1);
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, fresh).unwrap();
            wrong.clear();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Names of the rows of a table, in order.
fn names(loaded: &LoadedPack, table: &str) -> Vec<String> {
    let pack = loaded.pack.as_ref().expect("a pack");
    pack.tables.get(table).map(|rows| rows.keys().map(ToString::to_string).collect()).unwrap_or_default()
}

fn row(loaded: &LoadedPack, table: &str, name: &str) -> serde_json::Value {
    let row = &loaded.pack.as_ref().unwrap().tables[table][name];
    row.fields.iter().map(|(k, f)| (k.to_string(), f.node.to_json())).collect::<serde_json::Map<_, _>>().into()
}

const THREE: &str = "[[slot]]\nname = \"a\"\nn = 1\n[[slot]]\nname = \"b\"\nn = 2\n[[slot]]\nname = \"c\"\nn = 3\n";
const BASE: &str = "extends = [{ name = \"low\", release = \"^1\" }]\n";
