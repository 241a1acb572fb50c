//! What 300 macros in 20 KB of text cost to expand, by the table of pack `base` and through the door that a pack uses
//! (a pass `shape` with `expand = "macro"`), beside the crates `handlebars` and `minijinja` on the same text. Like stands
//! beside like: a text that has been read before beside their compiled templates, and a new text in every turn (a chat's
//! newest messages) beside their reading of the text.

#![expect(clippy::panic, reason = "a bench that panics has failed; the table is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod rivals;

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use handlebars::{Context, Handlebars};
use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, run};

const MACROS: usize = 300;
const BYTES: usize = 20_000;
const WORDS: &[&str] = &["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];
const NAMES: &[&str] = &["user", "char", "user", "char", "persona", "description", "scenario", "model"];
/// The pass under test, on one block; the same pass without macros is what stands around it.
const PASS: &str = r#"
kind = "overlay"
version = 1
[[program]]
name = "bench"
over = "blocks"
[[pass]]
name = "bench/macros"
do = "shape"
steps = [{ expand = "macro" }]
"#;

/// Words with a macro after every few, so that [`MACROS`] of them make [`BYTES`] bytes.
fn text() -> String {
    let mut text = String::new();
    for n in 0..MACROS {
        let mut word = n;
        while text.len() < (n + 1) * BYTES / MACROS - 12 {
            text.push_str(WORDS.get(word * 7 % WORDS.len()).copied().unwrap_or("a"));
            text.push(' ');
            word += 1;
        }
        text.push_str("{{");
        text.push_str(NAMES.get(n % NAMES.len()).copied().unwrap_or("user"));
        text.push_str("}}, ");
    }
    text
}

fn fields() -> Json {
    json!({
        "user": "Ann", "char": "Vex", "persona": "Ann sells lamps.", "description": "Vex is a thief of the harbour.",
        "scenario": "A pier at night.", "model": "some-model-4",
    })
}

fn scene(fields: &Json) -> Scene {
    Scene::new(&json!({
        "names": { "user": fields["user"], "char": fields["char"] },
        "card": { "description": fields["description"], "scenario": fields["scenario"] },
        "persona": { "text": fields["persona"] },
        "provider": { "model": fields["model"] },
    }))
}

/// Runs the pass over one block; its text.
fn expand(rules: &Ruleset, scene: &Scene, blocks: &Json) -> String {
    let out = run(rules, "bench", scene, &[("blocks", blocks.clone())]).unwrap_or_else(|e| panic!("{e}"));
    out.list("blocks").first().and_then(|item| item.get("text")).map(|text| text.to_text().to_string()).unwrap_or_default()
}

fn macro_expand(c: &mut Criterion) {
    let (text, fields) = (text(), fields());
    assert!(text.len().abs_diff(BYTES) < 500 && text.matches("{{").count() == MACROS, "{} bytes", text.len());
    let rules = Ruleset::open_with("base", &[("bench.toml", PASS)]).unwrap_or_else(|e| panic!("{e}"));
    let scene = scene(&fields);
    let blocks = json!([{ "id": "b", "text": text }]);
    let plain = json!([{ "id": "b", "text": text.replace("{{", "((").replace("}}", "))") }]);
    let ours = || expand(&rules, &scene, &blocks);
    let around = || expand(&rules, &scene, &plain);
    // no text twice, so that none is known
    let turn = Cell::new(0_u32);
    let ours_new = || {
        turn.set(turn.get() + 1);
        expand(&rules, &scene, &json!([{ "id": "b", "text": format!("{:08} {text}", turn.get()) }]))
    };

    let mut bars = Handlebars::new();
    bars.register_escape_fn(handlebars::no_escape);
    bars.register_template_string("text", &text).unwrap_or_else(|e| panic!("{e}"));
    let context = Context::wraps(&fields).unwrap_or_else(|e| panic!("{e}"));
    let bars_compiled = || bars.render_with_context("text", &context).unwrap_or_else(|e| panic!("{e}"));
    let bars_read = || bars.render_template_with_context(&text, &context).unwrap_or_else(|e| panic!("{e}"));

    let mut env = rivals::jinja();
    env.add_template("text", &text).unwrap_or_else(|e| panic!("{e}"));
    let values = rivals::jinja_values(&fields);
    let template = env.get_template("text").unwrap_or_else(|e| panic!("{e}"));
    let jinja_compiled = || template.render(values.clone()).unwrap_or_else(|e| panic!("{e}"));
    let jinja_read = || env.render_str(&text, values.clone()).unwrap_or_else(|e| panic!("{e}"));

    for (who, got) in
        [("handlebars", bars_compiled()), ("handlebars", bars_read()), ("minijinja", jinja_compiled()), ("minijinja", jinja_read())]
    {
        assert_eq!(ours(), got, "the same text as {who}");
        assert!(ours_new().ends_with(&got), "a new text as {who}");
    }

    let mut group = c.benchmark_group("macro_expand");
    group.bench_function("tapster", |b| b.iter(|| black_box(ours())));
    group.bench_function("tapster/new_text", |b| b.iter(|| black_box(ours_new())));
    group.bench_function("tapster/without_macros", |b| b.iter(|| black_box(around())));
    group.bench_function("handlebars/compiled", |b| b.iter(|| black_box(bars_compiled())));
    group.bench_function("minijinja/compiled", |b| b.iter(|| black_box(jinja_compiled())));
    group.bench_function("handlebars/read", |b| b.iter(|| black_box(bars_read())));
    group.bench_function("minijinja/read", |b| b.iter(|| black_box(jinja_read())));
    group.finish();

    let names =
        ["tapster, known text", "handlebars, compiled", "minijinja, compiled", "tapster, new text", "handlebars, read", "minijinja, read"];
    let times = rivals::best(
        &mut [
            &mut || ours().len(),
            &mut || bars_compiled().len(),
            &mut || jinja_compiled().len(),
            &mut || ours_new().len(),
            &mut || bars_read().len(),
            &mut || jinja_read().len(),
        ],
        30,
    );
    let time = |n: usize| times.get(n).copied().unwrap_or_default();
    let mut rows = vec!["| text | | time | of the same line's tapster |".to_owned(), "| --- | --- | --- | --- |".to_owned()];
    for (n, name) in names.iter().enumerate() {
        let (who, text) = name.split_once(", ").unwrap_or((name, ""));
        rows.push(format!("| {text} | {who} | {} | {:.2} × |", rivals::format_time(time(n)), rivals::ratio(time(n), time(n / 3 * 3))));
    }
    rivals::report("macro_expand", &rows);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = macro_expand
}
criterion_main!(benches);
