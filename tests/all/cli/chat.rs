//! `tapster chat` against a scripted server: turns, swipes, edits, the file of the chat, the state, and failures.

use serde_json::{Value as Json, json};

use crate::cli::{Ran, tapster};
use crate::peers::{CHUNKED, EVENTS, JSON, Peer, Step, chunked, head, whole};
use crate::support::Folder;

const OK: &str = "200 OK";

/// A stream of chat completions that says these parts.
fn streamed(parts: &[&str]) -> Vec<Step> {
    let event = |delta: Json, finish: Json| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
    };
    let mut events: Vec<String> = parts.iter().map(|part| event(json!({ "content": part }), Json::Null)).collect();
    events.push(event(json!({}), json!("stop")));
    events.push("data: [DONE]\n\n".to_owned());
    let events: Vec<&[u8]> = events.iter().map(|event| event.as_bytes()).collect();
    vec![Step::Send([head(OK, &[EVENTS, CHUNKED]), chunked(&events)].concat())]
}

fn replied(text: &str) -> Vec<Step> {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }] });
    whole(OK, &[JSON], body.to_string().as_bytes())
}

struct Desk {
    folder: Folder,
    peer: Peer,
}

impl Desk {
    fn new(name: &str, scripts: Vec<Vec<Step>>) -> Self {
        Self { folder: Folder::new(&format!("chat-{name}")), peer: Peer::new(scripts) }
    }

    fn path(&self, inside: &str) -> String {
        self.folder.0.join(inside).display().to_string()
    }

    #[track_caller]
    fn run(&self, args: &[&str], stdin: &str, exit: u8) -> Ran {
        let (store, url, log) = (self.path("store.db"), self.peer.url(), self.path("chat.jsonl"));
        let fixed =
            ["chat", "--model", "m", "--url", &url, "--store", &store, "--log", &log, "--pack", "base", "--retries", "0"].into_iter();
        let all: Vec<String> = fixed.chain(args.iter().copied()).map(str::to_owned).collect();
        let ran = tapster(&all, stdin, &std::collections::BTreeMap::new(), false);
        assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
        ran
    }

    /// One message with nothing but these flags, a store, and the key of a provider in the environment.
    #[track_caller]
    fn keyed(&self, args: &[&str], env: &[(&str, &str)], exit: u8) -> Ran {
        let store = self.path("store.db");
        let all: Vec<String> = ["chat", "--model", "m", "--store", &store, "--retries", "0", "--once", "Hi."]
            .iter()
            .chain(args)
            .map(ToString::to_string)
            .collect();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let ran = tapster(&all, "", &env, false);
        assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
        ran
    }

