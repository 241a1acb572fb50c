//! Records and replays.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tapster_client::keys::KeyScrubber;
use tapster_client::retry::{RetryPolicy, RetryTransport};
use tapster_client::{BoxFuture, IncomingAnswer, Key, OutgoingRequest, Recorder, Replay, Transport, TransportError};

use crate::sending::faults::{STREAM, Still, TEXT, whole};
use crate::sending::scripted::{Answer, BASE, Part, Scripted, json_answer, now, request, send, stream_answer, typed};

fn recorded(answers: Vec<Answer>) -> String {
    let sink = Arc::new(Mutex::new(Vec::new()));
    let count = answers.len();
    let recorder: Arc<Recorder> = Arc::new(Recorder::new(Scripted::new(answers), sink.clone(), None));
    for _ in 0..count {
        send(&BASE, recorder.clone(), "openai", true);
    }
    String::from_utf8(sink.lock().unwrap().clone()).unwrap()
}

fn parts(bytes: &[u8], size: usize) -> Vec<Part> {
    bytes.chunks(size).map(|part| Part::Bytes(part.to_vec())).collect()
}

#[test]
fn a_replay_gives_what_was_recorded_part_by_part() {
    let answers = || {
        vec![
            // parts that are cut inside of letters
            Ok((200, typed("text/event-stream"), parts(STREAM.as_bytes(), 5))),
            json_answer(503, &json!({ "error": { "message": "Later" } })),
            Err(TransportError { code: "connection", message: "no connection".to_owned(), unsent: true }),
            Ok((200, typed("text/event-stream"), vec![Part::Bytes(STREAM.as_bytes()[..90].to_vec()), Part::Breaks("timeout")])),
            json_answer(200, &whole()),
        ]
    };
    let record = recorded(answers());
    assert_eq!(record.lines().count(), 5);
    let replay = Arc::new(Replay::parse(&record).unwrap());
    for answer in answers() {
        let (first, again) = (send(&BASE, Scripted::new([answer]), "openai", true), send(&BASE, replay.clone(), "openai", true));
        assert_eq!((format!("{:?}", first.result), first.deltas), (format!("{:?}", again.result), again.deltas));
    }
    let error = send(&BASE, replay, "openai", true).error();
    assert_eq!(error.code, "not_recorded");
    assert!(error.message.contains("holds 5 replies"), "{}", error.message);
}

#[test]
fn answers_belong_to_their_requests_in_any_order() {
    let line = |text: &str, answer: &str| {
        let mut request = request("openai", "https://a.example/", true).outgoing.body;
        request["messages"][0]["content"] = text.into();
        let message = json!({ "choices": [{ "message": { "content": answer }, "finish_reason": "stop" }] });
        let reply = json!({ "status": 200, "headers": [["content-type", "application/json"]], "parts": [message.to_string()] });
        json!({ "request": { "url": "https://other.example/", "stream": true, "body": request }, "reply": reply }).to_string()
    };
    let replay = Arc::new(Replay::parse(&[line("Bye", "2"), String::new(), line("Hi", "1"), line("Hi", "3")].join("\n")).unwrap());
    assert_eq!(send(&BASE, replay.clone(), "openai", true).reply().message["content"], "1");
    assert_eq!(send(&BASE, replay.clone(), "openai", true).reply().message["content"], "3");
    let error = send(&BASE, replay, "openai", true).error();
    let told = "it differs from the next one at `/body/messages/0/content`: \"Hi\" instead of \"Bye\"";
    assert!(error.message.contains(told), "{}", error.message);
}

#[test]
fn records_that_cannot_be_read() {
    for (text, line, said) in [
        ("nonsense", 1, "not JSON"),
        ("\n{}", 2, "no `request`"),
        ("{\"request\":{\"body\":1}}", 1, "no `reply`"),
        ("{\"request\":{\"body\":1},\"reply\":{}}", 1, "neither a status nor an error"),
        ("{\"request\":{\"body\":1},\"reply\":{\"status\":200,\"parts\":[1]}}", 1, "neither"),
    ] {
        let error = Replay::parse(text).err().unwrap();
        assert_eq!(error.line, line);
        assert!(error.message.contains(said), "{}", error.message);
    }
}

