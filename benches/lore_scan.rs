//! What a scan of many lore entries over a long chat costs: with nothing remembered, with the keys compiled by an
//! earlier build, and with one message more than that build saw. Every message is searched, and recursion is on.
//!
//! `benches/rivals` runs other engines on the same inputs: a change of them here is a change of them there.

#![expect(clippy::panic, reason = "a bench that panics has failed")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tapster::{Ruleset, Scene, run};

const PACK: &str = "sillytavern-exact";
/// Entries that a message names, whatever the size of the books.
const NAMED: usize = 50;
const WORDS: &[&str] = &["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];

fn open() -> Ruleset {
    Ruleset::open(PACK, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A chat of `n` messages of 41 words each; fifty of them, evenly spread, name an entry.
fn chat(n: usize, messages: usize, entries: usize) -> Vec<Value> {
    let every = (messages / NAMED).max(1);
    (0..n)
        .map(|i| {
            let mut text: Vec<String> =
                (0..40).map(|k| WORDS.get((i * 7 + k * (i % 5 + 1)) % WORDS.len()).copied().unwrap_or("a").to_owned()).collect();
            let word = if i % every == 0 { format!("place{:05}", i / every * (entries / NAMED) % entries) } else { "nowhere".to_owned() };
            text.push(word);
            json!({
                "role": if i % 2 == 0 { "user" } else { "assistant" },
                "name": if i % 2 == 0 { "Ann" } else { "Vex" },
                "text": text.join(" "),
            })
        })
        .collect()
}

/// Two keys an entry. An entry that a message names leads to the one behind it.
fn books(entries: usize) -> Value {
    let rows: Vec<Value> = (0..entries)
        .map(|n| {
            let next = n + 1;
            let leads = n % (entries / NAMED) == 0;
            let text = if leads { format!("Lore number {n}, near place{next:05}.") } else { format!("Lore number {n}.") };
            json!({ "id": format!("e{n}"), "keys": [format!("place{n:05}"), format!("realm of {n:05} lanterns")],
                    "text": text, "order": n % 100 })
        })
        .collect();
    json!([{ "id": "b", "role": "character", "entries": rows }])
}

/// A scene of `messages`, and `more` on top of them.
fn scene(messages: usize, entries: usize, more: usize) -> Scene {
    let n = messages + more;
    Scene::new(&json!({
        "type": "normal",
        "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "A thief." },
        "context": { "window": 32_000, "reserve": 500, "tokenizer": "cl100k" },
        "lore": { "names": true, "depth": n },
        "books": books(entries),
        "speaker": { "file": "vex", "tags": [] },
        "chat": { "length": n },
        "history": chat(n, messages, entries),
    }))
}

fn scan(rules: &Ruleset, scene: &Scene) -> usize {
    let outcome = run(rules, "lore", black_box(scene), &[]).unwrap_or_else(|e| panic!("{e}"));
    outcome.get("lore.active").as_list().map_or(0, <[_]>::len)
}

fn lore_scan(c: &mut Criterion) {
    for (messages, entries) in [(2_000, 5_000), (10_000, 50_000)] {
        let mut group = c.benchmark_group(format!("lore_scan/{messages}x{entries}"));
        let first = scene(messages, entries, 0);
        let longer = scene(messages, entries, 1);
        group.bench_function("cold", |b| b.iter_batched(open, |rules| scan(&rules, &first), BatchSize::PerIteration));
        let rules = open();
        assert_eq!(scan(&rules, &first), 2 * NAMED, "the entries that messages name, and those behind them");
        group.bench_function("warm", |b| b.iter(|| scan(&rules, &first)));
        // every time from a ruleset that has built the shorter chat only
        let seen = || {
            let rules = open();
            scan(&rules, &first);
            rules
        };
        group.bench_function("one_message_more", |b| b.iter_batched(seen, |rules| scan(&rules, &longer), BatchSize::PerIteration));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = lore_scan
}
criterion_main!(benches);