    /// The lines of the chat's file.
    fn lines(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(self.path("chat.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages of the request of this number.
    fn sent(&self, number: usize) -> Vec<(String, String)> {
        let body = self.peer.asked().get(number).unwrap().json();
        let text = |message: &Json, key: &str| message.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        body.get("messages").and_then(Json::as_array).unwrap().iter().map(|m| (text(m, "role"), text(m, "content"))).collect()
    }
}

#[test]
fn a_chat_streams_goes_on_and_is_kept_in_a_file_that_is_read_back() {
    let desk = Desk::new("goes-on", vec![streamed(&["Hel", "lo."]), streamed(&["I am ", "Ann."]), streamed(&["Bye."])]);
    let ran = desk.run(&[], "Hi.\nWho are you?\n/quit\n", 0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("Hello.\nI am Ann.\n", ""));
    let body = desk.peer.asked()[0].json();
    assert_eq!(
        (&body["stream"], &body["stream_options"]),
        (&json!(true), &json!({ "include_usage": true })),
        "tokens are counted in streams"
    );
    let lines = desk.lines();
    assert!(lines[0].get("mes").is_none() && lines[0]["user_name"] == "User", "the first line is the header: {}", lines[0]);
    let said: Vec<_> = lines[1..].iter().map(|line| (line["is_user"].clone(), line["mes"].clone())).collect();
    let expected = [(true, "Hi."), (false, "Hello."), (true, "Who are you?"), (false, "I am Ann.")];
    assert_eq!(said, expected.map(|(user, text)| (json!(user), json!(text))));
    assert!(lines[1..].iter().all(|line| line["send_date"].is_string() && line["name"].is_string()));
    assert_eq!((&lines[2]["swipes"], &lines[2]["swipe_id"]), (&json!(["Hello."]), &json!(0)));
    // another run goes on where this one ended
    desk.run(&["--once", "Good night."], "", 0);
    let sent: Vec<_> = desk.sent(2).into_iter().filter(|(role, _)| role != "system").map(|(_, text)| text).collect();
    assert_eq!(sent, ["Hi.", "Hello.", "Who are you?", "I am Ann.", "Good night."]);
    assert_eq!(desk.lines().len(), 7);
}

#[test]
fn a_reply_is_asked_for_again_in_its_place_or_beside_it_and_one_is_chosen() {
    let desk = Desk::new("again", vec![streamed(&["one"]), streamed(&["two"]), streamed(&["three"]), streamed(&["next"])]);
    desk.run(&[], "Hi.\n/regen\n/swipe\n/swipe 1\n/edit 1 Hello.\nMore.\n", 0);
    let lines = desk.lines();
    assert_eq!(lines[1]["mes"], "Hello.");
    assert_eq!((&lines[2]["mes"], &lines[2]["swipes"], &lines[2]["swipe_id"]), (&json!("two"), &json!(["two", "three"]), &json!(0)));
    let said = |number: usize| desk.sent(number).into_iter().filter(|(role, _)| role != "system").map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!([said(1), said(2)], [vec!["Hi."], vec!["Hi."]], "a reply that is asked for again is not in the prompt");
    assert_eq!(said(3), ["Hello.", "two", "More."]);
}

#[test]
fn results_as_json_are_one_line_for_each_reply_and_whole() {
    let desk = Desk::new("json", vec![replied("Hello.")]);
    let ran = desk.run(&["--once", "-", "--format", "json", "--option", "temperature=0.5"], "Hi.\n", 0);
    let line: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&line["reply"], &line["interrupted"], &line["finish_reason"]), (&json!("Hello."), &json!(false), &json!("stop")));
    let body = desk.peer.asked()[0].json();
    assert_eq!((body["stream"].as_bool().unwrap_or_default(), &body["temperature"], &body["model"]), (false, &json!(0.5), &json!("m")));
}

#[test]
fn a_failed_message_ends_no_chat_and_is_answered_by_asking_again() {
    let refused = whole("400 Bad Request", &[JSON], b"{\"error\":{\"message\":\"no such model\"}}");
    let desk = Desk::new("fails", vec![streamed(&["One."]), refused, streamed(&["Hello."])]);
    let ran = desk.run(&[], "First.\nHi.\n/regen\n", 1);
    assert!(ran.err.contains("no such model") && ran.err.contains("400") && ran.err.contains("/regen"), "{}", ran.err);
    assert_eq!(ran.out, "One.\nHello.\n");
    let said: Vec<_> = desk.lines()[1..].iter().map(|line| line["mes"].clone()).collect();
    assert_eq!(said, ["First.", "One.", "Hi.", "Hello."], "the message that failed is kept, and the reply before it as well");
    let ran = Desk::new("fails-once", vec![whole("500 Oh", &[JSON], b"{}")]).run(&["--once", "Hi."], "", 1);
    assert!(ran.err.contains("500") && !ran.err.contains("/regen"), "{}", ran.err);
}

#[test]
fn a_usual_key_goes_to_no_address_that_a_scene_or_a_pack_names() {
    const KEY: &str = "sk-a-key-for-tests-only";
    let desk = Desk::new("foreign", vec![replied("Hello."), replied("Hello.")]);
    let url = desk.peer.url();
    desk.folder.write("scene.toml", format!("[scene.provider]\nurl = \"{url}\"\n"));
    let scene = desk.path("scene.toml");
    let ran = desk.keyed(&[&scene], &[("OPENAI_API_KEY", KEY)], 1);
    assert!(ran.err.contains("https://api.openai.com") && ran.err.contains("--url"), "place and remedy are named: {}", ran.err);
    assert!(desk.peer.asked().is_empty(), "nothing was sent");
    // named on the command line, the address is asked without a key, and with the one that is named for it
    desk.keyed(&[&scene, "--url", &url], &[("OPENAI_API_KEY", KEY)], 0);
    desk.keyed(&[&scene, "--url", &url, "--key-env", "MINE"], &[("MINE", KEY)], 0);
    let heads: Vec<bool> = desk.peer.asked().iter().map(|asked| asked.header("authorization").is_some()).collect();
    assert_eq!(heads, [false, true]);
    // a pack that names a variable of its own is not served
    desk.folder.write("over.toml", "kind = \"dialect\"\nversion = 1\n[[key]]\nname = \"openai\"\nenv = [\"SECRET\"]\n");
    let ran = desk.keyed(&["--overlay", &desk.path("over.toml")], &[("SECRET", KEY)], 2);
    assert!(ran.err.contains("may not choose one"), "{}", ran.err);
    assert_eq!(desk.peer.asked().len(), 2);
    for name in [KEY, "9LIVES", ""] {
        let ran = desk.keyed(&["--key-env", name], &[], 2);
        assert!(ran.err.contains("not such a name") && (name.is_empty() || !ran.err.contains(name)), "{}", ran.err);
    }
}

#[test]
fn a_usual_key_that_is_missing_or_damaged_is_told_before_anything_is_sent() {
    let desk = Desk::new("no-key", vec![]);
    for (dialect, env) in [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("google", "GEMINI_API_KEY")] {
        let ran = desk.keyed(&["--dialect", dialect], &[], 2);
        assert!(ran.err.contains("there is no key") && ran.err.contains(env), "{dialect}: {}", ran.err);
        let ran = desk.keyed(&["--dialect", dialect], &[(env, "two words of it")], 2);
        assert!(ran.err.contains(env) && !ran.err.contains("two words"), "{dialect}: {}", ran.err);
    }
}

#[test]
fn every_dialect_of_every_shipped_pack_asks_the_address_that_is_named() {
    let packs: [(&str, &[&str]); 3] = [
        (
            "base",
            &["openai", "anthropic", "google", "text", "mistral", "xai", "ai21", "cohere", "openrouter", "deepseek", "openai-responses"],
        ),
        ("sillytavern-exact", &["openai", "claude", "google", "mistral", "xai", "ai21", "cohere", "openrouter", "deepseek"]),
        ("vibetavern", &["openai"]),
    ];
    for (pack, dialects) in packs {
        for dialect in dialects {
            let desk = Desk::new(&format!("named-{pack}-{dialect}"), vec![replied("Hello.")]);
            let url = format!("{}/v1", desk.peer.url());
            let all = ["chat", "--model", "m", "--retries", "0", "--once", "Hi.", "--pack", pack, "--dialect", dialect, "--url", &url];
            let ran = tapster(&all.map(str::to_owned), "", &std::collections::BTreeMap::new(), false);
            assert_eq!(desk.peer.asked().len(), 1, "{pack}, {dialect}: {}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn a_new_log_begins_with_the_chat_of_the_scene() {
    let desk = Desk::new("begins", vec![streamed(&["New."])]);
    desk.folder.write(
        "scene.json",
        json!({ "scene": { "history": [{ "role": "user", "text": "Old question." }, { "role": "assistant", "text": "Old answer." }] } })
            .to_string(),
    );
    std::fs::write(desk.path("chat.jsonl"), "").unwrap();
    desk.run(&[&desk.path("scene.json"), "--once", "Now?"], "", 0);
    let sent: Vec<_> = desk.sent(0).into_iter().filter(|(role, _)| role != "system").collect();
    let expected = [("user", "Old question."), ("assistant", "Old answer."), ("user", "Now?")];
    assert_eq!(sent, expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
    let said: Vec<_> = desk.lines()[1..].iter().map(|line| line["mes"].clone()).collect();
    assert_eq!(said, ["Old question.", "Old answer.", "Now?", "New."]);
    let log = desk.path("chat.jsonl");
    let all = ["chat", "--model", "m", "--url", &desk.peer.url(), "--log", &log, "--chat", &log, "--pack", "sillytavern", "--once", "x"];
    let ran = tapster(&all.map(str::to_owned), "", &std::collections::BTreeMap::new(), false);
    assert_eq!(ran.exit, 2, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the log has messages already"), "{}", ran.err);
}

#[test]
fn a_log_that_would_lose_data_is_not_written() {
    let desk = Desk::new("loses", vec![streamed(&["Hello."])]);
    let log = "{\"user_name\":\"User\"}\nnot json\n42\n";
    std::fs::write(desk.path("chat.jsonl"), log).unwrap();
    let ran = desk.run(&["--once", "Hi."], "", 2);
    assert!(ran.err.contains("2 lines"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(desk.path("chat.jsonl")).unwrap(), log);
    assert!(desk.peer.asked().is_empty());
    let ran = desk.run(&["--once", " "], "", 2);
    assert!(ran.err.contains("the message is empty"), "{}", ran.err);
}

#[test]
fn a_log_belongs_to_one_chat_at_a_time() {
    let desk = Desk::new("lock", vec![streamed(&["Hello."])]);
    let lock = desk.path("chat.jsonl.lock~");
    let other = std::fs::File::create(&lock).unwrap();
    other.lock().unwrap();
    let ran = desk.run(&["--once", "Hi."], "", 2);
    assert!(ran.err.contains("belongs to another chat") && ran.err.contains("--log"), "{}", ran.err);
    assert!(desk.peer.asked().is_empty(), "nothing was sent");
    // a lock that a killed chat has left behind is free
    drop(other);
    desk.run(&["--once", "Hi."], "", 0);
    assert!(!std::path::Path::new(&lock).exists());
}

#[test]
fn all_greetings_of_the_card_can_be_swiped_to() {
    let desk = Desk::new("greetings", vec![streamed(&["Yes."])]);
    let card = json!({ "scene": { "names": { "char": "Ann" }, "card": { "greetings": ["Hello, {{user}}.", "{{char}} waits.", "Go!"] } } });
    desk.folder.write("scene.json", card.to_string());
    let ran = desk.run(&[&desk.path("scene.json")], "/swipe 2\nAre you Ann?\n", 0);
    assert_eq!(ran.out, "Hello, User.\nAnn waits.\nYes.\n");
    assert!(ran.err.contains("3 greetings"), "{}", ran.err);
    let greeting = &desk.lines()[1];
    assert_eq!((&greeting["mes"], &greeting["swipe_id"]), (&json!("Ann waits."), &json!(1)));
    assert_eq!(greeting["swipes"], json!(["Hello, User.", "Ann waits.", "Go!"]));
    assert!(desk.sent(0).iter().any(|(_, text)| text == "Ann waits."));
}

#[test]
fn each_text_of_a_reply_keeps_what_belongs_to_it() {
    let thought = |text: &str, thought: &str| {
        let message = json!({ "role": "assistant", "content": text, "reasoning_content": thought });
        let body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
        whole(OK, &[JSON], body.to_string().as_bytes())
    };
    let desk = Desk::new("swipes", vec![thought("one", "first"), thought("two", "second")]);
    desk.run(&["--no-stream"], "Hi.\n/swipe\n/swipe 1\n", 0);
    let reply = desk.lines().pop().unwrap();
    let reasoning = |value: &Json| value["extra"]["reasoning"].clone();
    assert_eq!((&reply["mes"], reasoning(&reply)), (&json!("one"), json!("first")));
    let infos: Vec<Json> = reply["swipe_info"].as_array().unwrap().iter().map(reasoning).collect();
    assert_eq!(infos, ["first", "second"]);
}

#[test]
fn a_reply_is_written_once_even_if_it_is_cleaned_up() {
    let desk = Desk::new("cleaned", vec![streamed(&["<think>Hm.", "</think>\n", "Hello.", "\n"])]);
    let ran = desk.run(&["--once", "Hi."], "", 0);
    assert_eq!(ran.out.matches("Hello.").count(), 1, "{}", ran.out);
    assert!(ran.out.ends_with("Hello.\n"), "{:?}", ran.out);
}

#[test]
fn what_a_model_sends_moves_no_cursor_and_hides_nothing() {
    let desk = Desk::new("escape", vec![streamed(&["a\u{1b}[2Jb\u{7}", "\u{202e}c\u{200d}é\u{200b}"])]);
    let ran = desk.run(&["--once", "Hi."], "", 0);
    assert_eq!(ran.out, "a\\u{1b}[2Jb\\u{7}\\u{202e}c\u{200d}é\\u{200b}\n");
    assert_eq!(desk.lines()[2]["mes"], "a\u{1b}[2Jb\u{7}\u{202e}c\u{200d}é\u{200b}", "the file keeps it as it came");
}

#[test]
fn commands_tell_what_they_cannot_do_and_what_was_built() {
    let desk = Desk::new("commands", vec![streamed(&["Hello."])]);
    let ran = desk.run(&[], "/regen\n/explain\n/swip\n/help\n/model\n/model other\n/model\nHi.\n/explain\n/why 0\n/why\n/state\n//x\n", 1);
    for told in ["there is no message of yours to answer", "nothing was built yet", "there is no command `/swip`", "did you mean `swipe`"] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    for shown in ["/regen", "m\nother\n", "\"history\"", "\"state\""] {
        assert!(ran.out.contains(shown), "{shown}: {}", ran.out);
    }
    assert_eq!(desk.peer.asked()[0].json()["model"], "other");
}

#[test]
fn a_record_is_made_and_replayed_without_a_server() {
    let desk = Desk::new("record", vec![streamed(&["Hello."])]);
    let record = desk.path("record.jsonl");
    desk.run(&["--once", "Hi.", "--now", "2026-01-01T00:00:00Z", "--record", &record], "", 0);
    std::fs::remove_file(desk.path("chat.jsonl")).unwrap();
    std::fs::remove_file(desk.path("store.db")).unwrap();
    let ran = desk.run(&["--once", "Hi.", "--now", "2026-01-01T00:00:00Z", "--replay", &record], "", 0);
    assert_eq!((ran.out.as_str(), desk.peer.asked().len()), ("Hello.\n", 1));
    assert!(ran.err.contains("the address of `--url` is not asked"), "{}", ran.err);
    let line: Json = serde_json::from_str(std::fs::read_to_string(&record).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(line["program"], concat!("tapster/", env!("CARGO_PKG_VERSION")));
}

#[test]
fn mistakes_in_flags_are_told_before_anything_is_sent() {
    let desk = Desk::new("flags", vec![]);
    desk.folder.write("config.toml", "[tool_calling]\nmax_turn = 3\n");
    let config = desk.path("config.toml");
    let cases: [(&[&str], &str); 4] = [
        (&["--config", &config, "--once", "x"], "unknown_key at `/tool_calling/max_turn`"),
        (&["--key-env", "TAPSTER_TEST_NO_SUCH_KEY", "--once", "x"], "`TAPSTER_TEST_NO_SUCH_KEY` is not set"),
        (&["--message", "x"], "`--message` has no effect here"),
        (&["--proxy", "nowhere", "--once", "x"], "the value of `--proxy` is not an address"),
    ];
    for (args, told) in cases {
        let ran = desk.run(args, "", 2);
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
    }
    desk.folder.write("steps.toml", "[module_configs.pruning]\ndepth = 3\n[module_configs.max_tokens]\nmax_tokens = 9000\n");
    let ran = desk.run(&["--config", &desk.path("steps.toml"), "--once", "x", "--option", "stream=true"], "", 2);
    assert!(ran.err.contains("`module_configs.pruning` of `") && !ran.err.contains("module_configs.max_tokens"), "{}", ran.err);
    let ran = desk.run(&["--once", "x", "--option", "stream=true"], "", 2);
    assert!(ran.err.contains("reserved_key"), "{}", ran.err);
}

#[test]
fn an_operation_asks_the_model_that_it_names() {
    let world = r#"{"hour": 21, "place": "gallery", "weather": "fog", "lamp": false}"#;
    let failed = whole("400 Bad Request", &[JSON], br#"{"error": {"message": "no such thing"}}"#);
    let desk = Desk::new("operation", vec![replied("A bell."), replied(world), replied("It is dark."), failed]);
    desk.folder.write("small.toml", "kind = \"overlay\"\nversion = 1\nname = \"small\"\n[[operation]]\nname = \"keep_world\"\nparams = { model = \"small\", max_tokens = 50 }\n");
    let (store, url, overlay) = (desk.path("store.db"), desk.peer.url(), desk.path("small.toml"));
    let args = [
        "chat",
        "examples/living-world",
        "--overlay",
        &overlay,
        "--model",
        "m",
        "--url",
        &url,
        "--store",
        &store,
        "--retries",
        "0",
        "--no-stream",
    ];
    let ran = tapster(&args.map(str::to_owned), "Hello.\nWhat now?\n/state\n", &std::collections::BTreeMap::new(), false);
    assert!(ran.err.contains("operation `keep_world` asked `small`"), "{}", ran.err);
    assert!(ran.err.contains("turn 2: operation `keep_world` failed: ") && ran.err.contains("no such thing"), "{}", ran.err);
    assert!(ran.out.contains("\"hour\": 21"), "{}", ran.out);
    let asked: Vec<Json> = desk.peer.asked().iter().map(crate::peers::Asked::json).collect();
    assert_eq!(asked.len(), 4);
    assert_eq!((&asked[1]["model"], &asked[1]["max_tokens"]), (&json!("small"), &json!(50)));
    assert_eq!(asked[2]["model"], "m");
}

// Tools in a chat: those of the pack and of the host run, each call is told, and what is hidden does not run.

const HOST: &str = "[[tool]]\nname = \"echo\"\ndescription = \"Says it again.\"\ncommand = [\"cat\"]\n";

fn calls() -> Json {
    let call = |index: usize, id: &str, name: &str, arguments: &str| json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    json!([call(0, "a", "look", "{\"room\":\"lamp\"}"), call(1, "b", "echo", "{\"x\":1}"), call(2, "c", "fly", "{}")])
}

/// A stream with a text and three calls.
fn asks() -> Vec<Step> {
    let event = |delta: Json| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let events = [event(json!({ "content": "Let me see." })), event(json!({ "tool_calls": calls() })), "data: [DONE]\n\n".to_owned()];
    let events: Vec<&[u8]> = events.iter().map(|event| event.as_bytes()).collect();
    vec![Step::Send([head(OK, &[EVENTS, CHUNKED]), chunked(&events)].concat())]
}

/// The same as a whole reply.
fn asks_whole() -> Vec<Step> {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": calls() } }] });
    whole(OK, &[JSON], body.to_string().as_bytes())
}

#[track_caller]
fn chat(desk: &Desk, args: &[&str], exit: u8) -> Ran {
    let (url, log) = (desk.peer.url(), desk.path("chat.jsonl"));
    let fixed = ["chat", "examples/tools", "--model", "m", "--url", &url, "--log", &log, "--retries", "0", "--once", "What is up there?"];
    let store = ["--store", &desk.path("store.db")].map(str::to_owned);
    let all: Vec<String> = fixed.iter().chain(args).map(ToString::to_string).chain(store).collect();
    let ran = tapster(&all, "", &std::collections::BTreeMap::new(), false);
    assert_eq!(ran.exit, exit, "{args:?}: {}{}", ran.out, ran.err);
    ran
}

/// The names of the tools that a request offers.
fn offered(desk: &Desk, request: usize) -> Vec<String> {
    let body = desk.peer.asked().get(request).unwrap().json();
    let tools = body.get("tools").and_then(Json::as_array).cloned().unwrap_or_default();
    tools.iter().map(|tool| tool.pointer("/function/name").and_then(Json::as_str).unwrap().to_owned()).collect()
}

#[test]
fn tools_of_the_pack_and_of_the_host_run_and_every_call_is_told() {
    let desk = Desk::new("tools", vec![asks(), streamed(&["A ", "lamp."])]);
    desk.folder.write("host.toml", HOST);
    let ran = chat(&desk, &["--tools", &desk.path("host.toml")], 0);
    assert_eq!(ran.out, "A lamp.\n");
    for told in ["`look` was called\n", "`echo` was called\n", "`fly` was not called: unknown_tool\n", "11 characters"] {
        assert_eq!(ran.err.matches(told).count(), 1, "{told}: {}", ran.err);
    }
    assert_eq!(offered(&desk, 0), ["look", "echo"]);
    let asked = desk.peer.asked();
    assert!(asked.iter().all(|request| request.json()["stream"] == true), "replies are streamed between calls as well");
    let results: Vec<Json> = asked[1].json()["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").cloned().collect();
    let said: Vec<&str> = results.iter().map(|result| result["content"].as_str().unwrap()).collect();
    assert!(said[0].contains("twelve seconds") && said[1].contains("{\"x\":1}") && said[2].contains("unknown_tool"), "{said:?}");
    let reply = desk.lines().pop().unwrap();
    assert_eq!(reply["mes"], "A lamp.");
    let kept: Vec<_> = reply["extra"]["tools"].as_array().unwrap().iter().map(|call| (call["tool"].clone(), call["ok"].clone())).collect();
    assert_eq!(kept, [("look", true), ("echo", true), ("fly", false)].map(|(tool, ok)| (json!(tool), json!(ok))));
}

#[test]
fn what_is_hidden_is_not_offered_and_does_not_run() {
    let desk = Desk::new("hidden", vec![asks(), streamed(&["No."]), streamed(&["None."])]);
    desk.folder.write("host.toml", HOST);
    let host = desk.path("host.toml");
    let ran = chat(&desk, &["--tools", &host, "--deny-tool", "echo"], 0);
    assert!(ran.err.contains("`echo` was not called: tool_not_allowed"), "{}", ran.err);
    assert_eq!(offered(&desk, 0), ["look"]);
    chat(&desk, &["--no-tools"], 0);
    assert!(offered(&desk, 2).is_empty());
    let ran = chat(&desk, &["--allow-tool", "loook"], 2);
    assert!(ran.err.contains("no tool `loook`") && ran.err.contains("look"), "{}", ran.err);
}

#[test]
fn a_model_without_tools_is_offered_none_and_a_pack_may_refuse_streams_with_tools() {
    let desk = Desk::new("untooled", vec![streamed(&["Hello."]), asks_whole(), whole(OK, &[JSON], ANSWER.as_bytes())]);
    desk.folder.write("config.toml", "capabilities = { tools = false }\n");
    let ran = chat(&desk, &["--config", &desk.path("config.toml")], 0);
    assert!(ran.err.contains("takes no tools") && ran.err.contains("--no-tools"), "{}", ran.err);
    assert!(offered(&desk, 0).is_empty());
    // results as JSON are whole, and so are the replies that they come from
    let ran = chat(&desk, &["--format", "json"], 0);
    let line: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&line["reply"], &line["tools"][0]["tool"]), (&json!("Up."), &json!("look")));
    assert!(desk.peer.asked()[1].json()["stream"].as_bool() != Some(true));
}

const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"Up."},"finish_reason":"stop"}]}"#;

#[test]
fn a_model_that_only_calls_tools_is_told_with_a_remedy() {
    let desk = Desk::new("turns", vec![asks()]);
    desk.folder.write("config.toml", "tool_calling = { max_turns = 1 }\n");
    let ran = chat(&desk, &["--config", &desk.path("config.toml")], 1);
    assert!(ran.err.contains("run.max_turns") && ran.err.contains("max_turns = "), "{}", ran.err);
    assert_eq!(desk.lines().len(), 2, "the message stays, and can be answered");
}

#[test]
fn directives_of_a_pack_are_told_to_have_no_effect() {
    let desk = Desk::new("directives", vec![streamed(&["Hello."])]);
    desk.folder.write("over.toml", "kind = \"directive\"\nversion = 1\n[[directive]]\nname = \"ui.toast\"\n");
    let ran = desk.run(&["--overlay", &desk.path("over.toml"), "--once", "Hi."], "", 0);
    assert!(ran.err.contains("`ui.toast`") && ran.err.contains("tapster eval --mode directives"), "{}", ran.err);
}
