//! What the dialects of `base` send in one way: addresses, stop strings, tools, speakers, media.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::diag::Diagnostic;
use tapster::machinery::build::dialects;
use tapster::model::PlanBlock;
use tapster::{EmittedPlan, Plan, Ruleset, Value, emit};

use crate::support::BASE;

fn emitted(rules: &Ruleset, dialect: &str, scene: &Json, messages: &Json) -> EmittedPlan {
    let block = |m: &Json| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() };
    let blocks = messages.as_array().unwrap().iter().map(block).collect();
    emit(rules, &Plan { blocks, scene: Value::from(scene), ..Default::default() }, dialect).unwrap_or_else(|e| panic!("{dialect}: {e}"))
}

fn sent(dialect: &str, scene: &Json, messages: &Json) -> Json {
    emitted(&BASE, dialect, scene, messages).payload
}

/// The dialects that send messages, and are not one text.
fn chats() -> Vec<String> {
    let all = dialects(&BASE);
    assert!(all.len() > 10, "{all:?}");
    all.into_iter().filter(|d| d != "text").collect()
}

fn hi() -> Json {
    json!([{ "role": "user", "text": "Hi" }])
}

/// A base address, with or without a slash, or the whole address: all mean the same.
#[test]
fn an_address_has_one_meaning() {
    let own = |dialect: &str, url: &str| {
        let scene = json!({ "provider": { "model": "m", "url": url } });
        emitted(&BASE, dialect, &scene, &hi()).request["url"].as_str().unwrap().to_owned()
    };
    for dialect in chats() {
        let default = own(&dialect, "");
        let path = own(&dialect, "https://host/v9").strip_prefix("https://host/v9").unwrap().to_owned();
        assert!(path.len() > 2 && default.ends_with(&path), "{dialect}: {default}, {path}");
        for url in ["https://host/v9/".to_owned(), format!("https://host/v9{path}"), format!("https://host/v9{path}/")] {
            assert_eq!(own(&dialect, &url), format!("https://host/v9{path}"), "{dialect}: {url}");
        }
    }
}

/// The table of docs/reference/dialect.md names every dialect of the pack, with the address that its requests go to.
#[test]
fn the_page_knows_the_dialects() {
    let page = std::fs::read_to_string(concat!(env!("CHECKOUT"), "/docs/reference/dialect.md")).unwrap();
    let table = page.split("| requests go to |").nth(1).unwrap().split("\n\n").next().unwrap();
    let cells = |line: &str| line.split('|').skip(1).take(2).map(|cell| cell.trim().trim_matches('`').to_owned()).collect::<Vec<_>>();
    let mut rows: Vec<Vec<String>> = table.lines().skip(2).map(cells).collect();
    rows.sort();
    let mut known = dialects(&BASE);
    known.sort();
    assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), known);
    for row in &rows {
        let request = emitted(&BASE, &row[0], &json!({ "provider": { "model": "m" } }), &hi()).request;
        let url = request["url"].as_str().unwrap_or_default();
        assert!(row[1].strip_suffix('…').map_or(url == row[1], |start| url.starts_with(start)), "{row:?}: {url}");
    }
}

/// The plan's stop strings and the provider's, each once.
#[test]
fn stop_strings_are_put_together() {
    let scene = json!({ "plan": { "stops": ["\nBo:", "END"] }, "provider": { "stop": ["END", "", "###"] } });
    for dialect in dialects(&BASE).into_iter().filter(|d| d != "openai-responses") {
        let payload = sent(&dialect, &scene, &hi());
        let places = [&payload["stop"], &payload["stop_sequences"], &payload["generationConfig"]["stopSequences"]];
        let stops: Vec<&Json> = places.into_iter().filter(|s| !s.is_null()).collect();
        assert_eq!(stops, [&json!(["\nBo:", "END", "###"])], "{dialect}: {payload}");
    }
    let told = |scene: &Json| emitted(&BASE, "openai-responses", scene, &hi()).warnings.iter().any(|w| w.code == "dialect.stops");
    assert!(told(&scene) && !told(&json!({})));
}

