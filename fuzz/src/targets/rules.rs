//! Rule files: one alone, a whole pack, an overlay over a shipped pack, and their layout.

use serde_json::json;
use tapster::machinery::pack::{Overlay, PackFiles, PackShelf, RuleFile, Schemas, Start, load_read};
use tapster::{Ruleset, Scene, build, emit, run};

use super::{Verdict, text};
use crate::seeds;

pub(super) fn toml_files() -> Vec<Vec<u8>> {
    [seeds::files("rules", "toml", 6 << 10), seeds::files("tests/edits", "toml", 8 << 10)].concat()
}

pub(super) fn json_files() -> Vec<Vec<u8>> {
    let toml = seeds::files("rules", "toml", 6 << 10);
    super::bytes(toml.iter().filter_map(|bytes| toml::from_str::<serde_json::Value>(&text(bytes)).ok()))
}

pub(super) fn in_toml(input: &[u8]) -> Verdict {
    Ok(is_read("f.toml", input))
}

pub(super) fn in_json(input: &[u8]) -> Verdict {
    Ok(is_read("f.json", input))
}

fn file(name: &str, input: &[u8]) -> RuleFile {
    RuleFile { name: name.to_owned(), path_in_pack: name.to_owned(), bytes: input.to_vec() }
}

fn is_read(name: &str, input: &[u8]) -> bool {
    let (document, report, _) = load_read(&file(name, input), Schemas::shipped());
    document.is_some() && !report.has_errors()
}

pub(super) fn pack(input: &[u8]) -> Verdict {
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\n";
    let files = [("pack.toml", manifest.as_bytes()), ("scene.toml", DECLARED.as_bytes()), ("rules.toml", input)];
    let files = files.map(|(path, bytes)| (path.to_owned(), bytes.to_vec()));
    used(
        Ruleset::load(&Start::Name("p".into()), &[], &PackShelf { packs: vec![PackFiles::of("p", files)], ..PackShelf::default() }).ok(),
        input,
    )
}

pub(super) fn overlays() -> Vec<Vec<u8>> {
    let replay = seeds::paths("tests/replay", "toml", 8 << 10).into_iter().filter(|path| path.ends_with("overlay.toml"));
    let replay: Vec<Vec<u8>> = replay.filter_map(|path| std::fs::read(path).ok()).collect();
    [replay, cases(), seeds::files("fuzz/seeds/pack", "toml", 8 << 10)].concat()
}

pub(super) fn overlay(input: &[u8]) -> Verdict {
    // to load `base` costs a hundred times as much; mistakes of form go that far for every eighth length only
    if !input.len().is_multiple_of(8) && !is_read("o.toml", input) {
        return Ok(false);
    }
    let overlay = Overlay::File(file("o.toml", input));
    used(Ruleset::load(&Start::Name("base".into()), &[overlay], &PackShelf::default()).ok(), input)
}

/// What rules of a pack that stands alone may name.
const DECLARED: &str = r#"kind = "scene"
version = 1
list = [{ name = "blocks", rows = ["message"], doc = "x" }, { name = "history", rows = ["message"], from = "history", doc = "h" }]
path = [{ name = "n", type = "number", default = 3, doc = "n" }, { name = "names.*", type = "table", doc = "n" }]
field = [
  { name = "message/id", type = "text", doc = "i" }, { name = "message/text", type = "text", doc = "t" },
  { name = "message/role", type = "text", doc = "r" }, { name = "message/name", type = "text", doc = "r" },
  { name = "message/priority", type = "number", doc = "r" }, { name = "message/protected", type = "boolean", doc = "r" },
]
"#;

/// The rules of the rule tests, as overlays.
pub(super) fn cases() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for file in seeds::files("tests/cases", "toml", 8 << 10) {
        let Ok(mut rules) = toml::from_str::<toml::Table>(&text(&file)) else { continue };
        rules.retain(|name, _| !["case", "pack", "about"].contains(&name));
        rules.insert("kind".to_owned(), "overlay".into());
        rules.insert("version".to_owned(), 1.into());
        all.extend(toml::to_string(&rules).map(String::into_bytes));
    }
    all
}

/// Builds a small scene with the rules, and runs the programs that they bring.
fn used(rules: Option<Ruleset>, input: &[u8]) -> Verdict {
    let Some(rules) = rules else { return Ok(false) };
    let scene = Scene::new(&json!({
        "now": "2026-01-31T20:15:00Z", "context": { "window": 4096, "reserve": 300 }, "names": { "char": "Ann", "user": "Bo" },
        "card": { "name": "Ann", "description": "A smith.", "mes_example": "<START>\nBo: Hi.\nAnn: Hm." },
        "history": [{ "id": "1", "role": "user", "name": "Bo", "text": "Is that a dragon, {{char}}?" }, { "id": "2", "role": "assistant", "name": "Ann", "text": "It is." }],
        "books": [{ "id": "b", "entries": [{ "id": "e", "keys": ["dragon"], "text": "Dragons hoard." }] }],
        "injections": [{ "id": "i", "position": "chat", "depth": 1, "role": "system", "text": "Be brief." }],
    }));
    if let Ok(plan) = build(&rules, &scene) {
        let _ = emit(&rules, &plan, "openai");
    }
    let written = toml::from_str::<serde_json::Value>(&text(input)).unwrap_or_default();
    let programs = written["program"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str());
    let blocks = json!([{ "id": "a", "role": "user", "text": "aaa" }, { "id": "b", "role": "assistant", "text": "Hm.", "priority": 2 }]);
    for program in programs.take(3) {
        let _ = run(&rules, program, &scene, &[("blocks", blocks.clone())]);
    }
    Ok(true)
}

#[cfg(feature = "whole")]
pub(super) fn small_files() -> Vec<Vec<u8>> {
    seeds::files("rules", "toml", 3 << 10)
}

#[cfg(feature = "whole")]
pub(super) fn layout(input: &[u8]) -> Verdict {
    use tapster_cli::format::format;
    let Ok(first) = format(Default::default(), &text(input), Default::default()) else { return Ok(false) };
    match format(Default::default(), &first.text, Default::default()) {
        Err(refusal) => Err(format!("what was laid out is refused: {refusal:?}")),
        Ok(again) if again.text != first.text => Err("what was laid out is laid out differently the second time".to_owned()),
        Ok(_) => Ok(true),
    }
}
