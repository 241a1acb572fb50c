//! What a provider's cache can serve: over the 200 turns of `examples/cache-friendly`, how much of each request is an
//! unchanged beginning of the one before, by the default rules and by the example's overlay; and who is told to have
//! broken it.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Ruleset, Scene, Value, build, emit, import_document, unchanged, unchanged_payload};

use crate::support::{BASE, EXACT};

const TURNS: usize = 200;

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CHECKOUT")).join("examples/cache-friendly").join(name)).unwrap()
}

/// The rules with the example's overlay, and with that of the wish that lore stays where it was first called up.
fn frozen() -> Ruleset {
    let freeze = Path::new(env!("CHECKOUT")).join("examples/wishes/SillyTavern-5852/overlay.toml");
    let freeze = std::fs::read_to_string(freeze).unwrap();
    Ruleset::open_with("sillytavern-exact", &[("cache.toml", &read("cache.toml")), ("overlay.toml", &freeze)])
        .unwrap_or_else(|e| panic!("{e}"))
}

fn rules(overlay: bool) -> &'static Ruleset {
    static FRIENDLY: LazyLock<Ruleset> =
        LazyLock::new(|| Ruleset::open_with("sillytavern-exact", &[("cache.toml", &read("cache.toml"))]).unwrap_or_else(|e| panic!("{e}")));
    if overlay { &FRIENDLY } else { &EXACT }
}

/// The example's scene, with all of its chat.
fn scene(rules: &Ruleset) -> Scene {
    scene_with(rules, 3_000, 1)
}

