//! Laws that hold for any input: what is read lazily gives what reading everything gives; a smaller budget never adds
//! a message; the same input gives the same bytes; hostile scenes never panic.

#![expect(clippy::panic, clippy::indexing_slicing, reason = "helpers of tests may panic")]

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;
use tapster::machinery::text::work::BudgetScope;
use tapster::{Plan, Ruleset, Scene, build, emit};

use crate::support::{EXACT, SILLYTAVERN, text_rows};

/// A pass that looks at every block makes the whole history be read, and changes nothing.
const WHOLE: &str = "kind = \"overlay\"\nversion = 1\nname = \"whole\"\n\
    [[pass]]\nname = \"pinned/whole\"\ndo = \"order\"\nlist = \"blocks\"\nby = [\"index\"]\nafter = \"history\"\n";

fn open(pack: &str, overlays: &[(&str, &str)]) -> Ruleset {
    Ruleset::open_with(pack, overlays).unwrap_or_else(|e| panic!("{e}"))
}

static LAZY: LazyLock<Vec<Ruleset>> = LazyLock::new(|| vec![SILLYTAVERN.clone(), EXACT.clone()]);
static EAGER: LazyLock<Vec<Ruleset>> =
    LazyLock::new(|| vec![open("sillytavern", &[("whole.toml", WHOLE)]), open("sillytavern-exact", &[("whole.toml", WHOLE)])]);

/// Conditions on blocks of all kinds that can be answered without being worked out.
static CONDITIONS: LazyLock<Vec<String>> = LazyLock::new(|| text_rows(include_str!("laws.json"), "conditions"));

/// Each condition as it is, and behind two `not`s, where nothing can be known of it beforehand.
static ASKING: LazyLock<Ruleset> = LazyLock::new(|| {
    let mut rules = "kind = \"overlay\"\nversion = 1\nname = \"asking\"\n[[program]]\nname = \"asking\"\nover = \"blocks\"\n".to_owned();
    for (n, condition) in CONDITIONS.iter().enumerate() {
        let query = |condition: &str| format!("{{ of = \"blocks\", off = true, where = {condition}, get = \"@id\" }}");
        let (plain, twice) = (query(condition), query(&format!("{{ not = {{ not = {condition} }} }}")));
        rules +=
            &format!("[[pass]]\nname = \"asking/{n}\"\ndo = \"set\"\nset = {{ \"$plain.c{n}\" = {plain}, \"$twice.c{n}\" = {twice} }}\n");
    }
    open("sillytavern", &[("asking.toml", &rules)])
});

prop_compose! {
    /// A block with any of the fields that conditions ask about; some hold what their type does not allow.
    fn block()(
        protected in prop::option::of(prop::sample::select(vec![json!(true), json!(false), json!(0), json!("yes"), json!("")])),
        removable in prop::option::of(any::<bool>()),
        enabled in prop::option::of(any::<bool>()),
        priority in prop::option::of(prop::sample::select(vec![json!(-1), json!(0), json!(2), json!(3.5), json!("4")])),
        tokens in prop::option::of(-1i32..3),
        bundle in prop::option::of(prop::sample::select(vec![json!("a"), json!("ab"), json!(""), json!(1), json!([])])),
        flag in prop::option::of(any::<bool>()),
        aside in any::<bool>(),
    ) -> Json {
        let mut block = json!({});
        for (name, value) in [("protected", protected), ("priority", priority), ("bundle", bundle),
            ("tokens", tokens.map(Json::from)), ("removable", removable.map(Json::from)), ("enabled", enabled.map(Json::from))] {
            if let Some(value) = value { block[name] = value; }
        }
        if let Some(flag) = flag { block["meta"] = json!({ "flag": flag }); }
        if aside { block["no field of any row"] = true.into(); }
        block
    }
}

fn words(n: usize) -> String {
    vec!["word"; n].join(" ")
}

