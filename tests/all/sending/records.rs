//! Records and replays.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use serde_json::{Value as Json, json};
use tapster_client::retry::{RetryPolicy, RetryTransport};
use tapster_client::{Recorder, Replay, TransportError};

use super::faults::{STREAM, TEXT, whole};
use super::retries::Still;
use super::scripted::{Answer, BASE, Part, Scripted, json_answer, now, request, send, stream_answer, typed};

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
