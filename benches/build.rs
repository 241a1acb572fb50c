//! What costs what: compiling a pack, building a small scene, and building with a long chat, whose price must be that
//! of what fits into the window and not that of the chat: beside counting the tokens of what fits, and with a session that
//! has built the chat without its newest message.

#![expect(clippy::panic, reason = "a bench that panics has failed; the ratio is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod rivals;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use rivals::{format_time, least_time, processor_time, ratio, report, thousands};
use serde_json::{Value, json};
use tapster::machinery::text::tokens::Estimator;
use tapster::{BuildSession, Ruleset, Scene, build};

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
        .map(|n| json!({ "id": format!("e{n}"), "keys": [format!("key{n}"), "dragon"], "text": format!("Lore number {n}."), "position": "before", "order": n }))
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
    let scenes = [200, 10_000, 10_001].map(|messages| (messages, scene(messages, WINDOW)));
    for pack in PACKS {
        let rules = open(pack);
        for (messages, scene) in &scenes {
            group.bench_function(format!("{pack}/{messages}"), |b| {
                b.iter(|| build(&rules, black_box(scene)).unwrap_or_else(|e| panic!("{e}")));
            });
        }
    }
    group.finish();

    let mut rows =
        vec!["| pack | case | processor time | of counting the window's tokens |".to_owned(), "| --- | --- | --- | --- |".to_owned()];
    for pack in PACKS {
        let rules = open(pack);
        let [(_, short), (_, long), (_, longer)] = &scenes;
        let plan = build(&rules, long).unwrap_or_else(|e| panic!("{e}"));
        let texts: Vec<String> = plan.blocks.iter().map(|block| block.text("text")).collect();
        let counted = least_time(20, || _ = texts.iter().map(|text| Estimator::Cl100k.count(black_box(text))).sum::<usize>());
        let whole = |scene| least_time(20, || _ = black_box(build(&rules, scene).unwrap_or_else(|e| panic!("{e}"))));
        // every time from a session that has built the shorter chat only
        let next_turn = |_| {
            let session = BuildSession::new(rules.clone());
            session.build(long).unwrap_or_else(|e| panic!("{e}"));
            processor_time(|| _ = black_box(session.build(longer).unwrap_or_else(|e| panic!("{e}"))))
        };
        let cases = [
            ("counting the window's tokens".to_owned(), counted),
            (format!("build, {} messages", thousands(200)), whole(short)),
            (format!("build, {} messages", thousands(10_000)), whole(long)),
            ("the same in a session, one message more".to_owned(), (0..20).map(next_turn).min().unwrap_or_default()),
        ];
        for (case, time) in cases {
            rows.push(format!("| `{pack}` | {case} | {} | {:.2} × |", format_time(time), ratio(time, counted)));
        }
    }
    report("build", &rows);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    targets = pack_compile, build_small, build_10k_messages
}
criterion_main!(benches);
