//! Values that hold one long text or list many times: little in memory, gigabytes when they are written out. Whatever
//! writes them out, copies or compares them pays before it does; a way that does not pay ends these tests by the memory or
//! the hours that it takes.

use std::sync::LazyLock;

use serde_json::json;
use tapster::{BuildError, ErrorKind, Plan, Ruleset, Scene, build};

use crate::support::{self, text_rows};

const SCENE: &str = "kind = \"scene\"\nversion = 1\npath = [{ name = \"own.x\", type = \"any\", doc = \"x\" }, \
                     { name = \"own.y\", type = \"any\", doc = \"x\" }, { name = \"own.z\", type = \"any\", doc = \"x\" }, \
                     { name = \"own.case\", type = \"any\", doc = \"x\" }]\n";
const SCRIPT: &str = "fn look(x) { 1 }\nfn run(items, scene) { () }\n";

/// A pack that adds the block `k` and then runs these passes over the blocks, and of the `cases` the one whose number is
/// `$own.case`.
fn rules(passes: &[String], cases: &[String]) -> Ruleset {
    let mut text = String::from(
        "kind = \"pipeline\"\nversion = 1\n\
         [[pass]]\nname = \"build/made\"\nbefore = \"hooks\"\ndo = \"add\"\nitem = { id = \"k\", text = \"t\" }\n",
    );
    let mut before = "made".to_owned();
    let cases = cases.iter().enumerate().map(|(n, pass)| format!("when = {{ \"$own.case\" = {n} }}\n{pass}"));
    for (n, pass) in passes.iter().cloned().chain(cases).enumerate() {
        text += &format!("[[pass]]\nname = \"build/own{n}\"\nafter = \"{before}\"\nlist = \"blocks\"\n{pass}\n");
        before = format!("own{n}");
    }
    support::pack_over_base("", &[("pipeline.toml", &text), ("scene.toml", SCENE), ("scripts/mine.rhai", SCRIPT)])
        .unwrap_or_else(|e| panic!("{e}"))
}

fn set(values: &str) -> String {
    format!("do = \"set\"\nwhere = {{ id = \"k\" }}\nset = {{ {values} }}")
}

/// A build of a case.
fn built_case(rules: &Ruleset, case: usize) -> Result<Plan, BuildError> {
    build(rules, &Scene::new(&json!({ "dialect": "openai", "own": { "case": case } })))
}

fn built(passes: &[String]) -> Result<Plan, BuildError> {
    built_case(&rules(passes, &[]), 0)
}

/// Passes that set `$own.x` to a text, doubled as a list of two of itself so many times.
fn doubled(path: &str, bytes: usize, times: usize) -> Vec<String> {
    let text = set(&format!("\"${path}\" = {{ fn = \"repeat\", of = \"ab\", times = {} }}", bytes / 2));
    let double = set(&format!("\"${path}\" = [\"${path}\", \"${path}\"]"));
    std::iter::once(text).chain(std::iter::repeat_n(double, times)).collect()
}

/// `$own.y`: 128 fields of one list of 512 references to a text of 100 kB, so 6.5 GB.
fn huge() -> Vec<String> {
    let fields: Vec<String> = (0..128).map(|n| format!("\"$own.y.k{n}\" = \"$own.x\"")).collect();
    doubled("own.x", 100_000, 9).into_iter().chain([set(&fields.join(", "))]).collect()
}

/// Everything that makes a text of a value, copies it as a whole or reads all of it.
static READ: LazyLock<Vec<String>> = LazyLock::new(|| text_rows(include_str!("values.json"), "read"));

