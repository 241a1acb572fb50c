//! Rules that double: rows that each name the next one twice. What they would come to grows with the power of their number;
//! what loading and building them takes does not. Each test counts steps of work, never time.

use serde_json::json;
use tapster::text::work::Door;
use tapster::{BuildError, ErrorKind, Plan, Ruleset, Scene, build};

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

/// A build, and the steps that it takes.
fn built(files: &[(&str, &str)]) -> (Result<Plan, BuildError>, u64) {
    let rules = loaded(files).unwrap_or_else(|e| panic!("{e}"));
    let door = Door::join();
    let plan = build(&rules, &Scene::new(&json!({ "dialect": "openai" })));
    let (steps, _) = door.spent();
    (plan, steps)
}

fn text_of(plan: &Plan) -> String {
    plan.blocks.iter().find(|b| b.text("id") == "k").map(|b| b.text("text").to_string()).unwrap_or_default()
}

/// The steps that a build with one such pass takes by itself.
const LITTLE: u64 = 1_000_000;

fn is_bounded(plan: Result<Plan, BuildError>) -> String {
    let error = plan.err().unwrap_or_else(|| panic!("the build has no bound"));
    assert_eq!(error.kind(), &ErrorKind::Bound, "{error}");
    error.to_string()
}

#[test]
fn facts_that_name_the_next_one_twice_are_evaluated_once() {
    for (last, holds) in [("is = { dialect = \"openai\" }", true), ("is = { dialect = \"other\" }", false)] {
        for body in ["is = { fact = [\"#\", \"#\"] }", "is = { not = { fact = [\"#\", \"#\"] } }"] {
            let rules = first("do = \"set\"\nwhen = { fact = \"f0\" }\nset = { text = \"done\" }", &chain("fact", "f", 30, body, last));
            let (plan, steps) = built(&[("pipeline.toml", &rules)]);
            let text = text_of(&plan.unwrap_or_else(|e| panic!("{e}")));
            assert_eq!(text == "done", holds, "{body}");
            assert!(steps < LITTLE, "{steps} steps");
        }
    }
}

#[test]
fn facts_about_an_item_are_evaluated_once_for_each() {
    let facts = chain(
        "fact",
        "f",
        30,
        "over = \"any\"\nis = { any = [{ fact = \"#\" }, { fact = \"#\" }] }",
        "over = \"any\"\nis = { text = \"no\" }",
    );
    let rules = first("do = \"set\"\nwhere = { fact = \"f0\" }\nset = { text = \"done\" }", &facts);
    let (plan, steps) = built(&[("pipeline.toml", &rules)]);
    assert_eq!(text_of(&plan.unwrap_or_else(|e| panic!("{e}"))), "t");
    assert!(steps < LITTLE, "{steps} steps");
}

#[test]
fn forty_facts_in_each_other_are_refused_with_the_place() {
    let facts = chain("fact", "f", 40, "is = { all = [{ fact = \"#\" }, { fact = \"#\" }] }", "is = { dialect = \"openai\" }");
    let rules = first("do = \"set\"\nwhen = { fact = \"f0\" }\nset = { text = \"done\" }", &facts);
    let told = loaded(&[("pipeline.toml", &rules)]).err().unwrap_or_default();
    assert!(told.contains("nested too deeply"), "{told}");
    assert!(told.lines().count() < 60, "{told}");
}

#[test]
fn values_that_name_the_next_one_twice_are_evaluated_once() {
    let body = "is = { first = [{ value = \"#\" }, { value = \"#\" }] }";
    let rules = first("do = \"set\"\nset = { text = { value = \"w0\" } }", &chain("value", "w", 30, body, "is = \"$dialect\""));
    let (plan, steps) = built(&[("pipeline.toml", &rules)]);
    assert_eq!(text_of(&plan.unwrap_or_else(|e| panic!("{e}"))), "openai");
    assert!(steps < LITTLE, "{steps} steps");
}

#[test]
fn a_value_that_would_be_written_out_without_end_reaches_a_bound() {
    let body = "is = [{ value = \"#\" }, { value = \"#\" }]";
    let rules = first("do = \"set\"\nset = { text = { value = \"w0\" } }", &chain("value", "w", 40, body, "is = \"$dialect\""));
    is_bounded(built(&[("pipeline.toml", &rules)]).0);
}

#[test]
fn literal_values_that_double_are_refused_when_they_are_loaded() {
    let body = "is = [{ value = \"#\" }, { value = \"#\" }]";
    let rules = first("do = \"set\"\nset = { text = { value = \"w0\" } }", &chain("value", "w", 40, body, "is = \"x\""));
    let told = loaded(&[("pipeline.toml", &rules)]).err().unwrap_or_default();
    assert!(told.contains("name each other come to more than"), "{told}");
}

