//! The text languages: reading and rendering.

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use serde_json::{Value as Json, json};
use tapster::text::handlebars::{Template, Unknown};
use tapster::text::leaf::{Leaf, Scope, Syntax as LeafSyntax};
use tapster::text::liquid::{Liquid, Options};
use tapster::text::macros::{self, Called, Found, Grammar, MacroHost, MacroResult, Syntax};
use tapster::text::verbatim::{VerbatimMasker, Zone};
use tapster::text::{Limits, handlebars, macros::macro_parser};
use tapster::{Scene, Value, expand_texts};

use super::packs::shipped;
use super::{Shape, Target, Verdict, text};
use crate::seeds;

/// What templates can print.
static NAMES: LazyLock<Value> = LazyLock::new(|| {
    Value::from(&json!({
        "a": { "name": "Ann", "b": [1, 2, { "c": "é😀" }], "none": null }, "b": "", "c": true, "n": -3.5, "user": "Bo", "char": "Ann",
        "list": ["x", "", null, [1], { "k": "v" }, "{{a.name}}"], "long": "word ".repeat(50), "ws": " \n", "description": "A {{smith}}.",
        "self": "{{self}}{{self}}", "item": { "turnNo": 4, "text": "Hm." },
    }))
});

const MACRO_WORDS: &[&str] = &[
    "{{",
    "}}",
    "::",
    "{{user}}",
    "{{char}}",
    "{{random::a::b}}",
    "{{pick::a,b}}",
    "{{roll:1d6}}",
    "{{setvar::a::b}}",
    "{{getvar::a}}",
    "{{addvar::a::1}}",
    "{{incvar::a}}",
    "{{if ",
    "{{else}}",
    "{{/if}}",
    "{{#if a}}",
    "{{//",
    "}}}",
    "{{{",
    "{{.a = 1}}",
    "{{$a += 1}}",
    "{{.a++}}",
    "{{trim}}",
    "{{newline}}",
    "{{reverse:",
    "{{time_UTC+2}}",
    "{{date}}",
    "{{datetimeformat YYYY}}",
    "{{outlet::x}}",
    "{{input}}",
    "{{original}}",
    "{{banned \"x\"}}",
    "{{#each a as b}}",
    "{{/each}}",
    "{{slot::b}}",
    "{{#func f x}}",
    "{{call::f::1}}",
    "{{calc::1+1}}",
    "{{? 1+1}}",
    "{{#pure}}",
    "{{/pure}}",
    "{{:else}}",
    "{{#when a}}",
    "<USER>",
    "<START>",
    "\\{\\{",
    "{{lastMessage}}",
    "{{idle_duration}}",
    "{{range::1::9}}",
    "{{repeat::ab::9}}",
    "{{replace::a::b::c}}",
    "{{length::a}}",
];

pub(super) const MACROS: Target = Target {
    name: "macros",
    door: "macros: reading and walking a text, with a host of its own",
    shape: Shape::Bytes,
    words: MACRO_WORDS,
    longest: 4 << 10,
    fixed: 1_000,
    seeds: || seeds::texts("macros", "text"),
    run: |input| {
        let host = Host { syntax: Syntax::of(None), calls: Cell::new(0) };
        let done = macros::expand(&Arc::from(text(input)), &host, &Limits::MACROS);
        Verdict::of(done.warnings.is_empty())
    },
};

/// A host whose macros give a text, double their argument, print a branch or an evaluated one.
struct Host {
    syntax: Syntax,
    calls: Cell<usize>,
}

impl Grammar for Host {
    fn find(&self, name: &str) -> Option<Found> {
        let (id, least, most, block, raw) = match name {
            "user" | "char" => (0, 0, 0, false, 0),
            "reverse" | "double" | "trim" => (1, 1, 9, true, 0),
            "if" => (2, 1, 3, true, 0b10),
            "." | "$" => (3, 1, 3, false, 0),
            _ => return None,
        };
        Some(Found { id, shape: macro_parser::Shape { least, most, block, raw } })
    }

    fn syntax(&self) -> &Syntax {
        &self.syntax
    }
}

impl MacroHost for Host {
    fn call(&self, called: &Called<'_>) -> MacroResult {
        self.calls.set(self.calls.get() + 1);
        match called.id {
            Some(0) => MacroResult::Text("Ann".into()),
            Some(1) => MacroResult::Text(called.args.iter().flat_map(|arg| [arg.as_ref(), arg.as_ref()]).collect::<String>().into()),
            Some(2) => MacroResult::Text(called.branches.first().map_or("", |branch| branch.text()).into()),
            Some(3) => MacroResult::Failed("variables are not kept".into()),
            _ => MacroResult::Unknown,
        }
    }
}

