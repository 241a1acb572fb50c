//! The same faults over sockets, with what only sockets have: connections, timeouts, TLS, cancellation, keys.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use core::time::Duration;
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Value, emit};
use tapster_client::retry::{RetryPolicy, RetryTransport};
use tapster_client::{
    AuthHeader, Delta, Http, HttpOptions, Key, PromptRunner, ProviderError, RealPace, Recorder, Reply, RunError, Timeouts, Transport,
};

use crate::peers;
use crate::peers::{CHUNKED, EVENTS, JSON, Peer, Step, chunked, head};
use crate::sending::faults::{STREAM, TEXT, finished_at, whole};
use crate::sending::records::{KEY, key};
use crate::sending::scripted::{BASE, config, request};

/// Timeouts that a test reaches at once; none of them passes while a peer works.
const SHORT: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    answer: Duration::from_millis(150),
    idle: Duration::from_millis(150),
    total: Duration::from_secs(20),
};

const LONG: Timeouts = Timeouts { answer: Duration::from_secs(15), idle: Duration::from_secs(15), ..SHORT };

fn http(timeouts: Timeouts, key: Option<Key>) -> Arc<Http> {
    Arc::new(Http::new(HttpOptions { key, timeouts, ..HttpOptions::default() }).unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn sent(transport: Arc<dyn Transport>, url: &str) -> (Result<Reply, ProviderError>, String) {
    let mut request = request("openai", url, true);
    request.outgoing.auth = Some(AuthHeader { header: "authorization".to_owned(), prefix: "Bearer ".to_owned() });
    let config = config(&BASE);
    let mut text = String::new();
    let mut hear = |delta: &Delta| {
        if let Delta::Text(more) = delta {
            text.push_str(more);
        }
    };
    let result = runtime().block_on(PromptRunner::new(transport).send(&config, &request, &mut hear));
    let result = result.map_err(|e| match e {
        RunError::Provider(error) => error,
        other => panic!("{other}"),
    });
    (result, text)
}

fn asks(peer: &Peer, timeouts: Timeouts) -> (Result<Reply, ProviderError>, String) {
    sent(http(timeouts, None), &peer.url())
}

fn code(result: Result<Reply, ProviderError>) -> String {
    result.map_or_else(|e| e.code, |reply| format!("{reply:?}"))
}

#[test]
fn a_whole_and_a_streamed_reply() {
    let body = whole().to_string();
    let parts: Vec<&[u8]> = STREAM.as_bytes().chunks(11).collect();
    let streamed = vec![Step::Send(head("200 OK", &[EVENTS, CHUNKED])), Step::Send(chunked(&parts))];
    let slow = vec![Step::Slowly([head("200 OK", &[EVENTS]), STREAM.as_bytes().to_vec()].concat())];
    let peer = Peer::new(vec![peers::whole("200 OK", &[JSON], body.as_bytes()), streamed, slow]);
    for _ in 0..3 {
        let (result, text) = asks(&peer, LONG);
        assert_eq!((result.unwrap().message["content"].as_str(), text.as_str()), (Some(TEXT), TEXT));
    }
    let asked = &peer.asked()[0];
    assert_eq!(asked.json()["messages"], json!([{ "role": "user", "content": "Hi" }]));
    assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", asked.head);
    assert_eq!((asked.header("authorization"), asked.header("accept-encoding")), (None, Some("identity")));
    assert_eq!(asked.header("content-type"), Some("application/json"));
}

#[test]
fn cut_over_sockets() {
    let step = 23;
    let mut scripts = Vec::new();
    let offsets: Vec<usize> = (0..STREAM.len()).step_by(step).collect();
    for at in &offsets {
        let part = &STREAM.as_bytes()[..*at];
        // with the connection, inside of a chunk, and before the promised length
        scripts.push(vec![Step::Send([head("200 OK", &[EVENTS]), part.to_vec()].concat())]);
        let chunk = [format!("{:x}\r\n", STREAM.len()).as_bytes(), part].concat();
        scripts.push(vec![Step::Send([head("200 OK", &[EVENTS, CHUNKED]), chunk].concat())]);
        let length = STREAM.len().to_string();
        scripts.push(vec![Step::Send([head("200 OK", &[EVENTS, ("content-length", &length)]), part.to_vec()].concat())]);
    }
    let peer = Peer::new(scripts);
    let transport = http(LONG, None);
    for at in &offsets {
        for way in 0..3 {
            let (result, text) = sent(transport.clone(), &peer.url());
            assert!(TEXT.starts_with(&text), "{at} {way}: {text}");
            if *at > finished_at() + 2 {
                assert_eq!(result.unwrap().message["content"], TEXT, "{at} {way}");
            } else {
                let code = code(result);
                assert!(code == "dropped" || way == 0 && code == "empty_response", "{at} {way}: {code}");
            }
        }
    }
    assert_eq!(peer.asked().len(), offsets.len() * 3, "nothing was sent twice");
}

#[test]
fn a_whole_reply_cut_over_sockets() {
    let body = whole().to_string();
    let offsets: Vec<usize> = (0..body.len()).step_by(11).collect();
    let length = body.len().to_string();
    let cut =
        |at: &usize| vec![Step::Send([head("200 OK", &[JSON, ("content-length", &length)]), body.as_bytes()[..*at].to_vec()].concat())];
    let peer = Peer::new(offsets.iter().map(cut).collect());
    for at in &offsets {
        assert_eq!(code(asks(&peer, LONG).0), "dropped", "{at}");
    }
    // a head that is cut
    let head = head("200 OK", &[JSON, ("content-length", "10")]);
    let peer = Peer::new((0..head.len()).step_by(9).map(|at| vec![Step::Send(head[..at].to_vec())]).collect());
    for at in (0..head.len()).step_by(9) {
        let code = code(asks(&peer, LONG).0);
        assert!(["dropped", "malformed_response"].contains(&code.as_str()), "{at}: {code}");
    }
}

#[test]
fn peers_that_stall() {
    let stalls = |bytes: &[u8]| vec![Step::Send(bytes.to_vec()), Step::Stall];
    let begun = [head("200 OK", &[EVENTS]), STREAM.as_bytes()[..200].to_vec()].concat();
    let finished = [head("200 OK", &[EVENTS]), STREAM.as_bytes()[..finished_at() + 2].to_vec()].concat();
    let peer = Peer::new(vec![stalls(b""), stalls(b"HTTP/1.1 200"), stalls(&begun), stalls(&finished), vec![Step::Stall]]);
    for n in 0..5 {
        let (result, _) = asks(&peer, SHORT);
        // a model that is known to have finished needs no more
        if n == 3 {
            assert_eq!(result.unwrap().message["content"], TEXT)
        } else {
            assert_eq!(code(result), "timeout", "{n}")
        }
        assert!(peer.saw_it_closed(), "{n}: the connection is closed");
    }
    assert_eq!(peer.asked().len(), 5);
}

#[test]
fn endless_and_exploding_answers() {
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}}]}\n\n".repeat(1000);
    let endless = |headers: &[(&str, &str)], bytes: Vec<u8>| vec![Step::Send(head("200 OK", headers)), Step::Endless(bytes)];
    let hundred = ("content-length", "104857600");
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3].repeat(1000);
    let peer = Peer::new(vec![
        endless(&[EVENTS], event),
        endless(&[JSON, hundred], vec![b'x'; 100_000]),
        endless(&[JSON, ("content-encoding", "gzip")], bomb),
        vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Endless(b"x-more: header of an answer\r\n".repeat(100))],
    ]);
    for expected in ["too_large", "too_large", "encoding", "malformed_response"] {
        let (result, _) = asks(&peer, LONG);
        let code = code(result);
        // heads that never end are given up by the client; how it says so is its own matter
        assert!(code == expected || expected == "malformed_response" && code == "dropped", "{expected}: {code}");
        assert!(peer.saw_it_closed(), "{expected}");
    }
}