/// The same with another window, and with the text of each entry of lore so many times.
fn scene_with(rules: &Ruleset, window: i64, times: usize) -> Scene {
    let mut file: toml::Table = toml::from_str(&read("scene.toml")).unwrap();
    file["scene"]["context"]["window"] = window.into();
    let mut scene = Scene { seed: "0".into(), ..Scene::default() };
    let lines: Vec<Json> = read("chat.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let brought = |json: &Json| import_document(rules, None, json).unwrap().scene;
    scene.merge(brought(&serde_json::from_str(&read("card.json")).unwrap()));
    scene.merge(brought(&json!({ "lines": lines })));
    let mut lore: Json = serde_json::from_str(&read("lore.json")).unwrap();
    for entry in lore["entries"].as_object_mut().unwrap().values_mut() {
        entry["content"] = json!(entry["content"].as_str().unwrap().repeat(times));
    }
    let lore = brought(&lore);
    let mut books = lore.get("books").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default();
    books.extend(lore.get("book").cloned());
    assert_eq!(books.len(), 1);
    scene.set("books", Value::list(books));
    scene.merge(Value::from(&serde_json::to_value(&file["scene"]).unwrap()));
    scene.set("names", Value::from(&json!({ "user": file["persona"].as_str(), "char": "Oda" })));
    scene.set("now", Value::text(file["now"].as_str().unwrap()));
    scene
}

/// The scene of a turn: the chat up to what the user has just written, and what earlier turns have stored.
fn turn(whole: &Scene, n: usize, state: &Value) -> Scene {
    let history = whole.get("history");
    let messages = &history.as_list().unwrap()[..2 * n + 1];
    let mut scene = whole.clone();
    scene.set("history", Value::list(messages.to_vec()));
    scene.set("chat", Value::from(&json!({ "length": messages.len() })));
    scene.set("turn_count", Value::Int(i64::try_from(n + 1).unwrap()));
    scene.set("state", state.clone());
    scene
}

/// Builds all turns, and shows each plan with its turn.
fn play(rules: &Ruleset, whole: &Scene, mut see: impl FnMut(usize, &Plan)) {
    assert_eq!(whole.get("history").as_list().unwrap().len(), 2 * TURNS - 1);
    let mut state = Value::map(tapster::model::Map::default());
    for n in 0..TURNS {
        let plan = build(rules, &turn(whole, n, &state)).unwrap_or_else(|e| panic!("turn {n}: {e}"));
        assert_eq!(plan.warnings, [], "turn {n}");
        state = plan.patch.clone().over(state);
        see(n, &plan);
    }
}

/// Tokens that are an unchanged beginning, and all tokens, of the plans and of the payloads.
#[derive(Default)]
struct Shares {
    plans: (u64, u64),
    payloads: (u64, u64),
    /// Requests that kept less than half.
    broken: usize,
}

impl Shares {
    fn percent((same, all): (u64, u64)) -> u64 {
        100 * same / all
    }
}

fn shares(rules: &Ruleset, whole: &Scene) -> Shares {
    let mut shares = Shares::default();
    let mut last: Option<(Plan, Json)> = None;
    play(rules, whole, |_, plan| {
        let payload = emit(rules, plan, "openai").unwrap().payload;
        let (previous, sent) = last.take().unwrap_or_default();
        let (a, b) =
            (unchanged(rules, plan, &previous.blocks).unwrap(), unchanged_payload(rules, plan, "openai", &payload, &sent).unwrap());
        shares.plans = (shares.plans.0 + a.tokens, shares.plans.1 + a.total);
        shares.payloads = (shares.payloads.0 + b.tokens, shares.payloads.1 + b.total);
        shares.broken += usize::from(a.tokens < a.total / 2);
        last = Some((plan.clone(), payload));
    });
    shares
}

fn shown(name: &str, shares: &Shares) {
    println!(
        "{name}: {} % of all request tokens are an unchanged beginning (of the payloads' texts {} %); {} of {TURNS} requests keep less than half; {} tokens per request",
        Shares::percent(shares.plans),
        Shares::percent(shares.payloads),
        shares.broken,
        shares.plans.1 / 200
    );
}

#[test]
fn most_of_each_request_is_as_it_was() {
    let (default, friendly) = (shares(rules(false), &scene(rules(false))), shares(rules(true), &scene(rules(true))));
    shown("sillytavern-exact", &default);
    shown("with cache.toml", &friendly);
    assert!(Shares::percent(friendly.plans) >= 80 && Shares::percent(friendly.payloads) >= 80);
    assert!(Shares::percent(default.plans) < 5, "the default has become friendly too: say so in the example");
}

/// The same chat in a window of 8,000 tokens, with entries of lore of 300 tokens: where they stand below the chat, they are paid
/// for each turn. With the wish that lore stays where it was first called up, they are paid for once.
#[test]
fn lore_that_stays_is_paid_for_once() {
    let frozen = frozen();
    let (below, stays) = (shares(rules(true), &scene_with(rules(true), 8_000, 10)), shares(&frozen, &scene_with(&frozen, 8_000, 10)));
    shown("with cache.toml", &below);
    shown("and lore that stays", &stays);
    assert!(Shares::percent(stays.plans) >= 95 && Shares::percent(stays.payloads) >= 95);
    assert!(Shares::percent(below.plans) < Shares::percent(stays.plans));
}

/// Lore that a line wakes, the note and the line itself are sent each turn, and the prompt fits.
#[test]
fn nothing_is_kept_from_the_model() {
    let lore = ["orchard", "ferry", "archive", "kiln", "bell tower"].map(|key| {
        let book: Json = serde_json::from_str(&read("lore.json")).unwrap();
        let entries = book["entries"].as_object().unwrap().clone();
        let entry = entries.values().find(|e| e["comment"] == key).unwrap();
        (key, entry["content"].as_str().unwrap().to_owned())
    });
    for rules in [rules(true), &frozen()] {
        let mut woken = [0; 5];
        play(rules, &scene(rules), |n, plan| {
            let sent: Vec<String> = plan.blocks.iter().filter(|b| b.enabled()).map(|b| b.text("text")).collect();
            let line = plan.blocks.iter().rfind(|b| b.text("role") == "user").unwrap().text("text");
            assert!(sent.contains(&line), "turn {n}");
            assert!(sent.iter().any(|t| t.contains("It is winter; everyone is cold")), "turn {n}: the note");
            for ((key, text), count) in lore.iter().zip(&mut woken) {
                if line.contains(key) {
                    assert!(sent.iter().any(|t| t.contains(text.as_str())), "turn {n}: lore of `{key}`");
                    *count += 1;
                }
            }
            let report = plan.trim_report.as_ref().unwrap();
            assert!(report.final_tokens <= report.budget_tokens, "turn {n}");
        });
        assert!(woken.iter().all(|n| *n >= 20), "{woken:?}");
    }
}

/// A plan of some turn with a trace, and the blocks of the turn before.
fn two(rules: &Ruleset, n: usize, change: impl Fn(&mut Scene, bool)) -> (Plan, Plan) {
    let whole = scene(rules);
    let empty = Value::map(tapster::model::Map::default());
    let mut earlier = turn(&whole, n - 1, &empty);
    change(&mut earlier, false);
    let earlier = build(rules, &earlier).unwrap();
    let mut later = Scene { trace: true, ..turn(&whole, n, &earlier.patch) };
    change(&mut later, true);
    (earlier, build(rules, &later).unwrap())
}

#[test]
fn who_broke_it_is_named() {
    let (default, friendly) = (rules(false), rules(true));
    let compared = |plan: &Plan, previous: &[PlanBlock]| unchanged(default, plan, previous).unwrap();
    // lore in front of the character
    let (earlier, later) = two(default, 5, |_, _| {});
    let differs = compared(&later, &earlier.blocks).differs.unwrap();
    assert_eq!((differs.id.as_str(), differs.what), ("world_info_before", "changed"));
    assert_eq!((differs.pass.as_deref(), differs.from.as_deref()), (Some("pinned/blocks"), Some("$lore.before")));
    // a macro in the main prompt, which the overlay moves below the history
    let clock = |scene: &mut Scene, late: bool| {
        scene.set("preset.main", Value::text("It is {{time}}. Write on."));
        scene.set("now", Value::text(if late { "2026-01-10T13:00:00Z" } else { "2026-01-10T12:00:00Z" }));
    };
    let (earlier, later) = two(default, 3, clock);
    let found = compared(&later, &earlier.blocks);
    let differs = found.differs.unwrap();
    assert_eq!(
        (differs.id.as_str(), differs.by_macro.as_deref(), differs.pass.as_deref()),
        ("main_prompt", Some("time"), Some("pinned/expand"))
    );
    assert!(found.tokens > 0 && found.blocks == 0, "{} tokens", found.tokens);
    let (earlier, later) = two(friendly, 3, clock);
    assert!(compared(&later, &earlier.blocks).blocks > 5);
    // the oldest message is trimmed, and the note stands deeper
    let alone = |scene: &mut Scene, _: bool| scene.set("books", Value::list(Vec::new()));
    let (earlier, later) = two(default, 150, alone);
    let differs = compared(&later, &earlier.blocks).differs.unwrap();
    assert_eq!((differs.what, differs.pass.as_deref()), ("gone", Some("admission/history")));
    let (earlier, later) = two(default, 9, alone);
    let differs = compared(&later, &earlier.blocks).differs.unwrap();
    assert_eq!((differs.id.as_str(), differs.what, differs.pass.as_deref()), ("2_floating_prompt", "moved", Some("inject/in_chat")));
    // nothing
    assert_eq!(compared(&later, &later.blocks).differs, None);
}

/// A payload is read in the provider's order, not in that of its keys: Google reads the system text before the chat.
#[test]
fn a_payload_is_read_in_the_providers_order() {
    let rules = &*BASE;
    let plan = Plan { scene: Value::from(&json!({ "context": { "tokenizer": "words" } })), ..Plan::default() };
    let payload = |system: &str, chat: &str| {
        let block = |role: &str, text: &str| PlanBlock {
            fields: Value::from(&json!({ "role": role, "text": text })),
            tokens: 0,
            history: Vec::new(),
        };
        let plan = Plan { blocks: vec![block("system", system), block("user", chat)], ..plan.clone() };
        emit(rules, &plan, "google").unwrap().payload
    };
    let before = payload("one two", "three four");
    let found = |now: &Json| unchanged_payload(rules, &plan, "google", now, &before).unwrap();
    let (chat, system) = (found(&payload("one two", "three five")), found(&payload("one three", "three four")));
    assert_eq!(chat.differs.map(|d| d.id).as_deref(), Some("contents.0.parts.0.text"));
    assert_eq!(system.differs.map(|d| d.id).as_deref(), Some("systemInstruction.parts.0.text"));
    assert!(chat.tokens > system.tokens && system.tokens <= 2, "{} {}", chat.tokens, system.tokens);
    assert_eq!(found(&before).differs, None);
}

/// What a provider reads of a message is said by the pack: a field becomes part of the request by one line.
#[test]
fn what_is_sent_is_declared() {
    let block = |mood: &str| PlanBlock {
        fields: Value::from(&json!({ "role": "user", "text": "Hi", "meta": { "mood": mood } })),
        tokens: 0,
        history: Vec::new(),
    };
    let plan = Plan { blocks: vec![block("calm")], ..Plan::default() };
    let differs = |rules: &Ruleset| unchanged(rules, &plan, &[block("angry")]).unwrap().differs.is_some();
    assert!(!differs(&BASE));
    let overlay = "kind = \"overlay\"\nversion = 1\nfield = [{ name = \"message/meta.mood\", type = \"text\", sent = true }]\n";
    assert!(differs(&Ruleset::open_with("base", &[("mood.toml", overlay)]).unwrap()));
}