prop_compose! {
    fn message()(user in any::<bool>(), n in 0usize..40, bundle in prop::option::of(0u8..4), name in any::<bool>()) -> Json {
        let mut m = json!({"role": if user { "user" } else { "assistant" }, "text": words(n)});
        if let Some(b) = bundle { m["bundle"] = format!("b{b}").into(); }
        if name { m["name"] = "Vex".into(); }
        m
    }
}

prop_compose! {
    fn scene()(
        history in prop::collection::vec(message(), 40..120),
        window in 20u32..4000,
        depth in 0u32..60,
        kind in prop::sample::select(vec!["normal", "continue", "impersonate", "quiet", "swipe"]),
        prefill in any::<bool>(),
        bundles in any::<bool>(),
    ) -> Json {
        let mut history = history;
        for (n, m) in history.iter_mut().enumerate() {
            m["id"] = format!("h{n}").into();
            // bundles of a chat are neighbours: a tool call and its results
            m["bundle"] = if bundles && n % 7 < 3 { format!("t{}", n / 7).into() } else { Json::Null };
        }
        json!({
            "type": kind,
            "names": {"user": "Alex", "char": "Vex"},
            "card": {"description": "A thief.", "mes_example": "<START>\nAlex: hi\nVex: yo"},
            "preset": {"main": "Write {{char}}.", "continue_prefill": prefill, "continue_nudge": "[Go on]", "new_chat": "[Start]"},
            "quiet_prompt": "Summarise.",
            "context": {"window": window, "reserve": 10, "tokenizer": "words"},
            "injections": [{"id": "a", "content": "note", "position": "in_chat", "depth": depth}],
            "history": history,
        })
    }
}

fn texts(plan: &Plan) -> Vec<Json> {
    plan.messages().iter().map(tapster::Value::to_json).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_history_read_lazily_gives_what_reading_all_of_it_gives(data in scene()) {
        for (lazy, eager) in LAZY.iter().zip(EAGER.iter()) {
            let scene = Scene::new(&data);
            match (build(lazy, &scene), build(eager, &scene)) {
                (Ok(a), Ok(b)) => prop_assert_eq!(texts(&a), texts(&b)),
                (Err(a), Err(b)) => prop_assert_eq!(a.kind(), b.kind()),
                (a, b) => prop_assert!(false, "one built, one did not: {:?} / {:?}", a.map(|p| texts(&p)), b.map(|p| texts(&p))),
            }
        }
    }

    #[test]
    fn a_smaller_budget_never_adds_a_message(data in scene(), less in 1u32..400) {
        let rules = &LAZY[0];
        let large = build(rules, &Scene::new(&data));
        let mut small = data.clone();
        small["context"]["window"] = (data["context"]["window"].as_u64().unwrap_or(0).saturating_sub(u64::from(less))).into();
        if let (Ok(large), Ok(small)) = (large, build(rules, &Scene::new(&small))) {
            let (large, small) = (texts(&large), texts(&small));
            prop_assert!(small.len() <= large.len());
            let mut rest = large.iter();
            prop_assert!(small.iter().all(|m| rest.any(|l| l == m)), "what is kept of a smaller prompt is in the larger, in order");
        }
    }

    #[test]
    fn what_a_condition_needs_does_not_change_what_it_chooses(blocks in prop::collection::vec(block(), 33..60)) {
        let mut blocks = blocks;
        for (n, block) in blocks.iter_mut().enumerate() {
            block["id"] = format!("b{n}").into();
        }
        let outcome = tapster::run(&ASKING, "asking", &Scene::new(&json!({})), &[("blocks", blocks.into())]).unwrap();
        let (plain, twice) = (outcome.get("plain").to_json(), outcome.get("twice").to_json());
        for (n, condition) in CONDITIONS.iter().enumerate() {
            let name = format!("c{n}");
            prop_assert!(plain[&name].is_array(), "{}", condition);
            prop_assert_eq!(&plain[&name], &twice[&name], "{}", condition);
        }
    }

    #[test]
    fn the_same_scene_gives_the_same_bytes(data in scene()) {
        let scene = Scene::new(&data);
        if let (Ok(a), Ok(b)) = (build(&LAZY[1], &scene), build(&LAZY[1], &scene)) {
            prop_assert_eq!(emit(&LAZY[1], &a, "openai").ok().map(|e| e.payload.to_string()), emit(&LAZY[1], &b, "openai").ok().map(|e| e.payload.to_string()));
        }
    }

    #[test]
    fn the_budget_is_respected(data in scene()) {
        if let Ok(plan) = build(&LAZY[0], &Scene::new(&data)) {
            let spent: u64 = plan.blocks.iter().filter(|b| b.enabled()).map(|b| b.tokens).sum();
            prop_assert!(plan.trim_report.is_some_and(|report| spent <= report.budget_tokens));
        }
    }
}