#[test]
fn values_that_share_a_long_text_are_paid_before_they_are_written_out() {
    let rules = rules(&huge(), &READ.iter().map(|case| set(case)).collect::<Vec<_>>());
    let idle = built_case(&rules, READ.len());
    assert!(idle.is_ok(), "a value that shares its parts may be kept: {idle:?}");
    for (n, case) in READ.iter().enumerate() {
        match built_case(&rules, n) {
            // Liquid has a bound of its own
            Err(error) if error.message.contains("the text would be longer than") => {}
            Err(error) if error.message.contains("too large to be written as JSON") => assert!(case.contains("liquid"), "{error}"),
            Err(error) => assert_eq!(*error.kind(), ErrorKind::Bound, "{case}: {error}"),
            Ok(plan) => assert!(plan.warnings.iter().any(|w| w.code == "bound.exceeded"), "{case}: {:?}", plan.warnings),
        }
    }
}

/// 4,000 references to one list of 2^20 elements: a list of all their elements would take more than memory holds.
#[test]
fn a_list_that_stands_many_times_in_another_is_paid_before_their_elements_are_one_list() {
    let double = set("\"$own.x\" = { fn = \"concat\", of = [\"$own.x\", \"$own.x\"] }");
    let list = std::iter::once(set("\"$own.x\" = [1]")).chain(std::iter::repeat_n(double, 20)).collect::<Vec<_>>();
    let many = "\"$own.x\", ".repeat(4_000);
    for function in ["flat", "concat"] {
        let join = set(&format!("\"$own.z\" = {{ fn = \"length\", of = {{ fn = \"{function}\", of = [{many}] }} }}"));
        let failed = built(&[list.clone(), vec![join]].concat()).err();
        assert_eq!(failed.map(|error| error.kind().clone()), Some(ErrorKind::Bound), "{function}");
    }
}

/// A script that does not look at the scene does not pay for what it holds.
#[test]
fn a_scene_that_shares_a_long_text_is_handed_to_a_script() {
    let run = "do = \"run\"\nscript = \"mine.rhai::run\"".to_owned();
    let plan = built(&huge().into_iter().chain([run]).collect::<Vec<_>>());
    assert!(plan.is_ok(), "{plan:?}");
}

#[test]
fn a_value_that_comes_to_too_much_is_not_kept_and_the_message_says_what_to_do() {
    let plan = built(&doubled("own.x", 200_000, 15));
    let warnings = plan.map(|plan| plan.warnings).unwrap_or_default();
    let told = warnings.iter().find(|w| w.code == "bound.exceeded").map(|w| w.message.clone()).unwrap_or_default();
    assert!(told.contains("`$own.x` would come to more than 671088"), "{told}");
    assert!(told.contains("bytes when it is written out; keep less in it"), "{told}");

    let double = set("\"meta.x\" = [\"@meta.x\", \"@meta.x\"]");
    let text = set("\"meta.x\" = { fn = \"repeat\", of = \"ab\", times = 100000 }");
    let passes: Vec<String> = std::iter::once(text).chain(std::iter::repeat_n(double, 15)).collect();
    let error = built(&passes).err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
    assert!(error.message.contains("the field `meta.x` would come to more than 671088"), "{error}");

    let small = set("\"meta.x\" = [1]");
    let passes: Vec<String> =
        std::iter::once(small).chain(std::iter::repeat_n(set("\"meta.x\" = [\"@meta.x\", \"@meta.x\"]"), 25)).collect();
    let error = built(&passes).err().unwrap();
    assert!(error.message.contains("the field `meta.x` would hold more than 4000000 values; keep fewer in it"), "{error}");
}

