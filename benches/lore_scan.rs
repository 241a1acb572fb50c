//! What a scan of many lore entries over a long chat costs: with nothing remembered (cold), in a session after an
//! earlier build of the same scene (warm), and with one message more than that build saw. Every message is searched, recursion is on.
//!
//! Prints a table: the best of several runs, on the clock and in time of the processor, which other work on the machine
//! does not stretch as much. Arguments are sizes (`2000x5000`); none means both. Where `TAPSTER_RIVALS` names a folder in
//! which the scripts of `benches/rivals` are installed, they run on the same inputs and stand in the table too: a change
//! of the inputs here is a change of them there.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; its table is for people")]

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tapster::{BuildSession, Ruleset, Scene};

/// Messages, entries, and how often each case is run.
const SIZES: &[(usize, usize, usize)] = &[(2_000, 5_000, 15), (10_000, 50_000, 3)];
const PACK: &str = "sillytavern-exact";
/// Entries that a message names, whatever the size of the books.
const NAMED: usize = 50;
const WORDS: &[&str] = &["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];

fn open() -> BuildSession {
    BuildSession::new(Ruleset::open(PACK, &[]).unwrap_or_else(|e| panic!("{e}")))
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

fn scan(session: &BuildSession, scene: &Scene) -> usize {
    let outcome = session.run("lore", black_box(scene)).unwrap_or_else(|e| panic!("{e}"));
    outcome.get("lore.active").as_list().map_or(0, <[_]>::len)
}

/// Milliseconds: on the clock, and of the processor where the system tells.
#[derive(Clone, Copy)]
struct Cost {
    clock: f64,
    processor: Option<f64>,
}

impl Cost {
    fn best(self, other: Self) -> Self {
        Self { clock: self.clock.min(other.clock), processor: self.processor.zip(other.processor).map(|(a, b)| a.min(b)) }
    }
}

/// Nanoseconds that this thread has run.
fn processor() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok()
}

/// The best of `times` runs; what `before` makes is not counted.
fn best<T>(times: usize, mut before: impl FnMut() -> T, mut run: impl FnMut(&T)) -> Cost {
    let mut best = Cost { clock: f64::INFINITY, processor: Some(f64::INFINITY) };
    for _ in 0..times {
        let made = before();
        let (clock, used) = (Instant::now(), processor());
        run(&made);
        let clock = clock.elapsed().as_secs_f64() * 1e3;
        best = best.best(Cost { clock, processor: used.zip(processor()).map(|(from, to)| (to - from) / 1e6) });
    }
    best
}

/// Runs the other engine once: a line `… 12.3 ms, 45.6 ms cpu, 100 active`.
fn rival(messages: usize, entries: usize) -> Option<Cost> {
    let folder = std::env::var("TAPSTER_RIVALS").ok()?;
    let args = ["fast-tavern.mjs".to_owned(), messages.to_string(), entries.to_string(), "1".to_owned()];
    let told = Command::new("node").args(args).current_dir(folder).output().unwrap_or_else(|e| panic!("node: {e}"));
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let words: Vec<&str> = told.split_whitespace().collect();
    let mut numbers = words.windows(2).filter(|w| matches!(w, [_, "ms" | "ms,"])).filter_map(|w| w.first()?.parse().ok());
    assert!(told.contains(&format!(" {} active", 2 * NAMED)), "the same work: {told}");
    Some(Cost { clock: numbers.next()?, processor: numbers.next() })
}

fn row(name: &str, cost: Cost, of: Option<Cost>) {
    let number = |n: Option<f64>| n.map_or_else(|| "-".to_owned(), |n| format!("{n:.1}"));
    let ratio = of.map(|of| of.clock / cost.clock);
    let used = of.and_then(|of| Some(of.processor? / cost.processor?));
    let ratio =
        ratio.map_or_else(String::new, |r| format!("  {r:>7.0}x  {:>7}x", used.map_or_else(|| "-".to_owned(), |u| format!("{u:.0}"))));
    println!("{name:<20}{:>12}{:>12}{ratio}", number(Some(cost.clock)), number(cost.processor));
}

fn measure(messages: usize, entries: usize, times: usize) {
    let first = scene(messages, entries, 0);
    let longer = scene(messages, entries, 1);
    let warmed = || {
        let session = open();
        assert_eq!(scan(&session, &first), 2 * NAMED, "the entries that messages name, and those behind them");
        session
    };
    let few = times.min(5);
    let cold = best(few, open, |session| _ = scan(session, &first));
    let session = warmed();
    let warm = best(times, || (), |()| _ = scan(&session, &first));
    // every time from a session that has built the shorter chat only
    let more = best(few, warmed, |session| _ = scan(session, &longer));
    let rival = (messages <= 2_000).then(|| rival(messages, entries)).flatten();
    println!("\n{messages} messages x {entries} entries");
    println!("{:<20}{:>12}{:>12}", "", "clock ms", "cpu ms");
    for (name, cost) in [("cold", cold), ("warm", warm), ("one message more", more)] {
        row(name, cost, rival);
    }
    if let Some(rival) = rival {
        row("fast-tavern", rival, None);
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    for (messages, entries, times) in SIZES {
        if wanted.is_empty() || wanted.contains(&format!("{messages}x{entries}")) {
            measure(*messages, *entries, *times);
        }
    }
}
