//! The door: each file of `tests/door` is a conversation, whose responses are compared, asked of a [`Door`] and of
//! `tapster serve --stdio`. `UPDATE=1 cargo test --test all door::` writes the responses anew; read them before you keep them.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tapster_door::Door;

use crate::support::tapster_with;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The conversations: the calls with their responses.
fn conversations() -> BTreeMap<PathBuf, Json> {
    let files = std::fs::read_dir(root().join("tests/door")).unwrap().map(|file| file.unwrap().path());
    files.map(|path| (path.clone(), serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap())).collect()
}

fn calls(conversation: &Json) -> &[Json] {
    conversation["calls"].as_array().unwrap()
}

#[test]
fn conversations_have_their_responses() {
    for (path, mut conversation) in conversations() {
        let door = Door::default();
        let responses: Vec<Json> = calls(&conversation).iter().map(|call| door.call(&call["request"])).collect();
        if std::env::var_os("UPDATE").is_some() {
            for (call, response) in conversation["calls"].as_array_mut().unwrap().iter_mut().zip(&responses) {
                call["response"] = response.clone();
            }
            std::fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&conversation).unwrap())).unwrap();
        }
        for (call, response) in calls(&conversation).iter().zip(&responses) {
            assert_eq!(response.to_string(), call["response"].to_string(), "{}: {}", path.display(), call["request"]);
        }
    }
}

#[test]
fn stdio_gives_the_same_bytes() {
    for (path, conversation) in conversations() {
        let lines: String = calls(&conversation).iter().map(|call| format!("{}\n", call["request"])).collect();
        let (exit, out, err) = tapster_with(&["serve", "--stdio"], lines.as_bytes(), &|_| None);
        assert_eq!((exit, err.as_str()), (0, ""), "{}", path.display());
        let wanted: String = calls(&conversation).iter().map(|call| format!("{}\n", call["response"])).collect();
        assert_eq!(out, wanted, "{}", path.display());
    }
}

#[test]
fn every_call_is_tried() {
    let schema = tapster_door::schema();
    let known = schema["oneOf"].as_array().unwrap().iter().map(|call| call["properties"]["call"]["const"].as_str().unwrap().to_owned());
    let all = conversations();
    let asked: Vec<&str> = all.values().flat_map(calls).filter_map(|call| call["request"]["call"].as_str()).collect();
    let untried: Vec<String> = known.filter(|call| !asked.contains(&call.as_str())).collect();
    assert!(untried.is_empty(), "no file of tests/door has {untried:?}");
}

#[test]
fn requests_fit_the_schema_and_the_schema_is_up_to_date() {
    let path = root().join("schemas/door.v1.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&tapster_door::schema()).unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == now, "`schemas/door.v1.json` is old; run this test with UPDATE=1");
    let schema = jsonschema::validator_for(&tapster_door::schema()).unwrap();
    for call in conversations().values().flat_map(calls) {
        let mut request = call["request"].clone();
        if let Some(request) = request.as_object_mut() {
            request.remove("id");
        }
        let is_read = call["response"]["ok"] == true;
        assert!(!is_read || schema.is_valid(&request), "{request}");
    }
}

#[test]
fn packs_of_folders_are_read_again_when_they_are_opened_again() {
    let folder = crate::support::Folder::new("door-folders");
    let pack = |about: &str| {
        format!("kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\nabout = \"{about}\"\n")
    };
    folder.write("mine/pack.toml", pack("one"));
    let overlay = |text: &str| format!("kind = \"overlay\"\nversion = 1\n[preset]\nmain = \"{text}\"\n");
    folder.write("mine/preset.toml", overlay("One."));
    let door = Door::new(vec![folder.path("")], None);
    let main = || {
        let opened = door.call(&json!({ "call": "open", "pack": "mine" }));
        let built = door.call(&json!({ "call": "build", "rules": opened["result"]["rules"], "scene": { "message": "Hi." } }));
        built["result"]["payload"]["messages"][0]["content"].clone()
    };
    assert_eq!(main(), "One.");
    folder.write("mine/preset.toml", overlay("Two."));
    assert_eq!(main(), "Two.");
}

#[test]
fn a_door_answers_several_threads() {
    let door = Door::default();
    let opened = door.call(&json!({ "call": "open", "pack": "base" }));
    let request = json!({ "call": "build", "rules": opened["result"]["rules"], "scene": { "message": "Hi." } });
    let wanted = door.call(&request);
    assert_eq!(wanted["ok"], true);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(door.call(&request), wanted)));
        }
    });
}

#[test]
fn long_calls_tell_how_far_they_are() {
    let cases = |name: &str| json!({ "name": name, "text": "kind = \"case\"\nversion = 2\npack = \"base\"\n[[case]]\nname = \"a\"\nexpand = [\"{{user}}\"]\nexpect = { texts = [\"User\"] }\n" });
    let mut events = Vec::new();
    let request = json!({ "call": "test", "cases": [cases("one.toml"), cases("two.toml")] });
    Door::default().call_with_events(&request, &mut |event| events.push(event));
    assert_eq!(events, [json!({ "event": "progress", "done": 1, "of": 2 }), json!({ "event": "progress", "done": 2, "of": 2 })]);
}
