//! What scripts cost: three hooks and a filter over 1,000 blocks, against the same build without them. The ratio is printed
//! and must stay below 1.5.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the ratio is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tapster::{Ruleset, Scene, build};

/// Blocks of the prompt: all messages fit.
const BLOCKS: usize = 1_000;

const SCRIPTS: &str = r#"kind = "overlay"
version = 1

[rhai]
reads = ["scene.card", "blocks"]
writes = ["scene.card.description", "blocks"]
"mine.rhai" = '''
fn shorten(blocks, scene) {
    #{ set: #{ "card.description": scene.card.description.sub_string(0, 20) } }
}
fn count(blocks, scene) {
    let longest = 0;
    for block in blocks {
        if block.text.len() > longest { longest = block.text.len(); }
    }
    #{ warnings: [`the longest block has ${longest} bytes`] }
}
fn mark(blocks, scene) {
    let last = blocks.len() - 1;
    blocks[last].text += " (the newest)";
    blocks
}
fn keep(item, scene) {
    item.role != "tool" && item.text.len() > 3
}
'''

[[hook]]
name = "shorten"
event = "before_build"
run = "mine.rhai::shorten"
[[hook]]
name = "count"
event = "after_build"
run = "mine.rhai::count"
[[hook]]
name = "mark"
event = "after_build"
run = "mine.rhai::mark"

[[pass]]
name = "build/filter"
after = "macro_expansion"
do = "drop"
where = { not = { script = "mine.rhai::keep" } }
"#;

fn scene() -> Scene {
    let words = ["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];
    let history: Vec<Value> = (0..BLOCKS)
        .map(|i| {
            let text: Vec<&str> = (0..40).map(|k| words.get((i * 7 + k * (i % 5 + 1)) % words.len()).copied().unwrap_or("a")).collect();
            json!({ "id": format!("m{i}"), "role": if i % 2 == 0 { "user" } else { "assistant" }, "text": format!("{} Message {i}.", text.join(" ")) })
        })
        .collect();
    Scene::new(&json!({
        "type": "normal",
        "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "{{char}} is a thief of the harbour." },
        "preset": { "main": "Write {{char}}'s next reply." },
        "context": { "window": 1_000_000, "reserve": 500, "tokenizer": "cl100k" },
        "history": history,
    }))
}

fn open(overlays: &[(&str, &str)]) -> Ruleset {
    Ruleset::open_with("sillytavern", overlays).unwrap_or_else(|e| panic!("{e}"))
}

/// The time of one build.
fn time(rules: &Ruleset, scene: &Scene) -> Duration {
    let begun = Instant::now();
    let plan = build(rules, black_box(scene)).unwrap_or_else(|e| panic!("{e}"));
    assert!(plan.messages().len() > BLOCKS, "{} messages", plan.messages().len());
    begun.elapsed()
}

/// The medians of 51 builds of each kind, after three that are not counted. They take turns, so that a change in the speed of
/// the machine meets both.
fn medians(without: &Ruleset, with: &Ruleset, scene: &Scene) -> (Duration, Duration) {
    let pairs = (0..54).map(|_| (time(without, scene), time(with, scene))).skip(3);
    let (mut plain, mut scripted): (Vec<Duration>, Vec<Duration>) = pairs.unzip();
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    (median(&mut plain), median(&mut scripted))
}

fn scripts(c: &mut Criterion) {
    let scene = scene();
    let (without, with) = (open(&[]), open(&[("scripts.toml", SCRIPTS)]));
    let (plain, scripted) = medians(&without, &with, &scene);
    let ratio = scripted.as_secs_f64() / plain.as_secs_f64();
    println!("three hooks and a filter over {BLOCKS} blocks: {scripted:?} against {plain:?}, {ratio:.2} times");
    let mut group = c.benchmark_group("scripts");
    group.sample_size(10);
    group.bench_function("without", |b| b.iter(|| build(&without, black_box(&scene)).unwrap_or_else(|e| panic!("{e}"))));
    group.bench_function("with", |b| b.iter(|| build(&with, black_box(&scene)).unwrap_or_else(|e| panic!("{e}"))));
    group.finish();
    assert!(ratio < 1.5, "scripts cost {ratio:.2} times the build without them");
}

criterion_group!(benches, scripts);
criterion_main!(benches);
