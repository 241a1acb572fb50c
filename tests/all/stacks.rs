//! Macros in the flavour `stack`: rows that are wrong, hostile texts, and the exact pack's own blocks.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, Texts, Value, expand_texts};

use crate::own;

fn load(rows: &str) -> Result<Ruleset, String> {
    let rules = format!("kind = \"macros\"\nversion = 1\n[macro_engine]\nflavour = \"stack\"\n{rows}");
    own::pack("", &[("macros.toml", &rules)])
        .map_err(|r| r.report.items().iter().map(|d| format!("{}: {}", d.code.as_str(), d.message)).collect::<Vec<_>>().join("\n"))
}

fn run(pack: &Ruleset, text: &str) -> Texts {
    expand_texts(pack, &Scene::new(&json!({})), &[(text, Value::Null)]).unwrap()
}

/// The text as it is expanded, and its only warning.
fn warned(pack: &Ruleset, text: &str) -> (String, String) {
    let done = run(pack, text);
    assert_eq!(done.warnings.len(), 1, "{:?}", done.warnings);
    (done.texts[0].to_string(), done.warnings[0].message.clone())
}

const BLOCKS: &str = r##"
[[macro_block]]
name = "#again"
body = "raw"
again = true
read = "{{$arg.body}}{{$arg.body}}"
[[macro_block]]
name = "#loop"
starts = true
body = "raw"
again = true
read = "{{#loop}}{{$arg.body}}{{/loop}}"
[[macro_block]]
name = "#def"
starts = true
words = 1
body = "raw"
keep = "$arg.words.0"
[[macro]]
name = "show"
args = [{ name = "name" }]
read = { lookup = "$arg.name", in = "$kept", else = "" }
expand = {}
"##;

#[test]
fn rows_that_cannot_be_used_are_refused() {
    let refused = |rows: &str| load(rows).err().unwrap();
    let block = |rows: &str| refused(&format!("[[macro_block]]\nname = \"#a\"\n{rows}"));
    assert!(block("otherwise = \"x\"\n").contains("`otherwise` never counts"));
    assert!(block("body_else = \"raw\"\n").contains("`body_else` never counts"));
    assert!(block("again = true\nkeep = \"x\"\n").contains("is not read again"));
    assert!(block("alone = true\n").contains("`alone` is about `else`"));
    assert!(block("else = \"\"\n").contains("is empty"));
    assert!(block("body = \"cooked\"\n").contains("schema.value"));
    let operator = |rows: &str| refused(&format!("[[macro_block]]\nname = \"#a\"\n[[macro_operator]]\nname = \"x\"\n{rows}"));
    assert!(operator("of = \"#b\"\nword = \"x\"\n").contains("there is no block `#b`"));
    assert!(operator("of = \"#a\"\nword = \"x\"\nbecomes = \"#b\"\n").contains("there is no block `#b`"));
    assert!(operator("of = \"#a\"\n[[macro_operator]]\nname = \"y\"\nof = \"#a\"\n").contains("two operators without a word"));
    let engine = |values: &str| refused(&format!("{values}\n"));
    assert!(engine("separators = [\"\"]").contains("`separators` contains an empty text"));
    assert!(engine("steps = [\"**\"]").contains("`**` is no operator"));
}

#[test]
fn endless_repetition_ends_with_a_warning() {
    let pack = load(BLOCKS).unwrap();
    // each copy doubles what follows
    let text = format!("{}x{}", "{{#again}}".repeat(40), "{{/again}}".repeat(40));
    let (out, why) = warned(&pack, &text);
    assert_eq!(out, text);
    assert!(why.contains("left as it was"), "{why}");
    let (out, why) = warned(&pack, "{{#loop}}x{{/loop}}");
    assert_eq!(out, "{{#loop}}x{{/loop}}");
    assert!(why.contains("more than 100000 macros"), "{why}");
}

#[test]
fn endless_recursion_ends_with_a_warning() {
    let pack = load(BLOCKS).unwrap();
    let (out, why) = warned(&pack, "{{#def f}}a{{show::f}}{{/def}}{{show::f}}");
    assert!(out.starts_with("aaaa") && out.ends_with("{{show::f}}"), "{out}");
    assert!(why.contains("too deeply or too often"), "{why}");
    // each call calls twice
    let done = run(&pack, "{{#def f}}{{show::f}}{{show::f}}{{/def}}{{show::f}}");
    assert!(done.warnings.iter().all(|warning| warning.message.contains("too deeply or too often")));
    assert!(!done.warnings.is_empty());
}

#[test]
fn deep_nesting_is_text() {
    let pack = load(BLOCKS).unwrap();
    for (open, close) in [("{{a::", "}}"), ("{{#again}}", "{{/again}}"), ("{#a\n", "#}"), ("{", "}"), ("{{{{{#", "#}}}}}")] {
        for count in [500, 20_000] {
            let text = format!("{}x{}", open.repeat(count), close.repeat(count));
            let done = run(&pack, &text);
            assert!(done.texts[0].contains('x'), "{open}");
        }
    }
    let (out, why) = warned(&pack, &format!("{}x{}", "{{a::".repeat(1000), "}}".repeat(1000)));
    assert_eq!(out, format!("{}x{}", "{{a::".repeat(1000), "}}".repeat(1000)));
    assert!(why.contains("are open at one place"), "{why}");
}

#[test]
fn unbalanced_braces_are_text() {
    let pack = load(BLOCKS).unwrap();
    for text in ["}}", "{{", "{{{{", "}}}}{{", "#}", "{{/again}}", "{{a}}}", "{{{a}}", "{#a#}", "\u{1F600}{{\u{1F600}}}"] {
        assert_eq!(*run(&pack, text).texts[0], *text);
    }
    // marks of blocks that are torn do not stay quite as they are
    for (text, out) in [("{{#again}}", "<"), ("{#", "{{"), ("{{a#}}", "{#a#}}")] {
        assert_eq!(*run(&pack, text).texts[0], *out);
    }
}

/// The exact pack of the product whose flavour this is.
fn exact() -> Ruleset {
    Ruleset::open("risuai-exact", &[]).unwrap()
}

#[test]
fn the_exact_pack_bounds_its_own_blocks() {
    let pack = exact();
    let out = |text: &str| run(&pack, text).texts[0].to_string();
    assert_eq!(out("{{#func f}}a{{call::f}}{{/func}}{{call::f}}"), format!("{}ERROR: Call stack limit reached", "a".repeat(19)));
    // a copy that holds the block again
    let many: Json = (0..2000).collect::<Vec<_>>().into();
    let text = format!("{{{{#each {many} a}}}}{{{{#each {many} b}}}}{{{{slot::a}}}}{{{{slot::b}}}}{{{{/each}}}}{{{{/each}}}}");
    let done = run(&pack, &text);
    assert_eq!(*done.texts[0], *text);
    assert!(done.warnings[0].message.contains("left as it"), "{:?}", done.warnings);
}