/// No choice among tools where none are offered.
#[test]
fn no_tools_no_choice() {
    let tools = json!([{ "type": "function", "function": { "name": "f", "parameters": { "type": "object", "properties": { "x": {} } } } }]);
    let keys = ["tool_choice", "toolConfig"];
    for dialect in chats() {
        for tools in [json!([]), Json::Null] {
            let payload = sent(&dialect, &json!({ "provider": { "tool_choice": "required", "tools": tools } }), &hi());
            assert!(keys.iter().all(|k| payload[k].is_null()), "{dialect}: {payload}");
        }
        let payload = sent(&dialect, &json!({ "provider": { "tool_choice": "required", "tools": tools } }), &hi());
        // one provider has no such key
        assert_eq!(keys.iter().any(|k| !payload[k].is_null()), dialect != "ai21", "{dialect}: {payload}");
    }
}

/// Who speaks: a field where there is one, else in front of the text, in groups and examples, and never both.
#[test]
fn speakers_are_named_once() {
    let messages = json!([
        { "role": "system", "name": "example_user", "text": "Example." },
        { "role": "user", "name": "Bo Li", "text": "One" },
        { "role": "assistant", "name": "Ann", "text": "Ann: Two" },
        { "role": "user", "name": "Bo Li", "text": [{ "type": "image_url", "image_url": { "url": "https://host/a.png" } }, { "type": "text", "text": "Three" }] },
    ]);
    // per dialect: the roles with a field
    let fields: &[(&str, &[&str])] = &[
        ("openai", &["system", "user", "assistant"]),
        ("openrouter", &["system", "user", "assistant"]),
        ("deepseek", &["system", "user", "assistant"]),
        ("xai", &["user"]),
    ];
    for dialect in chats() {
        let roles = fields.iter().find(|(d, _)| *d == dialect).map_or(&[][..], |(_, roles)| roles);
        for group in [false, true] {
            let scene = json!({ "names": { "user": "Bo Li", "char": "Ann", "group": [] }, "group": { "active": group } });
            let payload = sent(&dialect, &scene, &messages).to_string();
            let has = |text: &str| assert!(payload.contains(text), "{dialect}, group {group}: no {text} in {payload}");
            let not = |text: &str| assert!(!payload.contains(text), "{dialect}, group {group}: {text} in {payload}");
            has("\"Ann: Two\"");
            not("\"name\":\"Ann\"");
            if roles.contains(&"system") {
                has("\"name\":\"example_user\"");
                has("\"Example.\"");
            } else {
                has("\"Bo Li: Example.");
                not("example_user");
            }
            if roles.contains(&"user") {
                has("\"name\":\"Bo_Li\"");
                not("Bo Li: One");
            } else if group {
                has("Bo Li: One");
                has("Bo Li: Three");
                not("\"name\"");
            } else {
                not("Bo Li: One");
                not("Bo Li: Three");
                not("\"name\"");
            }
        }
    }
}

/// A picture that holds nothing is not sent, and one is told; what stands beside it is.
#[test]
fn empty_pictures_are_told() {
    let empty = [
        json!({ "type": "image_url" }),
        json!({ "type": "image_url", "image_url": { "url": "" } }),
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64," } }),
        json!({ "type": "audio_url", "audio_url": { "url": "data:" } }),
        json!({ "type": "file", "file": { "filename": "a.pdf" } }),
    ];
    for dialect in chats() {
        for part in &empty {
            for field in ["parts", "text"] {
                let messages = json!([
                    { "role": "user", field: [part, { "type": "text", "text": "Look" }] },
                    { "role": "assistant", "text": "Where?" },
                    { "role": "user", field: [part] },
                    { "role": "user", "text": "There" },
                ]);
                let emitted = emitted(&BASE, &dialect, &json!({}), &messages);
                let (payload, told) = (emitted.payload.to_string(), emitted.warnings.iter().filter(|w| w.code == "dialect.media").count());
                assert_eq!(told, 2, "{dialect}: {:?}", emitted.warnings);
                assert!(payload.contains("Look") && payload.contains("There"), "{dialect}: {payload}");
                let left = ["image", "inlineData", "fileData", "audio", "file", "[]", "{}", "\"content\":\"\""];
                let left: Vec<_> = left.iter().filter(|word| payload.contains(**word)).collect();
                assert!(left.is_empty(), "{dialect}: {left:?} of {part} in {payload}");
            }
        }
    }
}

