//! Options: what manifests declare, who sets them, and what is said about values that cannot be meant.

use serde_json::json;
use tapster::diag::Code;
use tapster::machinery::pack::{PackFiles, PackShelf, Start};
use tapster::{Ruleset, Scene, Value};

use super::overlay;

/// A pack of a manifest and one file of rules.
fn pack(name: &str, extends: &str, options: &str, rules: &str) -> PackFiles {
    let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"1.0.0\"\n{extends}\n{options}");
    let rules = format!("kind = \"pipeline\"\nversion = 1\n{rules}");
    let files = [("pack.toml".to_owned(), manifest.into_bytes()), ("rules.toml".to_owned(), rules.into_bytes())];
    PackFiles::of(name, files)
}

fn load(packs: Vec<PackFiles>, overlays: &[&str]) -> Result<Ruleset, tapster::PackError> {
    let top = packs.last().unwrap().name.clone();
    let overlays: Vec<_> = overlays.iter().enumerate().map(|(n, text)| overlay(n, text)).collect();
    Ruleset::load(&Start::Name(top), &overlays, &PackShelf { packs, ..PackShelf::default() })
}

/// The errors of a pack with these options, as `code: message (help)`.
fn errors(options: &str) -> Vec<String> {
    match load(own(options), &[]) {
        Ok(rules) => rules.warnings().items().iter().map(ToString::to_string).collect(),
        Err(error) => error.report.items().iter().map(ToString::to_string).collect(),
    }
}

const OPTIONS: &str = r#"
[options.tone]
type = "enum"
title = "Tone"
choices = ["plain", { value = "dark", title = "Dark", requires = "deep" }]
[options.deep]
type = "bool"
default = true
[options.count]
type = "number"
min = 1
max = 9
whole = true
[options.motto]
type = "text"
max = 5
"#;

/// Rules that read all options.
const READS: &str = r#"
[[program]]
name = "say"
over = "blocks"
[[pass]]
name = "say/say"
do = "set"
set = { "$said" = "$option" }
"#;

/// A pack over `base` whose program `say` reads all options.
fn own(options: &str) -> Vec<PackFiles> {
    vec![pack("p", "extends = [\"base\"]", options, READS)]
}

fn said(rules: &Ruleset, scene: &Scene) -> serde_json::Value {
    tapster::run(rules, "say", scene, &[]).unwrap().get("said").to_json()
}

#[test]
fn values_come_from_defaults_overlays_and_scenes() {
    let rules = load(own(OPTIONS), &["[option]\ncount = 4\n"]).unwrap();
    assert_eq!(rules.warnings().items().len(), 0, "{:?}", rules.warnings());
    assert_eq!(said(&rules, &Scene::default()), json!({ "tone": "plain", "deep": true, "count": 4, "motto": "" }));
    let scene = Scene::default().option("tone", "dark").option("count", 2_i64);
    assert_eq!(said(&rules, &scene), json!({ "tone": "dark", "deep": true, "count": 2, "motto": "" }));
    let list = rules.options().to_json(&scene.get("option"));
    assert_eq!(list[0]["value_from"], "scene");
    assert_eq!((&list[2]["default"], &list[2]["default_from"], &list[2]["value"]), (&json!(1), &json!("p"), &json!(2)));
    let list = rules.options().to_json(&Value::Null);
    assert_eq!((&list[2]["value"], &list[2]["value_from"]), (&json!(4), &json!("over1")));
    assert_eq!(list[0]["choices"][1], json!({ "value": "dark", "title": "Dark", "help": "", "requires": [{ "option": "deep" }] }));
}

