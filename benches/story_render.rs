//! What a story string of six conditionals costs to render, compiled beforehand, as Handlebars and as a story string,
//! beside the crates `handlebars` and `minijinja` on the same fields, compiled too. All give the same bytes.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the table is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod rivals;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use handlebars::{Context, Handlebars};
use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::machinery::text::TextLimits;
use tapster::machinery::text::handlebars::{Template, UnknownNames};

/// Handlebars and ours read the same text.
const STORY: &str = "{{#if system}}{{system}}\n{{/if}}{{#if wiBefore}}{{wiBefore}}\n{{/if}}{{#if description}}{{description}}\n{{/if}}\
    {{#if personality}}{{char}}'s nature: {{personality}}\n{{/if}}{{#if scenario}}Where: {{scenario}}\n{{/if}}\
    {{#if persona}}{{user}} is: {{persona}}\n{{else}}Nobody knows {{user}}.\n{{/if}}***\n";

fn fields() -> Json {
    json!({
        "system": "Write the next reply of Vex. Stay in character, and leave Ann's deeds to Ann.",
        "wiBefore": "",
        "description": "Vex is a thief of the harbour, known for a lantern that never goes out and for debts that never end.",
        "personality": "sly, patient, fond of bargains",
        "scenario": "A pier at night; rain on the planks.",
        "persona": "",
        "char": "Vex",
        "user": "Ann",
    })
}

fn story_render(c: &mut Criterion) {
    let fields = fields();
    let own = Template::parse(STORY, UnknownNames::Stays).unwrap_or_else(|e| panic!("{e}"));
    let data = Value::from(&fields);
    let ours = || own.render(&data, &mut |name| panic!("`{name}` is a field"), &TextLimits::HANDLEBARS).unwrap_or_else(|e| panic!("{e}"));
    let whole = Template::parse(STORY, UnknownNames::Asked).unwrap_or_else(|e| panic!("{e}"));
    let full = || whole.render(&data, &mut |name| panic!("`{name}` is a field"), &TextLimits::HANDLEBARS).unwrap_or_else(|e| panic!("{e}"));

    let mut bars = Handlebars::new();
    bars.register_escape_fn(handlebars::no_escape);
    bars.register_template_string("story", STORY).unwrap_or_else(|e| panic!("{e}"));
    let context = Context::wraps(&fields).unwrap_or_else(|e| panic!("{e}"));
    let handlebars = || bars.render_with_context("story", &context).unwrap_or_else(|e| panic!("{e}"));

    let jinja_text = rivals::as_jinja(STORY);
    let mut env = rivals::jinja();
    env.add_template("story", &jinja_text).unwrap_or_else(|e| panic!("{e}"));
    let values = rivals::jinja_values(&fields);
    let template = env.get_template("story").unwrap_or_else(|e| panic!("{e}"));
    let minijinja = || template.render(values.clone()).unwrap_or_else(|e| panic!("{e}"));

    assert_eq!(ours(), full(), "the same text in both manners");
    assert_eq!(ours(), handlebars(), "the same text as handlebars");
    assert_eq!(ours(), minijinja(), "the same text as minijinja");

    let mut group = c.benchmark_group("story_render");
    group.bench_function("tapster/handlebars", |b| b.iter(|| black_box(full())));
    group.bench_function("tapster/story", |b| b.iter(|| black_box(ours())));
    group.bench_function("handlebars", |b| b.iter(|| black_box(handlebars())));
    group.bench_function("minijinja", |b| b.iter(|| black_box(minijinja())));
    group.finish();

    let mut runs: [&mut dyn FnMut() -> usize; 4] =
        [&mut || full().len(), &mut || ours().len(), &mut || handlebars().len(), &mut || minijinja().len()];
    let times = rivals::best(&mut runs, 200);
    println!("story_render, six conditionals, compiled");
    rivals::table(&["tapster, handlebars", "tapster, story", "handlebars", "minijinja"], &times);
    let faster = times.iter().skip(2).min().copied().unwrap_or_default();
    let slower = times.iter().take(2).max().copied().unwrap_or_default();
    println!("the faster crate takes {:.2} times as long as the slower of ours (wanted: at least 1)\n", rivals::ratio(faster, slower));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = story_render
}
criterion_main!(benches);
