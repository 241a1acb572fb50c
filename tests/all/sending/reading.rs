//! Replies in every dialect of base, whole and streamed, read by its rows.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Ruleset, Value, emit};
use tapster_client::sse::{EventTooLong, Splitter, SseEvent};
use tapster_client::{AuthHeader, Delta};

use crate::sending::scripted::{BASE, Scripted, answered, json_answer, send, stream_answer};
use crate::support::text_rows;

/// The data of events as a stream; a text is data that is not JSON, `event: name` stands in front of it.
fn stream(events: &[Json]) -> String {
    let line = |event: &Json| match event {
        Json::String(text) => format!("{text}\n\n"),
        other => format!("data: {other}\n\n"),
    };
    events.iter().map(line).collect()
}

/// What a whole reply and a stream of the same reply give must be the same, but for what only one of them has.
#[track_caller]
fn both(dialect: &str, whole: &Json, events: &[Json], message: &Json, reasoning: &str, finish: &str) {
    let reply = answered(dialect, false, json_answer(200, whole)).reply();
    assert_eq!((&reply.message, reply.reasoning.as_str(), reply.finish_reason.as_deref()), (message, reasoning, Some(finish)), "whole");
    assert!(!reply.usage.is_null(), "whole");
    let came = answered(dialect, true, stream_answer(&stream(events)));
    assert_eq!(came.text(), message["content"].as_str().unwrap_or_default());
    assert_eq!(came.reasoning(), reasoning);
    let reply = came.reply();
    assert_eq!((&reply.message, reply.reasoning.as_str(), reply.finish_reason.as_deref()), (message, reasoning, Some(finish)), "stream");
    assert!(!reply.usage.is_null(), "stream");
}

fn call(id: &str, name: &str, arguments: &str) -> Json {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

#[test]
fn chat_completions() {
    let calls = json!([call("c1", "look", "{\"at\":\"sea\"}"), call("c2", "go", "{}")]);
    let message = json!({ "role": "assistant", "content": "Well.", "reasoning_content": "Hm, so.", "tool_calls": calls, "refusal": null });
    let usage = json!({ "prompt_tokens": 3 });
    let whole = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }], "usage": usage });
    let delta = |delta: Json| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let piece = |index: u32, call: Json| {
        let mut call = call;
        call["index"] = index.into();
        delta(json!({ "tool_calls": [call] }))
    };
    let events = [
        delta(json!({ "role": "assistant", "content": "", "refusal": null })),
        delta(json!({ "reasoning_content": "Hm, " })),
        delta(json!({ "reasoning_content": "so." })),
        delta(json!({ "content": "We" })),
        json!(": still there"),
        delta(json!({ "content": "ll." })),
        json!({ "choices": [{ "index": 1, "delta": { "content": "Another answer." } }] }),
        piece(0, json!({ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "" } })),
        piece(0, json!({ "function": { "arguments": "{\"at\":" } })),
        piece(1, json!({ "id": "c2", "type": "function", "function": { "name": "go", "arguments": "{}" } })),
        piece(0, json!({ "function": { "arguments": "\"sea\"}" } })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": usage }),
        json!("data: [DONE]"),
    ];
    let mut expected = message;
    expected.as_object_mut().unwrap().shift_remove("refusal");
    expected["refusal"] = Json::Null;
    for dialect in ["openai", "deepseek", "xai", "mistral", "openrouter", "ai21"] {
        both(dialect, &whole, &events, &expected, "Hm, so.", "tool_calls");
    }
}

/// Some servers give every call the index 0 or none at all, and each call in one piece.
#[test]
fn calls_without_a_proper_index() {
    for index in [json!({}), json!({ "index": 0 })] {
        let one = |id: &str| {
            let mut call = call(id, "look", "{}");
            call.as_object_mut().unwrap().extend(index.as_object().unwrap().clone());
            json!({ "choices": [{ "delta": { "tool_calls": [call] } }] })
        };
        let came = answered("openai", true, stream_answer(&stream(&[one("a"), one("b"), json!("data: [DONE]")])));
        assert_eq!(came.reply().message["tool_calls"], json!([call("a", "look", "{}"), call("b", "look", "{}")]));
    }
}

