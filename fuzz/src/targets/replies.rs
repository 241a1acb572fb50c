//! Replies of providers: whole ones and streams, in every dialect of `base`.

use std::sync::{Arc, LazyLock};

use serde_json::json;
use tapster::reading::{Assembler, Reading, Tree};
use tapster::run::sse::Splitter;

use super::packs::shipped;
use super::{Shape, Target, Verdict};

static READINGS: LazyLock<Vec<Arc<Reading>>> = LazyLock::new(|| {
    let rules = shipped("base");
    let readings = rules.readings();
    readings.dialects().filter_map(|dialect| readings.get(dialect).cloned()).collect()
});

pub(super) const REPLY: Target = Target {
    name: "reply",
    door: "replies of providers, whole and streamed, in all dialects",
    shape: Shape::Bytes,
    words: &[
        "data: ",
        "event: ",
        "\n\n",
        "[DONE]",
        ": ",
        "\r\n",
        "id: 1\n",
        "\"choices\"",
        "\"delta\"",
        "\"content\"",
        "\"tool_calls\"",
        "\"index\"",
        "\"function\"",
        "\"arguments\"",
        "\"finish_reason\"",
        "\"usage\"",
        "\"error\"",
        "\"candidates\"",
        "\"parts\"",
        "\"text\"",
        "\"thought\"",
        "\"content_block_delta\"",
        "\"input_json_delta\"",
        "\"partial_json\"",
        "\"response.output_text.delta\"",
        "\"output\"",
        "null",
        "[",
        "{",
        "}",
        "]",
        "4294967295",
        "\\u0000",
    ],
    longest: 8 << 10,
    fixed: 5_000,
    seeds: || {
        let call = json!([{ "index": 0, "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"at\":\"sea\"}" } }]);
        let whole = json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Well.", "reasoning_content": "Hm.", "tool_calls": call }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 3 } });
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": "We", "tool_calls": call }, "finish_reason": null }] });
        let claude = json!({ "type": "message", "role": "assistant", "content": [{ "type": "thinking", "thinking": "Hm.", "signature": "s" }, { "type": "text", "text": "Well." }, { "type": "tool_use", "id": "c", "name": "look", "input": {} }], "stop_reason": "end_turn", "usage": { "input_tokens": 1 } });
        let block = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{\"a\"" } });
        let google = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Well.", "thought": true }, { "functionCall": { "name": "look", "args": {} } }] }, "finishReason": "STOP" }], "usageMetadata": { "totalTokenCount": 3 } });
        let answers = json!({ "object": "response", "status": "completed", "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "Well." }] }, { "type": "function_call", "call_id": "c", "name": "look", "arguments": "{}" }], "usage": {} });
        let error = json!({ "error": { "message": "no", "type": "overloaded_error", "code": 529 } });
        let stream = |events: &[&serde_json::Value]| {
            events
                .iter()
                .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message")))
                .collect::<String>()
        };
        let streams = [
            stream(&[&delta, &delta, &whole]) + "data: [DONE]\n\n",
            stream(&[&block, &block]),
            stream(&[&google, &google]),
            stream(&[&error]),
        ];
        [whole, claude, google, answers, error].iter().map(ToString::to_string).chain(streams).map(String::into_bytes).collect()
    },
    run: |input| {
        let mut anything = false;
        let mut splitter = Splitter::new(4 << 20);
        let mut events = Vec::new();
        let mut cut = input.chunks(7).all(|part| splitter.push(part, &mut events).is_ok());
        splitter.end(&mut events);
        for reading in READINGS.iter() {
            if let Ok(tree) = Tree::parse(input) {
                let mut whole = Assembler::new(reading);
                whole.whole(&tree);
                anything |= whole.has_anything();
                let _ = (whole.refused(), whole.finish());
            }
            let mut streamed = Assembler::new(reading);
            for event in &events {
                if streamed.is_end(&event.data) {
                    break;
                }
                if let Ok(tree) = Tree::parse(event.data.as_bytes()) {
                    streamed.event(&event.name, &tree, &mut |_| {});
                }
                cut &= !streamed.is_over();
            }
            anything |= streamed.has_anything();
            let _ = streamed.finish();
        }
        Verdict::of(anything && cut)
    },
};
