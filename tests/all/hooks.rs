//! Hooks of the embedding program and of a pack, scripts as passes, and what a trace tells of them.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::{HookView, Ruleset, Scene, Value};

use crate::support;
use crate::support::{SILLYTAVERN, shipped};

/// A pack over `base` with a script `mine.rhai` and a rule file of kind `hooks`.
fn pack(script: &str, rules: &str) -> Ruleset {
    let rules = format!("kind = \"hooks\"\nversion = 1\n{rules}");
    support::pack_over_base("[limits]\nscript_operations = 20_000\n", &[("scripts/mine.rhai", script), ("hooks.toml", &rules)]).unwrap()
}

fn chat() -> Scene {
    Scene::new(&json!({
        "card": { "description": "A tower." },
        "history": [{ "id": "h1", "role": "user", "text": "Hi" }],
        "context": { "tokenizer": "words" },
    }))
}

fn texts(plan: &tapster::Plan) -> Vec<String> {
    plan.messages().iter().map(|m| m.get("content").unwrap().to_text().to_string()).collect()
}

#[test]
fn a_hook_before_changes_inputs_and_one_behind_changes_blocks() {
    let scene = chat()
        .hook("after_build", "last", |view: &mut HookView<'_>| view.add_block(usize::MAX, Value::from(&json!({ "text": "{{char}}" }))))
        .hook("before_build", "first", |view: &mut HookView<'_>| view.set("card.description", Value::text("A cave.")));
    assert_eq!(texts(&tapster::build(&SILLYTAVERN, &scene).unwrap()), ["A cave.", "Hi", "{{char}}"]);
}

#[test]
fn a_hook_before_sees_no_blocks_and_one_behind_changes_no_inputs() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |key: &'static str| {
        let seen = seen.clone();
        move |view: &mut HookView<'_>| {
            let input = view.set("card.description", Value::text("x")).is_ok();
            let block = view.add_block(0, Value::from(&json!({ "text": "y" }))).is_ok();
            let own = view.set("blocks", Value::list(Vec::new())).is_ok();
            seen.lock().unwrap().push((key, input, block, own, view.blocks().len()));
            Ok(())
        }
    };
    let scene = chat().hook("before_build", "b", note("before")).hook("after_build", "a", note("after"));
    tapster::build(&SILLYTAVERN, &scene).unwrap();
    assert_eq!(*seen.lock().unwrap(), [("before", true, false, false, 0), ("after", false, true, false, 3)]);
}

