//! Liquid through its public door: what templates give (`tests/text/liquid.json`), and that none runs away.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at what is wrong")]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::machinery::text::TextLimits;
use tapster::machinery::text::liquid::{Liquid, LiquidOptions, filter_names, tag_names};

fn render_with(template: &str, names: &Json, options: &LiquidOptions) -> Result<String, String> {
    Liquid::parse(template).and_then(|liquid| liquid.render(&Value::from(names), options)).map_err(|e| e.to_string())
}

fn render(template: &str, names: &Json) -> Result<String, String> {
    render_with(template, names, &LiquidOptions::default())
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
        let options = LiquidOptions { strict: case["input"]["options"]["strictVariables"] == true, ..LiquidOptions::default() };
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
    assert!(failure(&format!("{{{{ {} }}}}", "(".repeat(100_000)), &none).contains("a range is written"));
}

/// The deepest template that is accepted fits on the stack of a thread of a test, which is small.
#[test]
fn templates_may_nest_up_to_the_bound() {
    let (blocks, keys) = (TextLimits::LIQUID.depth, TextLimits::LIQUID.depth);
    let value = format!("{{{{ {}'x'{} }}}}", "a[".repeat(keys), "]".repeat(keys));
    let text = format!("{}y{value}{}", "{% if true %}".repeat(blocks), "{% endif %}".repeat(blocks));
    assert_eq!(render(&text, &json!({ "a": { "x": "x" } })).unwrap(), "yx");
}

/// Runs of blanks, on which the parser of the crate is quadratic, never reach it.
#[test]
fn blanks_cost_nothing() {
    let blanks = " \n\t".repeat(50_000);
    let text = format!("{blanks}{{%- if {blanks} a {blanks} -%}}{blanks}{{{{- a {blanks}| upcase }}}}{blanks}{{%- endif %}}");
    assert_eq!(render(&text, &json!({ "a": "x" })).unwrap(), "X");
}

/// Inputs on which the crate by itself panics, aborts or answers wrongly.
#[test]
fn what_the_crate_cannot_read_is_read() {
    let names = json!({ "nilly": 1, "emptyish": { "2nd": 2 }, "имя": 3, "l": [[4]], "_": 5, "__": 6, "page": 7 });
    for (template, gives) in [
        ("{{ 1000000000000000000000 }}", "1e+21"),
        ("{{ -9223372036854775808 | divided_by: -1 }}", "9223372036854776000"),
        ("{{ nilly }}{{ emptyish.2nd }}{{ имя }}{{ l.0.first }}{{ ['имя'] }}{{ _ }}{{ __ }}{{ page }}", "12343567"),
        ("{{ 'it\\'s \"so\"' }}{{ 'abc'.size }}{{ 'x'[0] }}", "it's \"so\"3x"),
        ("{%\tif\tnilly\t==\t1\t%}y{%\tendif\t%}", "y"),
        ("{% assign r = (1..3) | join: '-' %}{{ r }} {{ (2..4) | last }} {% if (1..3) contains 2 %}y{% endif %}", "1-2-3 4 y"),
        (
            "{% tablerow i in (1..3), cols: 2 %}{{ i }}{% endtablerow %}",
            "<tr class=\"row1\"><td class=\"col1\">1</td><td class=\"col2\">2</td></tr><tr class=\"row2\"><td class=\"col1\">3</td></tr>",
        ),
        ("{{ nothing or 'x' | upcase }}{{ 1 == 1 | append: '!' }}", "TRUEtrue!"),
        ("{% raw %}{% page %}{{ '{% endraw %}{% comment %}{% if \"' %}{% endcomment %}", "{% page %}{{ '"),
    ] {
        assert_eq!(render(template, &names).as_deref(), Ok(gives), "{template}");
    }
    for template in ["{% page %}", "{% endpage %}", "{% answer 1 %}", "{{ 1 | _range: 3 | join }}"] {
        let given = render(template, &names);
        assert!(given.is_err() || given == Ok("1".to_owned()), "{template}: {given:?}");
    }
}

/// A template is shared between threads, each rendering with its own names.
#[test]
fn a_template_is_rendered_by_many_threads_at_once() {
    let liquid = Liquid::parse("{% for i in (1..200) %}{% assign last = i %}{{ n }}{% endfor %}{{ last }}").unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let liquid = &liquid;
            scope.spawn(move || {
                let text = liquid.render(&Value::from(&json!({ "n": n })), &LiquidOptions::default()).unwrap();
                assert_eq!(text, format!("{}200", n.to_string().repeat(200)));
            });
        }
    });
}

/// Each mistake names where it is: the line of the tag, in a template of many lines.
#[test]
fn mistakes_name_their_line() {
    for (line, at) in [
        ("{{ a | append }}{% if %}{% endif %}", "column 23: a value is missing here"),
        ("{{ a | f: }}", "column 11: a value is missing here"),
        ("{{ a | f: 1, | g }}", "column 14: a value is missing here"),
        ("x {{ a[] }}", "column 10: a value is missing here"),
        ("{% assign x y %}", "column 13: `=` is missing here"),
        ("{% for x in l | sort %}{% endfor %}", "column 15: `limit:`, `offset:` or `reversed` may follow here"),
        ("{% for x in %}{% endfor %}", "column 13: what to go through is missing"),
        ("{% for x in l limit 2 %}{% endfor %}", "column 21: `limit` is followed by a colon and a value"),
        ("{% cycle %}", "column 10: `cycle` needs values"),
        ("{% break 1 %}", "column 10: nothing may follow here"),
        ("{% case 1 %}{% when %}{% endcase %}", "column 21: `when` needs values"),
        ("{{ a | concat: (1..3) }}", "column 16: a filter is followed only by its arguments"),
        // what LiquidJS reads and this does not (docs/divergences.md)
        ("{{ a[1 == 2] }}", ""),
        ("{{ a[b | first] }}", ""),
        ("{% case 1 %}{% when 1 2 %}{% endcase %}", "column 23: `when` needs values"),
        ("{% capture c d %}{% endcapture %}", "column 14: nothing may follow here"),
        ("{% increment k x %}", "column 16: nothing may follow here"),
        ("{{ 'x' | base64_decode }}", "column 1: this text is not base64"),
    ] {
        let text = format!("{{% comment %}}\n\n{{% endcomment %}}{{{{ 'long' | append: \"\n\" }}}}\n{line}\n{{{{ b }}}}");
        let error = Liquid::parse(&text).and_then(|l| l.render(&Value::default(), &LiquidOptions::default())).unwrap_err();
        let told = error.to_string();
        assert!(told.starts_with(&format!("line 5, {at}")), "{line}: {told}");
        assert_eq!(text.get(..error.offset).unwrap().matches('\n').count(), 4);
    }
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
        let text = part.repeat(TextLimits::LIQUID.length / part.len());
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
        ("{{ l | where_exp: 'a', 'a[' }}", "the expression of `where_exp` cannot be read: `]` is missing here"),
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