#[test]
fn garbage_in_place_of_http() {
    let garbage: [&[u8]; 5] =
        [b"\0\0\0\0\0\0\0\0", b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"<html>\r\n\r\n"];
    let chunk = [head("200 OK", &[EVENTS, CHUNKED]), b"zz\r\ndata".to_vec()].concat();
    let scripts = garbage.iter().map(|bytes| vec![Step::Send(bytes.to_vec())]).chain([vec![Step::Send(chunk)]]);
    let peer = Peer::new(scripts.collect());
    for n in 0..6 {
        let code = code(asks(&peer, LONG).0);
        assert!(["malformed_response", "dropped"].contains(&code.as_str()), "{n}: {code}");
    }
    assert_eq!(peer.asked().len(), 6, "nothing was sent twice");
}

#[test]
fn no_key_goes_along_with_a_redirect() {
    let other = Peer::new(vec![peers::whole("200 OK", &[JSON], whole().to_string().as_bytes())]);
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let peer = Peer::new(vec![peers::whole(status, &[("location", &other.url())], b"")]);
        let error = sent(http(LONG, Some(key())), &peer.url()).0.unwrap_err();
        assert_eq!(error.code, "redirect");
        assert!(error.message.contains(&other.address.to_string()), "{}", error.message);
        assert_eq!(peer.asked()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    }
    assert!(other.asked().is_empty());
}