/// What a provider takes no pictures for is told too.
#[test]
fn pictures_for_texts_are_told() {
    let messages = json!([{ "role": "user", "text": [{ "type": "text", "text": "Look" }, { "type": "image_url", "image_url": { "url": "https://host/a.png" } }] }]);
    for dialect in ["ai21", "cohere", "deepseek"] {
        let emitted = emitted(&BASE, dialect, &json!({}), &messages);
        assert!(!emitted.payload.to_string().contains("a.png"), "{dialect}: {}", emitted.payload);
        assert!(emitted.warnings.iter().any(|w| w.code == "dialect.media"), "{dialect}: {:?}", emitted.warnings);
    }
}

/// Arguments are a text of JSON, whatever the application keeps; results are a text or parts.
#[test]
fn arguments_are_texts() {
    let call = |id: &str, arguments: Json| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": arguments } });
    let messages = json!([
        { "role": "user", "text": "Q" },
        { "role": "assistant", "meta": { "tool_calls": [call("a", json!({ "x": 1 })), call("b", Json::Null), call("c", json!("{\"y\": 2}"))] } },
        { "role": "tool", "text": "4", "meta": { "tool_call_id": "a" } },
        { "role": "tool", "text": "", "tool_call_id": "b" },
        { "role": "tool", "tool_call_id": "c", "parts": [{ "type": "text", "text": "See" }, { "type": "image_url", "image_url": { "url": "https://host/a.png" } }] },
    ]);
    let input = sent("openai-responses", &json!({}), &messages)["input"].clone();
    let arguments: Vec<&Json> =
        input.as_array().unwrap().iter().filter(|i| i["type"] == "function_call").map(|i| &i["arguments"]).collect();
    assert_eq!(arguments, [&json!("{\"x\":1}"), &json!("{}"), &json!("{\"y\": 2}")]);
    let outputs: Vec<&Json> =
        input.as_array().unwrap().iter().filter(|i| i["type"] == "function_call_output").map(|i| &i["output"]).collect();
    let parts = json!([{ "type": "input_text", "text": "See" }, { "type": "input_image", "image_url": "https://host/a.png" }]);
    assert_eq!(outputs, [&json!("4"), &json!(""), &parts]);
    for dialect in ["openai", "openrouter", "deepseek", "mistral", "cohere", "ai21", "xai"] {
        let payload = sent(dialect, &json!({}), &messages);
        let calls = payload["messages"].as_array().unwrap().iter().filter_map(|m| m["tool_calls"].as_array()).flatten();
        let arguments: Vec<&Json> = calls.map(|c| &c["function"]["arguments"]).collect();
        assert_eq!(arguments, [&json!("{\"x\":1}"), &json!("{}"), &json!("{\"y\": 2}")], "{dialect}");
    }
}

/// What OpenAI knows, whether the fields are the message's own or carried along, and nothing else.
#[test]
fn openai_is_sent_what_it_knows() {
    let call = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let own = json!([
        { "role": "assistant", "text": "", "tool_calls": [call], "signature": "S", "reasoning": "R", "reasoning_details": [{}], "cache_control": {} },
        { "role": "tool", "text": "1", "tool_call_id": "a" },
    ]);
    let carried = json!([
        { "role": "assistant", "text": "", "meta": { "tool_calls": [call], "signature": "S", "reasoning": "R" } },
        { "role": "tool", "text": "1", "meta": { "tool_call_id": "a" } },
    ]);
    let expected = json!([
        { "role": "assistant", "content": "", "tool_calls": [call] },
        { "role": "tool", "content": "1", "tool_call_id": "a" },
    ]);
    for messages in [own, carried] {
        assert_eq!(sent("openai", &json!({}), &messages)["messages"], expected);
    }
}

/// Words that a dialect puts in are settings of the pack and of the scene.
#[test]
fn words_put_in_are_settings() {
    let messages = json!([{ "role": "tool", "text": "1", "tool_call_id": "a" }, { "role": "user", "text": "And?" }]);
    let overlay = "kind = \"overlay\"\nversion = 1\n[placeholder]\nbehind_tools = \"I see.\"\nfunction = \"tool\"\n";
    let changed = Ruleset::open_with("base", &[("words.toml", overlay)]).unwrap_or_else(|e| panic!("{e}"));
    let said = |rules: &Ruleset, scene: &Json| emitted(rules, "mistral", scene, &messages).payload["messages"][1]["content"].clone();
    assert_eq!(said(&BASE, &json!({})), "Done.");
    assert_eq!(said(&changed, &json!({})), "I see.");
    assert_eq!(said(&BASE, &json!({ "placeholder": { "behind_tools": "Hm." } })), "Hm.");
    let named = |rules: &Ruleset| {
        let payload = emitted(rules, "google", &json!({}), &messages).payload;
        payload["contents"][0]["parts"][0]["functionResponse"]["name"].clone()
    };
    assert_eq!((named(&BASE), named(&changed)), (json!("unknown"), json!("tool")));
}