/// Macros that write or draw are expanded for all messages, oldest first; others only for what is kept.
#[test]
fn effects_make_the_expansion_whole_and_oldest_first() {
    let message = |n: usize| {
        let text = if n == 0 { "{{setvar::mood::calm}}first".to_owned() } else { format!("{} {{{{getvar::mood}}}}", words(20)) };
        json!({"id": format!("h{n}"), "role": "user", "text": text})
    };
    let history: Vec<Json> = (0..200).map(message).collect();
    let data = json!({"history": history, "preset": {"main": "M"}, "context": {"window": 100, "reserve": 0, "tokenizer": "words"}});
    let plan = build(&LAZY[0], &Scene::new(&data)).unwrap();
    let last = plan.messages().last().unwrap().get("content").unwrap().to_text().to_string();
    assert!(last.ends_with("calm"), "{last}");
}

/// Whatever a pack does to a chat, it does to the end that is sent, and not to the rest.
#[test]
fn a_long_chat_is_read_as_far_as_it_fits() {
    let message =
        |n: usize| json!({"id": format!("h{n}"), "role": if n.is_multiple_of(2) { "assistant" } else { "user" }, "text": words(3)});
    let history: Vec<Json> = (0..300).map(message).collect();
    for pack in LAZY.iter() {
        for kind in ["normal", "continue", "impersonate", "quiet", "swipe", "regenerate"] {
            let data = json!({
                "type": kind, "names": {"user": "Alex", "char": "Vex"}, "history": &history, "quiet_prompt": "Sum up.",
                "context": {"window": 300, "reserve": 100, "tokenizer": "words"},
                "injections": [{"id": "a", "content": "note", "position": "in_chat", "depth": 2}],
            });
            let plan = build(pack, &Scene::new(&data)).unwrap_or_else(|e| panic!("{e}"));
            assert!(plan.blocks.len() < 100, "{kind}: {} blocks", plan.blocks.len());
        }
    }
}

/// Values of the wrong type anywhere in a scene are best effort, never a panic.
#[test]
fn hostile_scenes_do_not_panic() {
    let data: serde_json::Value = serde_json::from_str(include_str!("laws.json")).unwrap();
    let odd = data["values"].as_array().unwrap();
    let paths = text_rows(include_str!("laws.json"), "paths");
    for rules in LAZY.iter() {
        for path in &paths {
            for value in odd {
                let mut scene = Scene::new(
                    &json!({"history": [{"role": "user", "text": "x"}], "preset": {"main": "m"}, "context": {"window": 500, "tokenizer": "words"}}),
                );
                scene.set(path, tapster::Value::from(value));
                let _ = build(rules, &scene).map(|plan| emit(rules, &plan, "openai"));
            }
        }
    }
}