#[test]
fn a_value_that_an_option_cannot_have_is_warned_of_and_left_out() {
    let rules = load(own(OPTIONS), &[]).unwrap();
    let scene = Scene::new(&json!({ "option": { "tone": "drak", "count": 99, "motto": "too long", "deep": "yes", "xyzzy": 1 } }));
    assert_eq!(said(&rules, &scene), json!({ "tone": "plain", "deep": true, "count": 1, "motto": "" }));
    let faults = rules.options().faults(&scene.get("option"));
    let told: Vec<_> = faults.iter().map(|fault| (fault.option.as_str(), fault.help.text.as_str())).collect();
    let expected = [
        ("tone", "did you mean `dark`?"),
        ("count", "use a smaller value"),
        ("motto", "use a smaller value"),
        ("deep", "write `true` or `false`"),
        ("xyzzy", "known here: `count`, `deep`, `motto`, `tone`"),
    ];
    assert_eq!(told, expected);
    let plan = tapster::build(&rules, &scene).unwrap();
    let codes: Vec<_> = plan.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes.iter().filter(|code| code.starts_with("option.")).count(), 5, "{codes:?}");
    // a scene whose options are no table
    let odd = Scene::new(&json!({ "option": ["tone"] }));
    assert_eq!(rules.options().faults(&odd.get("option")).len(), 1);
    assert_eq!(said(&rules, &odd)["tone"], "plain");
}

#[test]
fn values_that_do_not_fit_together_are_told() {
    let rules = load(own(OPTIONS), &[]).unwrap();
    let scene = Scene::default().option("tone", "dark").option("deep", false);
    let faults = rules.options().faults(&scene.get("option"));
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].message, "option `tone` requires `deep`");
    assert!(faults[0].help.text.contains("set `option.deep = true`"), "{}", faults[0].help);
    // in an overlay it is an error, at its line
    let refused = load(own(OPTIONS), &["[option]\ntone = \"dark\"\ndeep = false\n"]).err().unwrap();
    let found = &refused.report.items()[0];
    assert_eq!(found.code, Code::OptionRequires);
    assert_eq!(refused.sources.place(found.span.unwrap()).unwrap().line, 4);
}

#[test]
fn options_are_inherited_changed_and_removed() {
    let mut packs = own(OPTIONS);
    packs.push(pack("q", "extends = [\"p\"]", "[options.count]\ndefault = 7\n[options.motto]\nremove = true\n", ""));
    let rules = load(packs.clone(), &[]).unwrap();
    assert_eq!(said(&rules, &Scene::default()), json!({ "tone": "plain", "deep": true, "count": 7 }));
    let count = rules.options().get("count").unwrap();
    assert_eq!((&*count.default_from, count.max), ("q", Some(9.0)));
    packs.push(pack("r", "extends = [\"q\"]", "[options.moto]\nremove = true\n[options.tone]\ndefault = \"drak\"\n", ""));
    let told: Vec<String> = load(packs, &[]).err().unwrap().report.items().iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with("error[remove.unknown]: option `moto` is removed, but no lower pack declares it"), "{told:?}");
    assert!(told[1].contains("the default cannot be used: option `tone` cannot be \"drak\" (did you mean `dark`?)"), "{told:?}");
}

#[test]
fn a_removed_option_that_is_still_read_is_told_at_its_removal() {
    let rules = "[[program]]\nname = \"say\"\nover = \"blocks\"\n[[pass]]\nname = \"say/say\"\ndo = \"set\"\nset = { \"$said\" = \"$option.deep\" }\n";
    let low = pack("low", "extends = [\"base\"]", "[options.deep]\ntype = \"bool\"\n", rules);
    let top = pack("top", "extends = [\"low\"]", "[options.deep]\nremove = true\n", "");
    let told: Vec<String> = load(vec![low, top], &[]).err().unwrap().report.items().iter().map(ToString::to_string).collect();
    assert!(told[0].contains("option `deep` is removed, but it is still named"), "{told:?}");
}

