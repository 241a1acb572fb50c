//! One budget of work per call: what it counts, that it ends a build, and that ordinary builds stay far below it.

use serde_json::{Value, json};
use tapster::machinery::text::pattern::cached;
use tapster::machinery::text::work;
use tapster::machinery::text::work::BudgetScope;
use tapster::{ErrorKind, Ruleset, Scene, Value as Data, WorkLimits, build};

use crate::support::EXACT;

/// A chat of so many messages, and so many blocks that are inserted into it.
fn scene(messages: usize, blocks: usize) -> Scene {
    let history: Vec<Value> = (0..messages)
        .map(|n| {
            json!({ "id": format!("m{n}"), "role": if n % 2 == 0 { "user" } else { "assistant" }, "name": "Ann",
                         "text": format!("Message {n}: {} {{{{user}}}}", "the lantern by the river went out again. ".repeat(6)) })
        })
        .collect();
    let injections: Vec<Value> = (0..blocks)
        .map(|n| json!({ "id": format!("i{n}"), "text": format!("Note {n} for {{{{char}}}}."), "position": "in_chat", "depth": n % 50 }))
        .collect();
    let entries: Vec<Value> = (0..blocks)
        .map(|n| json!({ "id": format!("e{n}"), "keys": [format!("key{n}"), "lantern"], "text": format!("Lore {n}."), "order": n }))
        .collect();
    Scene::new(&json!({
        "type": "normal", "names": { "user": "Ann", "char": "Vex" },
        "card": { "name": "Vex", "description": "{{char}} is a thief." },
        "preset": { "main": "Write {{char}}'s next reply." },
        "context": { "window": 100_000, "reserve": 500, "tokenizer": "cl100k" },
        "lore": { "names": true, "depth": 4 },
        "books": [{ "id": "b", "role": "character", "entries": entries }],
        "injections": injections, "chat": { "length": messages }, "history": history,
    }))
}

/// Steps and bytes of one build.
fn spent(rules: &Ruleset, scene: &Scene) -> (u64, u64) {
    let door = BudgetScope::join();
    build(rules, scene).unwrap_or_else(|e| panic!("{e}"));
    door.spent()
}

#[test]
fn a_long_chat_with_many_blocks_takes_less_than_a_tenth() {
    let most = WorkLimits::default();
    for (messages, blocks) in [(10, 5), (10_000, 50), (10_000, 1_000)] {
        let (steps, bytes) = spent(&EXACT, &scene(messages, blocks));
        assert!(steps < most.steps / 10 && bytes < most.bytes / 10, "{messages} messages, {blocks} blocks: {steps} steps, {bytes} bytes");
    }
}

#[test]
fn the_same_build_costs_the_same_again() {
    // no other test has filled its caches
    let rules = Ruleset::open("sillytavern-exact", &[]).unwrap();
    let scene = scene(300, 40);
    let first = spent(&rules, &scene);
    assert_eq!(spent(&rules, &scene), first, "caches that an earlier build has filled must not change what a build costs");
    assert!(first.0 > 10_000, "a build is counted: {first:?}");
}

/// What an earlier build has found out before its budget was spent costs a later one no more.
#[test]
fn a_build_that_ends_early_makes_no_later_one_dearer() {
    let rules = Ruleset::open("sillytavern-exact", &[]).unwrap();
    let keys: Vec<String> = (0..400).map(|n| format!("key {n} ")).collect();
    let entries = json!([{ "id": "e", "keys": keys, "text": "Lore.", "order": 1 }]);
    let scene = Scene::new(&json!({
        "type": "normal", "card": { "name": "Vex" }, "context": { "window": 4_000, "tokenizer": "words" }, "lore": { "depth": 4 },
        "books": [{ "id": "b", "role": "character", "entries": entries }], "history": [{ "role": "user", "text": "key 3 and more" }],
    }));
    let (_, bytes) = spent(&Ruleset::open("sillytavern-exact", &[]).unwrap(), &scene);
    let mut ended = 0;
    for share in 1..400 {
        let short = Scene { work: WorkLimits { bytes: bytes * share / 400, ..WorkLimits::default() }, ..scene.clone() };
        ended += usize::from(build(&rules, &short).is_err());
    }
    assert!(ended > 300, "{ended}");
    assert_eq!(spent(&rules, &scene), spent(&Ruleset::open("sillytavern-exact", &[]).unwrap(), &scene));
}

