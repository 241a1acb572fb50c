//! Keys: where they come from, and that they go nowhere but into one header.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tapster_client::keys::KeyScrubber;
use tapster_client::{BoxFuture, IncomingAnswer, Key, OutgoingRequest, Transport, TransportError};

use super::scripted::{BASE, Scripted, send, stream_answer};

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
