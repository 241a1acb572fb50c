//! The blocks of a recorded chat completion: in which slot each stands, what it is called, and what it costs.

use serde_json::{Value as Json, json};

use super::{chat_completion as chat, parts};
use crate::case::{Case, Check};
use crate::compare::{fits, same, without};
use crate::engine::{self, Built, EXACT};

/// Slot or block as recorded = our name.
const SLOTS: &[(&str, &str)] = &[
    ("main", "main_prompt"),
    ("nsfw", "auxiliary_prompt"),
    ("jailbreak", "post_history_instructions"),
    ("worldInfoBefore", "world_info_before"),
    ("worldInfoAfter", "world_info_after"),
    ("charDescription", "character_description"),
    ("charPersonality", "character_personality"),
    ("personaDescription", "persona_description"),
    ("dialogueExamples", "chat_examples"),
    ("chatHistory", "chat_history"),
    ("enhanceDefinitions", "enhance_definitions"),
    ("newMainChat", "new_chat"),
    ("newChat", "example_header"),
    ("groupNudge", "group_nudge"),
    ("emptyUserMessageReplacement", "send_if_empty"),
    ("continueNudge", "continue_nudge"),
    ("quietPrompt", "quiet"),
    ("impersonate", "impersonation"),
    ("authorsNote", "2_floating_prompt"),
    ("summary", "1_memory"),
    ("vectorsMemory", "3_vectors"),
    ("vectorsDataBank", "4_vectors_data_bank"),
    ("smartContext", "chromadb"),
];

/// What was recorded of the blocks of the messages that are not empty, and the tokens of slots; only what was recorded.
pub(crate) fn check(case: &Case, data: Json, built: &Built) -> Check {
    let (mut expected, mut actual) = (json!({}), json!({}));
    if let Some(prompts) = case.expected["prompts"].as_array() {
        let live: Json = prompts.iter().filter(|p| p["content"] != json!("")).map(|p| without(p, &["name"])).collect();
        parts::set(&mut expected, "prompts", live);
        parts::set(&mut actual, "prompts", prompts_of(case, &data, built));
    }
    if case.expected["token_counts"].is_object() || case.expected["token_total"].is_number() {
        let counts = token_counts(case, data, built);
        for key in ["token_counts", "token_total"] {
            if let Some(recorded) = case.expected.get(key) {
                // `undefined` is no slot: what was counted on the way while system messages were squashed
                parts::set(&mut expected, key, without(recorded, &["undefined"]));
                parts::set(&mut actual, key, counts[key].clone());
            }
        }
    }
    let key_alike = |key: &str| match key {
        // of a prompt, what was recorded of it
        "prompts" => fits(&expected[key], &actual[key]),
        _ => same(&expected[key], &actual[key]),
    };
    let passed = expected.as_object().into_iter().flatten().all(|(key, _)| key_alike(key));
    Check { level: "tokens".to_owned(), passed, expected, actual }
}

/// Whether something is sent of a block.
fn is_live(block: &&Json) -> bool {
    block["enabled"] != json!(false) && (block["text"] != json!("") || block["meta"]["tool_calls"].is_array())
}

fn prompts_of(case: &Case, data: &Json, built: &Built) -> Json {
    let blocks = built.blocks();
    let prefill = case.input["preset"]["continue_prefill"] == json!(true);
    // the recorder has no group once system messages are squashed
    let squashed = case.input["preset"]["squash_system_messages"] == json!(true);
    let names = names(&blocks, &lines(&case.input, data), prefill);
    // what a message says is what the dialect writes of it
    let sent = chat::unprocessed(built);
    let sent = sent.as_array().map_or(&[][..], Vec::as_slice);
    let live = blocks.iter().zip(&names).filter(|(block, _)| is_live(block));
    live.enumerate()
        .map(|(n, (block, name))| {
            let group = if squashed { Json::Null } else { slot(block, prefill) };
            let message = sent.get(n).unwrap_or(&Json::Null);
            json!({ "group": group, "identifier": name, "role": message["role"], "content": message["content"], "tokens": block["tokens"] })
        })
        .collect()
}

/// The recorded name of a slot. A message that is continued by prefill was recorded among the control prompts.
fn slot(block: &Json, prefill: bool) -> Json {
    match block["slot"].as_str() {
        Some("continued") if !prefill => json!("continueNudge"),
        Some("continued" | "control") => json!("controlPrompts"),
        _ => renamed(&block["slot"]),
    }
}

