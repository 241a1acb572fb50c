//! Rules that double: rows that each name the next one twice. What they would come to grows with the power of their number;
//! what loading and building them takes does not.

use serde_json::json;
use tapster::{ErrorKind, Ruleset, Scene, build};

use crate::own;

/// A pass that comes first in a build, and changes the block `k`; and other rows.
fn first(terms: &str, rows: &str) -> String {
    format!(
        "kind = \"pipeline\"\nversion = 1\n\
         [[pass]]\nname = \"build/made\"\nbefore = \"hooks\"\ndo = \"add\"\nitem = {{ id = \"k\", text = \"t\" }}\n\
         [[pass]]\nname = \"build/first\"\nafter = \"made\"\nlist = \"blocks\"\n{terms}\n{rows}"
    )
}

/// So many rows of a table, `x0`, `x1` …: each holds `body`, with the next name for `#`, and the last one `last`.
fn chain(table: &str, name: &str, rows: usize, body: &str, last: &str) -> String {
    let row = |n: usize| {
        let holds = if n < rows { body.replace('#', &format!("{name}{}", n + 1)) } else { last.to_owned() };
        format!("[[{table}]]\nname = \"{name}{n}\"\n{holds}\n")
    };
    (0..=rows).map(row).collect()
}

fn loaded(files: &[(&str, &str)]) -> Result<Ruleset, String> {
    own::pack("", files).map_err(|e| e.to_string())
}

/// The text of the block `k` after a build, or the bound that it reaches.
fn built(files: &[(&str, &str)]) -> Result<String, String> {
    let rules = loaded(files).unwrap_or_else(|e| panic!("{e}"));
    match build(&rules, &Scene::new(&json!({ "dialect": "openai" }))) {
        Ok(plan) => Ok(plan.blocks.iter().find(|b| b.text("id") == "k").map(|b| b.text("text").to_string()).unwrap_or_default()),
        Err(error) => {
            assert_eq!(error.kind(), &ErrorKind::Bound, "{error}");
            Err(error.to_string())
        }
    }
}

#[test]
fn facts_and_values_that_name_the_next_one_twice_are_evaluated_once() {
    let when = "do = \"set\"\nwhen = { fact = \"x0\" }\nset = { text = \"done\" }";
    let item = "do = \"set\"\nwhere = { fact = \"x0\" }\nset = { text = \"done\" }";
    let value = "do = \"set\"\nset = { text = { value = \"x0\" } }";
    let (yes, no) = ("is = { dialect = \"openai\" }", "is = { dialect = \"other\" }");
    let (plain, negated) = ("is = { fact = [\"#\", \"#\"] }", "is = { not = { fact = [\"#\", \"#\"] } }");
    let of_items = "over = \"any\"\nis = { any = [{ fact = \"#\" }, { fact = \"#\" }] }";
    for (table, pass, body, last, text) in [
        ("fact", when, plain, yes, "done"),
        ("fact", when, plain, no, "t"),
        ("fact", when, negated, yes, "done"),
        ("fact", when, negated, no, "t"),
        ("fact", item, of_items, "over = \"any\"\nis = { text = \"no\" }", "t"),
        ("value", value, "is = { first = [{ value = \"#\" }, { value = \"#\" }] }", "is = \"$dialect\"", "openai"),
    ] {
        let rules = first(pass, &chain(table, "x", 30, body, last));
        assert_eq!(built(&[("pipeline.toml", &rules)]).as_deref(), Ok(text), "{body}, {last}");
    }
}

#[test]
fn what_doubles_without_end_is_refused_when_it_is_loaded() {
    let fact = "is = { all = [{ fact = \"#\" }, { fact = \"#\" }] }";
    let value = "is = [{ value = \"#\" }, { value = \"#\" }]";
    for (table, pass, body, last, told) in [
        ("fact", "when = { fact = \"x0\" }\nset = { text = \"done\" }", fact, "is = { dialect = \"openai\" }", "nested too deeply"),
        ("value", "set = { text = { value = \"x0\" } }", value, "is = \"x\"", "name each other come to more than"),
    ] {
        let rules = first(&format!("do = \"set\"\n{pass}"), &chain(table, "x", 40, body, last));
        let said = loaded(&[("pipeline.toml", &rules)]).err().unwrap_or_default();
        assert!(said.contains(told) && said.lines().count() < 60, "{said}");
    }
}