#[test]
fn forms_that_hold_the_next_one_twice_reach_a_bound() {
    let forms = chain("form", "g", 40, "keys = { a = { form = \"#\" }, b = { form = \"#\" } }", "keys = { a = \"@text\" }");
    let dialect = format!("kind = \"dialect\"\nversion = 1\n{forms}");
    let rules = first("do = \"set\"\nset = { \"meta.x\" = { form = \"g0\" } }", "");
    is_bounded(built(&[("pipeline.toml", &rules), ("dialect.toml", &dialect)]).0);
}

#[test]
fn forms_in_a_circle_reach_a_bound() {
    let forms = "[[form]]\nname = \"g0\"\nkeys = { a = { form = \"g1\" } }\n[[form]]\nname = \"g1\"\nkeys = { a = { form = \"g0\" } }\n";
    let dialect = format!("kind = \"dialect\"\nversion = 1\n{forms}");
    let rules = first("do = \"set\"\nset = { \"meta.x\" = { form = \"g0\" } }", "");
    let told = is_bounded(built(&[("pipeline.toml", &rules), ("dialect.toml", &dialect)]).0);
    assert!(told.contains("form `g"), "{told}");
}

#[test]
fn defaults_and_values_that_hold_the_next_one_twice_reach_a_bound() {
    for last in ["x", ""] {
        let defaults =
            chain("path", "own.v", 40, "default = \"{{$#}}{{$#}}\"\ntype = \"text\"", &format!("default = \"{last}\"\ntype = \"text\""));
        let scene = format!("kind = \"scene\"\nversion = 1\n{defaults}");
        let rules = first("do = \"set\"\nset = { text = \"$own.v0\" }", "");
        is_bounded(built(&[("pipeline.toml", &rules), ("scene.toml", &scene)]).0);

        let values: String = (0..40).map(|n| format!("v{n} = \"{{{{$preset.v{0}}}}}{{{{$preset.v{0}}}}}\"\n", n + 1)).collect();
        let slots = format!("kind = \"slots\"\nversion = 1\n[preset]\n{values}v40 = \"{last}\"\n");
        let rules = first("do = \"set\"\nset = { text = \"$preset.v0\" }", "");
        is_bounded(built(&[("pipeline.toml", &rules), ("slots.toml", &slots)]).0);
    }
}

#[test]
fn a_row_whose_condition_asks_for_itself_reaches_a_bound() {
    let asks = "{ of = \"$table.slot\", where = { when = true }, is = { nonempty = true } }";
    let slots = format!("kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"own\"\nwhen = {asks}\n");
    let rules = first(&format!("do = \"set\"\nwhen = {asks}\nset = {{ text = \"x\" }}"), "");
    is_bounded(built(&[("pipeline.toml", &rules), ("slots.toml", &slots)]).0);
}

#[test]
fn programs_that_repeat_programs_eight_deep_reach_a_bound() {
    let program = |n: usize| {
        let next = n + 1;
        format!(
            "[[program]]\nname = \"p{n}\"\nover = \"blocks\"\n[[pass]]\nname = \"p{n}/a\"\ndo = \"repeat\"\nprogram = \"p{next}\"\nmax = 60\n[[round]]\nname = \"p{n}/a/r\"\nwhen = true\n"
        )
    };
    let last = "[[program]]\nname = \"p8\"\nover = \"blocks\"\n[[pass]]\nname = \"p8/a\"\ndo = \"set\"\nset = { text = \"x\" }\n";
    let rules = first("do = \"run\"\nprogram = \"p0\"", &((0..8).map(program).collect::<String>() + last));
    is_bounded(built(&[("pipeline.toml", &rules)]).0);
}

#[test]
fn programs_that_run_programs_twice_reach_a_bound() {
    let pass = |n: usize, pass: &str| format!("[[pass]]\nname = \"p{n}/{pass}\"\ndo = \"run\"\nprogram = \"p{}\"\n", n + 1);
    let program = |n: usize| format!("[[program]]\nname = \"p{n}\"\nover = \"blocks\"\n{}{}", pass(n, "a"), pass(n, "b"));
    let last = "[[program]]\nname = \"p30\"\nover = \"blocks\"\n[[pass]]\nname = \"p30/a\"\ndo = \"set\"\nset = { text = \"x\" }\n";
    let rules = first("do = \"run\"\nprogram = \"p0\"", &((0..30).map(program).collect::<String>() + last));
    is_bounded(built(&[("pipeline.toml", &rules)]).0);
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
