//! From a configuration and a plan to a request: budgets, options in every dialect, added messages, and what no pack
//! can lose.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use serde_json::{Map, Value as Json, json};
use tapster::{Plan, Ruleset, Scene, Value};
use tapster_client::{PreparedRequest, PromptRunner, RunError, RunnerConfig};

fn config(rules: &Ruleset, context: &Json) -> RunnerConfig {
    RunnerConfig::parse(rules, context).unwrap()
}

fn scene(data: &Json) -> Scene {
    Scene { data: Value::from(data), ..Scene::default() }
}

fn prepared(config: &RunnerConfig, plan: &Plan, added: &[Json], options: &Json, stream: bool) -> Result<PreparedRequest, RunError> {
    let options: Map<String, Json> = options.as_object().cloned().unwrap_or_default();
    PromptRunner::prepare(config, plan, added, &options, stream)
}

/// A plan of one message of the user, built for a configuration.
fn plan(config: &RunnerConfig) -> Plan {
    tapster::build(&config.rules, &config.scene(&scene(&json!({ "input": "Hi." })))).unwrap()
}

/// A number that fits no type is a mistake with a place, and replaces nothing.
#[test]
fn numbers_that_are_too_large_are_refused() {
    for name in ["base", "vibetavern"] {
        let rules = Ruleset::open(name, &[]).unwrap();
        for (part, key) in [
            ("tool_calling", "max_turns"),
            ("tool_calling", "max_args_bytes"),
            ("directives", "max_bytes"),
            ("directives", "repair_retries"),
            ("capabilities", "context_window_tokens"),
        ] {
            let context = json!({ "provider": "p", "model": "m", part: { key: 1e30 } });
            let Err(RunError::Config(problems)) = RunnerConfig::parse(&rules, &context) else { panic!("{context}") };
            assert!(problems.iter().any(|problem| problem.at.ends_with(&format!("{part}/{key}"))), "{problems:?}");
        }
    }
}

/// A whole number that the engine cannot hold is refused with its place instead of being sent as another one.
#[test]
fn large_whole_numbers_are_not_changed_in_silence() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let config = config(&rules, &json!({ "provider": "openai", "model": "m" }));
    let plan = plan(&config);
    let body =
        |seed: u64| prepared(&config, &plan, &[], &json!({ "seed": seed }), false).map(|prepared| prepared.outgoing.body["seed"].clone());
    assert_eq!(body(9_223_372_036_854_775_807).unwrap(), json!(9_223_372_036_854_775_807_u64));
    let Err(RunError::Config(problems)) = body(12_345_678_901_234_567_890) else { panic!("it was sent") };
    assert_eq!(problems[0].at, "/llm_options/seed");
    let context = json!({ "provider": "openai", "model": "m", "llm_options_defaults": { "seed": u64::MAX } });
    let Err(RunError::Config(problems)) = RunnerConfig::parse(&rules, &context) else { panic!("it was taken") };
    assert_eq!((problems[0].code.as_str(), problems[0].at.as_str()), ("invalid_value", "/llm_options_defaults/seed"));
}

#[test]
fn a_window_of_the_capabilities_is_the_budget_of_a_build() {
    let rules = Ruleset::open("vibetavern", &[]).unwrap();
    let history: Vec<Json> = (0..20).map(|n| json!({ "role": "user", "text": format!("one two three {n}") })).collect();
    let chat = json!({ "history": history, "input": "Hi.", "context": { "tokenizer": "words" } });
    let of = |flags: Json| config(&rules, &json!({ "provider": "p", "model": "m", "capabilities": flags }));
    let free = of(json!({}));
    assert_eq!(tapster::build(&rules, &free.scene(&scene(&chat))).unwrap().messages().len(), 21, "without a window there is no limit");
    let exact = of(json!({ "context_window_tokens": 91, "reserved_response_tokens": 10 }));
    tapster::build(&rules, &exact.scene(&scene(&chat))).expect("the limit itself is allowed");
    let small = of(json!({ "context_window_tokens": 90, "reserved_response_tokens": 10 }));
    let error = tapster::build(&rules, &small.scene(&scene(&chat))).unwrap_err().to_json();
    let told = |key: &str| error[key].clone();
    assert_eq!(told("stage"), json!("max_tokens"), "{error}");
    assert_eq!([told("max_tokens"), told("reserve_tokens"), told("estimated_tokens")], [json!(90), json!(10), json!(81)]);
    // other packs trim to it
    let base = Ruleset::open("base", &[]).unwrap();
    let small = config(&base, &json!({ "provider": "p", "model": "m", "capabilities": { "context_window_tokens": 50 } }));
    let plan = tapster::build(&base, &small.scene(&scene(&chat))).unwrap();
    assert!(!plan.evicted().is_empty() && plan.messages().len() < 21);
    // and a scene that says it itself keeps its own
    let mut own = scene(&chat);
    own.set("context.window", Value::Int(1000));
    assert_eq!(small.scene(&own).get("context.window"), Value::Int(1000));
}