#[test]
fn what_is_written_out_without_end_reaches_a_bound() {
    let set = |value: &str| format!("do = \"set\"\nset = {{ {value} }}");
    let dialect = |rows: &str| ("dialect.toml", format!("kind = \"dialect\"\nversion = 1\n{rows}"));
    let slots = |rows: &str| ("slots.toml", format!("kind = \"slots\"\nversion = 1\n{rows}"));
    let values = |last: &str| {
        let rows = (0..40).map(|n| format!("v{n} = \"{{{{$preset.v{0}}}}}{{{{$preset.v{0}}}}}\"\n", n + 1)).collect::<String>();
        slots(&format!("[preset]\n{rows}v40 = \"{last}\"\n"))
    };
    let defaults = |last: &str| {
        let rows =
            chain("path", "own.v", 40, "default = \"{{$#}}{{$#}}\"\ntype = \"text\"", &format!("default = \"{last}\"\ntype = \"text\""));
        ("scene.toml", format!("kind = \"scene\"\nversion = 1\n{rows}"))
    };
    let asks = "{ of = \"$table.slot\", where = { when = true }, is = { nonempty = true } }";
    let round = |n: usize| {
        format!(
            "[[program]]\nname = \"p{n}\"\nover = \"blocks\"\n[[pass]]\nname = \"p{n}/a\"\ndo = \"repeat\"\nprogram = \"p{}\"\nmax = 60\n[[round]]\nname = \"p{n}/a/r\"\nwhen = true\n",
            n + 1
        )
    };
    let pass = |n: usize, pass: &str| format!("[[pass]]\nname = \"p{n}/{pass}\"\ndo = \"run\"\nprogram = \"p{}\"\n", n + 1);
    let twice = |n: usize| format!("[[program]]\nname = \"p{n}\"\nover = \"blocks\"\n{}{}", pass(n, "a"), pass(n, "b"));
    let last = |n: usize| {
        format!("[[program]]\nname = \"p{n}\"\nover = \"blocks\"\n[[pass]]\nname = \"p{n}/a\"\ndo = \"set\"\nset = {{ text = \"x\" }}\n")
    };
    let form = set("\"meta.x\" = { form = \"g0\" }");
    let circle = "[[form]]\nname = \"g0\"\nkeys = { a = { form = \"g1\" } }\n[[form]]\nname = \"g1\"\nkeys = { a = { form = \"g0\" } }\n";
    let forms = chain("form", "g", 40, "keys = { a = { form = \"#\" }, b = { form = \"#\" } }", "keys = { a = \"@text\" }");
    let own = chain("value", "w", 40, "is = [{ value = \"#\" }, { value = \"#\" }]", "is = \"$dialect\"");
    let none = || ("dialect.toml", "kind = \"dialect\"\nversion = 1\n".to_owned());
    for (what, terms, rows, file, told) in [
        ("values", set("text = { value = \"w0\" }"), own, none(), ""),
        ("forms", form.clone(), String::new(), dialect(&forms), ""),
        ("forms in a circle", form, String::new(), dialect(circle), "form `g"),
        ("defaults", set("text = \"$own.v0\""), String::new(), defaults("x"), ""),
        ("empty defaults", set("text = \"$own.v0\""), String::new(), defaults(""), ""),
        ("values of slots", set("text = \"$preset.v0\""), String::new(), values("x"), ""),
        ("empty values of slots", set("text = \"$preset.v0\""), String::new(), values(""), ""),
        (
            "a condition that asks for itself",
            format!("do = \"set\"\nwhen = {asks}\nset = {{ text = \"x\" }}"),
            String::new(),
            slots(&format!("[[slot]]\nname = \"own\"\nwhen = {asks}\n")),
            "",
        ),
        ("programs that repeat", "do = \"run\"\nprogram = \"p0\"".to_owned(), (0..8).map(round).chain([last(8)]).collect(), none(), ""),
        (
            "programs that run twice",
            "do = \"run\"\nprogram = \"p0\"".to_owned(),
            (0..30).map(twice).chain([last(30)]).collect(),
            none(),
            "",
        ),
    ] {
        let said = built(&[("pipeline.toml", &first(&terms, &rows)), (file.0, &file.1)]).err();
        assert!(said.is_some_and(|said| said.contains(told)), "{what}");
    }
}

#[test]
fn macros_that_hold_the_next_one_twice_are_bounded() {
    let rows = chain("macro", "m", 40, "text = \"{{#}}{{#}}\"\nexpand = {}", "text = \"x\"");
    let rules = loaded(&[("macros.toml", &format!("kind = \"macros\"\nversion = 1\n{rows}"))]).unwrap();
    let made = |text: &str| tapster::expand_texts(&rules, &Scene::new(&json!({})), &[(text, tapster::Value::Null)]);
    let small = made("{{m33}}").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(small.texts[0].len(), 1 << 7, "{:?}", small.warnings);
    assert!(small.warnings.is_empty(), "{:?}", small.warnings);
    match made("{{m0}}") {
        Ok(all) => {
            let length = all.texts[0].len();
            assert!((1_000..9_000_000).contains(&length), "{length} bytes");
            assert!(all.texts[0].contains("{{m"), "further macros stay as written");
            let [told] = &all.warnings[..] else { panic!("it is told once: {:?}", all.warnings) };
            assert!(told.message.contains("stay as written, from `{{m"), "it names the text: {told:?}");
            assert!(told.help.is_some(), "{told:?}");
        }
        Err(error) => assert_eq!(*error.kind(), ErrorKind::Bound, "{error}"),
    }
}