pub(super) const EXPAND: Target = Target {
    name: "expand",
    door: "the macros of the shipped packs",
    shape: Shape::Bytes,
    words: MACRO_WORDS,
    longest: 2 << 10,
    fixed: 1_200,
    seeds: || {
        let cases = seeds::json("tests/recorded/text.json");
        let mut all = seeds::texts("macros", "text");
        texts_with_macros(&cases, &mut all);
        all
    },
    run: |input| {
        static SCENE: LazyLock<Scene> = LazyLock::new(|| {
            Scene::new(
                &json!({ "names": { "char": "Ann", "user": "Bo" }, "now": "2026-01-31T20:15:00Z", "card": { "name": "Ann", "description": "A smith." },
                "history": [{ "id": "1", "role": "user", "text": "Hm." }], "vars": { "local": { "a": "1" } } }),
            )
        });
        let text = text(input);
        let mut warned = false;
        for pack in ["sillytavern", "sillytavern-exact", "risuai", "risuai-exact", "talespinner-exact"] {
            warned |= expand_texts(&shipped(pack), &SCENE, &[(&text, Value::Null)]).is_ok_and(|done| done.warnings.is_empty());
        }
        Verdict::of(warned)
    },
};

fn texts_with_macros(json: &Json, all: &mut Vec<Vec<u8>>) {
    match json {
        Json::String(text) if text.contains("{{") && text.len() < 1_000 && all.len() < 400 => all.push(text.as_bytes().to_vec()),
        Json::Array(list) => list.iter().for_each(|value| texts_with_macros(value, all)),
        Json::Object(map) => map.values().for_each(|value| texts_with_macros(value, all)),
        _ => {}
    }
}