#[test]
fn options_reach_every_dialect_in_its_own_words() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let tool = json!({ "type": "function", "function": { "name": "look", "description": "d", "parameters": { "type": "object" } } });
    let options = json!({
        "temperature": 0.5, "max_tokens": 77, "stop": "END", "tools": [tool], "tool_choice": "required", "x_own": 1, "seed": null,
    });
    let body = |dialect: &str, model: &str| {
        let config = config(&rules, &json!({ "provider": dialect, "model": model }));
        let prepared = prepared(&config, &plan(&config), &[], &options, false).unwrap_or_else(|error| panic!("{dialect}: {error:?}"));
        assert_eq!(prepared.dialect, dialect);
        prepared.outgoing.body
    };
    let openai = body("openai", "gpt-4o");
    assert_eq!((&openai["temperature"], &openai["max_tokens"], &openai["stop"]), (&json!(0.5), &json!(77), &json!(["END"])));
    assert_eq!((&openai["tools"], &openai["tool_choice"], &openai["x_own"]), (&json!([tool]), &json!("required"), &json!(1)));
    let anthropic = body("anthropic", "claude-3-5-sonnet");
    assert_eq!((&anthropic["max_tokens"], &anthropic["stop_sequences"]), (&json!(77), &json!(["END"])));
    assert_eq!((&anthropic["tools"][0]["name"], &anthropic["tool_choice"]["type"]), (&json!("look"), &json!("any")));
    let google = body("google", "gemini-2.0-flash");
    let generation = &google["generationConfig"];
    assert_eq!((&generation["maxOutputTokens"], &generation["stopSequences"]), (&json!(77), &json!(["END"])));
    assert_eq!(google["tools"][0]["functionDeclarations"][0]["name"], json!("look"), "{google}");
}

#[test]
fn a_stream_is_asked_for_where_the_dialect_wants_it() {
    for (pack, dialect) in [("vibetavern", "openai"), ("base", "openai"), ("base", "anthropic")] {
        let rules = Ruleset::open(pack, &[]).unwrap();
        let config = config(&rules, &json!({ "provider": dialect, "model": "m" }));
        let whole = prepared(&config, &plan(&config), &[], &json!({}), false).unwrap().outgoing;
        let streamed = prepared(&config, &plan(&config), &[], &json!({}), true).unwrap().outgoing;
        assert!(streamed.stream && streamed.body["stream"] == json!(true), "{pack} {dialect}: {}", streamed.body);
        assert!(!whole.stream && whole.body["stream"] != json!(true), "{pack} {dialect}: {}", whole.body);
    }
}