#[test]
fn unknown_fields_of_a_message_are_kept() {
    let message = json!({ "content": null, "role": "assistant", "audio": { "id": "a" }, "x": [1] });
    let reply = answered("openai", false, json_answer(200, &json!({ "choices": [{ "message": message }] }))).reply();
    assert_eq!(reply.message, message);
    assert_eq!((reply.finish_reason, reply.usage), (None, Json::Null));
    let events = [json!({ "choices": [{ "delta": { "audio": { "id": "a" }, "x": [1] }, "finish_reason": "stop" }] })];
    assert_eq!(answered("openai", true, stream_answer(&stream(&events))).reply().message, message);
}

#[test]
fn anthropic() {
    let thought = json!({ "type": "thinking", "thinking": "Hm, so.", "signature": "s1" });
    let hidden = json!({ "type": "redacted_thinking", "data": "xyz" });
    let whole = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use", "usage": { "input_tokens": 3, "output_tokens": 9 },
        "content": [thought, hidden, { "type": "text", "text": "Well." }, { "type": "tool_use", "id": "t1", "name": "look", "input": { "at": "sea" } }],
    });
    let delta = |index: u32, delta: Json| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let start = |index: u32, block: Json| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let events = [
        json!({ "type": "message_start", "message": { "content": [], "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
        start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        json!({ "type": "ping" }),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Hm, " })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "so." })),
        delta(0, json!({ "type": "signature_delta", "signature": "s1" })),
        start(1, hidden.clone()),
        start(2, json!({ "type": "text", "text": "" })),
        delta(2, json!({ "type": "text_delta", "text": "Well." })),
        start(3, json!({ "type": "tool_use", "id": "t1", "name": "look", "input": {} })),
        delta(3, json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(3, json!({ "type": "input_json_delta", "partial_json": "{\"at\":" })),
        delta(3, json!({ "type": "input_json_delta", "partial_json": "\"sea\"}" })),
        json!({ "type": "content_block_stop", "index": 3 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ];
    let calls = json!([call("t1", "look", "{\"at\":\"sea\"}")]);
    let message = json!({ "role": "assistant", "content": "Well.", "reasoning": "Hm, so.", "tool_calls": calls, "reasoning_details": [thought, hidden] });
    both("anthropic", &whole, &events, &message, "Hm, so.", "tool_calls");
    let usage = answered("anthropic", true, stream_answer(&stream(&events))).reply().usage;
    assert_eq!(usage, json!({ "input_tokens": 3, "output_tokens": 9 }));
}

#[test]
fn google() {
    let chunk = |parts: Json| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    let end = json!({ "finishReason": "STOP", "content": { "parts": [{ "text": "", "thoughtSignature": "s2" }] } });
    let call_part = json!({ "functionCall": { "name": "look", "args": { "at": "sea" } }, "thoughtSignature": "s1" });
    let thought = json!({ "text": "Hm, so.", "thought": true });
    let whole = json!({
        "candidates": [{ "finishReason": "STOP", "content": { "parts": [thought, { "text": "Well." }, call_part, { "text": "", "thoughtSignature": "s2" }] } }],
        "usageMetadata": { "promptTokenCount": 3 },
    });
    let events = [
        chunk(json!([{ "text": "Hm, ", "thought": true }])),
        chunk(json!([{ "text": "so.", "thought": true }, { "text": "We" }])),
        chunk(json!([{ "text": "ll." }])),
        chunk(json!([call_part])),
        json!({ "candidates": [end], "usageMetadata": { "promptTokenCount": 3 } }),
    ];
    let mut look = call("", "look", "{\"at\":\"sea\"}");
    look.as_object_mut().unwrap().shift_remove("id");
    look["signature"] = "s1".into();
    let message = json!({ "role": "assistant", "content": "Well.", "reasoning": "Hm, so.", "tool_calls": [look], "signature": "s2" });
    both("google", &whole, &events, &message, "Hm, so.", "stop");
    // a prompt that is refused has no candidates
    let refused = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let reply = answered("google", false, json_answer(200, &refused)).reply();
    assert_eq!(reply.finish_reason.as_deref(), Some("content_filter"));
}

#[test]
fn responses() {
    let thought =
        json!({ "type": "reasoning", "id": "r1", "summary": [{ "type": "summary_text", "text": "Hm, so." }], "encrypted_content": "e" });
    let look = json!({ "type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{\"at\":\"sea\"}" });
    let said = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Well." }] });
    let whole = json!({ "status": "completed", "error": null, "output": [thought, said, look], "usage": { "input_tokens": 3 } });
    let events = [
        json!({ "type": "response.created", "response": { "status": "in_progress" } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "reasoning", "summary": [] } }),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm, so." }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": thought }),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "We" }),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "ll." }),
        json!({ "type": "response.output_text.done", "output_index": 1, "text": "Well." }),
        json!({ "type": "response.output_item.added", "output_index": 2, "item": { "type": "function_call", "call_id": "c1", "name": "look", "arguments": "" } }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"at\":" }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": "\"sea\"}" }),
        json!({ "type": "response.completed", "response": { "status": "completed", "error": null, "usage": { "input_tokens": 3 } } }),
    ];
    let calls = json!([call("c1", "look", "{\"at\":\"sea\"}")]);
    let message =
        json!({ "role": "assistant", "content": "Well.", "reasoning": "Hm, so.", "tool_calls": calls, "reasoning_details": [thought] });
    both("openai-responses", &whole, &events, &message, "Hm, so.", "stop");
    let cut = json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" }, "output": [said] });
    assert_eq!(answered("openai-responses", false, json_answer(200, &cut)).reply().finish_reason.as_deref(), Some("length"));
}

