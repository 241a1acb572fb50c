//! What the dialects of `base` send in one way: addresses, stop strings, tools, speakers, media.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::machinery::build::dialects;
use tapster::model::PlanBlock;
use tapster::{EmittedPlan, Plan, Ruleset, Value, emit};

use crate::shipped::BASE;

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
