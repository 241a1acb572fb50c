//! `tapster chat` against a scripted server: turns, swipes, edits, the file of the chat, the state, and failures.

use serde_json::{Value as Json, json};

use super::{Folder, Ran, tapster};
use crate::peers::{CHUNKED, EVENTS, JSON, Peer, Step, chunked, head, whole};

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
    assert_eq!(ran.out, "Hello.\nI am Ann.\n", "{}", ran.err);
    assert_eq!(desk.peer.asked()[0].json()["stream"], json!(true));
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
    let desk = Desk::new("fails", vec![refused, streamed(&["Hello."])]);
    let ran = desk.run(&[], "/set names.user=Bo\nHi.\nHi again.\n", 1);
    assert!(ran.err.contains("no such model") && ran.err.contains("400"), "{}", ran.err);
    assert_eq!(ran.out, "Hello.\n");
    let ran = Desk::new("fails-once", vec![whole("500 Oh", &[JSON], b"{}")]).run(&["--once", "Hi."], "", 1);
    assert!(ran.err.contains("500"), "{}", ran.err);
}

#[test]
fn what_a_model_sends_moves_no_cursor() {
    let desk = Desk::new("escape", vec![streamed(&["a\u{1b}[2Jb\u{7}"])]);
    let ran = desk.run(&["--once", "Hi."], "", 0);
    assert_eq!(ran.out, "a\u{fffd}[2Jb\u{fffd}\n");
    assert_eq!(desk.lines()[2]["mes"], "a\u{1b}[2Jb\u{7}", "the file keeps it as it came");
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
        (&["--proxy", "nowhere", "--once", "x"], "`--proxy nowhere` is no address"),
    ];
    for (args, told) in cases {
        let ran = desk.run(args, "", 2);
        assert!(ran.err.contains(told), "{args:?}: {}", ran.err);
    }
    let ran = desk.run(&["--once", "x", "--option", "stream=true"], "", 2);
    assert!(ran.err.contains("reserved_key"), "{}", ran.err);
}