/// A request that is cancelled before its answer begins has a line too; a stream that was read to its end is not cut.
#[test]
fn every_request_has_a_line_of_its_own() {
    use tapster_client::Transport;
    let sink = Arc::new(Mutex::new(Vec::new()));
    let recorder: Arc<dyn Transport> =
        Arc::new(Recorder::new(Scripted::new([json_answer(503, &json!({})), stream_answer(STREAM)]), sink.clone(), None));
    let asked = request("openai", "https://a.example/v1", true).outgoing;
    drop(Recorder::new(Arc::new(Silent), sink.clone(), None).send(&asked).as_mut().poll(&mut Context::from_waker(Waker::noop())));
    let retrying = |inner: Arc<dyn Transport>| Arc::new(RetryTransport::new(inner, RetryPolicy::default(), Arc::new(Still::default())));
    assert_eq!(send(&BASE, retrying(recorder), "openai", true).reply().message["content"], TEXT);
    let record = String::from_utf8(sink.lock().unwrap().clone()).unwrap();
    let replies: Vec<Json> = record.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()["reply"].clone()).collect();
    let [cancelled, refused, read] = replies.as_slice() else { panic!("{record}") };
    assert_eq!((&cancelled["error"]["code"], &refused["status"]), (&json!("cancelled"), &json!(503)));
    assert!(read["status"] == 200 && read.get("cut").is_none(), "{read}");
    // a replay is asked as often as the provider was, and not more often
    let rest: String = record.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let replay = retrying(Arc::new(Replay::parse(&rest).unwrap()));
    assert_eq!(send(&BASE, replay, "openai", true).reply().message["content"], TEXT);
    let replay = retrying(Arc::new(Replay::parse(rest.lines().next().unwrap()).unwrap()));
    assert_eq!(send(&BASE, replay, "openai", true).error().status, Some(503));
}

/// A provider that never answers.
struct Silent;

impl tapster_client::Transport for Silent {
    fn send<'a>(
        &'a self,
        _: &'a tapster_client::OutgoingRequest,
    ) -> tapster_client::BoxFuture<'a, Result<tapster_client::IncomingAnswer, TransportError>> {
        Box::pin(std::future::pending())
    }
}

/// A body that is dropped before its end, as by a cancellation, is recorded as far as it was read.
#[test]
fn what_was_dropped_is_recorded_too() {
    use tapster_client::Transport;
    let sink = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder::new(Scripted::new([stream_answer(STREAM)]), sink.clone(), None);
    let asked = request("openai", "https://a.example/v1?key=secret", true).outgoing;
    let mut incoming = now(recorder.send(&asked)).unwrap();
    now(incoming.body.next()).unwrap();
    drop(incoming);
    let line: Json = serde_json::from_slice(&sink.lock().unwrap()).unwrap();
    assert_eq!((&line["reply"]["cut"], &line["reply"]["parts"]), (&json!("not read any further"), &json!([STREAM])));
    assert_eq!(line["request"]["url"], "https://a.example/v1");
    let replay = Arc::new(Replay::parse(&line.to_string()).unwrap());
    assert_eq!(send(&BASE, replay, "openai", true).reply().message["content"], TEXT);
}

// Keys: where they come from, and that they go nowhere but into one header.

/// A key with letters that JSON and addresses write in other ways.
pub(crate) const KEY: &str = "sk-Test/0123456789+\"\\abcdef";

/// A file with a key, in a folder that the system cleans.
pub(crate) fn file(name: &str, text: &str) -> std::path::PathBuf {
    // tests run beside each other, and each has its own file
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tapster-keys-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

pub(crate) fn key() -> Key {
    Key::from_file(&file("key", &format!("{KEY}\n"))).unwrap()
}

#[test]
fn keys_that_are_none() {
    for (name, text, said) in [
        ("empty", " \n", "is empty"),
        ("short", "1234567", "fewer than 8"),
        ("spaces", "sk-1234 5678", "white space"),
        ("lines", "sk-12345678\nsk-12345678", "white space"),
        ("letters", "sk-größer-als-alles", "other characters"),
        ("long", &"x".repeat(10_000), "more than 8192"),
    ] {
        let error = Key::from_file(&file(name, text)).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(name), "{error}");
        assert!(text.trim().is_empty() || !error.contains(text.trim()), "{error}");
    }
    assert!(Key::from_file(Path::new("/nowhere/key")).unwrap_err().to_string().contains("cannot be read"));
    let error = Key::from_env("TAPSTER_NO_SUCH_KEY").unwrap_err();
    assert_eq!(error.to_string(), "the environment variable `TAPSTER_NO_SUCH_KEY` is not set");
}