#[test]
fn cohere() {
    let look = call("c1", "look", "{\"at\":\"sea\"}");
    let content = json!([{ "type": "thinking", "thinking": "Hm, so." }, { "type": "text", "text": "Well." }]);
    let whole = json!({ "finish_reason": "TOOL_CALL", "usage": { "tokens": {} }, "message": { "role": "assistant", "content": content, "tool_calls": [look] } });
    let piece = |kind: &str, content: Json| json!({ "type": kind, "index": 0, "delta": { "message": content } });
    let calls = |kind: &str, call: Json| json!({ "type": kind, "index": 0, "delta": { "message": { "tool_calls": call } } });
    let events = [
        json!({ "type": "message-start", "delta": { "message": { "role": "assistant", "content": [] } } }),
        piece("content-start", json!({ "content": { "type": "thinking", "thinking": "Hm, " } })),
        piece("content-delta", json!({ "content": { "thinking": "so." } })),
        piece("content-delta", json!({ "content": { "text": "Well." } })),
        json!({ "type": "content-end", "index": 0 }),
        calls("tool-call-start", call("c1", "look", "")),
        calls("tool-call-delta", json!({ "function": { "arguments": "{\"at\":" } })),
        calls("tool-call-delta", json!({ "function": { "arguments": "\"sea\"}" } })),
        json!({ "type": "message-end", "delta": { "finish_reason": "TOOL_CALL", "usage": { "tokens": {} } } }),
    ];
    let message = json!({ "role": "assistant", "content": "Well.", "reasoning": "Hm, so.", "tool_calls": [look] });
    both("cohere", &whole, &events, &message, "Hm, so.", "tool_calls");
}

