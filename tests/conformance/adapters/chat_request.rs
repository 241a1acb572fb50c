//! Kind `sillytavern-chat-request`: the request that the real program makes of a preset file, up to the provider.
//!
//! The page's part and the server's part are one recording: `preset` is the file, `expected` what left the server.

use serde_json::{Value as Json, json};

use super::{imports, parts, wire};
use crate::case::{Case, Check};
use crate::engine::{self, EXACT};

/// The sources that have a dialect of their own; all others speak chat completions.
const DIALECTS: &[(&str, &str)] = &[
    ("claude", "claude"),
    ("makersuite", "google"),
    ("vertexai", "google"),
    ("mistralai", "mistral"),
    ("cohere", "cohere"),
    ("ai21", "ai21"),
    ("xai", "xai"),
    ("deepseek", "deepseek"),
    ("openrouter", "openrouter"),
];

/// A whole request of a preset: where it goes, and its body.
pub(crate) fn recorded(case: &Case) -> Vec<Check> {
    let source = case.input["preset"]["chat_completion_source"].as_str().unwrap_or("");
    let dialect = DIALECTS.iter().find(|(name, _)| *name == source).map_or("openai", |(_, dialect)| *dialect);
    let sent = scene(&case.input).and_then(|scene| engine::emit_request(EXACT, scene, wire::items(&case.input["messages"]), dialect));
    let actual = match sent {
        Ok(sent) => json!({ "url": sent["request"]["url"], "body": sent["payload"] }),
        Err(error) => error,
    };
    vec![case.check(actual, wire::fits)]
}

/// The scene of a preset file: what the file says, and what stands beside it.
fn scene(input: &Json) -> Result<Json, Json> {
    let mut data = imports::preset(EXACT, &input["preset"])?;
    parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
    let names = [
        ("stop", "provider.stop"),
        ("key", "provider.key"),
        ("tools", "provider.tools"),
        ("logprobs", "provider.logprobs"),
        ("prefill", "preset.prefill"),
    ];
    parts::copy(input, &mut data, &names);
    Ok(data)
}
