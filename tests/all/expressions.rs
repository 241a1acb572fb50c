//! Expressions as text through the engine's door. The tests of CEL are suites of `tests/conformance`, those of rules with expressions
//! in `tests/cases/terms/expressions.toml`.

#![expect(clippy::expect_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use tapster::machinery::build::evaluate;
use tapster::machinery::pack::read::newest_words;
use tapster::machinery::syntax::expression_tables;
use tapster::machinery::text::methods::METHODS;
use tapster::machinery::text::{functions, methods};
use tapster::{Ruleset, Value};

fn run(rules: &Ruleset, text: &str) -> Result<Value, String> {
    evaluate(rules, text, &Value::from(&json!({ "a": { "b": [1, 2, 3] }, "text": "Ines" })))
}

#[test]
fn examples_of_functions_are_true() {
    let rules = Ruleset::open("base", &[]).expect("pack `base` compiles");
    for method in METHODS.iter().filter(|method| method.is_named()) {
        assert_eq!(run(&rules, method.example), Ok(Value::Bool(true)), "{}", method.example);
    }
}

#[test]
fn every_prefix_has_an_answer() {
    let rules = Ruleset::open("base", &[]).expect("pack `base` compiles");
    let others = ["a.b.all(x, i, x > 0) ? {'k': [text, ?a.?c]} : r'''\\d''' // end", "-0x1F * (1.5e3 - .5) % 2 != 3 || !has(a.b)"];
    for text in METHODS.iter().map(|method| method.example).chain(others) {
        for (at, _) in text.char_indices() {
            let prefix = text.split_at(at).0;
            let error = run(&rules, prefix).err();
            assert!(error.is_none_or(|error| !error.is_empty()), "{prefix}");
        }
    }
}