#[test]
fn mistral_sends_lists_of_parts() {
    let content = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm, so." }] }, { "type": "text", "text": "Well." }]);
    let whole =
        json!({ "choices": [{ "message": { "role": "assistant", "content": content }, "finish_reason": "model_length" }], "usage": {} });
    let delta = |content: Json, finish: Json| json!({ "choices": [{ "index": 0, "delta": { "content": content }, "finish_reason": finish }], "usage": {} });
    let events = [
        delta(json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm, so." }] }]), Json::Null),
        delta(json!("Well"), Json::Null),
        delta(json!([{ "type": "text", "text": "." }]), json!("model_length")),
        json!("data: [DONE]"),
    ];
    let message = json!({ "role": "assistant", "content": "Well.", "reasoning": "Hm, so." });
    both("mistral", &whole, &events, &message, "Hm, so.", "length");
}

#[test]
fn openrouter_sends_blocks_of_thoughts() {
    let piece = |detail: Json| json!({ "choices": [{ "delta": { "content": "", "reasoning_details": [detail] } }] });
    let events = [
        piece(json!({ "type": "reasoning.text", "index": 0, "text": "Hm, ", "format": "a" })),
        piece(json!({ "type": "reasoning.text", "index": 0, "text": "so." })),
        piece(json!({ "type": "reasoning.text", "index": 0, "signature": "s" })),
        piece(json!({ "type": "reasoning.encrypted", "index": 1, "data": "xyz", "id": "r" })),
        json!({ "choices": [{ "delta": { "content": "Well." }, "finish_reason": "stop" }] }),
    ];
    let message = answered("openrouter", true, stream_answer(&stream(&events))).reply().message;
    let details = json!([
        { "type": "reasoning.text", "index": 0, "format": "a", "text": "Hm, so.", "signature": "s" },
        { "type": "reasoning.encrypted", "index": 1, "id": "r", "data": "xyz" },
    ]);
    assert_eq!(message, json!({ "role": "assistant", "content": "Well.", "reasoning_details": details }));
}

#[test]
fn text_completion() {
    let whole = json!({ "choices": [{ "text": "Well.", "finish_reason": "stop" }], "usage": {} });
    let events = [
        json!({ "choices": [{ "text": "We" }] }),
        json!({ "choices": [{ "text": "ll.", "finish_reason": "stop" }], "usage": {} }),
        json!("data: [DONE]"),
    ];
    both("text", &whole, &events, &json!({ "role": "assistant", "content": "Well." }), "", "stop");
}

/// A provider that only a pack knows.
#[test]
fn a_new_provider() {
    let pack = concat!(env!("CHECKOUT"), "/examples/new-provider/pack");
    let rules = Ruleset::open(pack, &[]).unwrap();
    let whole = json!({ "turn": { "speaker": "kite", "says": "Well." }, "why": "ended", "tokens": { "read": 3 } });
    let reply = send(&rules, Scripted::new([json_answer(200, &whole)]), "kite", false).reply();
    assert_eq!((reply.message, reply.finish_reason.as_deref()), (json!({ "role": "assistant", "content": "Well." }), Some("stop")));
    let body = "event: more\ndata: {\"says\":\"We\"}\n\nevent: other\ndata: {\"says\":\"!\"}\n\nevent: more\ndata: {\"says\":\"ll.\"}\n\nevent: end\ndata: {\"why\":\"ended\"}\n\n";
    let came = send(&rules, Scripted::new([stream_answer(body)]), "kite", true);
    assert_eq!(came.deltas, [Delta::Text("We".into()), Delta::Text("ll.".into())]);
    assert_eq!(came.reply().message, json!({ "role": "assistant", "content": "Well." }));
    let trouble = "event: trouble\ndata: {\"message\":\"full\",\"code\":503}\n\n";
    let error = send(&rules, Scripted::new([stream_answer(trouble)]), "kite", true).error();
    assert_eq!((error.code.as_str(), error.status, error.safe_to_repeat), ("provider_error", Some(503), true));
}

/// Every dialect that base can send in has rows by which its replies are read.
#[test]
fn every_dialect_of_base_can_be_read() {
    let rules = &super::scripted::BASE;
    let unread: Vec<String> = tapster::dialects(rules).into_iter().filter(|d| rules.readings().get(d).is_none()).collect();
    assert!(unread.is_empty(), "{unread:?}");
}

/// Any JSON, of keys and words that replies have.
fn any_reply() -> impl Strategy<Value = Json> {
    let words = text_rows(include_str!("words.json"), "");
    let word = move || prop::sample::select(words.clone());
    let leaf =
        prop_oneof![Just(Json::Null), any::<bool>().prop_map(Json::from), (-1i64..600).prop_map(Json::from), word().prop_map(Json::from)];
    leaf.prop_recursive(7, 60, 5, move |inner| {
        let fields = prop::collection::vec((word(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Json::from),
            fields.prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever a provider sends, it is a reply or an error, and texts are as they were told.
    #[test]
    fn no_json_is_too_strange(events in prop::collection::vec(any_reply(), 1..4), dialect in 0usize..16) {
        let dialects: Vec<&str> = super::scripted::BASE.readings().dialects().collect();
        let dialect = dialects[dialect % dialects.len()];
        let whole = answered(dialect, false, json_answer(200, &events[0]));
        prop_assert!(whole.deltas.is_empty());
        let came = answered(dialect, true, stream_answer(&stream(&events)));
        let told = came.text();
        if let Ok(reply) = came.result
            && !told.is_empty()
        {
            prop_assert_eq!(reply.message["content"].as_str(), Some(told.as_str()));
        }
    }
}

// Events of streams, however their bytes are cut.

fn split(parts: &[&[u8]], most: usize) -> Result<Vec<SseEvent>, EventTooLong> {
    let (mut splitter, mut events) = (Splitter::new(most), Vec::new());
    for part in parts {
        splitter.push(part, &mut events)?;
    }
    splitter.end(&mut events);
    Ok(events)
}

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent { name: name.to_owned(), data: data.to_owned() }
}

/// A stream with everything that the standard allows.
const STREAM: &str = "\u{feff}: a comment\r\ndata: one\r\n\r\nevent: more\rdata:two\rdata:  three\r\rdata\n\nid: 7\nretry: 10\n\nevent: lost\n\ndata: Grüße – \u{1f980}\n\ndata: [DONE]\n\n";

fn expected() -> Vec<SseEvent> {
    vec![event("", "one"), event("more", "two\n three"), event("", ""), event("", "Grüße – 🦀"), event("", "[DONE]")]
}

#[test]
fn line_ends_comments_and_several_lines_of_data() {
    assert_eq!(split(&[STREAM.as_bytes()], 100), Ok(expected()));
}

#[test]
fn cut_at_every_byte() {
    let bytes = STREAM.as_bytes();
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(split(&[a, b], 100), Ok(expected()), "cut at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(split(&single, 100), Ok(expected()));
}

#[test]
fn an_event_without_its_empty_line_is_given_at_the_end() {
    assert_eq!(split(&[b"data: a\n\ndata: b"], 100), Ok(vec![event("", "a"), event("", "b")]));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(split(&[b"data: a\xffb\n\n"], 100), Ok(vec![event("", "a\u{fffd}b")]));
}

#[test]
fn events_that_are_too_long_are_refused() {
    let line = format!("data: {}\n\n", "x".repeat(90));
    assert!(split(&[line.as_bytes()], 100).is_ok());
    assert_eq!(split(&[line.as_bytes()], 90), Err(EventTooLong));
    // also without any line end, and as many short lines of one event
    assert_eq!(split(&[&[b'x'; 200]], 100), Err(EventTooLong));
    assert_eq!(split(&[b"data: 12345\n".repeat(30).as_slice()], 100), Err(EventTooLong));
    // many events are no long event
    assert!(split(&[b"data: 12345\n\n".repeat(30).as_slice()], 100).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_in_any_parts_give_the_same_events(bytes in prop::collection::vec(prop_oneof![
        Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(b'a'), Just(b't'), any::<u8>()
    ], 0..200), cuts in prop::collection::vec(0usize..200, 0..5)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut from = 0;
        for cut in cuts { parts.push(&bytes[from..cut]); from = cut; }
        parts.push(&bytes[from..]);
        prop_assert_eq!(split(&parts, 10_000), split(&[&bytes], 10_000));
    }
}

// Our wire formats against those of the vendors' SDKs, as `tests/sdk/run.sh` has recorded them: what an SDK sends for a
// call is what our dialect sends, and what its parser reads in a reply is what our rows read.

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