/// What a model would refuse beside the messages is not sent to it; what is lost by that is told.
#[test]
fn requests_fit_their_models() {
    let provider = json!({ "temperature": 0.7, "stop": ["\n", "a", "b", "c", "d"], "reasoning_effort": "high" });
    let rows: &[(&str, &str, &[&str], bool)] = &[
        ("openai", "gpt-4o", &["max_tokens", "stop", "temperature"], true),
        ("openai", "gpt-5-mini", &["max_completion_tokens", "reasoning_effort"], true),
        ("openai", "gpt-5-chat-latest", &["max_tokens", "stop", "temperature"], true),
        ("openai-responses", "o3", &["max_output_tokens", "reasoning"], true),
        ("anthropic", "claude-opus-4-6", &["max_tokens", "output_config", "stop_sequences", "thinking"], false),
        ("anthropic", "claude-sonnet-4-5", &["max_tokens", "stop_sequences", "temperature"], false),
        ("xai", "grok-4", &["max_tokens", "temperature"], true),
        ("xai", "grok-3-mini", &["max_tokens", "reasoning_effort", "temperature"], true),
        ("text", "m", &["max_tokens", "stop", "temperature"], false),
    ];
    for (dialect, model, keys, told) in rows {
        let mut scene = json!({ "provider": provider, "context": { "reserve": 9 } });
        scene["provider"]["model"] = json!(model);
        let emitted = emitted(&BASE, dialect, &scene, &hi());
        let known = ["input", "messages", "model", "prompt"];
        let mut found: Vec<&str> = emitted.payload.as_object().unwrap().keys().map(String::as_str).filter(|k| !known.contains(k)).collect();
        found.sort_unstable();
        assert_eq!(found, *keys, "{dialect}, {model}");
        assert_eq!(emitted.warnings.iter().any(|w| w.code == "dialect.stops"), *told, "{dialect}, {model}: {:?}", emitted.warnings);
    }
    let stops = |dialect: &str| sent(dialect, &json!({ "provider": provider }), &hi());
    assert_eq!(stops("openai")["stop"], json!(["\n", "a", "b", "c"]));
    assert_eq!(stops("anthropic")["stop_sequences"], json!(["a", "b", "c", "d"]));
    // no room is said: nothing is sent for it
    for dialect in dialects(&BASE) {
        assert!(!sent(&dialect, &json!({}), &hi()).to_string().to_lowercase().contains("max"), "{dialect}");
    }
}

/// Calls that another provider's model made: their ids, arguments and marks as this one takes them.
#[test]
fn calls_of_others_are_taken() {
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "signature": "S", "function": { "name": "f", "arguments": arguments } });
    let messages = json!([
        { "role": "user", "text": "Q" },
        { "role": "assistant", "tool_calls": [call("functions.f:0", "[1]"), call("b", "no JSON")] },
        { "role": "tool", "text": "4", "tool_call_id": "functions.f:0" },
    ]);
    let blocks = sent("anthropic", &json!({}), &messages)["messages"].clone();
    let (first, second, result) = (&blocks[1]["content"][0], &blocks[1]["content"][1], &blocks[2]["content"][0]);
    assert_eq!((&first["input"], &second["input"], &second["id"]), (&json!({}), &json!({}), &json!("b")));
    assert_eq!(first["id"], result["tool_use_id"]);
    assert!(first["id"].as_str().unwrap().bytes().all(|b| b.is_ascii_alphanumeric()), "{first}");
    for dialect in ["openai", "mistral", "cohere", "ai21", "xai", "deepseek", "google"] {
        let payload = sent(dialect, &json!({}), &messages).to_string();
        assert!(!payload.contains("ignature"), "{dialect}: {payload}");
    }
    let named = json!({ "provider": { "tools": [{ "type": "function", "function": { "name": "f" } }], "tool_choice": { "type": "function", "function": { "name": "f" } } } });
    assert_eq!(sent("openai-responses", &named, &hi())["tool_choice"], json!({ "type": "function", "name": "f" }));
}