#[test]
fn connections_that_are_not_safe() {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    // a peer that knows no TLS
    let plain = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://{}/v1", plain.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad\r\n\r\n").unwrap();
        // reads until the client gives up, so that its bytes do not reset the connection
        let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
    });
    let error = sent(http(LONG, Some(key())), &url).0.unwrap_err();
    assert_eq!(error.code, "tls", "{error:?}");
    answers.join().unwrap();
    // a certificate that nobody vouches for
    let pem = include_bytes!("../peers/untrusted.pem");
    let certificate = CertificateDer::from_pem_slice(pem).unwrap();
    let secret = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let server = Arc::new(server.with_no_client_auth().with_single_cert(vec![certificate], secret).unwrap());
    let peer = Peer::serving(vec![peers::whole("200 OK", &[JSON], whole().to_string().as_bytes())], move |stream| {
        Box::new(rustls::StreamOwned::new(rustls::ServerConnection::new(server.clone()).unwrap(), stream))
    });
    let error = sent(http(LONG, Some(key())), &peer.url().replace("http:", "https:")).0.unwrap_err();
    assert_eq!((error.code.as_str(), error.safe_to_repeat), ("tls", true), "{error:?}");
    assert!(peer.asked().is_empty(), "nothing was sent");
}

#[test]
fn addresses_that_are_none() {
    let nobody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let error = sent(http(LONG, None), &format!("http://{nobody}/v1")).0.unwrap_err();
    assert_eq!((error.code.as_str(), error.safe_to_repeat), ("connection", true), "{error:?}");
    for url in ["", "provider.example/v1", "file:///etc/passwd", "ftp://a.example/", "https://user:secret@a.example/v1", "http://"] {
        let error = sent(http(LONG, None), url).0.unwrap_err();
        assert_eq!(error.code, "address", "{url}: {error:?}");
        assert!(!error.message.contains("secret"), "{error:?}");
    }
    for proxy in ["", "nonsense", "ftp://proxy.example", "http://"] {
        let options = HttpOptions { proxy: Some(proxy.to_owned()), ..HttpOptions::default() };
        assert_eq!(Http::new(options).err().map(|e| e.code), Some("address"), "{proxy}");
    }
}

#[test]
fn a_proxy_carries_the_request() {
    let proxy = Peer::new(vec![peers::whole("200 OK", &[JSON], whole().to_string().as_bytes())]);
    let options = HttpOptions { proxy: Some(format!("http://{}", proxy.address)), timeouts: LONG, ..HttpOptions::default() };
    let (result, _) = sent(Arc::new(Http::new(options).unwrap()), "http://provider.example/v1/chat");
    assert_eq!(result.unwrap().message["content"], TEXT);
    assert!(proxy.asked()[0].head.starts_with("POST http://provider.example/v1/chat HTTP/1.1"), "{}", proxy.asked()[0].head);
}

#[test]
fn retries_over_sockets() {
    let later = peers::whole("503 Later", &[JSON], b"{}");
    let soon = peers::whole("429 Slow down", &[JSON, ("retry-after", "0")], b"{}");
    let good = vec![Step::Send([head("200 OK", &[EVENTS]), STREAM.as_bytes().to_vec()].concat())];
    let peer = Peer::new(vec![later, soon, good]);
    let policy = RetryPolicy { first: Duration::from_millis(1), ..RetryPolicy::default() };
    let (result, text) = sent(Arc::new(RetryTransport::new(http(LONG, None), policy, Arc::new(RealPace))), &peer.url());
    assert_eq!((result.unwrap().message["content"].as_str(), text.as_str(), peer.asked().len()), (Some(TEXT), TEXT, 3));
}