const HANDLEBARS_WORDS: &[&str] = &[
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{{#if a}}",
    "{{/if}}",
    "{{else}}",
    "{{^}}",
    "{{#unless b}}",
    "{{/unless}}",
    "{{#each list}}",
    "{{/each}}",
    "{{#with a}}",
    "{{/with}}",
    "{{this}}",
    "{{../a}}",
    "{{@index}}",
    "{{@key}}",
    "{{@first}}",
    "{{lookup a \"b\"}}",
    "{{log a}}",
    "{{~",
    "~}}",
    "{{!-- ",
    " --}}",
    "{{! ",
    "(lookup list 0)",
    "a.[b]",
    "{{long}}",
    "{{self}}",
    "{{> x}}",
    "{{#* x}}",
    "\\{{",
    "{{&a}}",
    "as |x y|",
    "key=1",
    "true",
    "null",
    "'",
    "\"",
    "/",
];

pub(super) const HANDLEBARS: Target = Target {
    name: "handlebars",
    door: "Handlebars: reading and rendering",
    shape: Shape::Bytes,
    words: HANDLEBARS_WORDS,
    longest: 4 << 10,
    fixed: 7_000,
    seeds: || seeds::texts("handlebars", "template"),
    run: |input| handlebars(input, Unknown::Asked),
};

pub(super) const STORY: Target = Target {
    name: "story",
    door: "story strings: reading and rendering",
    shape: Shape::Bytes,
    words: HANDLEBARS_WORDS,
    longest: 4 << 10,
    fixed: 3_500,
    seeds: || seeds::texts("stories", "template"),
    run: |input| handlebars(input, Unknown::Stays),
};

fn handlebars(input: &[u8], unknown: handlebars::Unknown) -> Verdict {
    let Ok(template) = Template::parse(&text(input), unknown) else { return Verdict::Refused };
    Verdict::of(template.render(&NAMES, &mut |name| Arc::from(name), &Limits::HANDLEBARS).is_ok())
}

pub(super) const LIQUID: Target = Target {
    name: "liquid",
    door: "Liquid: reading and rendering",
    shape: Shape::Bytes,
    words: &[
        "{{",
        "}}",
        "{%",
        "%}",
        "{%-",
        "-%}",
        "{% if a %}",
        "{% elsif b %}",
        "{% else %}",
        "{% endif %}",
        "{% for i in list %}",
        "{% endfor %}",
        "{% for i in (1..9) %}",
        "{% unless c %}",
        "{% endunless %}",
        "{% case n %}",
        "{% when 1 %}",
        "{% endcase %}",
        "{% assign x = ",
        "{% capture x %}",
        "{% endcapture %}",
        "{% raw %}",
        "{% endraw %}",
        "{% comment %}",
        "{% endcomment %}",
        "{% cycle 'a', 'b' %}",
        "{% increment x %}",
        "{% break %}",
        "{% continue %}",
        "{% tablerow i in list %}",
        "{% endtablerow %}",
        " | upcase",
        " | split: ''",
        " | join: ','",
        " | sort",
        " | map: 'k'",
        " | where: 'k', 'v'",
        " | date: '%Y-%m-%d'",
        " | times: 9",
        " | append: long",
        " | replace: 'a', long",
        " | slice: 0, 9",
        " | truncate: 5",
        " | strip_html",
        " | url_encode",
        " | concat: list",
        " | reverse",
        " | uniq",
        " | plus: 1e308",
        " | divided_by: 0",
        " | modulo: 0",
        " | round: 400",
        " | default: a",
        " | json",
        " | first",
        " | last",
        " | size",
        "forloop.index",
        "limit:2",
        "offset:1",
        "reversed",
        "contains",
        "and",
        "or",
        "blank",
        "empty",
        "nil",
    ],
    longest: 4 << 10,
    fixed: 10_000,
    seeds: || seeds::texts("liquid", "template"),
    run: |input| {
        let Ok(template) = Liquid::parse(&text(input)) else { return Verdict::Refused };
        Verdict::of(template.render(&NAMES, &Options::default()).is_ok())
    },
};

pub(super) const LEAF: Target = Target {
    name: "leaf",
    door: "leaf strings of templates, in both syntaxes",
    shape: Shape::Bytes,
    words: &[
        "{{",
        "}}",
        "{{a.name}}",
        "{{item.text}}",
        "{{self}}",
        "{{long}}",
        "{{#if a}}",
        "{{#else}}",
        "{{#endif}}",
        "{{ a == b }}",
        " && ",
        " || ",
        "!",
        "(",
        ")",
        "'x'",
        "\"x\"",
        "{{list[0]}}",
        "{{a['b'][2].c}}",
        "{{ n + 1 }}",
        " ? ",
        " : ",
        "{{}}",
        "{{.}}",
        "null",
        "true",
        "1e9",
        " != ",
        " >= ",
        "list.length",
    ],
    longest: 4 << 10,
    fixed: 3_000,
    seeds: || seeds::texts("leaves", "text"),
    run: |input| {
        let text = text(input);
        let root = NAMES.as_map();
        let item = NAMES.get("item");
        let over = [("item", item), ("parent", None)];
        let under = [("ctx", &*NAMES)];
        let scope = Scope { over: &over, root, under: &under, globals: root };
        let rendered = [LeafSyntax::Paths, LeafSyntax::Expressions].map(|syntax| {
            let leaf = Leaf::compile(&text, syntax);
            let _ = (leaf.has_tags(), leaf.parts());
            leaf.render(&scope, 1 << 20).is_ok()
        });
        Verdict::of(rendered.iter().any(|done| *done))
    },
};

pub(super) const VERBATIM: Target = Target {
    name: "verbatim",
    door: "parts of a text that stay as they are: cutting, masking and back",
    shape: Shape::Bytes,
    words: &[
        "```",
        "~~~",
        "`",
        "<",
        ">",
        "</",
        "<code>",
        "</code>",
        "<!--",
        "-->",
        "<verbatim>",
        "</verbatim>",
        "{{",
        "}}",
        "https://a.b/c",
        "\n",
        "    ",
        "\\",
        "[[1]]",
        "⟦0⟧",
        "<a href=\"",
        "http://",
    ],
    longest: 4 << 10,
    fixed: 25_000,
    seeds: || {
        ["a `b` ```\nc\n``` <code>d</code> {{e}} https://f.g/h <!-- i -->", "~~~\nx\n~~~\n    y\n<verbatim>z</verbatim>"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec()
    },
    run: |input| {
        let text = text(input);
        let zones = VerbatimMasker::new(Zone::ALL, ["verbatim"]);
        let _ = zones.split(&text);
        let masked = zones.mask(&text);
        match masked.unmask(masked.text()) {
            Ok(back) if back == text => Verdict::Taken,
            Ok(_) => Verdict::Wrong("what was masked comes back otherwise".into()),
            Err(problems) => Verdict::Wrong(format!("what was masked does not come back: {problems:?}")),
        }
    },
};