/// Thoughts go back to the provider that gave them, as it gave them, and to no other.
#[test]
fn thoughts_go_back_as_they_came() {
    let call = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "S" });
    let item = json!({ "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "E" });
    let messages = json!([
        { "role": "user", "text": "Q" },
        { "role": "assistant", "text": "So:", "meta": { "tool_calls": [call], "reasoning_details": [thought, item] } },
        { "role": "tool", "text": "1", "meta": { "tool_call_id": "a" } },
    ]);
    let content = sent("anthropic", &json!({}), &messages)["messages"][1]["content"].clone();
    let types: Vec<&Json> = content.as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(types, [&json!("thinking"), &json!("text"), &json!("tool_use")]);
    assert_eq!(content[0], thought);
    let input = sent("openai-responses", &json!({}), &messages)["input"].clone();
    assert_eq!(input.as_array().unwrap().iter().filter(|i| **i == item).count(), 1);
    assert!(!input.to_string().contains("thinking"), "{input}");
}

/// A system message may be a list of parts; where it stands apart, and in one text, its texts are sent.
#[test]
fn system_messages_of_parts_are_sent() {
    let parts = json!([{ "type": "text", "text": "Main" }, { "type": "text", "text": "More" }]);
    for field in ["text", "parts"] {
        let messages = json!([{ "role": "system", field: parts }, { "role": "user", "text": "Hi" }]);
        assert_eq!(sent("anthropic", &json!({}), &messages)["system"], json!([{ "type": "text", "text": "Main\n\nMore" }]));
        assert_eq!(sent("google", &json!({}), &messages)["systemInstruction"], json!({ "parts": [{ "text": "Main\n\nMore" }] }));
        assert_eq!(sent("text", &json!({}), &messages)["prompt"], "Main\n\nMoreHi");
    }
}

/// A message without content is no item, and the input stays a list.
#[test]
fn responses_input_is_a_list() {
    let input = |messages: &Json| sent("openai-responses", &json!({}), messages)["input"].clone();
    let said = |text: &str| json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let messages =
        json!([{ "role": "user", "text": "a" }, { "role": "assistant", "text": "" }, { "role": "user" }, { "role": "user", "text": "b" }]);
    assert_eq!(input(&messages), json!([said("a"), said("b")]));
    assert_eq!(input(&json!([])), json!([]));
}

// The chat-completion dialects of `base`: what each sends for one chat with a picture, a call and a beginning.

fn payload_for(dialect: &str, scene: &Json, messages: &Json) -> (Json, Json) {
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
    let (payload, request) = payload_for("openai-responses", &scene, &chat());
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
    let (payload, request) = payload_for("deepseek", &json!({ "provider": { "model": "deepseek-chat" } }), &chat());
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
    let (_, request) = payload_for("deepseek", &json!({}), &json!([{ "role": "user", "text": "Hi" }]));
    assert_eq!(request["url"], "https://api.deepseek.com/chat/completions");
}

#[test]
fn openrouter_marks_thoughts_and_cached_prefixes() {
    let scene = json!({ "provider": { "model": "anthropic/claude-sonnet-4.5", "cache_system": true } });
    let mut chat = chat();
    chat.as_array_mut().unwrap().push(json!({ "role": "user", "text": "Go on", "meta": { "cache": true } }));
    let (payload, _) = payload_for("openrouter", &scene, &chat);
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(payload["messages"][0]["content"], json!([{ "type": "text", "text": "Main", "cache_control": mark }]));
    assert_eq!(payload["messages"][5]["content"], json!([{ "type": "text", "text": "Go on", "cache_control": mark }]));
    let details = json!([{ "index": 0, "id": "signature-0", "type": "reasoning.encrypted", "data": "S", "format": "anthropic-claude-v1" }]);
    assert_eq!(payload["messages"][2]["reasoning_details"], details);
    assert_eq!(payload["messages"][3], json!({ "role": "tool", "content": "4", "tool_call_id": "c1" }));

    let (payload, _) = payload_for("openrouter", &json!({ "provider": { "model": "x/y", "cache_system": true } }), &chat);
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
            let (payload, _) =
                payload_for(dialect, &json!({ "provider": { "model": "google/gemini-3-pro", "cache_system": true } }), messages);
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
            said(&payload_for(dialect, &scene, &json!([{ "role": "user", "text": "Hi" }])).0, at)
        };
        assert_eq!(["none", "min", "max"].map(sent), expected, "{dialect}, {model}");
        assert_eq!(["", "much"].map(sent), ["", ""], "{dialect}, {model}");
    }
    let plain = json!({ "provider": { "model": "gpt-4o", "reasoning_effort": "high" } });
    assert!(payload_for("openai", &plain, &json!([{ "role": "user", "text": "Hi" }])).0["reasoning_effort"].is_null());
}

