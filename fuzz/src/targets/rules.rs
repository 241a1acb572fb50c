//! Rule files: one alone, a whole pack, an overlay over a shipped pack, and their layout.

use serde_json::json;
use tapster::pack::{Overlay, PackFiles, RuleFile, Schemas, Shelf, Start, load_read};
use tapster::{Ruleset, Scene, build, emit, run};

use super::packs::Own;
use super::{Shape, Target, Verdict, text};
use crate::seeds;

/// Words of rule files.
const WORDS: &[&str] = &[
    "kind",
    "version",
    "name",
    "overlay",
    "pack",
    "pass",
    "program",
    "fact",
    "form",
    "macro",
    "macro_block",
    "path",
    "list",
    "over",
    "do",
    "set",
    "where",
    "in",
    "of",
    "get",
    "first",
    "count",
    "sum",
    "join",
    "any",
    "all",
    "not",
    "calc",
    "fn",
    "args",
    "lookup",
    "else",
    "if",
    "then",
    "read",
    "expand",
    "order",
    "place",
    "match",
    "keys",
    "repeat",
    "run",
    "until",
    "times",
    "evict",
    "merge",
    "split",
    "shape",
    "limits",
    "steps",
    "$",
    "@",
    "{{",
    "}}",
    "$a.b",
    "@text",
    "$arg.x",
    "= true\n",
    "= 1\n",
    "= \"\"\n",
    "\n[[pass]]\n",
    "\n[[fact]]\n",
    "\n[limits]\n",
    "default",
    "extends",
    "script",
    "source",
    "pattern",
    "value",
    "values",
    "template",
    "slots",
    "when",
    "after",
    "before",
    "event",
    "matches",
    "exists",
    "ge",
    "lt",
    "as",
];

pub(super) const TOML: Target = Target {
    name: "rule-toml",
    door: "one rule file in TOML: reading, schema",
    shape: Shape::Toml,
    words: WORDS,
    longest: 8 << 10,
    fixed: 1_500,
    seeds: || [seeds::files("rules", "toml", 6 << 10), seeds::files("tests/edits", "toml", 8 << 10)].concat(),
    run: |input| alone("f.toml", input),
};

pub(super) const JSON: Target = Target {
    name: "rule-json",
    door: "one rule file in JSON: reading, schema",
    shape: Shape::Json,
    words: WORDS,
    longest: 8 << 10,
    fixed: 2_000,
    seeds: || {
        let toml = seeds::files("rules", "toml", 6 << 10);
        let read = toml.iter().filter_map(|bytes| toml::from_str::<serde_json::Value>(&text(bytes)).ok());
        read.map(|tree| tree.to_string().into_bytes()).collect()
    },
    run: |input| alone("f.json", input),
};

fn alone(name: &str, input: &[u8]) -> Verdict {
    let file = RuleFile { name: name.to_owned(), path_in_pack: name.to_owned(), bytes: input.to_vec() };
    let (document, report, _) = load_read(&file, Schemas::shipped());
    Verdict::of(document.is_some() && !report.has_errors())
}

pub(super) const PACK: Target = Target {
    name: "pack",
    door: "a pack that stands alone: loading, compiling, a build",
    shape: Shape::Toml,
    words: WORDS,
    longest: 8 << 10,
    fixed: 150,
    seeds: cases,
    run: |input| {
        let manifest = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\n";
        let files = [("pack.toml", manifest.as_bytes()), ("scene.toml", DECLARED.as_bytes()), ("rules.toml", input)];
        let files = files.map(|(path, bytes)| (path.to_owned(), bytes.to_vec()));
        used(Ruleset::load(&Start::Name("p".into()), &[], &Own(PackFiles::of("p", files))).ok(), input)
    },
};

pub(super) const OVERLAY: Target = Target {
    name: "overlay",
    door: "an overlay over `base`: loading, compiling, a build, a payload",
    shape: Shape::Toml,
    words: WORDS,
    longest: 8 << 10,
    fixed: 6,
    seeds: || {
        let replay = seeds::paths("tests/replay", "toml", 8 << 10).into_iter().filter(|path| path.ends_with("overlay.toml"));
        let replay: Vec<Vec<u8>> = replay.filter_map(|path| std::fs::read(path).ok()).collect();
        [replay, cases(), seeds::written("seeds", "pack").into_iter().map(|(_, bytes)| bytes).collect()].concat()
    },
    run: |input| {
        // to load `base` costs a hundred times as much; mistakes of form go that far for every eighth length only
        if !input.len().is_multiple_of(8) && matches!(alone("o.toml", input), Verdict::Refused) {
            return Verdict::Refused;
        }
        let file = RuleFile { name: "o.toml".to_owned(), path_in_pack: "o.toml".to_owned(), bytes: input.to_vec() };
        used(Ruleset::load(&Start::Name("base".into()), &[Overlay::File(file)], &Shelf::default()).ok(), input)
    },
};

/// What rules of a pack that stands alone may name.
const DECLARED: &str = r#"kind = "scene"
version = 1
list = [{ name = "blocks", rows = ["message"], doc = "x" }, { name = "history", rows = ["message"], from = "history", doc = "h" }]
path = [{ name = "n", type = "number", default = 3, doc = "n" }, { name = "names.*", type = "table", doc = "n" }]
field = [
  { name = "message/id", type = "text", doc = "i" },
  { name = "message/text", type = "text", doc = "t" },
  { name = "message/role", type = "text", doc = "r" },
  { name = "message/name", type = "text", doc = "r" },
  { name = "message/priority", type = "number", doc = "r" },
  { name = "message/protected", type = "boolean", doc = "r" },
]
"#;

/// The rules of the rule tests, as overlays.
fn cases() -> Vec<Vec<u8>> {
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
    let Some(rules) = rules else { return Verdict::Refused };
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
    Verdict::Taken
}

#[cfg(feature = "whole")]
pub(super) const FORMAT: Target = Target {
    name: "format",
    door: "the layout of a rule file: the same meaning, and the same text the second time",
    shape: Shape::Toml,
    words: WORDS,
    longest: 4 << 10,
    fixed: 1_500,
    seeds: || seeds::files("rules", "toml", 3 << 10),
    run: |input| {
        use tapster::format::format;
        let text = text(input);
        let Ok(first) = format(Default::default(), &text, Default::default()) else { return Verdict::Refused };
        match format(Default::default(), &first.text, Default::default()) {
            Err(refusal) => Verdict::Wrong(format!("what was laid out is refused: {refusal:?}")),
            Ok(again) if again.text != first.text => Verdict::Wrong("what was laid out is laid out differently the second time".to_owned()),
            Ok(_) => Verdict::Taken,
        }
    },
};