#[test]
fn the_steps_of_a_fold_are_measured() {
    let fold =
        |give: &str| set(&format!("\"$own.z\" = {{ fold = {{ fn = \"range\", of = 0, to = 100000 }}, from = \"$own.x\", give = {give} }}"));
    let cases = [
        ("[\"@so_far\", \"@so_far\"]", "come to more than"),
        ("[\"@so_far\"]", "nest deeper than 128 levels"),
        ("{ a = \"@so_far\" }", "nest deeper than 128 levels"),
    ];
    let rules = rules(&doubled("own.x", 100_000, 4), &cases.map(|(give, _)| fold(give)));
    for (n, (give, told)) in cases.iter().enumerate() {
        let error = built_case(&rules, n).err().unwrap_or_else(|| panic!("{give}"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
        assert!(error.message.contains("the value of a `fold` would") && error.message.contains(told), "{error}");
    }
}

/// Comparisons, searches and sorts of long values: `$own.x` and `$own.y` are equal and not the same value.
static COMPARED: LazyLock<Vec<String>> = LazyLock::new(|| text_rows(include_str!("values.json"), "compared"));

/// What works for texts or for lists alone.
const OF_TEXTS: &str = "is = { all = [{ \"@index\" = { ge = 0 } }, { \"$own.x\" = { starts = \"$own.y\" } }] }";
const OF_LISTS: &str = "is = { \"@index\" = { in = { fn = \"splice\", of = \"$own.x\", at = \"@index\" } } }";

#[test]
fn comparing_searching_and_sorting_long_values_ends() {
    let fold = |give: &str| {
        set(&format!(
            "text = {{ fn = \"length\", of = {{ fold = {{ fn = \"range\", of = 0, to = 50 }}, from = \"\", give = {{ {give} }} }} }}"
        ))
    };
    let text =
        |path: &str, part: &str| set(&format!("\"${path}\" = {{ fn = \"repeat\", of = \"{part}\", times = {} }}", 1_000_000 / part.len()));
    let range = |from: u32, to: u32| format!("{{ fn = \"range\", of = {from}, to = {to} }}");
    let rows = format!("{{ of = {}, get = {{ id = \"@\", text = {{ fn = \"repeat\", of = \"ab\", times = 1000 }} }} }}", range(0, 1_000));
    let sorted = |by: &str| set(&format!("text = {{ fn = \"length\", of = {{ of = \"$own.x\", by = [{by}] }} }}"));
    let long = vec![text("own.x", "ab"), text("own.y", "abab")];
    let lists: Vec<String> = doubled("own.x", 100, 12).into_iter().chain(doubled("own.y", 100, 12)).collect();
    let numbers = vec![set(&format!("\"$own.x\" = {0}, \"$own.y\" = {0}", range(0, 100_000)))];
    let ranks = vec![set(&format!("\"$own.x\" = {rows}, \"$own.y\" = {}", range(100_000, 110_000)))];
    for (values, cases) in [
        (long, COMPARED.iter().map(String::as_str).chain([OF_TEXTS]).map(fold).collect()),
        (lists, COMPARED.iter().map(String::as_str).chain([OF_LISTS]).map(fold).collect()),
        (numbers, COMPARED.iter().map(String::as_str).chain([OF_LISTS]).map(fold).collect()),
        (ranks, vec![sorted("{ id = \"$own.y\" }"), sorted("\"text\"")]),
    ] {
        let rules = rules(&values, &cases);
        for (n, case) in cases.iter().enumerate() {
            let plan = built_case(&rules, n);
            assert!(plan.as_ref().err().is_none_or(|error| *error.kind() == ErrorKind::Bound), "{case}: {plan:?}");
        }
    }
}

// Rules that double: rows that each name the next one twice. What they would come to grows with the power of their number;
// what loading and building them takes does not.

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
    support::pack_over_base("", files).map_err(|e| e.to_string())
}

/// The text of the block `k` after a build, or the bound that it reaches.
fn block_text(files: &[(&str, &str)]) -> Result<String, String> {
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
        assert_eq!(block_text(&[("pipeline.toml", &rules)]).as_deref(), Ok(text), "{body}, {last}");
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
        let said = block_text(&[("pipeline.toml", &first(&terms, &rows)), (file.0, &file.1)]).err();
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

// Verbs that could do more than one build may: lists that grow, texts that are joined, items that are cut.

/// A build that makes `count` items, each with `item`, and then runs one more pass.
fn ended(count: usize, item: &str, pass: &str) -> Result<(), BuildError> {
    let rules = format!(
        "kind = \"pipeline\"\nversion = 1\n\
         [[pass]]\nname = \"build/made\"\nbefore = \"hooks\"\ndo = \"add\"\nitem = {{ id = \"k\", text = \"t\" }}\n\
         [[pass]]\nname = \"build/many\"\nafter = \"made\"\nlist = \"blocks\"\ndo = \"add\"\n\
         each = {{ fn = \"range\", of = 0, to = {count} }}\nitem = {{ id = \"{{{{@}}}}\", role = \"user\", {item} }}\n\
         [[pass]]\nname = \"build/first\"\nafter = \"many\"\nlist = \"blocks\"\n{pass}\n"
    );
    let rules = support::pack_over_base("", &[("pipeline.toml", &rules)]).unwrap_or_else(|e| panic!("{e}"));
    build(&rules, &Scene::new(&json!({ "dialect": "openai" }))).map(drop)
}

#[test]
fn verbs_that_do_too_much_end_with_the_bound() {
    let long = "do = \"set\"\nset = { \"$own\" = { fn = \"repeat\", of = \"a\", times = 7_900_000 } }\n";
    let joins =
        "[[pass]]\nname = \"build/second\"\nafter = \"first\"\nlist = \"blocks\"\ndo = \"merge\"\nsame = [\"role\"]\njoin = \"{{$own}}\"";
    let (letter, named) = ("text = \"a\"", "text = \"a\", name = { fn = \"repeat\", of = \"a\", times = 1_000 }");
    let pieces = "text = { fn = \"repeat\", of = \"a,\", times = 100_000 }";
    for (count, item, pass) in [
        (20_000, letter, "do = \"place\"\nagainst = \"now\"\nat = \"start\"".to_owned()),
        (1_000, letter, format!("{long}{joins}")),
        // the text of each item joins a text that becomes longer and longer
        (5_000, named, "do = \"merge\"\ninto = { id = \"k\" }\nfield = \"name\"\njoin = \"x\"".to_owned()),
        // no item accepts another one, so each is asked
        (30_000, letter, "do = \"merge\"\ninto = { id = \"zz\" }".to_owned()),
        (60, pieces, "do = \"split\"\ncut = \"/,/\"".to_owned()),
        (60, pieces, format!("do = \"split\"\ncut = \"/{}a/\"", "()".repeat(1_500))),
    ] {
        let error = ended(count, item, &pass).err().unwrap_or_else(|| panic!("`{pass}` over {count} items has no bound"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{pass}: {error}");
        assert!(matches!(error.stage.as_deref(), Some("first" | "second")), "{error}");
    }
}

#[test]
fn verbs_that_do_much_at_once_end() {
    let placed = ended(20_000, "text = \"a\"", "do = \"place\"\nat = \"start\"");
    assert!(placed.err().is_none_or(|error| *error.kind() != ErrorKind::Bound), "all at once move the list once");
    let heads = "do = \"split\"\ncut = \"/([0-9]),/\"\nheads = { fn = \"range\", of = 0, to = 20_000 }";
    assert!(ended(1, "text = { fn = \"repeat\", of = \"7,\", times = 20_000 }", heads).is_ok());
}

#[test]
fn thousands_of_dice_in_one_text_end_with_the_bound() {
    for pack in ["base", "sillytavern", "sillytavern-exact"] {
        let rules = tapster::Ruleset::open(pack, &[]).unwrap();
        let scene = |rolls: usize| Scene::new(&json!({ "card": { "description": "{{roll::9999d9999}}".repeat(rolls) }, "history": [] }));
        let error = build(&rules, &scene(9_000)).err().unwrap_or_else(|| panic!("{pack}: dice without a bound"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{pack}: {error}");
        assert!(build(&rules, &scene(20)).is_ok(), "{pack}");
    }
}
