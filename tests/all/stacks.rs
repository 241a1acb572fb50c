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
    assert!(why.contains("more than 100000 steps"), "{why}");
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
    for (text, out) in [("{{#again}}x", "{{#again}}x"), ("{#", "{{"), ("{{a#}}", "{#a#}}")] {
        assert_eq!(*run(&pack, text).texts[0], *out);
    }
}

#[test]
fn marks_are_values_of_the_pack() {
    let pack = load(&format!("unclosed = \"<\"\ninline = \"%\"\n{BLOCKS}")).unwrap();
    for (text, out) in [("{{#again}}x", "<x"), ("{#a\nb#}", "{#a\nb#}"), ("{%", "{{"), ("{{a%}}", "{%a%}}")] {
        assert_eq!(*run(&pack, text).texts[0], *out);
    }
    let pack = load(&format!("inline = \"\"\n{BLOCKS}")).unwrap();
    for text in ["{#", "{{a#}", "{#a\nb#}"] {
        assert_eq!(*run(&pack, text).texts[0], *text);
    }
}

#[test]
fn texts_inside_texts_share_one_count() {
    let pack = load(BLOCKS).unwrap();
    // each call is told by one letter, and calls twice
    let (out, why) = warned(&pack, "{{#def f}}x{{show::f}}{{show::f}}{{/def}}{{show::f}}");
    let calls = out.matches('x').count();
    // 1,000 texts are expanded, and each of the innermost ones shows two that are not
    assert!((1000..2100).contains(&calls), "{calls}");
    assert!(why.contains("too deeply or too often"), "{why}");
    // the next text has a count of its own
    let text = "{{#def g}}y{{/def}}{{show::g}}{{show::g}}";
    let done =
        expand_texts(&pack, &Scene::new(&json!({})), &[("{{#def f}}{{show::f}}{{/def}}{{show::f}}", Value::Null), (text, Value::Null)]);
    let done = done.unwrap();
    assert_eq!((*done.texts[1]).to_owned(), "yy");
    assert_eq!(done.warnings.len(), 1);
}

#[test]
fn texts_inside_texts_share_one_budget_of_bytes() {
    let pack = load(&format!("{BLOCKS}[[macro]]\nname = \"big\"\nread = \"$card.description\"\n")).unwrap();
    let scene = Scene::new(&json!({ "card": { "description": "y".repeat(50_000) } }));
    let texts = [("{{#def f}}{{big}}{{show::f}}{{show::f}}{{/def}}{{show::f}}", Value::Null)];
    let done = expand_texts(&pack, &scene, &texts).unwrap();
    assert_eq!(done.warnings.len(), 1, "{:?}", done.warnings);
    assert!(done.texts[0].len() < 5 << 20, "{}", done.texts[0].len());
}

#[test]
fn what_macros_give_counts_as_steps() {
    let pack = exact();
    let ranges = |count: usize| run(&pack, &"{{arraylength::{{range::[30000]}}}} ".repeat(count));
    let few = ranges(2);
    assert_eq!((&*few.texts[0], few.warnings.len()), ("30000 30000 ", 0));
    let many = ranges(100);
    assert!(many.texts[0].starts_with("{{arraylength"), "{}", many.texts[0]);
    assert_eq!(many.warnings.len(), 1);
    assert!(many.warnings[0].message.contains("more than 100000 steps"), "{:?}", many.warnings);
    let each = |name: &str, body: &str| format!("{{{{#each {{{{range::[1000]}}}} {name}}}}}{body}{{{{/each}}}}");
    let text = each("a", &each("b", &each("c", "x")));
    let done = run(&pack, &text);
    assert_eq!(*done.texts[0], *text);
    assert_eq!(done.warnings.len(), 1, "{:?}", done.warnings);
    // dice count as well
    assert_eq!(run(&pack, &"{{rollp::9999d6}}".repeat(20)).warnings.len(), 0);
    let done = run(&pack, &"{{rollp::9999d6}}".repeat(1000));
    assert!(done.texts[0].starts_with("{{rollp"), "{}", done.texts[0]);
    assert_eq!(done.warnings.len(), 1);
}

#[test]
fn a_chat_that_contains_itself_ends_with_one_warning() {
    let pack = exact();
    for count in [1, 3, 12] {
        let message = json!({ "role": "user", "text": "{{history}}" });
        let scene = Scene::new(&json!({ "history": vec![message; count] }));
        let done = expand_texts(&pack, &scene, &[("{{history}}", Value::Null)]).unwrap();
        let about = |what: &str| done.warnings.iter().filter(|warning| warning.message.contains(what)).count();
        assert_eq!(about("texts are expanded inside texts"), 1, "{count}: {:?}", done.warnings);
        // the outermost text has a bound of its own
        assert!(done.warnings.len() <= 1 + about("the text is left as it was").min(1), "{count}: {:?}", done.warnings);
        assert!(done.texts[0].len() < 16 << 20, "{count}: {}", done.texts[0].len());
    }
    let scene = Scene::new(&json!({ "card": { "description": "{{description}}{{description}}" } }));
    let done = expand_texts(&pack, &scene, &[("{{description}}", Value::Null)]).unwrap();
    assert_eq!(done.warnings.len(), 1, "{:?}", done.warnings);
    assert!(done.texts[0].len() < 100_000, "{}", done.texts[0].len());
}

#[test]
fn open_blocks_leave_their_marks_in_order() {
    let text = format!("a{}b", "{{#if 1}}c".repeat(400));
    assert_eq!(*run(&exact(), &text).texts[0], *format!("a{}b", "<c".repeat(400)));
}

#[test]
fn what_is_opened_many_times_inside_itself_counts_as_often_as_it_is_read() {
    let pack = exact();
    for (open, close) in [("{{// ", "}}"), ("{{a", "}}"), ("{{a::", "}}"), ("{{", "}}"), ("{{#b ", "}}")] {
        let text = format!("{}{}", open.repeat(400_000), close.repeat(400_000));
        let done = run(&pack, &text);
        assert_eq!(*done.texts[0], *text, "{open}");
        assert!(!done.warnings.is_empty(), "{open}: it is told");
    }
    // one that is long, and closed once, is a macro as any other
    let long = "b".repeat(1_000_000);
    assert_eq!(*run(&pack, &format!("a{{{{// {long}}}}}c")).texts[0], *format!("a{{{{// {long}}}}}c"));
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
