//! What a scan of lore with decorators costs: entries that a message names, entries that these lead to, vetoes, chances,
//! windows of their own and texts that are added to others, in passes over all entries. Every message is searched.
//!
//! Prints a table: the best of several runs with nothing remembered (cold) and after an earlier build of the same scene
//! (warm), on the clock. Arguments are sizes (`1000x5000`); none means 1,000 messages and 5,000 entries. Where
//! `TAPSTER_SCENE` names a file, the scene is written there as JSON, so that another engine can be given the same input.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; its table is for people")]

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};
use tapster::{Ruleset, Scene, run};

const PACK: &str = "risuai-exact";
const RUNS: usize = 10;
/// Entries that a message names, whatever the size of the book.
const NAMED: usize = 50;
const WORDS: &[&str] = &["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];

fn open() -> Ruleset {
    Ruleset::open(PACK, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A chat of messages of 41 words each; fifty of them, evenly spread, name an entry.
fn chat(messages: usize, entries: usize) -> Vec<Value> {
    let every = (messages / NAMED).max(1);
    (0..messages)
        .map(|i| {
            let mut text: Vec<String> =
                (0..40).map(|k| WORDS.get((i * 7 + k * (i % 5 + 1)) % WORDS.len()).copied().unwrap_or("a").to_owned()).collect();
            let word = if i % every == 0 { format!("place{:05}", i / every * (entries / NAMED) % entries) } else { "nowhere".to_owned() };
            text.push(word);
            json!({ "id": format!("m{i}"), "role": if i % 2 == 0 { "user" } else { "assistant" }, "text": text.join(" ") })
        })
        .collect()
}

/// Two keys and three decorators an entry. An entry that a message names leads to the one behind it.
fn book(entries: usize) -> Value {
    let rows: Vec<Value> = (0..entries)
        .map(|n| {
            let leads = n % (entries / NAMED) == 0;
            let text = if leads { format!("Lore number {n}, near place{:05}.", n + 1) } else { format!("Lore number {n}.") };
            let third = match n % 5 {
                0 => "@@exclude_keys nothing of the kind".to_owned(),
                1 => format!("@@priority {}", n % 100),
                2 => "@@probability 100".to_owned(),
                3 => "@@activate_only_after 2".to_owned(),
                _ => "@@match_full_word".to_owned(),
            };
            let text = format!("@@depth {}\n@@role system\n{third}\n{text}", n % 7);
            json!({ "id": format!("e{n}"), "name": format!("Entry {n}"), "keys": [format!("place{n:05}"), format!("realm of {n:05} lanterns")],
                    "text": text, "order": n % 100 })
        })
        .collect();
    json!([{ "id": "b", "role": "character", "entries": rows }])
}

fn scene(messages: usize, entries: usize) -> Value {
    json!({
        "names": { "user": "Ann", "char": "Vex" },
        "context": { "window": 32_000, "reserve": 500, "tokenizer": "words" },
        "lore": { "depth": messages, "budget": 100_000, "recursion": true },
        "books": book(entries),
        "chat": { "count": messages },
        "history": chat(messages, entries),
    })
}

fn scan(rules: &Ruleset, scene: &Scene) -> usize {
    let outcome = run(rules, "lore", black_box(scene), &[]).unwrap_or_else(|e| panic!("{e}"));
    outcome.get("lore.active").as_list().map_or(0, <[_]>::len)
}

/// Milliseconds on the clock: the best of some runs; what `before` makes is not counted.
fn best<T>(times: usize, mut before: impl FnMut() -> T, mut run: impl FnMut(&T)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..times {
        let made = before();
        let clock = Instant::now();
        run(&made);
        best = best.min(clock.elapsed().as_secs_f64() * 1e3);
    }
    best
}

fn measure(messages: usize, entries: usize) {
    let given = scene(messages, entries);
    if let Ok(file) = std::env::var("TAPSTER_SCENE") {
        std::fs::write(&file, given.to_string()).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
    let scene = Scene::new(&given);
    let rules = open();
    let active = scan(&rules, &scene);
    let cold = best(RUNS.min(3), open, |rules| _ = scan(rules, &scene));
    let warm = best(RUNS, || (), |()| _ = scan(&rules, &scene));
    println!("{messages} messages x {entries} entries, {active} active");
    println!("{:<20}{:>12}", "", "ms");
    println!("{:<20}{cold:>12.1}", "cold");
    println!("{:<20}{warm:>12.1}", "warm");
}

fn main() {
    let size = |arg: String| {
        let (messages, entries) = arg.split_once('x')?;
        Some((messages.parse().ok()?, entries.parse().ok().filter(|n| *n >= NAMED)?))
    };
    let mut sizes: Vec<(usize, usize)> = std::env::args().skip(1).filter_map(size).collect();
    if sizes.is_empty() {
        sizes.push((1_000, 5_000));
    }
    for (messages, entries) in sizes {
        measure(messages, entries);
    }
}
