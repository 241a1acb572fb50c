//! The chat-completion dialects of `base`: what each sends for one chat with a picture, a call and a beginning.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Ruleset, Value, emit};

use crate::shipped::BASE;

fn sent(dialect: &str, scene: &Json, messages: &Json) -> (Json, Json) {
    let block = |m: &Json| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() };
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

fn pack(name: &str, overlay: &str) -> Ruleset {
    let text = format!("kind = \"overlay\"\nversion = 1\nname = \"mine\"\n{overlay}\n");
    Ruleset::open_with(name, &[("mine.toml", &text)]).unwrap_or_else(|e| panic!("{overlay}: {e}"))
}

/// The payload of a chat whose answer is begun, and whether lint says that the model does not go on with it.
fn begun(rules: &Ruleset, dialect: &str, provider: &Json) -> (Json, bool) {
    let messages = [json!({ "role": "user", "text": "Hi" }), json!({ "role": "assistant", "slot": "prefill", "text": "Well," })];
    let blocks = messages.iter().map(|m| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() }).collect();
    let scene =
        json!({ "provider": provider, "config": { "mistral": { "enablePrefix": true } }, "plan": { "assistant_prefill": "Well," } });
    let plan = Plan { blocks, scene: Value::from(&scene), ..Default::default() };
    let emitted = emit(rules, &plan, dialect).unwrap_or_else(|e| panic!("{dialect}: {e}"));
    (emitted.payload, emitted.warnings.iter().any(|w| w.code == "lint.prefill"))
}

/// One line of an overlay changes what is sent and what is warned of, in every dialect that begins an answer.
#[test]
fn one_row_changes_payload_and_lint() {
    let rows = [
        ("base", "anthropic", "", "claude-sonnet-4-5", "anthropic/all", true),
        ("base", "anthropic", "", "claude-opus-4-6", "claude/newer", false),
        ("base", "google", "", "gemini-2.5-pro", "google/all", true),
        ("base", "google", "", "gemini-3.7-flash", "gemini/newest_flash", false),
        ("base", "mistral", "", "mistral-large", "mistral/all", true),
        ("base", "deepseek", "", "deepseek-chat", "deepseek/all", true),
        ("base", "openrouter", "", "x/y", "openrouter/all", true),
        ("base", "openrouter", "", "anthropic/claude-opus-4.6", "claude/newer", false),
        ("sillytavern", "anthropic", "", "claude-opus-4-6", "claude/newer", false),
        ("sillytavern-exact", "claude", "claude", "claude-sonnet-4-5", "anthropic/all", true),
        ("sillytavern-exact", "claude", "claude", "claude-opus-4-6", "claude/newer", false),
        ("sillytavern-exact", "google", "makersuite", "gemini-3.7-flash", "gemini/newest_flash", false),
        ("sillytavern-exact", "mistral", "mistralai", "mistral-large", "mistral/all", true),
        ("sillytavern-exact", "deepseek", "deepseek", "deepseek-chat", "deepseek/all", true),
        ("sillytavern-exact", "openai", "moonshot", "kimi-k2", "moonshot/all", true),
    ];
    for (name, dialect, source, model, row, takes) in rows {
        let provider = json!({ "model": model, "source": source, "reasoning_effort": "auto" });
        let one_line = format!("capability = [{{ name = \"{row}\", prefill = {} }}]", !takes);
        let (payload, warned) = begun(&pack(name, ""), dialect, &provider);
        let (changed, warned_then) = begun(&pack(name, &one_line), dialect, &provider);
        assert_eq!((warned, warned_then), (!takes, takes), "{name}, {dialect}, {row}");
        assert_ne!(payload, changed, "{name}, {dialect}, {row}");
    }
}

/// A row of one model stands above the rows of its family, and says nothing of other models.
#[test]
fn a_row_of_an_overlay_is_for_its_model() {
    let rules = pack(
        "base",
        "[[capability]]\nname = \"mine\"\nbefore = \"claude/newer\"\nprovider = \"anthropic\"\nmodel = \"/claude-opus-4-6/\"\nprefill = true",
    );
    assert!(!begun(&rules, "anthropic", &json!({ "model": "claude-opus-4-6" })).1);
    assert!(begun(&rules, "anthropic", &json!({ "model": "claude-opus-4-7" })).1);
    assert!(begun(&rules, "openrouter", &json!({ "model": "anthropic/claude-opus-4-6" })).1);
}

/// The words for how much to think are the same everywhere; rows of `capability` say what each model is sent for them.
#[test]
fn efforts_are_words_of_rows() {
    let rows = [
        ("openai", "gpt-5", "/reasoning_effort", ["none", "minimal", "high"]),
        ("openai-responses", "gpt-5", "/reasoning/effort", ["none", "minimal", "high"]),
        ("openrouter", "x/y", "/reasoning/effort", ["none", "minimal", "xhigh"]),
        ("xai", "grok-3-mini", "/reasoning_effort", ["", "low", "high"]),
        ("anthropic", "claude-opus-4-7", "/output_config/effort", ["", "low", "max"]),
        ("google", "gemini-3-pro-preview", "/generationConfig/thinkingConfig/thinkingLevel", ["low", "low", "high"]),
        ("google", "gemini-2.5-pro", "/generationConfig/thinkingConfig/thinkingBudget", ["128", "128", "1000"]),
    ];
    let said = |payload: &Json, at: &str| match payload.pointer(at) {
        Some(Json::String(word)) => word.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    for (dialect, model, at, expected) in rows {
        let sent = |word: &str| {
            let scene = json!({ "provider": { "model": model, "reasoning_effort": word }, "context": { "reserve": 1000 } });
            said(&sent(dialect, &scene, &json!([{ "role": "user", "text": "Hi" }])).0, at)
        };
        assert_eq!(["none", "min", "max"].map(sent), expected, "{dialect}, {model}");
        assert_eq!(["", "much"].map(sent), ["", ""], "{dialect}, {model}");
    }
    let plain = json!({ "provider": { "model": "gpt-4o", "reasoning_effort": "high" } });
    assert!(sent("openai", &plain, &json!([{ "role": "user", "text": "Hi" }])).0["reasoning_effort"].is_null());
}
