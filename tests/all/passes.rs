//! Macros in the ordered flavour: a pack's own passes, the passes of the exact pack, and hostile texts.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, Texts, Value, expand_texts};

use crate::own;
use crate::shipped::EXACT;

fn load(rows: &str) -> Result<Ruleset, String> {
    let rules = format!("kind = \"macros\"\nversion = 1\n[macro_engine]\nflavour = \"passes\"\n{rows}");
    own::pack("", &[("macros.toml", &rules)])
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
