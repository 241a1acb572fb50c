//! Liquid through its public door: what templates give (`tests/text/liquid.json`), and that none runs away.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at what is wrong")]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::text::Limits;
use tapster::text::liquid::{Liquid, Options, filter_names, tag_names};

fn render_with(template: &str, names: &Json, options: &Options) -> Result<String, String> {
    Liquid::parse(template).and_then(|liquid| liquid.render(&Value::from(names), options)).map_err(|e| e.to_string())
}

fn render(template: &str, names: &Json) -> Result<String, String> {
    render_with(template, names, &Options::default())
}

fn failure(template: &str, names: &Json) -> String {
    render(template, names).map(|text| text.chars().take(80).collect::<String>()).unwrap_err()
}

#[test]
fn templates_give_what_the_table_says() {
    let names = json!({
        "a": { "name": "Ann" }, "n": 3, "t": "x", "e": "", "f": false, "none": null, "l": [3, 4, 5],
        "rows": [{ "n": 1, "ok": true }, { "n": 2 }, { "n": 3, "ok": false }],
    });
    let rows: Vec<Json> = serde_json::from_str(include_str!("../text/liquid.json")).unwrap();
    let mut wrong = Vec::new();
    for row in rows {
        let held = match &render(row["template"].as_str().unwrap(), &names) {
            Ok(text) => Some(text.as_str()) == row["gives"].as_str(),
            Err(error) => error.contains(row["error"].as_str().unwrap_or("no error is expected")),
        };
        if !held {
            wrong.push(format!("{row}: {:?}", render(row["template"].as_str().unwrap(), &names)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What LiquidJS does by itself, where the folder of cases is at hand.
#[test]
fn templates_give_what_liquidjs_gives() {
    let Ok(text) = std::fs::read_to_string("/work/shared/conformance/talespinner/liquid.json") else {
        println!("skipped: /work/shared/conformance is not here");
        return;
    };
    let cases: Vec<Json> = serde_json::from_str(&text).unwrap();
    let bare: Vec<_> = cases.iter().filter(|c| c["bare_liquidjs"] == "same").collect();
    assert!(bare.len() > 40);
    let mut wrong = Vec::new();
    for case in bare {
        let options = Options { strict: case["input"]["options"]["strictVariables"] == true, ..Options::default() };
        let got = render_with(case["input"]["template"].as_str().unwrap(), &case["input"]["context"], &options);
        if got.as_deref().ok() != case["expected"]["output"].as_str() {
            wrong.push(format!("{}: {got:?}, not {}", case["name"], case["expected"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_are_sorted_and_unknown_filters_are_told() {
    assert!(filter_names().len() > 60 && tag_names().is_sorted());
    let liquid = Liquid::parse("{{ a | nosuch | upcase | nosuch }}").unwrap();
    assert_eq!(liquid.unknown_filters(), ["nosuch"]);
    for name in filter_names() {
        assert!(Liquid::parse(&format!("{{{{ a | {name} }}}}")).unwrap().unknown_filters().is_empty(), "{name}");
    }
}

#[test]
fn a_template_is_compiled_once() {
    let text = "{{ a }} once";
    let first = Liquid::known(text).unwrap();
    assert!(Arc::ptr_eq(&first, &Liquid::known(text).unwrap()));
    // more than are kept: the store stays bounded, and what it forgot is compiled again
    for n in 0..2_000 {
        Liquid::known(&format!("{{{{ a }}}} {n}")).unwrap();
    }
    assert!(!Arc::ptr_eq(&first, &Liquid::known(text).unwrap()));
}

#[test]
fn templates_beyond_a_bound_are_refused() {
    let none = Json::Null;
    assert!(failure(&"x".repeat(10 << 20), &none).contains("longer than"));
    let deep = format!("{}{}", "{% if true %}".repeat(10_000), "{% endif %}".repeat(10_000));
    assert!(failure(&deep, &none).contains("line 1, column 833: blocks are nested deeper than 64"));
    assert!(failure(&"{% for a in b %}".repeat(50_000), &none).contains("deeper than 64"));
    assert!(failure(&format!("{{{{ {} }}}}", "a[".repeat(100_000)), &none).contains("brackets are nested"));
    assert!(failure(&format!("{{{{ {} }}}}", "(".repeat(100_000)), &none).contains("`(` cannot stand here"));
}

/// Long templates of one thing over and over: each must be read in linear time, whatever comes of it.
#[test]
fn no_template_takes_long_to_read() {
    let parts = [
        " ",
        "{",
        "{{",
        "{%",
        "{{ '",
        "{{ a | b ",
        "{% raw %}",
        "{% comment %}",
        "{{a}}",
        "{%- -%}",
        "é",
        "{% if a",
        "not ",
        "{{ -",
        "{% raw %}{% endraw %}",
        "{% assign a = 1 %}",
        "}}",
        "\n",
    ];
    for part in parts {
        let text = part.repeat(Limits::LIQUID.length / part.len());
        let _ = render(&text, &json!({ "a": "x" }));
    }
    let one = format!("{{{{ a{} }}}}", " | upcase".repeat(50_000));
    assert_eq!(render(&one, &json!({ "a": "x" })).unwrap(), "X");
    assert!(render(&format!("{{{{ {} a }}}}", "not ".repeat(100_000)), &Json::Null).is_ok());
    assert!(render(&format!("{{{{ {} a }}}}", "a and ".repeat(100_000)), &Json::Null).is_ok());
}

#[test]
fn no_template_runs_away() {
    let names = json!({ "l": (0..1000).collect::<Vec<_>>(), "big": "x".repeat(1 << 20), "deep": [[[1]]] });
    let steps = "takes more than 2000000 steps";
    for (template, said) in [
        ("{% for i in (1..1000000000) %}x{% endfor %}", "would have 1000000000 elements"),
        ("{% for i in (-9223372036854775808..9223372036854775807) %}x{% endfor %}", "more than 100000"),
        ("{% for i in (1..99999999999999999999999) %}x{% endfor %}", "more than 100000"),
        ("{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}{% endfor %}", steps),
        ("{% for a in l %}{% for b in l %}{% for c in l %}x{% endfor %}{% endfor %}{% endfor %}", steps),
        ("{% assign s = 'xxxxxxxx' %}{% for i in (1..60) %}{% assign s = s | append: s %}{% endfor %}", "longer than"),
        ("{% assign a = 'x' %}{% for i in (1..200) %}{% assign a = a | append: big %}{% endfor %}", steps),
        ("{% for i in (1..1000) %}{{ big }}{% endfor %}", "longer than"),
        ("{% for i in (1..1000) %}{% capture c %}{{ big }}{% endcapture %}{% endfor %}", steps),
        ("{{ big | replace: 'x', big }}", "longer than"),
        ("{{ big | replace: '', big }}", "longer than"),
        ("{{ big | split: '' | join: big }}", "elements"),
        ("{{ l | join: big }}", "longer than"),
        ("{% assign a = l %}{% for i in (1..50) %}{% assign a = a | concat: a %}{% endfor %}", "elements"),
        ("{% assign a = l %}{% for i in (1..1000) %}{% assign a = a | push: a %}{% endfor %}", "nest deeper"),
        ("{% assign a = deep %}{% for i in (1..1000) %}{% assign a = '' | split: '' | push: a %}{% endfor %}", "nest deeper"),
        ("{% assign a = deep %}{% for i in (1..1000) %}{% assign a = a | group_by: 'x' %}{% endfor %}", "nest deeper"),
        ("{% for i in (1..1000) %}{% if big contains 'y' %}{% endif %}{% endfor %}", steps),
        ("{% for i in (1..100000) %}{{ big.size }}{% endfor %}", steps),
        ("{% for i in (1..100000) %}{{ l | uniq | sort | size }}{% endfor %}", steps),
        ("{{ l | where_exp: 'a', 'a[' }}", "a key is missing"),
        ("{{ '2026-01-01' | date: '%999999999Y' }}", "cannot be read"),
    ] {
        let error = failure(template, &names);
        assert!(error.contains(said), "{template}: {error}");
    }
    for template in [
        "{{ 'a' | truncate: -5 }}{{ 'a' | truncate: 99999999999999999999 }}{{ 'abc' | slice: -9223372036854775808, 9223372036854775807 }}",
        "{{ l | slice: 9223372036854775807, 9223372036854775807 }}{{ 1 | round: 400 }}{{ 1 | round: -400 }}{{ 5 | modulo: 0 }}",
        "{% tablerow i in l cols: 0 limit: 1 %}{% endtablerow %}{% for i in l limit: -1 offset: -5 %}{% endfor %}",
        "{{ 10 | times: 1000000000000000000000 | times: 'Infinity' | to_integer }}{{ 99999999999999999999 | date }}{{ l | sort: 'a.b' | first }}",
    ] {
        let got = render(template, &names);
        assert!(got.is_ok(), "{template}: {got:?}");
    }
}