fn renamed(ours: &Json) -> Json {
    SLOTS.iter().find(|(_, name)| ours == name).map_or_else(|| ours.clone(), |(theirs, _)| json!(theirs))
}

/// What frames the lines of the chat and is none of them.
fn frame(block: &Json) -> bool {
    let counted = block["id"] == json!("send_if_empty") && block["counted"] == json!(true);
    !counted && ["new_chat", "group_nudge", "send_if_empty"].iter().any(|id| block["id"] == json!(id))
}

/// The lines of the chat, injections among them, before any of them is left out for its size: they are numbered from the
/// oldest. A message without text has its number, an injection without text has none.
fn lines(input: &Json, data: &Json) -> Vec<Json> {
    let at =
        |stage: &str| engine::run_before(EXACT, stage, chat::drawn(input, data.clone())).map(|ran| ran.list("blocks")).unwrap_or_default();
    let is_line = |b: &Json| {
        let live = b["slot"] == json!("chat_history") && b["anchor"] != json!(true) && b["enabled"] != json!(false);
        live && !frame(b) && !b["meta"]["tool_call_id"].is_string()
    };
    let kept: Vec<Json> = at("trimming").into_iter().filter(is_line).map(|b| b["id"].clone()).collect();
    let empty = |b: &Json| b["counted"] == json!(true) && b["text"] == json!("");
    let lines = at("compilation").into_iter().filter(|b| is_line(b) && (empty(b) || kept.contains(&b["id"])));
    lines.map(|b| b["id"].clone()).collect()
}

/// What each block was called by the recorder: lines of the chat and of examples by their number.
fn names(blocks: &[Json], lines: &[Json], prefill: bool) -> Vec<Json> {
    let (mut dialogue, mut of_dialogue, mut example) = (-1, Json::Null, 0);
    let mut out = Vec::new();
    let mut lines = lines.iter().enumerate();
    for block in blocks {
        if block["slot"] == json!("chat_examples") && block["anchor"] != json!(true) && of_dialogue != block["dialogue"] {
            (dialogue, example, of_dialogue) = (dialogue + 1, -1, block["dialogue"].clone());
        }
        let name = match block["slot"].as_str() {
            _ if block["anchor"] == json!(true) || frame(block) => renamed(&block["id"]),
            Some("chat_history") if block["meta"]["tool_call_id"].is_string() => block["meta"]["tool_call_id"].clone(),
            Some("chat_history") => {
                let line = lines.by_ref().find(|(_, id)| **id == block["id"]).map(|(n, _)| n + 1);
                let line = line.map_or_else(String::new, |n| n.to_string());
                let call = if block["meta"]["tool_calls"].is_array() { "toolCall-" } else { "" };
                json!(format!("{call}chatHistory-{line}"))
            }
            Some("chat_examples") if block["line"] == json!(-1) => json!("newChat"),
            Some("chat_examples") => {
                example += 1;
                json!(format!("dialogueExamples {dialogue}-{example}"))
            }
            Some("continued") if block["id"] == json!("continue_nudge") => json!("continueNudge"),
            Some("continued") if prefill => json!("continuePrefill"),
            Some("continued") => Json::Null,
            _ => renamed(&block["id"]),
        };
        out.push(name);
    }
    out
}

/// Tokens by slot, and their sum, as they are before system messages are squashed.
fn token_counts(case: &Case, mut data: Json, built: &Built) -> Json {
    let prefill = case.input["preset"]["continue_prefill"] == json!(true);
    let squashed = case.input["preset"]["squash_system_messages"] == json!(true);
    let blocks = if squashed {
        parts::put(&mut data, "preset.squash", json!(false));
        match engine::build(EXACT, chat::drawn(&case.input, data)) {
            Ok(built) => built.blocks(),
            Err(error) => return json!({ "token_counts": error }),
        }
    } else {
        built.blocks()
    };
    let mut counts = json!({});
    let mut total = 0;
    for block in blocks.iter().filter(is_live) {
        let (slot, tokens) = (slot(block, prefill), block["tokens"].as_u64().unwrap_or(0));
        let key = slot.as_str().unwrap_or("undefined");
        let sum = counts[key].as_u64().unwrap_or(0) + tokens;
        parts::set(&mut counts, key, json!(sum));
        total += tokens;
    }
    // a slot that is there and empty was recorded with 0
    for (key, value) in case.expected["token_counts"].as_object().into_iter().flatten() {
        if value == &json!(0) && counts.get(key).is_none() {
            parts::set(&mut counts, key, json!(0));
        }
    }
    json!({ "token_counts": counts, "token_total": total })
}