/// The expressions of a rule file, with the `=` before them.
pub(crate) fn expressions_of(file: &str) -> Vec<String> {
    fn collect(value: &toml::Value, out: &mut Vec<String>) {
        match value {
            toml::Value::String(text) if text.starts_with('=') && !text.starts_with("==") => out.push(text.clone()),
            toml::Value::Array(list) => list.iter().for_each(|value| collect(value, out)),
            toml::Value::Table(table) => table.values().for_each(|value| collect(value, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    collect(&toml::Value::Table(file.parse().expect("TOML")), &mut out);
    out
}

/// The texts of rule files that are expressions, each once.
fn shipped_expressions() -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut open: Vec<std::path::PathBuf> =
        ["rules", "tests/replay-fresh"].map(|folder| std::path::Path::new(env!("CHECKOUT")).join(folder)).into();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            out.extend(expressions_of(&std::fs::read_to_string(&path).expect("a text")));
        }
    }
    out
}

/// Of a long expression, 24 prefixes are taken, at other places in each; `ALL_PREFIXES=1` takes all.
#[test]
fn every_prefix_of_a_shipped_expression_has_an_answer() {
    let rules = Ruleset::open("base", &[]).expect("pack `base` compiles");
    let expressions = shipped_expressions();
    assert!(expressions.len() > 150, "{}", expressions.len());
    let is_whole = std::env::var_os("ALL_PREFIXES").is_some();
    for (n, text) in expressions.iter().enumerate() {
        let step = if is_whole { 1 } else { text.len() / 24 + 1 };
        for (at, _) in text.char_indices().skip(1 + n % step).step_by(step) {
            let prefix = text.split_at(at).0;
            let error = run(&rules, prefix).err();
            assert!(error.is_none_or(|error| !error.is_empty()), "{prefix}");
        }
    }
}

/// An expression in which `x0` is a list of a long list, and each of `x1`, `x2` … is made of the one before, twice.
fn doubled(times: usize, pair: fn(&str) -> String, body: &str) -> String {
    let binds: String = (1..=times).map(|n| format!("cel.bind(x{n}, {}, ", pair(&format!("x{}", n - 1)))).collect();
    format!("cel.bind(x0, [[{}]], {binds}{body}{})", vec!["0"; 1_000].join(","), ")".repeat(times))
}

/// Each ends with an error of its own, or within the budget of a build.
#[test]
fn hostile_expressions_end() {
    let rules = Ruleset::open("base", &[]).expect("pack `base` compiles");
    let lists = |n: usize| format!("[{}]", vec!["1"; n].join(","));
    let text = |part: &str, n: usize| part.repeat(n);
    for (hostile, word) in [
        (text("(", 10_000), "nested"),
        (text("[", 10_000), "nested"),
        (text("-", 10_000), "not finished"),
        (format!("{}1", text("!", 10_000)), "nested"),
        (format!("1{}", text("-1", 20_000)), "nested"),
        (format!("a{}", text("['b']", 10_000)), "nested"),
        (text("true ? 1 : ", 5_000), "nested"),
        (format!("{}1", text("(')'+", 10_000)), "nested"),
        (format!("{}1", text("(r'\\'+", 8_000)), "nested"),
        (doubled(60, |x| format!("[{x}, {x}]"), "'%s'.format([x60])"), "more than"),
        (doubled(20, |x| format!("{x} + {x}"), "x20.flatten()"), "more than"),
        (text("1 + ", 100_000), "longer"),
        (format!("{0}.map(a, {0}.map(b, {0}.map(c, {0})))", lists(1_000)), "more than"),
        (
            "cel.bind(a, 'xxxxxxxxxxxxxxxxxxxx', cel.bind(b, a.replace('x', a).replace('x', a).replace('x', a), b.replace('x', b)))".into(),
            "longer",
        ),
        ("'%.101f'.format([1.0])".into(), "digits"),
        ("'".into(), "not closed"),
        (String::new(), "not finished"),
    ] {
        let head: String = hostile.chars().take(40).collect();
        let error = run(&rules, &hostile).expect_err(&head);
        assert!(error.contains(word), "{head}…: {error}");
    }
    // a long row of the same operator is one operation
    assert_eq!(run(&rules, &format!("1{}", " + 1".repeat(2_000))), Ok(Value::Int(2_001)));
    assert_eq!(run(&rules, &format!("true{}", " && true".repeat(2_000))), Ok(Value::Bool(true)));
}

/// What a review found: each pair is an expression and one that gives the same.
#[test]
fn details_are_those_of_cel() {
    let rules = Ruleset::open("base", &[]).expect("pack `base` compiles");
    for (text, same) in [
        ("9007199254740993 == 9007199254740992", "false"),
        ("'%s'.format([{'a': 1, 'a1': 2}])", "'{a: 1, a1: 2}'"),
        ("'abc'.split('', 2)", "['a', 'bc']"),
        ("optional.of(1).orValue(1 / 0)", "1"),
        ("math.bitShiftLeft(1, 5000000000)", "0"),
        ("'/api/v1'.matches('/api/v[0-9]+')", "true"),
        ("'😀'.matches('^.$')", "true"),
        ("{1: 'a'}[1.0]", "'a'"),
        ("[3, 1.5, null, 2].sortBy(x, x)", "[null, 1.5, 2, 3]"),
        ("[{'index': 7}].map(m, m.index)", "[7]"),
        ("text.optMap(n, n + '!')", "'Ines!'"),
        ("[optional.of(1)].map(x, x)", "[1]"),
        ("'banana'.lastIndexOf('an', 2)", "1"),
        ("cel.bind(it, '[1, 2]'.parse_json(), it.count)", "2"),
    ] {
        let expected = run(&rules, same);
        assert!(expected.is_ok(), "{same}");
        assert_eq!(run(&rules, text), expected, "{text}");
    }
    for refused in ["[7, 8, 9][0.1]", "[1]['a']", "'\\x+1'", "has(a.b + text)", "[1, 'a'].sortBy(x, x)", "text.substring()"] {
        assert!(run(&rules, refused).is_err(), "{refused}");
    }
}

/// A name that is a function of CEL and one of the library is told by how its values are written, all others by the name.
#[test]
fn names_of_cel_and_of_the_library_are_told_apart() {
    let of_cel = methods::METHODS.iter().filter(|method| method.is_named() && !method.name.contains('.')).map(|method| method.name);
    for name in of_cel {
        assert!(expression_tables::CEL_NAMES.contains(&name) || expression_tables::SHARED_NAMES.contains(&name), "{name}");
    }
    for function in functions::FUNCTIONS {
        let is_shared = methods::find(function.name).is_some();
        assert!(!expression_tables::CEL_NAMES.contains(&function.name), "{}", function.name);
        assert_eq!(expression_tables::SHARED_NAMES.contains(&function.name), is_shared, "{}", function.name);
    }
}

/// Each expression is read as the table beside it; one without a table stays an expression of CEL.
#[test]
fn expressions_are_read_as_the_tables_that_they_say() {
    let file = std::path::Path::new(env!("CHECKOUT")).join("tests/all/expression_tables.toml");
    let cases: toml::Table = std::fs::read_to_string(file).expect("a text").parse().expect("TOML");
    for (kind, cases) in &cases {
        for (expression, table) in cases.as_table().expect("a table") {
            let key = if kind == "set" { "set.x" } else { "where" };
            let written = read_in_pass(key, &toml_of(expression));
            let expected = match table.as_str() {
                Some("") => Some(json!({ "=": expression })),
                _ => read_in_pass(key, &table.to_string()),
            };
            assert_eq!(written, expected, "{expression}");
        }
    }
}

/// An expression as it is written in a rule file.
fn toml_of(expression: &str) -> String {
    toml::Value::String(format!("= {expression}")).to_string()
}

/// What the engine reads under a key of a pass.
fn read_in_pass(key: &str, value: &str) -> Option<Json> {
    let words = newest_words(&format!("kind = 'lore'\nversion = 2\n[[pass]]\nname = 'lore/x'\n{key} = {value}\n"))?;
    words.pointer(&format!("/pass/0/{}", key.replace('.', "/"))).cloned()
}

/// A field or a key of data may be called like a function, a group or a word of tables.
#[test]
fn keys_that_are_words_stay_keys() {
    let rules = Ruleset::open("base", &[]).expect("pack `base` compiles");
    let words = expression_tables::CEL_NAMES.iter().chain(&expression_tables::SHARED_NAMES);
    let words = words.chain(&expression_tables::TABLE_WORDS).chain(&expression_tables::GROUPS);
    for word in words.chain(&["of", "not", "any", "and", "is", "if", "steps", "scripts", "none", "fn", "op", "path"]) {
        let data = format!("{{'{word}': {{'{word}': 1}}}}.{word}.{word} == 1");
        assert_eq!(run(&rules, &data), Ok(Value::Bool(true)), "{data}");
        let reference = format!("@{word}");
        assert_eq!(read_in_pass("set.x", &toml_of(&format!("[{word}]"))), Some(json!([reference])), "{word}");
        assert_eq!(read_in_pass(&format!("set.{word}"), "{ a = [] }"), Some(json!({ "a": [] })), "{word}");
        let test = read_in_pass("where", &toml_of(&format!("{word} == 1"))).unwrap_or_default();
        assert!(test == json!({ *word: 1 }) || test == json!({ format!("@{word}"): 1 }), "{test}");
    }
    // a list under a field `steps` holds no steps
    let choice = json!({ "if": { "@a": true }, "then": "@b", "else": "@c" });
    assert_eq!(read_in_pass("set.steps", "[{ when = '= a ? b : c' }]"), Some(json!([{ "when": choice }])));
}

/// Where a condition stands, a choice is one as a whole, and a call is a test; where a value stands, both are values.
#[test]
fn conditions_are_known_by_their_places() {
    let head = "kind = 'lore'\nversion = 2\n[[pass]]\nname = 'lore/x'\n";
    for (rows, place, is_condition) in [
        ("where = X", "/pass/0/where", true),
        ("when = X", "/pass/0/when", true),
        ("steps = [{ trim = 'both', when = X }]", "/pass/0/steps/0/when", true),
        ("[[pass.steps]]\nwhen = X", "/pass/0/steps/0/when", true),
        ("steps = [{ scripts = '$x', when = X }]", "/pass/0/steps/0/when", true),
        ("steps = [{ scripts = '$x', steps = [{ when = X }] }]", "/pass/0/steps/0/steps/0/when", true),
        ("edit.steps.insert = { when = X }", "/pass/0/edit/steps/insert/when", true),
        ("edit.steps.insert = { scripts = '$x', steps = [{ when = X }] }", "/pass/0/edit/steps/insert/steps/0/when", true),
        ("edit.steps = { replace = 'x', with = { when = X } }", "/pass/0/edit/steps/with/when", true),
        ("prepare = [{ when = X }]", "/pass/0/prepare/0/when", true),
        ("[[matcher]]\nname = 'x'\nkey = [{ when = X }]", "/matcher/0/key/0/when", true),
        ("set.x = { of = 'entries', where = X }", "/pass/0/set/x/where", true),
        ("set.x = { of = 'entries', steps = [{ when = X }] }", "/pass/0/set/x/steps/0/when", true),
        ("set.x = { if = X, then = 1 }", "/pass/0/set/x/if", true),
        ("at = { before = X }", "/pass/0/at/before", true),
        ("[[fact]]\nname = 'x'\nis = X", "/fact/0/is", true),
        ("set.when = X", "/pass/0/set/when", false),
        ("set.x = { when = X }", "/pass/0/set/x/when", false),
        ("set.x = X", "/pass/0/set/x", false),
        ("steps = [{ suffix = X }]", "/pass/0/steps/0/suffix", false),
        ("steps = [{ expand = 'macro', with = { when = X } }]", "/pass/0/steps/0/with/when", false),
    ] {
        let read = |expression: &str| {
            let words = newest_words(&format!("{head}{}\n", rows.replace('X', &toml_of(expression))));
            words.and_then(|words| words.pointer(place).cloned()).unwrap_or_default()
        };
        let (choice, call) = (read("a ? b : c"), read("fact('x')"));
        assert_eq!(choice.get("=").is_some(), is_condition, "{rows}: {choice}");
        assert_eq!(call.get("fact").is_some(), is_condition, "{rows}: {call}");
        assert_eq!((choice.get("if").is_some(), call.get("is").is_some()), (!is_condition, !is_condition), "{rows}");
    }
}
