//! Sessions: turns over a store, what they commit, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::pin::Pin;

use serde_json::{Value as Json, json};
use tapster::artifact::WriteRefusal;
use tapster::{Ruleset, Scene};
use tapster_session::store::{Home, ListPage, Moment, SessionStore, block_on};
use tapster_session::{Model, ModelError, NoModel, OperationRequest, Session, SessionError};

use crate::store::bed::Bed;

/// Everything of a listing.
const ALL: ListPage = ListPage { after: 0, limit: 1000 };

/// The same answer to every request.
struct Says(&'static str);

impl Model for Says {
    fn ask<'a>(&'a self, _: &'a OperationRequest) -> Pin<Box<dyn Future<Output = Result<String, ModelError>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(self.0.to_owned())))
    }
}

/// An artifact that an operation writes after each reply.
const KEEPER: &str = r#"
kind = "overlay"
version = 1
name = "keeper"
[[artifact]]
name = "world"
tag = "world"
kind = "state"
content_type = "json"
writer = "keeper"
visibility = "prompt_and_ui"
surface = "panel:world"
inclusion = { mode = "append_after_last_user" }
retention = { mode = "windowed", versions = 3 }
[[operation]]
name = "keeper"
kind = "llm"
hooks = ["after"]
output_mode = "json"
artifact = "world"
prompt = "{{ art.world.value | json }}"
"#;

fn home(session: &str) -> Home {
    Home { owner: "o".into(), session: session.into() }
}

fn at(turn: i64) -> Moment {
    Moment { now: turn * 1000, turn }
}

fn scene(message: &str) -> Scene {
    Scene::new(&json!({
        "names": { "user": "Bo", "char": "Ann" },
        "preset": { "main": "Be Ann." },
        "history": [{ "role": "user", "text": message }],
    }))
}

fn rules(overlay: &str) -> Ruleset {
    Ruleset::open_with("talespinner", &[("overlay.toml", overlay)]).unwrap()
}