#[test]
fn a_key_shows_nothing_of_itself() {
    assert_eq!(format!("{:?}", key()), "Key([key])");
    let json = serde_json::Value::from(KEY).to_string();
    let texts = [format!("Bearer {KEY}"), json, "x=sk-Test%2F0123456789%2B%22%5Cabcdef&y=1".to_owned()];
    for text in texts {
        let clean = key().scrub(&text);
        assert!(clean.contains("[key]") && !clean.contains("0123456789"), "{clean}");
    }
    assert_eq!(key().scrub("sk-Test/012345678"), "sk-Test/012345678");
}

/// A scripted provider behind a transport that has a key.
struct Keyed(std::sync::Arc<Scripted>);

impl Transport for Keyed {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        self.0.send(request)
    }

    fn scrub(&self, text: String) -> String {
        key().scrub(&text)
    }

    fn scrubber(&self) -> KeyScrubber {
        KeyScrubber::new(Some(key()))
    }
}

/// A key that is cut over two events never stands in the bytes as a whole, and is not shown either.
#[test]
fn an_echo_over_several_events_of_a_stream() {
    let event = |field: &str, text: &str| {
        let delta = serde_json::json!({ "choices": [{ "delta": { field: text } }] });
        format!("data: {delta}\n\n")
    };
    let (begin, end) = KEY.split_at(9);
    let mut body = String::new();
    for field in ["reasoning_content", "content"] {
        for text in ["It is ", begin, end, ". Yes"] {
            body += &event(field, text);
        }
    }
    body += "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let came = send(&BASE, std::sync::Arc::new(Keyed(Scripted::new([stream_answer(&body)]))), "openai", true);
    assert_eq!((came.text(), came.reasoning()), ("It is [key]. Yes".to_owned(), "It is [key]. Yes".to_owned()));
    assert_eq!(came.reply().message["content"], "It is [key]. Yes");
}

proptest! {
    /// However an echo is cut into parts, nothing of the key comes through, and everything else does.
    #[test]
    fn an_echo_in_parts(sizes in prop::collection::vec(1usize..9, 1..60)) {
        let text = format!("a {KEY}{KEY} sk-Te sk-{KEY}x sk-Test/0123456789+");
        let (mut scrubber, mut out, mut rest) = (KeyScrubber::new(Some(key())), Vec::new(), text.as_bytes());
        for size in sizes {
            let (part, behind) = rest.split_at(size.min(rest.len()));
            out.extend(scrubber.push(part.to_vec()));
            rest = behind;
        }
        out.extend(scrubber.push(rest.to_vec()));
        out.extend(scrubber.end());
        prop_assert_eq!(String::from_utf8(out).unwrap(), "a [key][key] sk-Te sk-[key]x sk-Test/0123456789+");
    }
}

#[test]
fn the_account_of_a_proxy_is_taken_out_of_texts() {
    // `ann:s3cret pass` as an address, as it is, and as a proxy is sent it
    let texts = ["ann:s3cret%20pass", "ann:s3cret pass", "YW5uOnMzY3JldCBwYXNz", "s3cret pass", "s3cret%20pass"];
    let hidden = Key::hidden(Some(&key()), Some("http://ann:s3cret%20pass@localhost:3128/")).unwrap();
    for text in texts.iter().chain(&[KEY]) {
        assert_eq!(hidden.scrub(&format!("<{text}>")), "<[key]>");
    }
    assert_eq!(hidden.scrub("ann, localhost:3128"), "ann, localhost:3128", "what is no secret stays");
    assert!(Key::hidden(None, Some("http://user@localhost:3128")).is_some_and(|hidden| hidden.scrub("\"role\":\"user\"").contains("user")));
    assert!(Key::hidden(None, Some("http://localhost:3128")).is_none() && Key::hidden(None, None).is_none());
}
