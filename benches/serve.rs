//! Builds per second over HTTP by eight clients that keep their connections, beside the same requests answered in-process by
//! as many threads, on chats and lorebooks of several sizes. The rules and the lorebook are named by handles, the chat is sent.
//!
//! If `TAPSTER_RIVALS` names a folder in which the scripts of `benches/rivals` are installed, fast-tavern behind Node's own
//! server answers the same clients in the same run.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the table is for people")]
#![allow(missing_docs, reason = "a bench has no readers of its items")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapster_door::Door;
use tapster_serve::{AccessRules, ServeLimits, ServedParts, router, serve};

/// Clients, and threads in-process.
const CLIENTS: usize = 8;
/// How long each is measured, after a second that is not.
const TIME: Duration = Duration::from_secs(4);
/// Messages and entries of the scenes.
const SIZES: &[(usize, usize)] = &[(20, 50), (200, 1_000)];
const WORDS: &[&str] = &["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];

fn message(n: usize, entries: usize) -> (&'static str, String) {
    let mut words: Vec<String> =
        (0..40).filter_map(|k| WORDS.get((n * 7 + k * (n % 5 + 1)) % WORDS.len())).map(ToString::to_string).collect();
    words.push(if n.is_multiple_of(5) { format!("place{:05}", n * 13 % entries) } else { "nowhere".to_owned() });
    (if n.is_multiple_of(2) { "user" } else { "assistant" }, words.join(" "))
}

fn lorebook(entries: usize) -> Value {
    let entry = |n: usize| {
        let keys = [format!("place{n:05}"), format!("realm of {n:05} lanterns")];
        (
            n.to_string(),
            json!({ "uid": n, "key": keys, "keysecondary": [], "content": format!("Lore number {n}."), "order": n % 100, "position": 0 }),
        )
    };
    json!({ "entries": (0..entries).map(entry).collect::<serde_json::Map<_, _>>() })
}

fn result(answer: &Value, member: &str) -> String {
    answer.pointer(&format!("/result/{member}")).and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The request for one build.
fn request(door: &Door, messages: usize, entries: usize) -> Value {
    let opened = door.call(&json!({ "call": "open", "pack": "sillytavern" }));
    let book = door.call(&json!({ "call": "put", "name": "book.json", "json": lorebook(entries) }));
    let history: Vec<_> = (0..messages).map(|n| message(n, entries)).map(|(role, text)| json!({ "role": role, "text": text })).collect();
    let preset = json!({ "main": "Write {{char}}'s next reply.", "post_history": "Stay in character." });
    let card = json!({ "name": "Vex", "description": "{{char}} is a thief of the harbour." });
    let scene = json!({
        "names": { "user": "Ann", "char": "Vex" }, "card": card, "preset": preset, "lore": { "depth": messages },
        "context": { "window": 100_000, "reserve": 500, "tokenizer": "chars" }, "history": history,
    });
    json!({ "rules": result(&opened, "rules"), "scene": { "lorebooks": [result(&book, "part")], "scene": scene, "now": "2026-01-31T20:15:00Z" } })
}

/// Sends a request and reads its answer by its `content-length`.
fn exchange(stream: &mut BufReader<TcpStream>, head: &[u8], body: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.get_mut().write_all(&[head, body].concat())?;
    let (mut line, mut length) = (String::new(), 0);
    while stream.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        line.clear();
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// Answers per second of all clients together. `client` makes what one client repeats.
fn per_second<F: FnMut()>(client: impl Fn() -> F + Sync) -> f64 {
    let warm = Instant::now() + Duration::from_secs(1);
    let end = warm + TIME;
    let one = || {
        let (mut ask, mut answers) = (client(), 0_u32);
        while Instant::now() < end {
            ask();
            answers += u32::from(Instant::now() >= warm);
        }
        answers
    };
    let all: u32 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(one)).collect();
        clients.into_iter().map(|client| client.join().unwrap_or_default()).sum()
    });
    f64::from(all) / TIME.as_secs_f64()
}

/// Answers per second of a server.
fn served(address: SocketAddr, path: &str, body: &[u8], expected: &str) -> f64 {
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    per_second(|| {
        let stream = TcpStream::connect(address).unwrap_or_else(|e| panic!("{e}"));
        stream.set_nodelay(true).unwrap_or_else(|e| panic!("{e}"));
        let mut stream = BufReader::new(stream);
        let head = head.clone();
        move || {
            let answer = exchange(&mut stream, head.as_bytes(), body).unwrap_or_else(|e| panic!("{e}"));
            assert!(String::from_utf8_lossy(&answer).contains(expected), "{}", String::from_utf8_lossy(&answer));
        }
    })
}

/// The other engine behind Node's server.
fn rival(entries: usize) -> Option<(Child, SocketAddr)> {
    let folder = std::env::var("TAPSTER_RIVALS").ok()?;
    let mut command = Command::new("node");
    command.args(["server.mjs", &entries.to_string()]).current_dir(folder).stdout(Stdio::piped());
    let mut node = command.spawn().unwrap_or_else(|e| panic!("node: {e}"));
    let mut port = String::new();
    if let Some(output) = node.stdout.take() {
        BufReader::new(output).read_line(&mut port).unwrap_or_else(|e| panic!("node: {e}"));
    }
    Some((node, SocketAddr::from(([127, 0, 0, 1], port.trim().parse().unwrap_or_else(|e| panic!("{port}: {e}"))))))
}

fn measure(door: &Arc<Door>, address: SocketAddr, messages: usize, entries: usize) {
    // named by no message but the last one that names any
    let expected = format!("Lore number {}.", (messages - 1) / 5 * 5 * 13 % entries);
    let request = request(door, messages, entries);
    let body = request.to_string().into_bytes();
    let mut call = request;
    if let Some(call) = call.as_object_mut() {
        call.insert("call".to_owned(), "build".into());
    }
    let text = call.to_string().into_bytes();
    let in_process = per_second(|| || assert!(door.call_text(&text).contains(&expected)));
    let http = served(address, "/v1/build", &body, &expected);
    println!("\n{messages} messages x {entries} entries, {CLIENTS} clients");
    println!("  in-process        {in_process:>10.0} builds/s");
    println!("  over HTTP         {http:>10.0} builds/s   {:.0} % of those in-process", http / in_process * 100.0);
    let Some((mut node, address)) = rival(entries) else { return };
    let chat: Vec<_> = (0..messages).map(|n| message(n, entries)).map(|(role, text)| json!({ "role": role, "content": text })).collect();
    let other = served(address, "/", json!(chat).to_string().as_bytes(), &expected);
    let _ = node.kill().and_then(|()| node.wait());
    println!("  fast-tavern, Node {other:>10.1} builds/s   tapster over HTTP: {:.0} times as many", http / other);
}

fn main() {
    let door = Arc::new(Door::default());
    let runtime = tokio::runtime::Runtime::new().unwrap_or_else(|e| panic!("{e}"));
    let limits = ServeLimits::default();
    let parts = ServedParts { door: Arc::clone(&door), gateway: None, sessions: None };
    let router = router(parts, limits, AccessRules::default(), Arc::new(|_| {}));
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap_or_else(|e| panic!("{e}"));
    let address = listener.local_addr().unwrap_or_else(|e| panic!("{e}"));
    runtime.spawn(serve(listener, router, limits, std::future::pending()));
    for (messages, entries) in SIZES {
        measure(&door, address, *messages, *entries);
    }
}
