//! What 200 macros in a text of 4,000 characters cost to expand with the flavour `stack`, by the table of a pack and
//! through the door that a pack uses (a pass `shape` with `expand = "macro"`): a text that has been read before, a new text
//! in every turn, and the same text without macros. Where `node` is installed, `rivals/stack.mjs` expands the same text.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the table is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod rivals;

use std::cell::Cell;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene, run};

const PACK: &str = "risuai-exact";
const TAGS: usize = 200;
const BYTES: usize = 4_000;
const WORDS: &[&str] = &["a", "lamp", "of", "the", "pier", "and", "fog", "at", "dawn"];
/// One of these after every few words: most are names and variables, as in texts of cards.
const MACROS: &[&str] = &[
    "{{user}}",
    "{{char}}",
    "{{getvar::hp}}",
    "{{user}}",
    "{{upper::ash}}",
    "{{char}}",
    "{{equal::1::{{getvar::hp}}}}",
    "{{sum::1::2}}",
    "{{br}}",
    "{{replace::ab::b::c}}",
];
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

fn text() -> String {
    let mut text = String::new();
    let mut tags = 0;
    for n in 0.. {
        let tag = MACROS.get(n % MACROS.len()).copied().unwrap_or_default();
        tags += tag.matches("{{").count();
        if tags > TAGS {
            break;
        }
        let mut word = n;
        while text.len() + tag.len() < tags * BYTES / TAGS - 2 {
            text.push_str(WORDS.get(word * 7 % WORDS.len()).copied().unwrap_or_default());
            text.push(' ');
            word += 1;
        }
        text.push_str(tag);
        text.push(' ');
    }
    text
}

fn scene() -> Scene {
    Scene::new(&json!({ "names": { "user": "Ann", "char": "Vex" }, "vars": { "local": { "hp": "41" } }, "now": "2024-03-09T15:04:05Z" }))
}

/// Runs the pass over one block; its text.
fn expand(rules: &Ruleset, scene: &Scene, blocks: &Json) -> String {
    let out = run(rules, "bench", scene, &[("blocks", blocks.clone())]).unwrap_or_else(|e| panic!("{e}"));
    out.list("blocks").first().and_then(|item| item.get("text")).map(|text| text.to_text().to_string()).unwrap_or_default()
}

/// The text as `node` expands it, and the time of its best run; nothing if there is no `node`.
fn rival(text: &str) -> Option<(String, Duration)> {
    let script = concat!(env!("CHECKOUT"), "/benches/rivals/stack.mjs");
    let mut node = Command::new("node").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let input = json!({ "text": text, "names": { "user": "Ann", "char": "Vex" }, "variables": { "hp": "41" }, "runs": 200 });
    node.stdin.take()?.write_all(input.to_string().as_bytes()).ok()?;
    let told: Json = serde_json::from_slice(&node.wait_with_output().ok()?.stdout).unwrap_or_else(|e| panic!("stack.mjs: {e}"));
    Some((told.get("text")?.as_str()?.to_owned(), Duration::from_secs_f64(told.get("microseconds")?.as_f64()? / 1e6)))
}

fn stack_expand(c: &mut Criterion) {
    let text = text();
    assert!(text.len().abs_diff(BYTES) < 200 && text.matches("{{").count().abs_diff(TAGS) < 3, "{} bytes", text.len());
    let rules = Ruleset::open_with(PACK, &[("bench.toml", PASS)]).unwrap_or_else(|e| panic!("{e}"));
    let scene = scene();
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
    assert!(!ours().contains("{{"), "every macro is expanded: {}", ours());
    let other = rival(&text);
    if let Some((theirs, _)) = &other {
        assert_eq!(&ours(), theirs, "the same text as stack.mjs");
    }

    let mut group = c.benchmark_group("stack_expand");
    group.bench_function("tapster", |b| b.iter(|| black_box(ours())));
    group.bench_function("tapster/new_text", |b| b.iter(|| black_box(ours_new())));
    group.bench_function("tapster/without_macros", |b| b.iter(|| black_box(around())));
    group.finish();

    let times = rivals::best(&mut [&mut || ours().len(), &mut || ours_new().len(), &mut || around().len()], 30);
    println!("stack_expand, {TAGS} macros in {} bytes", text.len());
    rivals::table(&["known text", "new text", "no macro in it"], &times);
    match (other, times.first(), times.get(1)) {
        (Some((_, theirs)), Some(known), Some(new)) => println!(
            "stack.mjs takes {:.1} us: {:.2} times as long as a known text, {:.2} as a new one\n",
            theirs.as_secs_f64() * 1e6,
            rivals::ratio(theirs, *known),
            rivals::ratio(theirs, *new)
        ),
        _ => println!("there is no `node`, so no other engine ran\n"),
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = stack_expand
}
criterion_main!(benches);