#[test]
fn mistakes_of_declarations_are_told() {
    for (options, message) in [
        ("[options.\"a.b\"]\ntype = \"bool\"", "`a.b` cannot be the name of an option"),
        ("[options.\"$x\"]\ntype = \"bool\"", "`$x` cannot be the name of an option"),
        ("[options.\"\"]\ntype = \"bool\"", "`` cannot be the name of an option"),
        ("[options.a]\ntitle = \"A\"", "option `a` has no `type`"),
        ("[options.a]\ntype = \"bol\"", "`type` cannot be `bol` (did you mean `bool`?)"),
        ("[options.a]\ntype = \"bool\"\ndefault = \"yes\"", "the default cannot be used: option `a` is on or off"),
        ("[options.a]\ntype = \"number\"\ndefault = \"5\"", "the default cannot be used: option `a` is a number"),
        ("[options.a]\ntype = \"number\"\nmin = 9\nmax = 1", "`max` of option `a` is less than its `min`"),
        (
            "[options.a]\ntype = \"number\"\nwhole = true\nmin = 0.5\nmax = 0.9\ndefault = 0.6",
            "no whole number lies between `min` and `max` of option `a`",
        ),
        ("[options.a]\ntype = \"number\"\nwhole = true\ndefault = 1.5", "is a whole number, but is set to 1.5"),
        ("[options.a]\ntype = \"number\"\ndefault = nan", "a number is not finite"),
        ("[options.a]\ntype = \"text\"\nmin = 3", "option `a` needs a `default`"),
        ("[options.a]\ntype = \"enum\"", "option `a` has no `choices`"),
        ("[options.a]\ntype = \"enum\"\nchoices = [\"x\", \"x\"]", "has the choice `x` twice"),
        ("[options.a]\ntype = \"bool\"\nchoices = [\"x\"]", "only options of type `enum` have `choices`"),
        ("[options.a]\ntype = \"bool\"\nrequires = \"a\"", "option `a` depends on itself"),
        ("[options.a]\ntype = \"bool\"\nrequires = \"b\"", "there is no option `b`"),
        (
            "[options.a]\ntype = \"bool\"\n[options.b]\ntype = \"bool\"\nrequires = { a = 3 }",
            "this can never hold: option `a` is on or off",
        ),
        (
            "[options.a]\ntype = \"bool\"\nrequires = \"b\"\n[options.b]\ntype = \"bool\"\nrequires = \"c\"\n[options.c]\ntype = \"bool\"\nrequires = \"a\"",
            "options require each other in a circle: a → b → c → a",
        ),
        (
            "[options.a]\ntype = \"bool\"\nrequires = \"b\"\nconflicts = \"b\"\n[options.b]\ntype = \"bool\"",
            "both requires `b` and conflicts with it",
        ),
        (
            "[options.a]\ntype = \"bool\"\ndefault = true\nrequires = \"b\"\n[options.b]\ntype = \"bool\"",
            "option `a` requires `b` (set `option.b = true`, or set `option.a = false`)",
        ),
        ("[options.a]\ntype = \"bool\"\nlabel = \"x\"", "unknown key `label`"),
        ("[options]\na = 3", "must be a table"),
    ] {
        let told = errors(options);
        assert!(told.iter().any(|told| told.contains(message)), "{options}\n{told:#?}");
    }
}

#[test]
fn an_option_that_no_rule_reads_is_told() {
    let rules = load(vec![pack("p", "extends = [\"base\"]", OPTIONS, "")], &[]).unwrap();
    let told: Vec<String> = rules.warnings().items().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], "warning[option.unused]: no rule reads option `tone` (read it as `$option.tone`, or remove it)");
    // rows of requests that are called options, and words of other names, read none
    let near = "[[program]]\nname = \"say\"\nover = \"blocks\"\n[[pass]]\nname = \"say/say\"\ndo = \"set\"\nset = { \"$said\" = { lookup = \"seed\", in = \"$table.option\" } }\n";
    let rules = load(vec![pack("p", "extends = [\"base\"]", "[options.seed]\ntype = \"bool\"\n", near)], &[]).unwrap();
    assert_eq!(rules.warnings().items().len(), 1);
}