// What lint says of messages before they are sent: each dialect of `base` against what its provider documents.
//
// Every warning names the message, the rule that says so, and what to do about it.

fn lint(dialect: &str, model: &str, messages: &[Json]) -> Vec<Diagnostic> {
    let block = |m: &Json| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() };
    let scene = json!({ "dialect": dialect, "provider": { "model": model }, "context": { "reserve": 9 } });
    let plan = Plan { blocks: messages.iter().map(block).collect(), scene: Value::from(&scene), ..Plan::default() };
    let emitted = emit(&BASE, &plan, dialect).unwrap_or_else(|e| panic!("{dialect}: {e}"));
    emitted.warnings.into_iter().filter(|w| w.code.as_str().starts_with("lint.")).collect()
}

fn codes(warnings: &[Diagnostic]) -> Vec<&str> {
    warnings.iter().map(|w| w.code.as_str()).collect()
}

fn user(text: &str) -> Json {
    json!({ "role": "user", "text": text })
}

fn answer(text: &str) -> Json {
    json!({ "role": "assistant", "text": text })
}

fn calls(ids: &[&str]) -> Json {
    let call = |id: &&str| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{}" } });
    json!({ "role": "assistant", "tool_calls": ids.iter().map(call).collect::<Vec<_>>() })
}

fn result(id: &str) -> Json {
    json!({ "role": "tool", "text": "x", "tool_call_id": id })
}

/// One chat with everything that some provider does not take.
fn everything() -> Vec<Json> {
    let media = json!([
        { "type": "text", "text": "see" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } },
        { "type": "video_url", "video_url": { "url": "data:video/mp4;base64,AA==" } },
        { "type": "audio_url", "audio_url": { "url": "data:audio/mpeg;base64,AA==" } },
    ]);
    vec![
        json!({ "role": "system", "text": "Main" }),
        answer("Hello."),
        json!({ "role": "user", "name": "Bo", "text": "", "parts": media }),
        calls(&["a b"]),
        result("a b"),
        json!({ "role": "user", "text": "And?" }),
        json!({ "role": "system", "text": "late" }),
        json!({ "role": "assistant", "name": "Ann", "text": "Well," }),
        json!({ "role": "user", "text": " " }),
        answer("So,"),
    ]
}

/// What is said of it in each dialect: whatever the provider does not take, and nothing else.
#[test]
fn every_dialect_knows_its_provider() {
    let media = ["lint.films", "lint.images", "lint.sounds"];
    let rows: &[(&str, &str, &[&str], &[&str])] = &[
        ("openai", "gpt-4o", &["lint.films", "lint.prefill"], &[]),
        ("openai", "gpt-3.5-turbo", &["lint.films", "lint.images", "lint.prefill"], &[]),
        ("openai-responses", "gpt-5", &["lint.empty", "lint.films", "lint.name", "lint.prefill", "lint.sounds"], &[]),
        (
            "anthropic",
            "claude-opus-4-6",
            &["lint.call", "lint.empty", "lint.films", "lint.name", "lint.prefill", "lint.sounds", "lint.system"],
            &[],
        ),
        ("anthropic", "claude-sonnet-4-5", &["lint.call", "lint.empty", "lint.films", "lint.name", "lint.sounds", "lint.system"], &[]),
        ("google", "gemini-2.5-pro", &["lint.empty", "lint.name", "lint.system"], &[]),
        ("google", "gemini-3.7-flash", &["lint.empty", "lint.name", "lint.prefill", "lint.system"], &[]),
        (
            "mistral",
            "mistral-large",
            &["lint.after_tools", "lint.call", "lint.empty", "lint.films", "lint.name", "lint.sounds", "lint.system"],
            &[],
        ),
        ("mistral", "voxtral-small", &["lint.after_tools", "lint.call", "lint.empty", "lint.films", "lint.name", "lint.system"], &[]),
        ("cohere", "command-a", &["lint.empty", "lint.name", "lint.prefill"], &media),
        ("cohere", "command-a-vision", &["lint.empty", "lint.films", "lint.name", "lint.prefill", "lint.sounds"], &[]),
        ("ai21", "jamba", &["lint.empty", "lint.first", "lint.name", "lint.system"], &media),
        ("xai", "grok-4", &["lint.empty", "lint.films", "lint.name", "lint.sounds"], &[]),
        ("deepseek", "deepseek-chat", &["lint.empty"], &media),
        ("openrouter", "x/y", &["lint.empty"], &[]),
        ("openrouter", "anthropic/claude-opus-4.6", &["lint.empty", "lint.prefill"], &[]),
        ("text", "m", &["lint.tools"], &media),
    ];
    for (dialect, model, own, more) in rows {
        let warnings = lint(dialect, model, &everything());
        let mut found = codes(&warnings);
        found.sort_unstable();
        let mut expected: Vec<&str> = own.iter().chain(more.iter()).copied().collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{dialect}, {model}");
    }
    let known: Vec<String> = tapster::machinery::build::dialects(&BASE);
    assert!(known.iter().all(|d| rows.iter().any(|(row, ..)| row == d)), "{known:?}");
}

