//! What the runner itself costs: building a prompt, writing the request, and reading a streamed reply of 2,000 chunks;
//! and that waiting for a peer that says nothing costs no CPU.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the table is for people")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::future::Future;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Map, json};
use tapster::{Ruleset, Scene};
use tapster_client::{
    Body, BoxFuture, Delta, Http, HttpOptions, IncomingAnswer, OutgoingRequest, PreparedRequest, PromptRunner, Reply, RunnerConfig,
    Timeouts, Transport, TransportError,
};

/// Chunks of the reply.
const CHUNKS: usize = 2_000;

/// What everything together may cost.
const WANTED: Duration = Duration::from_millis(5);

/// Runs whose CPU time is measured.
const RUNS: usize = 100;

/// How long the peer says nothing.
const STALL: Duration = Duration::from_secs(5);

fn opened() -> Ruleset {
    match Ruleset::open("sillytavern", &[]) {
        Ok(rules) => rules,
        Err(rejected) => panic!("{:?}", rejected.report.items()),
    }
}

fn scene() -> Scene {
    let message = |n: usize| json!({ "role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "text": format!("Message {n} of a short chat.") });
    let history: Vec<_> = (0..20).map(message).collect();
    let names = json!({ "user": "Bo", "char": "Ann" });
    let provider = json!({ "model": "m", "stream": true, "url": "https://provider.example/v1" });
    Scene::new(&json!({ "names": names, "history": history, "provider": provider, "card": { "description": "Ann keeps the light." } }))
}

fn config(rules: &Ruleset) -> RunnerConfig {
    RunnerConfig { rules: rules.clone(), provider: "openai".to_owned(), model: "m".to_owned(), values: Map::new() }
}

/// A stream as OpenAI sends it: a chunk for each token, with everything that stands in one.
fn stream() -> Vec<Vec<u8>> {
    let chunk = |n: usize| {
        let delta = if n + 1 == CHUNKS { json!({}) } else { json!({ "content": format!(" word{}", n % 97) }) };
        let finish = if n + 1 == CHUNKS { json!("stop") } else { json!(null) };
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        let event = json!({
            "id": "chatcmpl-ABCdefGHIjklMNOpqrSTUvwxYZ012", "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": "m-2026-01-01", "service_tier": "default", "system_fingerprint": "fp_0123456789", "choices": [choice],
        });
        format!("data: {event}\n\n").into_bytes()
    };
    (0..CHUNKS).map(chunk).chain([b"data: [DONE]\n\n".to_vec()]).collect()
}

/// Answers with a stream, a part for each chunk. What a socket would have made is made before it is measured.
struct Canned(Mutex<Vec<Vec<Vec<u8>>>>);

impl Canned {
    /// A transport that has so many answers ready.
    fn with(answers: usize) -> Arc<Self> {
        let stream = stream();
        Arc::new(Self(Mutex::new((0..answers).map(|_| stream.clone()).collect())))
    }
}

struct Parts(std::vec::IntoIter<Vec<u8>>);

impl Body for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        Box::pin(std::future::ready(Ok(self.0.next())))
    }
}

impl Transport for Canned {
    fn send<'a>(&'a self, _: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let stream = self.0.lock().ok().and_then(|mut ready| ready.pop()).unwrap_or_else(stream);
        let body = Box::new(Parts(stream.into_iter()));
        Box::pin(std::future::ready(Ok(IncomingAnswer { status: 200, headers, body })))
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a canned answer does not wait"),
    }
}

fn prepared(config: &RunnerConfig, scene: &Scene) -> PreparedRequest {
    let plan = tapster::build(&config.rules, scene).unwrap_or_else(|e| panic!("{e}"));
    PromptRunner::prepare(config, &plan, &[], &Map::new(), true).unwrap_or_else(|e| panic!("{e}"))
}

fn read(runner: &PromptRunner, config: &RunnerConfig, request: &PreparedRequest) -> Reply {
    let mut told = 0;
    let reply = now(runner.send(config, request, &mut |_: &Delta| told += 1));
    assert_eq!(told, CHUNKS - 1);
    reply.unwrap_or_else(|e| panic!("{e}"))
}

/// The CPU time of this process, all its threads together. `None` where the system does not tell.
fn cpu() -> Option<Duration> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let spent = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    Some(Duration::from_nanos(spent.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()))
}

fn reply_of_2_000_chunks(c: &mut Criterion) {
    let (config, scene) = (config(&opened()), scene());
    let runner = PromptRunner::new(Canned::with(0));
    let request = prepared(&config, &scene);
    c.bench_function("runner/build_and_request", |b| b.iter(|| black_box(prepared(&config, &scene))));
    c.bench_function("runner/read_2000_chunks", |b| b.iter(|| black_box(read(&runner, &config, &request))));
    c.bench_function("runner/all", |b| {
        b.iter(|| {
            let request = prepared(&config, &scene);
            black_box(read(&runner, &config, &request))
        });
    });
    // the check: CPU time and not time, because other programs may run
    let runner = PromptRunner::new(Canned::with(RUNS));
    let (build, read) = (spent(|| drop(black_box(prepared(&config, &scene)))), spent(|| drop(black_box(read(&runner, &config, &request)))));
    let (Some(build), Some(read)) = (build, read) else { return println!("no CPU times on this system") };
    let both = build + read;
    println!("CPU: build and request {build:?}, a reply of {CHUNKS} chunks {read:?}");
    println!("CPU: together {both:?}, {} {WANTED:?}", if both <= WANTED { "within" } else { "MORE than" });
}

/// The CPU time of one run.
fn spent(mut run: impl FnMut()) -> Option<Duration> {
    let before = cpu()?;
    (0..RUNS).for_each(|_| run());
    Some(cpu()?.saturating_sub(before) / u32::try_from(RUNS).unwrap_or(1))
}

/// A peer that begins its answer and then says nothing.
fn stalled_peer(_: &mut Criterion) {
    let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)) else { return println!("no sockets here") };
    let url = listener.local_addr().map(|at| format!("http://{at}/v1")).unwrap_or_default();
    let peer = std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let begun = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
        let _ = stream.read(&mut [0; 65536]);
        let _ = stream.write_all(begun.as_bytes());
        // until the other side gives up
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let config = config(&opened());
    let mut request = prepared(&config, &scene());
    request.outgoing.url = url;
    let timeouts = Timeouts { idle: STALL, ..Timeouts::default() };
    let http = Http::new(HttpOptions { timeouts, ..HttpOptions::default() }).unwrap_or_else(|e| panic!("{e}"));
    let runner = PromptRunner::new(Arc::new(http));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap_or_else(|e| panic!("{e}"));
    let mut begun = None;
    let result = runtime.block_on(runner.send(&config, &request, &mut |_: &Delta| begun = cpu().map(|spent| (spent, Instant::now()))));
    let Some((before, since)) = begun else { return println!("no CPU times on this system") };
    let (spent, waited) = (cpu().unwrap_or_default().saturating_sub(before), since.elapsed());
    println!("a peer that stalls: {spent:?} of CPU in {waited:.1?}; {}", result.map_or_else(|e| e.to_string(), |_| "a reply".to_owned()));
    drop(runner);
    drop(runtime);
    let _ = peer.join();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(Duration::from_secs(3));
    targets = reply_of_2_000_chunks, stalled_peer
}
criterion_main!(benches);