/// Dropping the future closes the connection, before the answer and in the middle of it.
#[test]
fn a_run_that_is_dropped_leaves_nothing_behind() {
    let begun = [head("200 OK", &[EVENTS]), STREAM.as_bytes()[..finished_at() - 20].to_vec()].concat();
    for script in [vec![Step::Stall], vec![Step::Send(begun), Step::Stall]] {
        let tells = script.len() > 1;
        let peer = Peer::new(vec![script]);
        let (config, request) = (config(&BASE), request("openai", &peer.url(), true));
        let runner = PromptRunner::new(http(LONG, None));
        runtime().block_on(async {
            let (told, hears) = std::sync::mpsc::channel();
            let mut deltas = |delta: &Delta| drop(told.send(delta.clone()));
            let sending = runner.send(&config, &request, &mut deltas);
            let enough = async {
                while if tells { hears.try_recv().is_err() } else { peer.asked().is_empty() } {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                result = sending => panic!("{:?}", result.map(|r| r.message)),
                () = enough => {}
            }
        });
        drop(runner);
        assert!(peer.saw_it_closed());
        assert_eq!(peer.asked().len(), 1);
    }
}

/// Whatever a peer echoes, and however a run fails: the key is in no error, no reply, no record and no debug text.
#[test]
fn the_key_is_in_nothing_that_comes_out() {
    let echo = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}."), "type": KEY } }).to_string();
    let said =
        json!({ "choices": [{ "message": { "content": format!("You are {KEY}"), KEY: KEY }, "finish_reason": KEY }], "usage": { KEY: 1 } });
    let event = format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": KEY }, "finish_reason": "stop" }] }));
    let halves: Vec<&[u8]> = event.as_bytes().chunks(3).collect();
    let redirect = format!("https://elsewhere.example/{KEY}?k=sk-Test%2F0123456789%2B%22%5Cabcdef");
    // a server that writes letters of JSON by their numbers, and one that streams the key letter by letter
    let numbers: String = KEY.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let numbers = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{numbers}\"}}}}]}}");
    let letters: String = KEY.chars().map(|c| format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": c } }] }))).collect();
    let letters = format!("{letters}data: [DONE]\n\n");
    let scripts = vec![
        peers::whole("401 Unauthorized", &[JSON, ("x-key", "sk-Test/0123456789")], echo.as_bytes()),
        peers::whole("400 Bad", &[], format!("<p>{KEY}</p>").as_bytes()),
        peers::whole("200 OK", &[JSON], said.to_string().as_bytes()),
        peers::whole("200 OK", &[JSON], echo.as_bytes()),
        peers::whole("200 OK", &[JSON], format!("not JSON: {KEY}").as_bytes()),
        peers::whole("200 OK", &[("content-type", "text/x-sk-Test/0123456789")], b"x"),
        vec![Step::Send([head("200 OK", &[EVENTS, CHUNKED]), chunked(&halves)].concat())],
        peers::whole("200 OK", &[EVENTS], format!("data: {KEY}\n\n").as_bytes()),
        peers::whole("307 Elsewhere", &[("location", &redirect)], b""),
        vec![Step::Send(format!("{KEY} {KEY}\r\n\r\n").into_bytes())],
        vec![Step::Send([head("200 OK", &[EVENTS]), format!("data: {{\"a\":\"{KEY}").into_bytes()].concat())],
        peers::whole("200 OK", &[JSON], numbers.as_bytes()),
        peers::whole("500 Oh", &[JSON], numbers.replace("choices", "error").as_bytes()),
        peers::whole("200 OK", &[EVENTS], letters.as_bytes()),
    ];
    let count = scripts.len();
    let peer = Peer::new(scripts);
    let sink = Arc::new(Mutex::new(Vec::new()));
    let options = HttpOptions { key: Some(key()), timeouts: LONG, ..HttpOptions::default() };
    let mut out = format!("{options:?}");
    let recorder: Arc<dyn Transport> = Arc::new(Recorder::new(Arc::new(Http::new(options).unwrap()), sink.clone(), Some(key())));
    for n in 0..count {
        let (result, text) = sent(recorder.clone(), &peer.url());
        // letter by letter nobody can tell; what is kept of it is clean
        let text = if n + 1 == count { String::new() } else { text };
        out += &format!("{text}\n{result:?}\n");
        match result {
            Ok(reply) => out += &serde_json::to_string(&reply).unwrap(),
            Err(error) => out += &error.to_string(),
        }
    }
    out += &String::from_utf8(sink.lock().unwrap().clone()).unwrap();
    assert_eq!(peer.asked().len(), count);
    assert!(peer.asked().iter().all(|asked| asked.header("authorization") == Some(format!("Bearer {KEY}").as_str())));
    // the forms in which it could stand there: as it is, as JSON, as Rust, and the parts that are the same in all
    let json = json!(KEY).to_string();
    for form in [KEY, json.trim_matches('"'), &format!("{KEY:?}"), "0123456789+"] {
        assert!(!out.contains(form), "{form} in {out}");
    }
    assert!(out.contains("[key]"));
}