/// A warning says which message, by which rule, and what to do.
#[test]
fn warnings_name_message_rule_and_remedy() {
    let dialects = tapster::machinery::build::dialects(&BASE);
    let odd = [
        everything(),
        vec![json!({ "role": "oracle", "text": "x" }), result("9"), calls(&[""]), json!({ "role": "user", "tool_calls": [1] })],
    ];
    for dialect in dialects.iter().map(String::as_str).chain(["openai"]) {
        for messages in &odd {
            for warning in lint(dialect, "any-model", messages) {
                assert!(warning.message.contains("message"), "{warning:?}");
                assert!(warning.pass.starts_with("lint/") || warning.pass.starts_with("lint_tools/"), "{warning:?}");
                assert!(warning.help.as_ref().is_some_and(|h| !h.is_empty()), "{warning:?}");
                assert!(!warning.message.contains("``"), "{warning:?}");
                assert!(warning.row.as_deref().is_none_or(|row| row.starts_with("capability/") && row.len() > 11), "{warning:?}");
            }
        }
    }
}

/// Who says a thing that no row says: the default, or the scene.
#[test]
fn a_provider_that_nobody_knows() {
    let kite = r#"
kind = "overlay"
version = 1
name = "kite"
[[program]]
name = "kite"
over = "messages"
[[form]]
name = "kite/payload"
keys = { turns = { of = "messages", get = "@text" } }
"#;
    let rules = Ruleset::open_with("base", &[("kite.toml", kite)]).unwrap_or_else(|e| panic!("{e}"));
    let said = |capability: Json| {
        let blocks = [user("a"), user(""), answer("b")].map(|m| PlanBlock { fields: Value::from(&m), tokens: 0, history: Vec::new() });
        let scene = json!({ "provider": { "model": "k" }, "capability": capability });
        let plan = Plan { blocks: blocks.into(), scene: Value::from(&scene), ..Plan::default() };
        let warnings = emit(&rules, &plan, "kite").unwrap().warnings;
        warnings.into_iter().map(|w| format!("{} {}", w.code, w.row.unwrap_or_default())).collect::<Vec<_>>()
    };
    assert_eq!(said(json!({})), ["lint.empty capability/default"]);
    assert_eq!(said(json!({ "prefill": false, "takes_empty": true })), ["lint.prefill capability/scene"]);
}

