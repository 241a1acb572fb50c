//! Our wire formats against those of the vendors' SDKs, as `tests/sdk/run.sh` has recorded them: what an SDK sends for a
//! call is what our dialect sends, and what its parser reads in a reply is what our rows read.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Value, emit};
use tapster_client::AuthHeader;

use super::scripted::{BASE, answered, json_answer, stream_answer};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CHECKOUT")).join("tests/sdk").join(name)
}

fn file(path: PathBuf) -> Json {
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

/// The cases with what the SDK sent and read.
fn cases() -> Vec<(String, Json, Json)> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder("cases")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(!names.is_empty());
    names.into_iter().map(|name| (name.clone(), file(folder("cases").join(&name)), file(folder("recorded").join(&name)))).collect()
}

/// The places at which two documents differ, with what stands there.
fn differences(at: &str, ours: &Json, theirs: &Json, found: &mut Vec<String>, places: &mut Vec<String>) {
    let keys: Vec<String> = match (ours, theirs) {
        (Json::Object(a), Json::Object(b)) => a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).cloned().collect(),
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => (0..a.len()).map(|n| n.to_string()).collect(),
        _ if ours == theirs => return,
        _ => {
            places.push(at.to_owned());
            return found.push(format!("{at}: {ours} instead of {theirs}"));
        }
    };
    let inner = |of: &Json, key: &str| match of {
        Json::Array(list) => list[key.parse::<usize>().unwrap()].clone(),
        other => other[key].clone(),
    };
    for key in keys {
        differences(&format!("{at}/{key}"), &inner(ours, &key), &inner(theirs, &key), found, places);
    }
}

#[test]
fn what_is_sent() {
    let mut wrong = Vec::new();
    for (name, case, recorded) in cases() {
        let dialect = case["dialect"].as_str().unwrap();
        for stream in [false, true] {
            let mut scene = case["scene"].clone();
            if stream {
                scene["provider"]["stream"] = true.into();
            }
            let block = |m: &Json| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() };
            let blocks = case["messages"].as_array().unwrap().iter().map(block).collect();
            let plan = Plan { blocks, scene: Value::from(&scene), ..Default::default() };
            let emitted = emit(&BASE, &plan, dialect).unwrap_or_else(|e| panic!("{name}: {e}"));
            let sent = &recorded[if stream { "stream" } else { "whole" }]["sent"];
            // the same path behind the provider's address, and the same version of the API
            let url = emitted.request["url"].as_str().unwrap();
            assert!(url.ends_with(sent["path"].as_str().unwrap()), "{name}: {url}");
            let ours = json!({ "body": emitted.payload, "version": emitted.request["headers"]["anthropic-version"] });
            let theirs = json!({ "body": sent["body"], "version": sent["headers"]["anthropic-version"] });
            let (mut found, mut places) = (Vec::new(), Vec::new());
            differences("", &ours, &theirs, &mut found, &mut places);
            // each difference is named in the case, with a reason
            let named = case["differences"].as_object().cloned().unwrap_or_default();
            let expected: Vec<&String> = named.keys().collect();
            if places.iter().collect::<Vec<_>>() != expected {
                wrong.push(format!("{name}, stream: {stream}\n  {}", found.join("\n  ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the key goes. Anthropic's documentation says `x-api-key`; its SDK sends the same key as `authorization` too.
#[test]
fn where_the_key_goes() {
    for (name, case, recorded) in cases() {
        let auth = AuthHeader::of(&BASE, case["dialect"].as_str().unwrap()).unwrap();
        if auth.header != "x-api-key" {
            let sent = recorded["whole"]["sent"]["headers"][&auth.header].as_str();
            assert_eq!(sent, Some(format!("{}sk-no-key-at-all", auth.prefix).as_str()), "{name}");
        }
    }
}

#[test]
fn what_is_read() {
    for (name, case, recorded) in cases() {
        let dialect = case["dialect"].as_str().unwrap();
        let lines: Vec<&str> = case["stream"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        let whole = answered(dialect, false, json_answer(200, &case["whole"]));
        let streamed = answered(dialect, true, stream_answer(&(lines.join("\n") + "\n")));
        for (way, came) in [("whole", whole), ("stream", streamed)] {
            let theirs = &recorded[way]["read"];
            let (text, reasoning) = (came.text(), came.reasoning());
            let reply = came.reply();
            assert_eq!(reply.message["content"].as_str().unwrap_or_default(), theirs["text"], "{name} {way}");
            if way == "stream" {
                assert_eq!((text, reasoning), (theirs["text"].as_str().unwrap().to_owned(), reply.reasoning.clone()), "{name}");
            }
            // an SDK that does not gather thoughts has no word for them
            let thoughts = theirs.get("reasoning").or_else(|| case.get("reasoning")).and_then(Json::as_str).unwrap_or_default();
            assert_eq!(reply.reasoning, thoughts, "{name} {way}");
            let call = |call: &Json| {
                let arguments: Json = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
                json!({ "id": call["id"], "name": call["function"]["name"], "arguments": arguments })
            };
            let calls: Vec<Json> = reply.message["tool_calls"].as_array().into_iter().flatten().map(call).collect();
            assert_eq!(json!(calls), theirs["calls"], "{name} {way}");
            if let Some(details) = theirs.get("details").filter(|details| **details != json!([])) {
                assert_eq!(&reply.message["reasoning_details"], details, "{name} {way}");
            }
            assert_eq!(reply.finish_reason.as_deref(), case["finish"].as_str(), "{name} {way}");
            assert_eq!(reply.usage, theirs["usage"], "{name} {way}");
        }
    }
}
