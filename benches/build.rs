//! What costs what: compiling a pack, building a small scene, and building with a long chat, whose price must be that
//! of what fits into the window and not that of the chat.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the ratio is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tapster::{Ruleset, Scene, build};

const PACKS: &[&str] = &["sillytavern", "sillytavern-exact"];
/// Window of the long chat, in tokens.
const WINDOW: u32 = 8_000;

fn open(pack: &str) -> Ruleset {
    Ruleset::open(pack, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A chat of `n` messages of some fifty tokens each, unlike each other as messages are.
fn chat(n: usize) -> Vec<Value> {
    let words = ["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];
    (0..n)
        .map(|i| {
            let text: Vec<&str> = (0..40).map(|k| words.get((i * 7 + k * (i % 5 + 1)) % words.len()).copied().unwrap_or("a")).collect();
            json!({
                "id": format!("m{i}"),
                "role": if i % 2 == 0 { "user" } else { "assistant" },
                "name": if i % 2 == 0 { "Ann" } else { "Vex" },
                "text": format!("{} Message {i}.", text.join(" ")),
            })
        })
        .collect()
}

fn scene(messages: usize, window: u32) -> Scene {
    let entries: Vec<Value> = (0..50)
        .map(|n| json!({ "id": format!("e{n}"), "keys": [format!("key{n}"), "dragon"], "text": format!("Lore number {n}."), "order": n }))
        .collect();
    Scene::new(&json!({
        "type": "normal",
        "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "{{char}} is a thief of the harbour.", "personality": "sly", "scenario": "A pier at night.",
                  "mes_example": "<START>\n{{user}}: Who are you?\n{{char}}: Nobody." },
        "persona": { "text": "{{user}} sells lamps." },
        "preset": { "main": "Write {{char}}'s next reply.", "post_history": "Stay in character.", "new_chat": "[Start]" },
        "context": { "window": window, "reserve": 500, "tokenizer": "cl100k" },
        "lore": { "names": true, "depth": 4 },
        "books": [{ "id": "b", "role": "character", "entries": entries }],
        "injections": [{ "id": "n", "text": "A note.", "position": "in_chat", "depth": 4 }],
        "speaker": { "file": "vex", "tags": [] },
        "chat": { "length": messages },
        "history": chat(messages),
    }))
}

fn pack_compile(c: &mut Criterion) {
    let mut group = c.benchmark_group("pack_compile");
    for pack in PACKS {
        group.bench_function(*pack, |b| b.iter(|| open(black_box(pack))));
    }
}

fn build_small(c: &mut Criterion) {
    let mut group = c.benchmark_group("build_small");
    let scene = scene(20, WINDOW);
    for pack in PACKS {
        let rules = open(pack);
        group.bench_function(*pack, |b| b.iter(|| build(&rules, black_box(&scene)).unwrap_or_else(|e| panic!("{e}"))));
    }
}

fn build_10k_messages(c: &mut Criterion) {
    let mut group = c.benchmark_group("build_10k_messages");
    let scenes = [("200", scene(200, WINDOW)), ("10000", scene(10_000, WINDOW))];
    for pack in PACKS {
        let rules = open(pack);
        for (name, scene) in &scenes {
            group
                .bench_function(format!("{pack}/{name}"), |b| b.iter(|| build(&rules, black_box(scene)).unwrap_or_else(|e| panic!("{e}"))));
        }
        let [(_, short), (_, long)] = &scenes;
        println!("{pack}: 10,000 messages cost {:.2} times what 200 cost (wanted: at most 1.5)", ratio(&rules, long, short));
    }
}

/// How much longer `long` takes than `short`: the best of many turns taken in turn, so that other work on the machine
/// disturbs both alike.
fn ratio(rules: &Ruleset, long: &Scene, short: &Scene) -> f64 {
    let once = |scene: &Scene| {
        let start = Instant::now();
        black_box(build(rules, scene).unwrap_or_else(|e| panic!("{e}")));
        start.elapsed()
    };
    let mut best = [Duration::MAX; 2];
    for _ in 0..60 {
        best = [best[0].min(once(long)), best[1].min(once(short))];
    }
    best[0].as_secs_f64() / best[1].as_secs_f64()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    targets = pack_compile, build_small, build_10k_messages
}
criterion_main!(benches);