#[test]
fn results_stand_behind_their_calls() {
    let ask = || user("?");
    let rows: Vec<(&str, Vec<Json>, &[&str])> = vec![
        ("well", vec![ask(), calls(&["1", "2"]), result("1"), result("2"), answer("ok"), ask()], &[]),
        ("an id may come again", vec![ask(), calls(&["1"]), result("1"), calls(&["1"]), result("1"), ask()], &[]),
        ("no result", vec![ask(), calls(&["1"]), ask()], &["lint.unanswered"]),
        ("one of two", vec![ask(), calls(&["1", "2"]), result("2"), ask()], &["lint.unanswered"]),
        ("none at the end", vec![ask(), calls(&["1"])], &["lint.unanswered"]),
        ("no call", vec![ask(), result("1"), ask()], &["lint.uncalled"]),
        ("no id", vec![ask(), calls(&["1"]), result("1"), json!({ "role": "tool", "text": "x" }), ask()], &["lint.uncalled"]),
        ("another's", vec![ask(), calls(&["1"]), result("1"), result("2"), ask()], &["lint.uncalled"]),
        ("in between", vec![ask(), calls(&["1"]), ask(), result("1"), ask()], &["lint.unanswered", "lint.apart"]),
        ("in front", vec![ask(), result("1"), calls(&["1"]), ask()], &["lint.unanswered", "lint.apart"]),
        ("behind another", vec![ask(), calls(&["1"]), result("1"), calls(&["2"]), result("2"), result("1"), ask()], &["lint.apart"]),
        ("twice", vec![ask(), calls(&["1"]), result("1"), result("1"), ask()], &["lint.twice"]),
        ("wrong order", vec![ask(), calls(&["1", "2"]), result("2"), result("1"), ask()], &["lint.order"]),
        ("two calls of one id", vec![ask(), calls(&["1", "1"]), result("1"), ask()], &["lint.call"]),
        (
            "a call of the user",
            vec![json!({ "role": "user", "text": "x", "tool_calls": [{ "id": "1", "function": { "name": "f", "arguments": "{}" } }] })],
            &["lint.caller"],
        ),
    ];
    for (name, messages, expected) in rows {
        assert_eq!(codes(&lint("openai", "gpt-4o", &messages)), expected, "{name}");
    }
    let late = lint("openai", "gpt-4o", &[ask(), calls(&["1"]), ask(), result("1")]);
    assert!(late.iter().any(|w| w.message.contains("message 1 ")) && late.iter().any(|w| w.message.contains("message 3 ")), "{late:?}");
}

#[test]
fn arguments_are_an_object() {
    let said = |dialect: &str, arguments: Json| {
        let call = json!({ "id": "1", "type": "function", "function": { "name": "look", "arguments": arguments } });
        let messages = [user("?"), json!({ "role": "assistant", "tool_calls": [call] }), result("1"), user("!")];
        codes(&lint(dialect, "m", &messages)).contains(&"lint.arguments")
    };
    for good in ["{}", " {\"a\": [1]} "] {
        assert!(!said("openai", json!(good)), "{good}");
    }
    for bad in [
        json!(""),
        json!(" "),
        json!("{"),
        json!("42"),
        json!("[]"),
        json!("\"{}\""),
        json!("null"),
        json!("look"),
        json!(42),
        json!([]),
        Json::Null,
        json!("{\"a\":\"\\ud800\"}"),
    ] {
        for dialect in tapster::machinery::build::dialects(&BASE) {
            assert!(said(&dialect, bad.clone()), "{dialect}: {bad}");
        }
    }
    assert!(said("openai", json!({ "a": 1 })) && !said("anthropic", json!({ "a": 1 })) && !said("google", json!({ "a": 1 })));
}

/// Slots that nothing filled are not sent, and do not count.
#[test]
fn unfilled_slots_are_no_messages() {
    let slot = json!({ "role": "system", "slot": "scenario", "text": "" });
    let warnings = lint("anthropic", "claude-opus-4-6", &[slot.clone(), user("a"), slot, answer("b")]);
    assert_eq!(codes(&warnings), ["lint.prefill"]);
    assert!(warnings[0].message.contains("message 1,"), "{warnings:?}");
}

/// A role that `provider.roles` names has a meaning.
#[test]
fn named_roles_are_known() {
    let blocks = [user("a"), json!({ "role": "narrator", "text": "b" }), user("c")].map(|m| PlanBlock {
        fields: Value::from(&m),
        tokens: 0,
        history: Vec::new(),
    });
    let scene = json!({ "provider": { "model": "claude-opus-4-6", "roles": { "narrator": "system", "assistant": "model" } }, "context": { "reserve": 9 } });
    let plan = Plan { blocks: blocks.into(), scene: Value::from(&scene), ..Plan::default() };
    let warnings = emit(&BASE, &plan, "anthropic").unwrap().warnings;
    assert_eq!(codes(&warnings), ["lint.system"]);
}