#[test]
fn a_path_that_nobody_declares_is_an_error_with_a_remedy() {
    let scene = chat().hook("before_build", "typo", |view: &mut HookView<'_>| view.set("turn_coun", Value::Int(1)));
    let error = tapster::build(&SILLYTAVERN, &scene).unwrap_err();
    assert_eq!((error.kind().as_str(), error.stage.as_deref()), ("pipeline", Some("hooks")));
    assert!(error.message.contains("typo") && error.message.contains("turn_count"), "{}", error.message);
}

#[test]
fn a_hook_of_the_application_that_fails_ends_every_build() {
    for pack in ["base", "sillytavern"] {
        let scene = chat().hook("after_build", "h", |_: &mut HookView<'_>| Err("boom".into()));
        let error = tapster::build(shipped(pack), &scene).unwrap_err();
        assert_eq!((error.kind().as_str(), error.stage.as_deref()), ("pipeline", Some("hooks")), "{pack}: {error}");
    }
}

#[test]
fn strict_stops_at_the_first_warning() {
    let ran = Arc::new(AtomicU32::new(0));
    let count = ran.clone();
    let mut scene = chat()
        .hook("before_build", "warns", |view: &mut HookView<'_>| {
            view.warn("odd card");
            Ok(())
        })
        .hook("before_build", "later", move |_: &mut HookView<'_>| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
    scene.strict = true;
    let error = tapster::build(&SILLYTAVERN, &scene).unwrap_err();
    assert_eq!((error.kind().as_str(), error.stage.as_deref()), ("strict_mode", Some("hooks")));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

/// W4-DEBUG-04: a payload is worked out only for a trace.
#[test]
fn what_is_noted_for_the_trace_is_worked_out_only_for_a_trace() {
    let count = Arc::new(AtomicU32::new(0));
    for (trace, wanted) in [(false, 0), (true, 1)] {
        let made = count.clone();
        let mut scene = chat().hook("before_build", "h", move |view: &mut HookView<'_>| {
            view.instrument("dear", || Value::Int(i64::from(made.fetch_add(1, Ordering::Relaxed))));
            Ok(())
        });
        scene.trace = trace;
        let plan = tapster::build(&SILLYTAVERN, &scene).unwrap();
        assert_eq!(count.load(Ordering::Relaxed), wanted);
        let noted = plan.trace.map(|t| t.stats.iter().any(|s| s.stage == "hooks" && s.name == "dear"));
        assert_eq!(noted, trace.then_some(true));
    }
}

const HOOKS: &str = r#"
[[hook]]
name = "shorten"
event = "before_build"
run = "mine.rhai::shorten"
[[hook]]
name = "sign"
event = "after_build"
run = "mine.rhai::sign"
when = { type = "normal" }
"#;

const SCRIPT: &str = r#"
fn shorten(blocks, scene) {
    #{ set: #{ "card.description": scene.card.description.sub_string(0, 3) }, warnings: ["shortened"] }
}
fn sign(blocks, scene) {
    blocks.push(#{ role: "system", text: "signed" });
    blocks
}
fn backwards(items, scene) {
    items.reverse();
    #{ items: items, set: #{ "lore.before": "from " + scene.card.name } }
}
fn endless(items, scene) {
    loop {}
}
"#;

#[test]
fn a_pack_has_hooks_in_scripts() {
    let plan = tapster::build(&pack(SCRIPT, HOOKS), &chat()).unwrap();
    assert_eq!(texts(&plan), ["A t", "Hi", "signed"]);
    assert_eq!(plan.warnings.iter().map(|w| (w.code.as_str(), w.message.as_str())).collect::<Vec<_>>(), [("script.warned", "shortened")]);
    let mut quiet = chat();
    quiet.set("type", Value::text("quiet"));
    assert_eq!(texts(&tapster::build(&pack(SCRIPT, HOOKS), &quiet).unwrap()), ["A t", "Hi"]);
}

#[test]
fn a_failing_hook_of_a_pack_is_what_the_pack_says() {
    let endless = |failing: &str| format!("[[hook]]\nname = \"h\"\nevent = \"before_build\"\nrun = \"mine.rhai::endless\"\n{failing}");
    let plan = tapster::build(&pack(SCRIPT, &endless("")), &chat()).unwrap();
    assert!(plan.warnings.iter().any(|w| w.code == "filter.failed" && w.message.contains("too many steps")), "{:?}", plan.warnings);
    let error = tapster::build(&pack(SCRIPT, &endless("failing = \"error\"")), &chat()).unwrap_err();
    assert_eq!((error.kind().as_str(), error.stage.as_deref()), ("pipeline", Some("hooks")));
}

#[test]
fn a_pass_may_be_a_script() {
    let rules = pack(
        SCRIPT,
        "[[program]]\nname = \"turned\"\nover = \"blocks\"\n[[pass]]\nname = \"turned/round\"\ndo = \"run\"\nscript = \"mine.rhai::backwards\"\n",
    );
    let scene = Scene::new(&json!({ "card": { "name": "Vex" } }));
    let out = tapster::run(&rules, "turned", &scene, &[("blocks", json!([{ "id": "a" }, { "id": "b" }]))]).unwrap();
    let ids: Json = out.list("blocks").iter().map(|b| b.get("id").unwrap().to_json()).collect();
    assert_eq!((ids, out.get("lore.before").to_json()), (json!(["b", "a"]), json!("from Vex")));
}

#[test]
fn an_event_ends_with_the_program_that_has_it() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let order = order.clone();
        move |_: &mut HookView<'_>| {
            order.lock().unwrap().push(name);
            Ok(())
        }
    };
    let overlay = "kind = \"overlay\"\nversion = 1\n[[pass]]\nname = \"pinned/mine\"\ndo = \"run\"\nevent = \"pinned\"\nbefore = \"text\"\n\
                   [[pass]]\nname = \"build/late\"\ndo = \"run\"\nevent = \"late\"\nafter = \"pinned_groups\"\n";
    let rules = Ruleset::open_with("base", &[("o.toml", overlay)]).unwrap();
    let scene = chat()
        .hook("after_build", "5", note("after build"))
        .hook("before_late", "3", note("before late"))
        .hook("after_pinned", "2", note("after pinned"))
        .hook("before_pinned", "1", note("before pinned"));
    tapster::build(&rules, &scene).unwrap();
    assert_eq!(*order.lock().unwrap(), ["before pinned", "after pinned", "before late", "after build"]);
}