#[test]
fn a_turn_commits_artifacts_that_the_next_prompt_includes() {
    for bed in Bed::each() {
        let session = Session::new(&bed.store, rules(KEEPER), home("turns"));
        let turn = block_on(session.begin(&scene("Hi."), at(1), &NoModel)).unwrap();
        assert_eq!(block_on(session.artifacts(at(1))).unwrap(), [], "a turn that is not finished changes nothing");
        let done = block_on(session.finish(turn, "Hello.", &Says(r#"{"hour": 9}"#))).unwrap();
        assert_eq!((done.reply.as_str(), done.written.as_slice()), ("Hello.", [("world".to_owned(), 1)].as_slice()));

        let next = block_on(session.begin(&scene("Again."), at(2), &NoModel)).unwrap();
        let messages: Vec<Json> = next.plan.messages().iter().map(tapster::Value::to_json).collect();
        assert_eq!(messages.last().unwrap()["content"], r#"{"hour":9}"#);

        let log = block_on(session.log(ALL)).unwrap();
        let turns: Vec<&Json> = log.iter().map(|logged| &logged.record).filter(|record| record["op"] == "turn").collect();
        let writes: Vec<&Json> = log.iter().map(|logged| &logged.record).filter(|record| record["op"] == "write").collect();
        assert_eq!((turns.len(), writes.len()), (1, 1));
        assert_eq!((&writes[0]["operation"], &writes[0]["diff"]["added"]), (&json!("keeper"), &json!([""])));
    }
}

#[test]
fn of_two_turns_from_one_version_the_later_is_refused_as_a_whole() {
    for bed in Bed::each() {
        let session = Session::new(&bed.store, rules(KEEPER), home("race"));
        let first = block_on(session.begin(&scene("Hi."), at(1), &NoModel)).unwrap();
        let second = block_on(session.begin(&scene("Hi."), at(1), &NoModel)).unwrap();
        block_on(session.finish(first, "A", &Says(r#"{"hour": 1}"#))).unwrap();
        let refused = block_on(session.finish(second, "B", &Says(r#"{"hour": 2}"#))).unwrap_err();
        let SessionError::Refused { tag, refusal, .. } = &refused else { unreachable!("{refused}") };
        assert_eq!((tag.as_str(), refusal), ("world", &WriteRefusal::Conflict(Some(1))));
        assert_eq!(block_on(session.artifacts(at(1))).unwrap()[0].value, json!({ "hour": 1 }));
        let log = block_on(session.log(ALL)).unwrap();
        assert_eq!(log.last().unwrap().record["error"], "artifact_conflict");
    }
}

#[test]
fn what_macros_write_is_there_in_the_next_turn() {
    let bed = Bed::sqlite();
    let session = Session::new(&bed.store, rules("kind = \"overlay\"\nversion = 1\nname = \"none\"\n"), home("vars"));
    let turn = block_on(session.begin(&scene("{{setvar::mood::calm}}Hi."), at(1), &NoModel)).unwrap();
    block_on(session.finish(turn, "Hello.", &NoModel)).unwrap();
    let next = block_on(session.begin(&scene("{{getvar::mood}}"), at(2), &NoModel)).unwrap();
    let last = next.plan.messages().last().unwrap().to_json();
    assert_eq!(last["content"], "calm");
}

#[test]
fn a_write_to_a_foreign_tag_is_refused_and_logged() {
    let bed = Bed::sqlite();
    let session = Session::new(&bed.store, rules(KEEPER), home("foreign"));
    for (writer, tag, value, refusal) in [
        ("stranger", "world", json!({}), WriteRefusal::ForeignTag),
        ("keeper", "ghost", json!({}), WriteRefusal::UndeclaredTag),
        ("keeper", "../../etc", json!({}), WriteRefusal::UndeclaredTag),
        ("keeper", "'; DROP TABLE artifact; --", json!({}), WriteRefusal::UndeclaredTag),
    ] {
        let refused = block_on(session.write(writer, tag, None, value, at(1))).unwrap_err();
        assert!(matches!(refused, SessionError::Refused { refusal: ref why, .. } if *why == refusal), "{tag}: {refused}");
    }
    let log = block_on(session.log(ALL)).unwrap();
    assert_eq!(log.iter().filter(|logged| logged.record["op"] == "write_rejected").count(), 4);
    assert_eq!(block_on(bed.store.view(&home("foreign"), at(1), &[], 0)).unwrap(), []);
}

#[test]
fn a_model_that_fails_is_told_to_the_operation() {
    let bed = Bed::sqlite();
    let session = Session::new(&bed.store, rules(KEEPER), home("fails"));
    let turn = block_on(session.begin(&scene("Hi."), at(1), &NoModel)).unwrap();
    let done = block_on(session.finish(turn, "Hello.", &NoModel)).unwrap();
    assert_eq!(done.written, []);
    assert!(done.run.to_string().contains("error"), "{}", done.run);
}

/// An operation that rewrites the reply and shows an item beside it.
const LOUD: &str = r#"
kind = "overlay"
version = 1
name = "loud"
[[operation]]
name = "loud"
kind = "template"
hooks = ["after"]
template = "{{ messages.last.content | upcase }}"
[[effect]]
name = "loud/reply"
operation = "loud"
type = "turn_rewrite"
target = "reply"
[[effect]]
name = "loud/shown"
operation = "loud"
type = "ui_inline"
role = "assistant"
"#;

#[test]
fn what_operations_make_behind_the_reply_comes_back() {
    let bed = Bed::sqlite();
    let session = Session::new(&bed.store, rules(LOUD), home("loud"));
    let turn = block_on(session.begin(&scene("Hi."), at(1), &NoModel)).unwrap();
    let done = block_on(session.finish(turn, "Hello.", &NoModel)).unwrap();
    assert_eq!((done.reply.as_str(), done.inline.len()), ("HELLO.", 1));
    let log = block_on(session.log(ALL)).unwrap();
    assert_eq!(log.last().unwrap().record["rewritten"]["reply"], "HELLO.");
}

/// What the scene says of the state is seen by both halves of a turn, and is not stored.
#[test]
fn the_scene_wins_over_the_store_in_both_halves() {
    let counting = r#"
kind = "overlay"
version = 1
name = "counting"
[[state]]
name = "case_given"
type = "integer"
[[state]]
name = "case_seen"
type = "text"
[[pass]]
name = "after_reply/case_seen"
do = "set"
set = { "$state.case_seen" = "{{$state.case_given}}" }
"#;
    let bed = Bed::sqlite();
    let session = Session::new(&bed.store, rules(counting), home("given"));
    let mut scene = scene("Hi.");
    scene.set("state", tapster::Value::from(&json!({ "case_given": 5 })));
    let turn = block_on(session.begin(&scene, at(1), &NoModel)).unwrap();
    block_on(session.finish(turn, "Hello.", &NoModel)).unwrap();
    let state = block_on(bed.store.state(&home("given"))).unwrap().unwrap().value;
    assert_eq!((&state["case_seen"], &state["case_given"]), (&json!("5"), &Json::Null));
}

#[test]
fn a_feed_shows_as_many_values_as_its_row_asks_for() {
    let feed = |most: u32| {
        format!(
            "kind = \"overlay\"\nversion = 1\nname = \"feed\"\n[[writer]]\nname = \"w\"\n[[artifact]]\nname = \"f\"\ntag = \"f\"\nwriter = \"w\"\n\
             visibility = \"ui_only\"\nsurface = \"feed:f\"\nretention = {{ mode = \"durable\" }}\n\
             presentation = {{ mode = \"timeline\", max_items = {most} }}\n"
        )
    };
    let bed = Bed::sqlite();
    let session = Session::new(&bed.store, rules(&feed(150)), home("feed"));
    for n in 0..150 {
        let based_on = (n > 0).then_some(n);
        block_on(session.write("w", "f", based_on, json!(n.to_string()), at(1))).unwrap();
    }
    let shown = |session: &Session<'_>| json!(block_on(session.projections(at(1))).unwrap())[0]["items"].as_array().unwrap().len();
    assert_eq!(shown(&session), 150);
    assert_eq!(shown(&Session::new(&bed.store, rules(&feed(7)), home("feed"))), 7);
}
