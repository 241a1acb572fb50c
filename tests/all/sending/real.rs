//! A real inference server, by hand: `TAPSTER_REAL_URL=http://127.0.0.1:8080/v1 cargo test --test all sending::real --
//! --nocapture`, for example with llama.cpp and a small model. Without the variable there is nothing to do.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Value, emit};
use tapster_client::{Delta, Http, HttpOptions, PromptRunner};

use super::scripted::{BASE, config, request};

fn asked(dialect: &str, url: &str, stream: bool, messages: &Json, more: &Json) -> String {
    let mut provider = json!({ "model": "m", "url": url, "stream": stream, "temperature": 0 });
    provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let scene = json!({ "provider": provider, "context": { "reserve": 24 } });
    let blocks = messages.as_array().unwrap().iter().map(|m| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() });
    let plan = Plan { blocks: blocks.collect(), scene: Value::from(&scene), ..Default::default() };
    let emitted = emit(&BASE, &plan, dialect).unwrap_or_else(|e| panic!("{e}"));
    let mut request = request(dialect, emitted.request["url"].as_str().unwrap_or(url), stream);
    request.outgoing.body = emitted.payload;
    let (config, mut pieces, mut text) = (config(&BASE), 0, String::new());
    let runner = PromptRunner::new(Arc::new(Http::new(HttpOptions::default()).unwrap()));
    let mut hear = |delta: &Delta| {
        pieces += 1;
        if let Delta::Text(more) = delta {
            text.push_str(more);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(runner.send(&config, &request, &mut hear)) {
        Ok(reply) => {
            // the pieces of a stream are the message
            assert!(!stream || reply.message["content"].as_str().unwrap_or_default() == text, "{text}");
            format!("{} | finish {:?} | usage {} | {pieces} pieces", reply.message, reply.finish_reason, reply.usage)
        }
        Err(e) => format!("error: {e}"),
    }
}

#[test]
fn a_real_server() {
    let Ok(url) = std::env::var("TAPSTER_REAL_URL") else {
        eprintln!("skipped: TAPSTER_REAL_URL names no server");
        return;
    };
    let chat = json!([{ "role": "system", "text": "Be brief." }, { "role": "user", "text": "Name a colour. Grüße!" }]);
    let long = json!([{ "role": "user", "text": "word ".repeat(50_000) }]);
    let tool = json!({ "tools": [{ "type": "function", "function": { "name": "look", "description": "Looks.", "parameters": { "type": "object" } } }] });
    let schema = json!({ "json_schema": { "name": "colour", "value": { "type": "object", "properties": { "colour": { "type": "string" } }, "required": ["colour"] } } });
    let text = format!("{url}/completions");
    let mut said = Vec::new();
    for (what, dialect, url, messages, more) in [
        ("chat", "openai", url.as_str(), &chat, &json!({})),
        ("tools", "openai", &url, &chat, &tool),
        ("a JSON schema", "openai", &url, &chat, &schema),
        ("text", "text", &text, &chat, &json!({})),
        ("chat", "openai-responses", &url, &chat, &json!({})),
        ("chat", "anthropic", &url, &chat, &json!({})),
        ("a prompt that is too long", "openai", &url, &long, &json!({})),
    ] {
        for stream in [false, true] {
            let came = asked(dialect, url, stream, messages, more);
            println!("{dialect}, {what}, stream {stream}: {}", came.chars().take(600).collect::<String>());
            said.push(came);
        }
    }
    assert!(said.iter().take(2).all(|came| !came.starts_with("error")), "a plain chat works");
}