#[test]
fn messages_that_a_loop_adds_stand_behind_the_plan_with_all_their_fields() {
    let rules = Ruleset::open("vibetavern", &[]).unwrap();
    let config = config(&rules, &json!({ "provider": "p", "model": "m" }));
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let added = [
        json!({ "role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "hm", "own": null }),
        json!({ "role": "tool", "tool_call_id": "c1", "content": "{\"ok\":true}" }),
    ];
    let body = prepared(&config, &plan(&config), &added, &json!({}), false).unwrap().outgoing.body;
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.get(messages.len() - 2..).unwrap(), added);
}

#[test]
fn no_pack_can_lose_what_keeps_the_protocols_apart() {
    let lax = r#"
        kind = "overlay"
        version = 1
        name = "lax"
        preflight = [{ name = "tools_with_response_format", remove = true }]
        reserved = [{ name = "model", remove = true }, { name = "stream", remove = true }]
    "#;
    let rules = Ruleset::open_with("base", &[("lax", lax)]).unwrap();
    let config = config(&rules, &json!({ "provider": "openai", "model": "m" }));
    let both = json!({ "tools": [{ "type": "function", "function": { "name": "x" } }], "response_format": { "type": "json_object" } });
    match prepared(&config, &plan(&config), &[], &both, false) {
        Err(RunError::Preflight(problems)) => assert_eq!(problems[0].code, "tools_with_response_format"),
        other => panic!("{other:?}"),
    }
    for key in ["model", "stream"] {
        match prepared(&config, &plan(&config), &[], &json!({ key: true }), false) {
            Err(RunError::Config(problems)) => {
                assert_eq!((problems[0].code.as_str(), problems[0].at.as_str()), ("reserved_key", format!("/llm_options/{key}").as_str()))
            }
            other => panic!("{key}: {other:?}"),
        }
    }
}

#[test]
fn transforms_of_messages_are_refused_where_there_is_no_list_of_messages() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let transforms = json!([{ "op": "remove", "fields": ["name"] }]);
    let config = config(&rules, &json!({ "provider": "google", "model": "gemini-2.0-flash", "message_transforms": transforms }));
    match prepared(&config, &plan(&config), &[], &json!({}), false) {
        Err(RunError::Config(problems)) => assert_eq!(problems[0].code, "transform_unsupported"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_of_the_plan_are_those_of_its_scene_and_null_takes_out_a_default() {
    let rules = Ruleset::open("vibetavern", &[]).unwrap();
    let config = config(&rules, &json!({ "provider": "p", "model": "m", "llm_options_defaults": { "temperature": 1, "top_p": 1 } }));
    let given = json!({ "input": "Hi.", "llm_options": { "temperature": null, "seed": 3 } });
    let plan = tapster::build(&rules, &config.scene(&scene(&given))).unwrap();
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    let prepared = prepared(&config, &plan, &[], &json!({}), false).unwrap();
    let body = prepared.outgoing.body;
    assert_eq!((body.get("temperature"), &body["top_p"], &body["seed"]), (None, &json!(1), &json!(3)));
    assert_eq!(serde_json::to_value(&prepared.changes).unwrap(), json!([{ "key": "temperature", "action": "removed", "reason": "null" }]));
}

#[test]
fn limits_of_a_pack_are_those_of_a_configuration_that_says_none() {
    let overlay = "kind = \"overlay\"\nversion = 1\n[tool_loop]\nmax_turns = 1\n[directives]\nmodes = [\"tagged\"]\nrepair_retries = 1\n\
                   [[directive_mode]]\nname = \"tagged\"\ntext = \"Write it between tags.\"\n";
    let rules = Ruleset::open_with("base", &[("short.toml", overlay)]).unwrap();
    let free = config(&rules, &json!({ "provider": "openai", "model": "gpt-4o" }));
    assert_eq!((free.tool_limits().max_turns, free.tool_limits().max_args_bytes), (1, 100_000));
    assert_eq!((free.directives().modes, free.directives().repair_retries), (vec!["tagged".to_owned()], 1));
    let parts = json!({ "tool_calling": { "max_turns": 2 }, "directives": { "modes": ["tagged", "prompt_only"] } });
    let own = json!({ "provider": "openai", "model": "gpt-4o", "tool_calling": parts["tool_calling"], "directives": parts["directives"] });
    let own = config(&rules, &own);
    assert_eq!((own.tool_limits().max_turns, own.directives().modes.len(), own.directives().repair_retries), (2, 2, 1));
}

#[test]
fn what_is_wrong_is_said_in_words() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let context = json!({ "provider": "p", "model": "m", "maxTokens": 1, "tool_calling": { "max_turn": 1, "final_stream": 1 } });
    let error = RunnerConfig::parse(&rules, &context).err().unwrap();
    assert!(error.to_string().contains("`max_tokens`") && error.to_string().contains("and 2 more"), "{error}");
    let RunError::Config(problems) = error else { panic!("{error}") };
    assert!(problems.iter().all(|problem| !problem.message.is_empty()), "{problems:?}");
    assert!(
        problems.iter().any(|problem| problem.at == "/tool_calling/max_turn" && problem.message.contains("`max_turns`")),
        "{problems:?}"
    );
}

#[test]
fn data_of_a_message_does_not_replace_what_is_sent() {
    let rules = Ruleset::open("vibetavern", &[]).unwrap();
    let config = config(&rules, &json!({ "provider": "p", "model": "m" }));
    let evil = json!({ "role": "system", "content": "evil" });
    let fields = json!({ "role": "user", "text": "Hi.", "meta": { "fields": evil }, "wire_fields": evil });
    let block = tapster::model::PlanBlock { fields: Value::from(&fields), tokens: 0, history: Vec::new() };
    let plan = Plan { blocks: vec![block], ..Plan::default() };
    let sent = prepared(&config, &plan, &[], &json!({}), false).unwrap().outgoing.body;
    assert_eq!(sent["messages"], json!([{ "role": "user", "content": "Hi." }]));
}

#[test]
fn a_length_that_a_provider_must_be_told_has_a_default_and_warnings_reach_the_caller() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let claude = config(&rules, &json!({ "provider": "anthropic", "model": "claude-sonnet-4-5" }));
    let with = prepared(&claude, &plan(&claude), &[], &json!({}), false).unwrap();
    assert!(with.outgoing.body["max_tokens"].as_u64().is_some_and(|n| n > 0), "{}", with.outgoing.body);
    let bare = tapster::build(&rules, &scene(&json!({ "input": "Hi." }))).unwrap();
    let without = prepared(&claude, &bare, &[], &json!({}), false).unwrap();
    assert!(without.warnings.iter().any(|warning| warning.message.contains("length of the answer")), "{:?}", without.warnings);
}

#[test]
fn rows_of_capability_are_those_of_the_dialect() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let tools = json!({ "tools": [{ "type": "function", "function": { "name": "look" } }] });
    for provider in ["text", "foo", "TEXT"] {
        let config = config(&rules, &json!({ "provider": provider, "model": "m", "dialect": "text" }));
        let refused = prepared(&config, &plan(&config), &[], &tools, false);
        assert!(matches!(&refused, Err(RunError::Preflight(found)) if found[0].code == "tools_unsupported"), "{provider}: {refused:?}");
    }
}
