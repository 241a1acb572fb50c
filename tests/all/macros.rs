//! Macros in the flavour `stack`: rows that are wrong, hostile texts, and the exact pack's own blocks.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, Texts, Value, expand_texts};

use crate::support;

fn load(rows: &str) -> Result<Ruleset, String> {
    let rules = format!("kind = \"macros\"\nversion = 1\n[macro_engine]\nflavour = \"stack\"\n{rows}");
    support::pack_over_base("", &[("macros.toml", &rules)])
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

/// Macros in the ordered flavour: a pack's own passes, the passes of the exact pack, and hostile texts.
mod passes {
    use crate::support;
    use crate::support::EXACT;
    use serde_json::{Value as Json, json};
    use tapster::{Ruleset, Scene, Texts, Value, expand_texts};

    fn load(rows: &str) -> Result<Ruleset, String> {
        let rules = format!("kind = \"macros\"\nversion = 1\n[macro_engine]\nflavour = \"passes\"\n{rows}");
        support::pack_over_base("", &[("macros.toml", &rules)])
            .map_err(|r| r.report.items().iter().map(|d| format!("{}: {}", d.code.as_str(), d.message)).collect::<Vec<_>>().join("\n"))
    }

    fn run(pack: &Ruleset, scene: Json, text: &str, given: Json) -> Texts {
        expand_texts(pack, &Scene::new(&scene), &[(text, Value::from(&given))]).unwrap()
    }

    fn text(rows: &str, scene: Json, text: &str) -> String {
        run(&load(rows).unwrap(), scene, text, Json::Null).texts[0].to_string()
    }

    #[test]
    fn the_order_of_rows_is_the_order_of_passes() {
        let scene = || json!({ "card": { "name": "{{b}}", "description": "{{a}}" } });
        let a = "[[macro_pass]]\nname = \"a\"\nread = \"$card.name\"\n";
        let b = "[[macro_pass]]\nname = \"b\"\nread = \"$card.description\"\n";
        assert_eq!(text(&format!("{a}{b}"), scene(), "{{a}} {{B}}"), "{{a}} {{a}}");
        assert_eq!(text(&format!("{b}{a}"), scene(), "{{a}} {{B}}"), "{{b}} {{b}}");
    }

    #[test]
    fn a_pass_does_not_read_what_it_has_put_there() {
        let rows = "[[macro_pass]]\nname = \"a\"\ntext = \"{{a}}{{a}}\"\n";
        assert_eq!(text(rows, json!({}), "{{a}}"), "{{a}}{{a}}");
    }

    #[test]
    fn a_pass_takes_its_meaning_from_the_macro_of_its_name() {
        let rows = "[[macro_pass]]\nname = \"turn\"\nfind = '/\\[\\[(.*?)\\]\\]/g'\nas = \"reverse\"\nbraces = false\n[[macro_pass]]\nname = \"newline\"\naliases = [\"nl.\"]\n";
        assert_eq!(text(rows, json!({}), "[[abc]]{{nl.}}{{nlx}}{{newline}}{{space}}"), "cba\n{{nlx}}\n{{space}}");
    }

    #[test]
    fn a_pass_waits_for_braces_unless_it_says_otherwise() {
        let rows = |more: &str| format!("[[macro_pass]]\nname = \"mark\"\nfind = \"<X>\"\ntext = \"y\"\n{more}");
        assert_eq!(text(&rows(""), json!({}), "<X>"), "<X>");
        assert_eq!(text(&rows(""), json!({}), "<X>{{"), "y{{");
        assert_eq!(text(&rows("braces = false\n"), json!({}), "<X>"), "y");
    }

    #[test]
    fn groups_are_arguments_trimmed_and_parted_as_the_row_says() {
        let rows =
            |more: &str| format!("[[macro_pass]]\nname = \"pick one\"\nfind = '/\\{{\\{{of ([^}}]*)\\}}\\}}/g'\nas = \"random\"\n{more}");
        let pick = |rows: &str| {
            let scene = Scene { draws: Some(vec![0.9]), ..Scene::new(&json!({})) };
            expand_texts(&load(rows).unwrap(), &scene, &[("{{of  a | b }}", Value::Null)]).unwrap().texts[0].to_string()
        };
        assert_eq!(pick(&rows("split = \"|\"\n")), " b ");
        assert_eq!(pick(&rows("split = \"|\"\ntrim = true\n")), " b");
        assert_eq!(pick(&rows("trim = [1]\n")), "a | b");
    }

    #[test]
    fn names_given_for_one_text_have_their_place_or_that_of_the_pass_they_are_called_like() {
        let rows = "[[macro_pass]]\nname = \"early\"\ntext = \"e\"\n[[macro_pass]]\nname = \"given names\"\ngiven = true\n[[macro_pass]]\nname = \"late\"\ntext = \"l\"\n";
        let pack = load(rows).unwrap();
        let given = json!({ "Mine": "{{early}}{{late}}", "early": "E", "LATE": "never", "none": null, "table": { "a": 1 }, "n": 1.5 });
        let done = run(&pack, json!({}), "{{mine}}|{{EARLY}}|{{late}}|{{none}}|{{table}}|{{n}}", given);
        assert_eq!(done.texts[0].as_ref(), "{{early}}never|E|never||{\"a\":1}|1.5");
    }

    #[test]
    fn eager_rows_write_before_the_first_pass_and_outer_rows_are_not_inside() {
        let rows = r#"
[[macro]]
name = "field"
read = { fn = "render", lang = "macro", of = "$card.description" }
once = true
[[macro_pass]]
name = "incvar"
find = '/\{\{incvar::([^}]+)\}\}/gi'
[[macro_pass]]
name = "getvar"
find = '/\{\{getvar::([^}]+)\}\}/gi'
[[macro_pass]]
name = "field"
eager = 1
outer = true
"#;
        let pack = load(rows).unwrap();
        let scene = json!({ "card": { "description": "<{{incvar::n}}{{field}}>" } });
        let done = run(&pack, scene, "{{getvar::n}} {{field}} {{field}}", Json::Null);
        assert_eq!(done.texts[0].as_ref(), "1 <1{{field}}> <1{{field}}>");
        assert_eq!(done.patch.at("vars.local.n").and_then(Value::as_i64), Some(1));
    }

    #[test]
    fn a_macro_that_fails_ends_its_pass() {
        let rows = "[[macro_pass]]\nname = \"setvar\"\nfind = '/\\{\\{setvar::(.*?)::(.*?)\\}\\}/g'\ntrim = true\n[[macro_pass]]\nname = \"newline\"\n";
        let done = run(&load(rows).unwrap(), json!({}), "{{setvar::a::1}}{{setvar:: ::2}}{{setvar::c::3}}{{newline}}", Json::Null);
        assert_eq!(done.texts[0].as_ref(), "{{setvar::a::1}}{{setvar:: ::2}}{{setvar::c::3}}\n");
        assert_eq!(done.patch.to_json(), json!({ "vars": { "local": { "a": "1" } } }));
    }

    #[test]
    fn rows_that_cannot_be_used_are_refused() {
        for (row, code) in [
            ("name = \"a\"\nfind = \"/(/g\"\ntext = \"\"", "regex.bad"),
            ("name = \"a\"\nfind = \"/(.*)*x/g\"\ntext = \"\"", "regex.bad"),
            ("name = \"a\"\nfind = \"/(a)(b)/g\"\nas = \"reverse\"", "term.type"),
            ("name = \"a\"\nfn = \"no_such\"", "name.unknown"),
            ("name = \"a\"", "name.unknown"),
            ("name = \"a\"\nas = \"no_such\"", "name.unknown"),
            ("name = \"a\"\ntext = \"\"\nbeside = \"no_such\"", "name.unknown"),
            ("name = \"a\"\ntext = \"\"\nbeside = \"a\"", "name.unknown"),
            ("name = \"a\"\nfind = true\ntext = \"\"", "schema.value"),
            ("name = \"a\"\nblock = true", "schema.unknown_key"),
        ] {
            let wrong = load(&format!("[[macro_pass]]\n{row}\n")).err().unwrap();
            assert!(wrong.contains(code), "{row}: {wrong}");
        }
    }

    #[test]
    fn a_scene_may_ask_for_the_other_flavour() {
        let pack = &*EXACT;
        let scene = |flavour: &str| json!({ "names": { "user": "Ilse" }, "macro_flavour": flavour });
        let both = |flavour: &str| run(pack, scene(flavour), "{{setvar::a::{{user}}}}{{getvar::a}}", Json::Null).texts[0].to_string();
        assert_eq!(both("nested"), "Ilse");
        assert_eq!(both("passes"), "}}{{user");
    }

    #[test]
    fn older_macros_of_the_exact_pack() {
        let pack = &*EXACT;
        let scene = json!({
            "names": { "user": "Ilse", "char": "Brom" },
            "now": "2024-03-05T14:07:09Z",
            "card": { "description": "D {{personality}}", "personality": "P {{char}}" },
            "history": [{ "id": "1", "role": "assistant", "text": "x {{user}} {{time}} {{newline}}" }],
            "vars": { "local": { "l": "[1]" } },
            "macro_flavour": "passes",
        });
        for (text, gives) in [
            // a card macro inside a field is found by a later pass of the outer text
            ("{{description}}", "D P Brom"),
            // a message is read by the passes behind its own
            ("{{lastMessage}}", "x {{user}} 2:07 PM {{newline}}"),
            ("{{reverse::ab}} {{reverse:c}}", "ba: c"),
            ("{{newline::2}}{{random}}{{banned x}}{{banned \"x\"}} \"y\"}}", "{{newline::2}}{{random}}{{banned x}}"),
            ("{{addvar::l::2}}{{getvar::l}}", "[1,\"2\"]"),
            ("{{setvar::s:: v }}[{{getvar::s}}]{{setvar::a::b}c}}", "[ v ]{{setvar::a::b}c}}"),
            ("{{time_utc+2}} {{time_UTC+99999999999}} {{datetimeformat::YYYY}}", "4:07 PM Invalid date {{datetimeformat::YYYY}}"),
            ("{{currentSwipeId}}{{lastSwipeId}}", "NaN"),
            ("a\r\n{{trim}}\n\nb{{getvar::{{random:a}}}}", "ab}}"),
            ("{{USER}<BOT>{{char", "{{USER}Brom{{char"),
        ] {
            assert_eq!(run(pack, scene.clone(), text, Json::Null).texts[0].as_ref(), gives, "{text}");
        }
    }

    #[test]
    fn hostile_texts_end_with_a_warning() {
        let pack = &*EXACT;
        let run = |scene: Json, text: &str| {
            let mut scene = scene;
            scene.as_object_mut().unwrap().insert("macro_flavour".into(), "passes".into());
            run(pack, scene, text, Json::Null)
        };
        // a value that grows with every pass it goes through
        let name = "{{char}}".repeat(20_000);
        let done = run(json!({ "names": { "user": name, "char": "x".repeat(20_000) } }), "{{user}}{{user}}");
        assert_eq!(done.texts[0].as_ref(), "{{user}}{{user}}");
        assert!(done.warnings.iter().any(|w| w.message.contains("bytes")), "{:?}", done.warnings);
        // more macros than a text may hold
        let done = run(json!({}), &"{{noop}}".repeat(150_000));
        assert!(done.warnings.iter().any(|w| w.message.contains("100000 macros")), "{:?}", done.warnings);
        // fields and variables that name themselves
        let card = json!({ "card": { "description": "{{description}}{{personality}}", "personality": "{{description}}{{description}}" } });
        assert_eq!(run(card, "{{description}}").texts[0].as_ref(), "{{description}}{{description}}{{description}}");
        let vars = json!({ "vars": { "local": { "a": "{{getvar::a}}{{getvar::a}}" } } });
        assert_eq!(run(vars, "{{getvar::a}}").texts[0].as_ref(), "{{getvar::a}}{{getvar::a}}");
        // openers without ends
        for text in ["{{random::".repeat(20_000), "{{setvar::a::".repeat(20_000), "{{//".repeat(20_000), "{{timeDiff::".repeat(2_000)] {
            run(json!({}), &text);
        }
    }

    #[test]
    fn texts_inside_texts_are_bounded() {
        let rows = "[[macro]]\nname = \"twice\"\nread = { fn = \"render\", lang = \"macro\", of = \"$card.description\" }\n[[macro_pass]]\nname = \"twice\"\n";
        let done = run(&load(rows).unwrap(), json!({ "card": { "description": "{{twice}}{{twice}}" } }), "{{twice}}", Json::Null);
        assert!(done.warnings.iter().any(|w| w.message.contains("too deeply or too often")), "{:?}", done.warnings.len());
    }
}