#[test]
fn rules_that_cannot_mean_an_option_are_told() {
    let pass = |pass: &str| format!("[[program]]\nname = \"say\"\nover = \"blocks\"\n[[pass]]\nname = \"say/say\"\ndo = \"set\"\n{pass}\n");
    for (rules, message) in [
        (pass("set = { \"$said\" = \"$option.ton\" }"), "there is no option `ton` (did you mean `option.tone`?)"),
        (pass("set = { \"$said\" = \"$option.mood\" }"), "declare it in the pack's `pack.toml`: `[options.mood]`"),
        (pass("when = { \"$option.tone\" = \"drak\" }\nset = { \"$said\" = 1 }"), "this never holds: option `tone` cannot be \"drak\""),
        (pass("set = { \"$option.tone\" = \"dark\" }"), "is what the user has chosen, and no pass can set it"),
    ] {
        let told = load(vec![pack("p", "extends = [\"base\"]", OPTIONS, &rules)], &[]).err().map(|error| error.report).unwrap_or_default();
        let told: Vec<String> = told.items().iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(message)), "{rules}\n{told:#?}");
    }
    let path = PackFiles::of(
        "p",
        [
            ("pack.toml".to_owned(), b"kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n".to_vec()),
            (
                "scene.toml".to_owned(),
                b"kind = \"scene\"\nversion = 1\n[[path]]\nname = \"option.x\"\ntype = \"text\"\ndoc = \"X.\"\n".to_vec(),
            ),
        ],
    );
    let told: Vec<String> = load(vec![path], &[]).err().unwrap().report.items().iter().map(ToString::to_string).collect();
    assert!(told[0].contains("`$option.x` is a name of options, which manifests declare"), "{told:?}");
}

#[test]
fn an_option_may_be_called_like_a_path_of_the_scene() {
    let options = "[options.history]\ntype = \"number\"\ndefault = 3\n[options.option]\ntype = \"bool\"\n";
    let rules = load(own(options), &[]).unwrap();
    let scene = Scene::new(&json!({ "history": [{ "role": "user", "text": "Hello." }] }));
    assert_eq!(said(&rules, &scene), json!({ "history": 3, "option": false }));
    assert_eq!(tapster::build(&rules, &scene).unwrap().warnings.len(), 0);
}

#[test]
fn an_overlay_is_told_of_values_that_it_cannot_set() {
    for (overlay, message) in [
        ("[option]\ntone = \"drak\"\n", "option `tone` cannot be \"drak\" (did you mean `dark`?)"),
        ("[option]\nton = \"dark\"\n", "there is no option `ton` (did you mean `tone`?)"),
        ("[option]\ncount = 12\n", "option `count` must be at most 9"),
        ("option = \"dark\"\n", "`option` must be a list or a table, but is a text"),
    ] {
        let told: Vec<String> = load(own(OPTIONS), &[overlay]).err().unwrap().report.items().iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(message)), "{overlay}\n{told:#?}");
    }
}

#[test]
fn ten_thousand_options_are_refused_and_not_listed() {
    let many: String = (0..10_000).map(|n| format!("[options.o{n}]\ntype = \"bool\"\nrequires = \"o{}\"\n", n + 1)).collect();
    let told = errors(&many);
    assert!(told.len() < 100 && told.iter().any(|told| told.contains("a pack may have at most 1000 options")), "{}", told.len());
    let chain: String = (0..900).map(|n| format!("[options.o{n}]\ntype = \"bool\"\nrequires = \"o{}\"\n", (n + 1) % 900)).collect();
    let told = errors(&chain);
    assert!(told.iter().any(|told| told.contains("in a circle")) && told.len() < 10, "{told:?}");
}

#[test]
fn a_schema_of_the_values_is_one_that_forms_can_read() {
    let rules = load(own(OPTIONS), &[]).unwrap();
    let schema = rules.options().schema();
    assert_eq!(schema["properties"]["count"], json!({ "title": "count", "type": "integer", "minimum": 1, "maximum": 9, "default": 1 }));
    assert_eq!(schema["properties"]["tone"]["oneOf"][1], json!({ "const": "dark", "title": "Dark", "description": "" }));
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&json!({ "tone": "dark", "motto": "brief" })));
    assert!(!validator.is_valid(&json!({ "tone": "drak" })) && !validator.is_valid(&json!({ "ton": "dark" })));
}
