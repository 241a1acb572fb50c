//! What a scan of many lore entries over a long chat costs: with nothing remembered (cold), in a session after an
//! earlier build of the same scene (warm), and with one message more than that build saw. Every message is searched, recursion is on.
//!
//! Times are the least of several runs, of the processor, which other work on the machine does not stretch as much. Where
//! `TAPSTER_RIVALS` names a folder in which the scripts of `benches/rivals` are installed, they run on the same inputs: a
//! change of the inputs here is a change of them there.

#![expect(clippy::panic, reason = "a bench that panics has failed; its table is for people")]

mod rivals;

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use rivals::{format_time, growth_exponent, least_time, processor_time, ratio, report, thousands};
use serde_json::{Value, json};
use tapster::{BuildSession, Ruleset, Scene};

/// Messages, entries, and how often each case is run.
const SIZES: &[(usize, usize, usize)] = &[(2_000, 5_000, 5), (MESSAGES, 50_000, 3)];
/// Messages and entries of which growth is measured.
const MESSAGES: usize = 10_000;
const GROWTH: [usize; 4] = [5_000, 10_000, 20_000, 50_000];
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

/// The time of the processor that the other engine takes once; its collector's threads count too.
fn rival(messages: usize, entries: usize) -> Option<Duration> {
    let folder = std::env::var("TAPSTER_RIVALS").ok()?;
    let args = ["fast-tavern.mjs".to_owned(), messages.to_string(), entries.to_string(), "1".to_owned()];
    let output = Command::new("node").args(args).current_dir(folder).output().unwrap_or_else(|e| panic!("node: {e}"));
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(line.contains(&format!(" {} active", 2 * NAMED)), "the same work: {line}");
    // `… 12.3 ms, 45.6 ms cpu, 100 active`
    let words: Vec<&str> = line.split_whitespace().collect();
    let ms: f64 = words.windows(3).find_map(|w| if let [ms, "ms", "cpu,"] = w { ms.parse().ok() } else { None })?;
    Some(Duration::from_secs_f64(ms / 1e3))
}

/// A case's row: its time, that in times of the cold scan, and the other engine's in times of it.
fn row(case: &str, time: Duration, cold: Duration, rival: Option<Duration>) -> String {
    let rival = rival.map_or_else(|| "not run".to_owned(), |rival| format!("{:.0} ×", ratio(rival, time)));
    format!("| {case} | {} | {:.1} % | {rival} |", format_time(time), 100.0 * ratio(time, cold))
}

/// The least time of `runs` scans, each in a session that `open` made, which is not counted.
fn least_scan(runs: usize, scene: &Scene, open: impl Fn() -> BuildSession) -> Duration {
    let time = |_| {
        let session = open();
        processor_time(|| _ = scan(&session, scene))
    };
    (0..runs).map(time).min().unwrap_or_default()
}

fn measure(messages: usize, entries: usize, runs: usize, rows: &mut Vec<String>) {
    let (first, longer) = (scene(messages, entries, 0), scene(messages, entries, 1));
    let warmed = || {
        let session = open();
        assert_eq!(scan(&session, &first), 2 * NAMED, "the entries that messages name, and those behind them");
        session
    };
    let cold = least_scan(runs, &first, open);
    let session = warmed();
    let warm = least_time(3 * runs, || _ = scan(&session, &first));
    // every time from a session that has built the shorter chat only
    let more = least_scan(runs, &longer, warmed);
    let rival = (messages <= 2_000).then(|| rival(messages, entries)).flatten();
    for (case, time) in [("nothing remembered", cold), ("the same again", warm), ("one message more", more)] {
        rows.push(row(&format!("{} × {}: {case}", thousands(messages), thousands(entries)), time, cold, rival));
    }
}

fn main() {
    let mut rows = vec![
        "| messages × entries | processor time | of nothing remembered | fast-tavern takes |".to_owned(),
        "| --- | --- | --- | --- |".to_owned(),
    ];
    for (messages, entries, runs) in SIZES {
        measure(*messages, *entries, *runs, &mut rows);
    }
    let points = GROWTH.map(|entries| (entries, least_scan(3, &scene(MESSAGES, entries, 0), open)));
    let list = points.map(|(entries, time)| format!("{}: {}", thousands(entries), format_time(time)));
    rows.push(String::new());
    rows.push(format!(
        "Growth in entries, {} messages, nothing remembered: {}; exponent {:.2}.",
        thousands(MESSAGES),
        list.join(", "),
        growth_exponent(&points)
    ));
    report("lore_scan", &rows);
}