#[test]
fn a_pattern_is_paid_once_in_a_call_whatever_other_calls_keep() {
    for text in ["plain words", "/only in this test [a-z]+/i"] {
        let spent = |times: usize| {
            let door = BudgetScope::join();
            for _ in 0..times {
                cached(text).unwrap();
                // others use so many patterns that this one is no longer kept
                std::thread::spawn(|| (0..600).for_each(|n| drop(cached(&format!("/of another call {n}/"))))).join().unwrap();
            }
            door.spent()
        };
        let once = spent(1);
        assert_eq!(once == (0, 0), !text.starts_with('/'), "a plain text is not compiled");
        for times in [1, 2, 5] {
            assert_eq!(spent(times), once, "{text}, {times} times");
        }
    }
}

#[test]
fn the_host_sets_the_bound_and_the_error_names_a_rule() {
    for work in [WorkLimits { steps: 3_000, ..WorkLimits::default() }, WorkLimits { bytes: 8_000, ..WorkLimits::default() }] {
        let scene = Scene { work, ..scene(300, 40) };
        let error = build(&EXACT, &scene).err().unwrap();
        assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
        assert!(error.message.contains("; it ended in rule `"), "{error}");
        assert!(error.stage.is_some(), "{error}");
        assert_eq!(build(&EXACT, &scene).err().unwrap(), error, "the bound is reached at the same place again");
    }
    assert!(!work::is_over(), "after the build, nothing is left of it");
}

#[test]
fn an_inner_call_counts_on_and_a_smaller_bound_holds_inside_of_it() {
    let outer = BudgetScope::open(WorkLimits { steps: 1_000, bytes: 1_000 });
    work::spend(100).unwrap();
    {
        let inner = BudgetScope::open(WorkLimits { steps: 50, bytes: 50 });
        assert!(work::spend(40).is_ok());
        assert!(work::spend(20).is_err());
        assert!(work::spend(1).is_err(), "once a bound is reached, every later step fails");
        assert!(work::check().is_err());
        drop(inner);
    }
    assert!(work::check().is_ok(), "the outer call has something left");
    assert!(work::spend(700).is_ok());
    assert!(work::spend(200).is_err(), "what the inner call has spent counts outside, too");
    drop(outer);
    assert!(work::spend(1_000).is_ok(), "outside of every call, a single piece of work has the default bounds");
    assert!(work::spend(WorkLimits::default().steps + 1).is_err());
}

/// Data of so many parts.
fn parts(count: i64) -> Data {
    Data::list((1..count).map(Data::from).collect())
}

#[test]
fn an_inner_call_with_smaller_bounds_keeps_what_the_data_of_the_outer_one_adds() {
    let limits = WorkLimits { steps: 8_000_000, bytes: 8_000_000 };
    let outer = parts(200_000).open_budget(limits);
    {
        let _inner = Data::Null.open_budget(limits);
        work::spend(limits.steps + limits.steps / 4).unwrap();
    }
    assert!(work::spend(1).is_err(), "the data of an inner call adds nothing to the budget that is open");
    drop(outer);
}

#[test]
fn the_message_names_the_rule_that_ran() {
    let names = ["a/first", "a/second"].map(std::sync::Arc::<str>::from);
    let _door = BudgetScope::open(WorkLimits { steps: 1_000, bytes: 1_000 });
    {
        let _rule = work::rule(&names[0]);
        work::spend(400).unwrap();
    }
    let _rule = work::rule(&names[1]);
    let told = work::make(5_000).unwrap_err().to_string();
    assert!(told.contains("makes more than 1000 bytes of texts and data; it ended in rule `a/second`"), "{told}");
}

// What the data that a call is given adds to the bounds of its work: a share of its size, and never more than the bounds.

const LIMITS: WorkLimits = WorkLimits { steps: 800_000, bytes: 8_000_000 };

/// The steps that a call with a list of so many parts may take.
fn steps(parts: usize) -> u64 {
    let data = Data::list(vec![Data::Int(0); parts - 1]);
    let _door = data.open_budget(LIMITS);
    let mut taken = 0;
    while work::spend(1_000).is_ok() {
        taken += 1_000;
    }
    taken
}

#[test]
fn data_adds_its_share_and_at_most_as_much_again() {
    let found: Vec<u64> = [1, 100_000, 400_000, 800_000, 1_600_000, 4_000_000].into_iter().map(steps).collect();
    assert_eq!(found, [800_000, 900_000, 1_200_000, 1_600_000, 1_600_000, 1_600_000]);
}