#[test]
fn a_trace_has_stages_and_hooks_in_order() {
    let mut scene = chat().hook("after_build", "a", |_: &mut HookView<'_>| Ok(()));
    scene.trace = true;
    let steps = serde_json::to_value(tapster::build(&SILLYTAVERN, &scene).unwrap().trace.unwrap().steps).unwrap();
    let steps = steps.as_array().unwrap();
    assert_eq!((steps.first(), steps.last()), (Some(&json!({ "stage": "hooks" })), Some(&json!({ "hook": "a" }))));
}

#[test]
fn a_trace_tells_what_hooks_changed() {
    let mut scene = chat()
        .hook("before_build", "first", |view: &mut HookView<'_>| view.set("card.description", Value::text("A cave.")))
        .hook("after_build", "last", |view: &mut HookView<'_>| {
            view.set_block(1, "text", Value::text("Hello"))?;
            view.set_block(1, "role", Value::text("assistant"))?;
            view.remove_block(0)?;
            view.add_block(usize::MAX, Value::from(&json!({ "text": "End" })))
        });
    let plain = tapster::build(&SILLYTAVERN, &scene).unwrap();
    scene.trace = true;
    let traced = tapster::build(&SILLYTAVERN, &scene).unwrap();
    assert_eq!(texts(&plain), texts(&traced));
    let trace = traced.trace.unwrap();
    let hook = |change: &tapster::model::plan::TracedChange| change.hook.clone().unwrap_or_default();
    let told: Vec<_> = trace
        .changes
        .iter()
        .map(|c| format!("{} {} {}{}: {} → {}", hook(c), c.did, c.list, c.path, c.was.to_text(), c.is.to_text()))
        .collect();
    let expected = [
        "first set card.description: A tower. → A cave.",
        "last set blocksrole: user → assistant",
        "last made blocks:  → End",
        "last dropped blocks: A cave. → ",
    ];
    assert_eq!(told, expected);
    let rewritten: Vec<_> = trace.rewrites.iter().map(|r| (&*r.script, &*r.before, &*r.after)).collect();
    assert_eq!(rewritten.last(), Some(&("last", "Hi", "Hello")));
    let gone = trace.elsewhere.iter().find(|item| {
        item.gone.as_ref().is_some_and(|gone| gone.did == "dropped") && item.fields.get("text") == Some(&Value::text("A cave."))
    });
    assert_eq!(gone.map(|item| item.list.as_str()), Some("blocks"));
}

/// Items without an id are told apart by their order, those aside that came back as they were.
#[test]
fn items_that_a_script_changes_keep_their_history() {
    let script = "fn turned(items, scene) {\n    let last = items.pop();\n    items.insert(0, last);\n    for n in 0..items.len() { if items[n].text == \"b\" { items[n].text += \"!\"; } }\n    items\n}\n";
    let pass = "[[pass]]\nname = \"build/turned\"\ndo = \"run\"\nscript = \"mine.rhai::turned\"\nafter = \"macro_expansion\"\n";
    let message = |text: &str| json!({ "role": "user", "text": text });
    let mut scene = Scene::new(&json!({ "history": [message("a"), message("b"), message("c")] }));
    scene.trace = true;
    let plan = tapster::build(&pack(script, pass), &scene).unwrap();
    let first = |block: &tapster::model::PlanBlock| block.history.first().map(|event| (event.pass.clone(), event.did));
    let mut told: Vec<_> = plan.blocks.iter().map(|b| (b.text("text"), b.history.iter().any(|e| &*e.pass == "build/turned"))).collect();
    told.sort();
    assert_eq!(told, [("a".to_owned(), false), ("b!".to_owned(), true), ("c".to_owned(), false)]);
    assert_eq!(plan.blocks.iter().map(first).collect::<std::collections::HashSet<_>>().len(), 1, "{:#?}", plan.blocks);
}

/// What a script prints is listed in the trace of its own build, and in no later one.
#[test]
fn printed_lines_are_in_the_trace() {
    let rules = pack(
        "fn says(blocks, scene) { print(\"seen\"); }\n",
        "[[hook]]\nname = \"h\"\nevent = \"after_build\"\nrun = \"mine.rhai::says\"\n",
    );
    let printed = |trace: bool| {
        let mut scene = chat();
        scene.trace = trace;
        let trace = tapster::build(&rules, &scene).unwrap().trace;
        let stats = trace.map(|t| t.stats).unwrap_or_default();
        stats.into_iter().filter(|s| s.name == "print").map(|s| s.value.to_json()).collect::<Vec<_>>()
    };
    assert_eq!(printed(true), [json!("seen")]);
    assert_eq!(printed(false), [] as [Json; 0]);
    assert_eq!(printed(true), [json!("seen")]);
}