// A real inference server, by hand: `TAPSTER_REAL_URL=http://127.0.0.1:8080/v1 cargo test --test all sending::sockets::a_real_server --
// --nocapture`, for example with llama.cpp and a small model. Without the variable there is nothing to do.

fn asked(dialect: &str, url: &str, stream: bool, messages: &Json, more: &Json) -> String {
    let mut provider = json!({ "model": "m", "url": url, "stream": stream, "temperature": 0 });
    provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let scene = json!({ "provider": provider, "context": { "reserve": 24 } });
    let blocks = messages.as_array().unwrap().iter().map(|m| PlanBlock { fields: Value::from(m), tokens: 0, history: Vec::new() });
    let plan = Plan { blocks: blocks.collect(), scene: Value::from(&scene), ..Default::default() };
    let emitted = emit(&BASE, &plan, dialect).unwrap_or_else(|e| panic!("{e}"));
    let mut request = request(dialect, emitted.request["url"].as_str().unwrap_or(url), stream);
    request.outgoing.body = emitted.payload;
    let (config, mut pieces, mut text) = (config(&BASE), 0, String::new());
    let runner = PromptRunner::new(Arc::new(Http::new(HttpOptions::default()).unwrap()));
    let mut hear = |delta: &Delta| {
        pieces += 1;
        if let Delta::Text(more) = delta {
            text.push_str(more);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(runner.send(&config, &request, &mut hear)) {
        Ok(reply) => {
            // the pieces of a stream are the message
            assert!(!stream || reply.message["content"].as_str().unwrap_or_default() == text, "{text}");
            format!("{} | finish {:?} | usage {} | {pieces} pieces", reply.message, reply.finish_reason, reply.usage)
        }
        Err(e) => format!("error: {e}"),
    }
}

#[test]
fn a_real_server() {
    let Ok(url) = std::env::var("TAPSTER_REAL_URL") else {
        eprintln!("skipped: TAPSTER_REAL_URL names no server");
        return;
    };
    let chat = json!([{ "role": "system", "text": "Be brief." }, { "role": "user", "text": "Name a colour. Grüße!" }]);
    let long = json!([{ "role": "user", "text": "word ".repeat(50_000) }]);
    let tool = json!({ "tools": [{ "type": "function", "function": { "name": "look", "description": "Looks.", "parameters": { "type": "object" } } }] });
    let schema = json!({ "json_schema": { "name": "colour", "value": { "type": "object", "properties": { "colour": { "type": "string" } }, "required": ["colour"] } } });
    let text = format!("{url}/completions");
    let mut said = Vec::new();
    for (what, dialect, url, messages, more) in [
        ("chat", "openai", url.as_str(), &chat, &json!({})),
        ("tools", "openai", &url, &chat, &tool),
        ("a JSON schema", "openai", &url, &chat, &schema),
        ("text", "text", &text, &chat, &json!({})),
        ("chat", "openai-responses", &url, &chat, &json!({})),
        ("chat", "anthropic", &url, &chat, &json!({})),
        ("a prompt that is too long", "openai", &url, &long, &json!({})),
    ] {
        for stream in [false, true] {
            let came = asked(dialect, url, stream, messages, more);
            println!("{dialect}, {what}, stream {stream}: {}", came.chars().take(600).collect::<String>());
            said.push(came);
        }
    }
    assert!(said.iter().take(2).all(|came| !came.starts_with("error")), "a plain chat works");
}