/// What a build of the exact pack costs depends on the window and not on the chat, whatever a preset asks for.
#[test]
fn a_long_chat_is_not_read() {
    let message = |n: usize| {
        let user = n.is_multiple_of(2);
        json!({"id": format!("h{n}"), "role": if user { "user" } else { "assistant" }, "name": if user { "Alex" } else { "Vex" },
               "text": words(20), "is_system": n % 50 == 7, "meta": {"reasoning": "hm"}})
    };
    let history: Vec<Json> = (0..5000).map(message).collect();
    let preset = json!({"main": "M", "names": "completion", "squash": true, "send_if_empty": "Go.", "pin_examples": true, "wrap_in_quotes": true,
                        "continue_nudge": "[Go on]", "new_chat": "[Start]"});
    let data = json!({
        "history": history, "preset": preset, "names": {"user": "Alex", "char": "Vex"}, "input": "And then?",
        "card": {"description": "A thief.", "mes_example": "<START>\nAlex: hi\nVex: yo"},
        "reasoning": {"add_to_prompts": true, "max_additions": 2},
        "provider": {"tools_offered": true},
        "injections": [{"id": "a", "content": "note", "position": "in_chat", "depth": 4}],
        "books": [{"id": "b", "role": "character", "entries": [{"id": "e", "keys": ["word"], "text": "L"}]}],
        "speaker": {"file": "vex", "tags": []},
        "context": {"window": 4000, "reserve": 100, "tokenizer": "words"},
    });
    for kind in ["normal", "continue", "swipe", "regenerate", "quiet", "impersonate"] {
        let mut scene = Scene::new(&data);
        scene.set("type", tapster::Value::text(kind));
        scene.trace = true;
        let plan = build(&LAZY[1], &scene).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let trace = plan.trace.as_ref().unwrap_or_else(|| panic!("{kind}: no trace"));
        assert!(trace.read_whole.iter().all(|(_, n)| *n < 500), "{kind}: {:?}", trace.read_whole);
        let unread: usize = plan.evicted().iter().filter_map(|r| r.unread).sum();
        assert!(unread > 4500, "{kind}: only {unread} are unread");
    }
}

/// What is read of a chat is put into its place at once. Message by message, each would move all that were read before it, and
/// would pay for them.
#[test]
fn each_message_that_is_read_far_back_costs_the_same() {
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"id": format!("h{n}"), "role": role, "name": if role == "user" { "Alex" } else { "Vex" }, "text": "abc"})
    };
    let data = json!({
        "history": (0..20_500).map(message).collect::<Vec<Json>>(), "preset": {"main": "M"}, "names": {"user": "Alex", "char": "Vex"},
        "input": "And then?", "card": {"description": "A thief."}, "speaker": {"file": "vex", "tags": []},
        "context": {"window": 300, "reserve": 100, "tokenizer": "words"},
    });
    let whole = Scene::new(&data);
    let steps = |path: &str, asks: &Json| {
        let mut scene = whole.clone();
        scene.set(path, tapster::Value::from(asks));
        scene.trace = true;
        let door = BudgetScope::join();
        let plan = build(&LAZY[1], &scene).unwrap_or_else(|e| panic!("{path}: {e}"));
        let (steps, _) = door.spent();
        let trace = plan.trace.as_ref().unwrap_or_else(|| panic!("{path}: no trace"));
        assert!(trace.read_whole.iter().all(|(_, n)| *n < 20_000), "{path}: {:?}", trace.read_whole);
        steps
    };
    let note = |depth: usize| json!([{"id": "a", "content": "note", "position": "in_chat", "depth": depth}]);
    let entry = |depth: usize| json!({"id": "e", "keys": ["zzz"], "text": "L", "scan_depth": depth});
    let book = |depth: usize| json!([{"id": "b", "role": "character", "entries": [entry(depth)]}]);
    let nothing = steps("injections", &json!([]));
    for (path, near, far) in [("injections", note(2_500), note(10_000)), ("books", book(2_500), book(10_000))] {
        let (near, far) = (steps(path, &near).saturating_sub(nothing), steps(path, &far).saturating_sub(nothing));
        assert!(far > near * 2, "{path}: nothing is read that far back: {near} and {far} steps");
        assert!(far < near * 6, "{path}: {near} and {far} steps");
    }
}
