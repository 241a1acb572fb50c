//! The chat-completion dialects of `base`: what each sends for one chat with a picture, a call and a beginning.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use tapster::model::Block;
use tapster::{Plan, Ruleset, Value, emit};

static BASE: LazyLock<Ruleset> = LazyLock::new(|| Ruleset::open_with("base", &[]).unwrap_or_else(|e| panic!("{e}")));

fn sent(dialect: &str, scene: &Json, messages: &Json) -> (Json, Json) {
    let block = |m: &Json| Block { fields: Value::from(m), tokens: 0.0, history: Vec::new() };
    let blocks = messages.as_array().unwrap().iter().map(block).collect();
    let plan = Plan { blocks, scene: Value::from(scene), ..Default::default() };
    let emitted = emit(&BASE, &plan, dialect).unwrap_or_else(|e| panic!("{dialect}: {e}"));
    (emitted.payload, emitted.request)
}

fn call() -> Json {
    json!({ "id": "c1", "type": "function", "function": { "name": "roll", "arguments": "{}" } })
}

/// A picture, a call with its thought and result, as a build leaves them.
fn chat() -> Json {
    json!([
        { "role": "system", "text": "Main" },
        { "role": "user", "text": "Look", "parts": [{ "type": "text", "text": "Look" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } }] },
        { "role": "assistant", "text": "Rolling.", "meta": { "tool_calls": [call()], "reasoning": "dice", "signature": "S" } },
        { "role": "tool", "text": "4", "meta": { "tool_call_id": "c1" } },
        { "role": "assistant", "text": "So," },
    ])
}

#[test]
fn responses_are_items() {
    let scene = json!({
        "provider": { "model": "gpt-5", "reasoning_effort": "low", "tools": [{ "type": "function", "function": { "name": "roll" } }] },
        "context": { "reserve": 9 },
    });
    let (payload, request) = sent("openai-responses", &scene, &chat());
    assert_eq!(request["url"], "https://api.openai.com/v1/responses");
    assert_eq!(
        payload,
        json!({
            "model": "gpt-5",
            "input": [
                { "role": "system", "content": [{ "type": "input_text", "text": "Main" }] },
                { "role": "user", "content": [{ "type": "input_text", "text": "Look" }, { "type": "input_image", "image_url": "data:image/png;base64,AA==" }] },
                { "role": "assistant", "content": [{ "type": "output_text", "text": "Rolling." }] },
                { "type": "function_call", "call_id": "c1", "name": "roll", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c1", "output": "4" },
                { "role": "assistant", "content": [{ "type": "output_text", "text": "So," }] },
            ],
            "max_output_tokens": 9,
            "reasoning": { "effort": "low" },
            "tools": [{ "type": "function", "name": "roll" }],
        })
    );
}

#[test]
fn deepseek_takes_texts_and_goes_on_with_an_answer() {
    let (payload, request) = sent("deepseek", &json!({ "provider": { "model": "deepseek-chat" } }), &chat());
    assert_eq!(request["url"], "https://api.deepseek.com/beta/chat/completions");
    assert_eq!(
        payload["messages"],
        json!([
            { "role": "system", "content": "Main" },
            { "role": "user", "content": "Look" },
            { "role": "assistant", "content": "Rolling.", "tool_calls": [call()], "reasoning_content": "dice" },
            { "role": "tool", "content": "4", "tool_call_id": "c1" },
            { "role": "assistant", "content": "So,", "prefix": true },
        ])
    );
    let (_, request) = sent("deepseek", &json!({}), &json!([{ "role": "user", "text": "Hi" }]));
    assert_eq!(request["url"], "https://api.deepseek.com/chat/completions");
}

#[test]
fn openrouter_marks_thoughts_and_cached_prefixes() {
    let scene = json!({ "provider": { "model": "anthropic/claude-sonnet-4.5", "cache_system": true } });
    let mut chat = chat();
    chat.as_array_mut().unwrap().push(json!({ "role": "user", "text": "Go on", "meta": { "cache": true } }));
    let (payload, _) = sent("openrouter", &scene, &chat);
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(payload["messages"][0]["content"], json!([{ "type": "text", "text": "Main", "cache_control": mark }]));
    assert_eq!(payload["messages"][5]["content"], json!([{ "type": "text", "text": "Go on", "cache_control": mark }]));
    let details = json!([{ "index": 0, "id": "signature-0", "type": "reasoning.encrypted", "data": "S", "format": "anthropic-claude-v1" }]);
    assert_eq!(payload["messages"][2]["reasoning_details"], details);
    assert_eq!(payload["messages"][3], json!({ "role": "tool", "content": "4", "tool_call_id": "c1" }));

    let (payload, _) = sent("openrouter", &json!({ "provider": { "model": "x/y", "cache_system": true } }), &chat);
    assert_eq!(payload["messages"][0]["content"], "Main");
}

/// What no provider would take neither fails nor grows.
#[test]
fn odd_messages_pass() {
    let odd = json!([
        { "role": "narrator", "text": "?" },
        { "role": "tool", "text": "no call" },
        { "role": "assistant", "meta": { "tool_calls": [{ "id": 3 }, "x"] } },
        { "role": "user", "parts": [{ "type": "image_url" }, 7, { "type": "audio_url", "audio_url": { "url": "data:" } }] },
    ]);
    for dialect in ["openai", "openai-responses", "deepseek", "openrouter"] {
        let list = if dialect == "openai-responses" { "input" } else { "messages" };
        for messages in [&odd, &json!([])] {
            let (payload, _) = sent(dialect, &json!({ "provider": { "model": "google/gemini-3-pro", "cache_system": true } }), messages);
            assert!(messages == &json!([]) || payload[list].as_array().is_some_and(|l| !l.is_empty()), "{dialect}: {payload}");
        }
    }
}
