//! The door: each file of `tests/door` is a conversation, whose responses are compared, asked of a [`Door`] and of
//! `tapster serve --stdio` and of HTTP. `UPDATE=1 cargo test --test all door::` writes the responses anew; read them before you keep them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tapster_door::Door;
use tapster_serve::{AccessRules, Gateway, ServeLimits, ServedParts, SessionShelf};
use tapster_session::store::SqlStore;

use crate::support::tapster_with;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The conversations: the calls with their responses.
fn conversations() -> BTreeMap<PathBuf, Json> {
    let files = std::fs::read_dir(root().join("tests/door")).unwrap().map(|file| file.unwrap().path());
    files.map(|path| (path.clone(), serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap())).collect()
}

fn calls(conversation: &Json) -> &[Json] {
    conversation["calls"].as_array().unwrap()
}

#[test]
fn conversations_have_their_responses() {
    for (path, mut conversation) in conversations() {
        let door = Door::default();
        let responses: Vec<Json> = calls(&conversation).iter().map(|call| door.call(&call["request"])).collect();
        if std::env::var_os("UPDATE").is_some() {
            for (call, response) in conversation["calls"].as_array_mut().unwrap().iter_mut().zip(&responses) {
                call["response"] = response.clone();
            }
            std::fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&conversation).unwrap())).unwrap();
        }
        for (call, response) in calls(&conversation).iter().zip(&responses) {
            assert_eq!(response.to_string(), call["response"].to_string(), "{}: {}", path.display(), call["request"]);
        }
    }
}

#[test]
fn stdio_gives_the_same_bytes() {
    for (path, conversation) in conversations() {
        let lines: String = calls(&conversation).iter().map(|call| format!("{}\n", call["request"])).collect();
        let (exit, out, err) = tapster_with(&["serve", "--stdio"], lines.as_bytes(), &|_| None);
        assert_eq!((exit, err.as_str()), (0, ""), "{}", path.display());
        let wanted: String = calls(&conversation).iter().map(|call| format!("{}\n", call["response"])).collect();
        assert_eq!(out, wanted, "{}", path.display());
    }
}

#[test]
fn every_call_is_tried() {
    let schema = tapster_door::schema();
    let known = schema["oneOf"].as_array().unwrap().iter().map(|call| call["properties"]["call"]["const"].as_str().unwrap().to_owned());
    let all = conversations();
    let asked: Vec<&str> = all.values().flat_map(calls).filter_map(|call| call["request"]["call"].as_str()).collect();
    let untried: Vec<String> = known.filter(|call| !asked.contains(&call.as_str())).collect();
    assert!(untried.is_empty(), "no file of tests/door has {untried:?}");
}

#[test]
fn requests_fit_the_schema_and_the_schema_is_up_to_date() {
    let path = root().join("schemas/door.v1.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&tapster_door::schema()).unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == now, "`schemas/door.v1.json` is old; run this test with UPDATE=1");
    let schema = jsonschema::validator_for(&tapster_door::schema()).unwrap();
    for call in conversations().values().flat_map(calls) {
        let mut request = call["request"].clone();
        if let Some(request) = request.as_object_mut() {
            request.remove("id");
        }
        let is_read = call["response"]["ok"] == true;
        assert!(!is_read || schema.is_valid(&request), "{request}");
    }
}

#[test]
fn packs_of_folders_are_read_again_when_their_files_change() {
    let folder = crate::support::Folder::new("door-folders");
    folder.write("mine/pack.toml", "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n");
    let write = |text: &str| folder.write("mine/preset.toml", format!("kind = \"overlay\"\nversion = 1\n[preset]\n{text}\n"));
    write("main = \"One.\"");
    let door = Door::new(vec![folder.path("")], None);
    let open = || door.call(&json!({ "call": "open", "pack": "mine" }));
    let opened = open();
    let built = || {
        let built = door.call(&json!({ "call": "build", "rules": opened["result"]["rules"], "scene": { "message": "Hi." } }));
        let codes: Vec<String> = built["diagnostics"].as_array().unwrap().iter().map(|d| d["code"].as_str().unwrap().to_owned()).collect();
        (built["result"]["payload"]["messages"][0]["content"].as_str().unwrap_or_default().to_owned(), codes)
    };
    assert_eq!(built(), ("One.".to_owned(), vec![]));
    write("main = \"Another one.\"");
    assert_eq!(built(), ("Another one.".to_owned(), vec![]));
    write("main = \"broken");
    assert_eq!(built(), ("Another one.".to_owned(), vec!["syntax.toml".to_owned(), "pack.stale".to_owned()]));
    assert_eq!(open()["ok"], false);
    write("main = \"And the last.\"");
    assert_ne!(open()["result"]["fingerprint"], opened["result"]["fingerprint"]);
    assert_eq!(built(), ("And the last.".to_owned(), vec![]));
}

#[test]
fn a_plan_is_asked_for_besides_the_rest() {
    let door = Door::default();
    let build = |plan: bool| door.call(&json!({ "call": "build", "rules": "base", "scene": { "message": "Hi." }, "plan": plan }));
    let (mut whole, usual) = (build(true), build(false));
    assert!(whole["result"].as_object_mut().unwrap().remove("plan").unwrap()["blocks"].is_array());
    assert_eq!(whole, usual);
}

#[test]
fn a_door_answers_several_threads() {
    let door = Door::default();
    let opened = door.call(&json!({ "call": "open", "pack": "base" }));
    let request = json!({ "call": "build", "rules": opened["result"]["rules"], "scene": { "message": "Hi." } });
    let wanted = door.call(&request);
    assert_eq!(wanted["ok"], true);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(door.call(&request), wanted)));
        }
    });
}

#[test]
fn long_calls_tell_how_far_they_are() {
    let cases = |name: &str| json!({ "name": name, "text": "kind = \"case\"\nversion = 2\npack = \"base\"\n[[case]]\nname = \"a\"\nexpand = [\"{{user}}\"]\nexpect = { texts = [\"User\"] }\n" });
    let mut events = Vec::new();
    let request = json!({ "call": "test", "cases": [cases("one.toml"), cases("two.toml")] });
    Door::default().call_with_events(request, &mut |event| {
        events.push(event);
        true
    });
    assert_eq!(events, [json!({ "event": "progress", "done": 1, "of": 2 }), json!({ "event": "progress", "done": 2, "of": 2 })]);
}

/// Files of the machine are no part of a request, however a case file names them.
#[test]
fn cases_of_a_request_read_no_files() {
    let folder = crate::support::Folder::new("door-secret");
    let secret = folder.path("secret.json");
    std::fs::write(&secret, r#"{ "entries": { "0": { "uid": 0, "key": ["fox"], "content": "The secret." } } }"#).unwrap();
    let path = secret.display();
    let head = "kind = \"case\"\nversion = 2\n";
    let texts = [
        format!(
            "{head}pack = \"sillytavern\"\n[[case]]\nname = \"a\"\nimport = {{ file = \"{path}\" }}\nexpect = {{ imported = {{ rest = \"?\" }} }}\n"
        ),
        format!("{head}overlays = [\"{path}\"]\n[[case]]\nname = \"a\"\nexpand = [\"a\"]\nexpect = {{ texts = [\"b\"] }}\n"),
        format!(
            "{head}pack = \"{}/\"\n[[case]]\nname = \"a\"\nexpand = [\"a\"]\nexpect = {{ texts = [\"b\"] }}\n",
            folder.path("").display()
        ),
    ];
    for text in texts {
        let answer = Door::default().call(&json!({ "call": "test", "cases": [{ "name": "a.toml", "text": text }] })).to_string();
        assert!(!answer.contains("The secret"), "{answer}");
        assert!(answer.contains("there is no") || answer.contains("cannot be read"), "{answer}");
    }
}

/// A body that is sent in chunks, put together.
fn join_chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\r') {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
    body
}

/// A server that is stopped when it is dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl TestServer {
    fn start(limits: ServeLimits, access: AccessRules) -> Self {
        Self::with_gateway(None, limits, access)
    }

    pub(crate) fn with_gateway(gateway: Option<Arc<Gateway>>, limits: ServeLimits, access: AccessRules) -> Self {
        Self::with_parts(gateway, None, limits, access)
    }

    fn with_parts(gateway: Option<Arc<Gateway>>, store: Option<&str>, limits: ServeLimits, access: AccessRules) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let sessions = store.map(|store| Arc::new(SessionShelf::new(runtime.block_on(SqlStore::open(store)).unwrap())));
        let router =
            tapster_serve::router(ServedParts { door: Arc::new(Door::default()), gateway, sessions }, limits, access, Arc::new(|_| {}));
        runtime.spawn(tapster_serve::serve(listener, router, limits, std::future::pending()));
        Self { address, _runtime: runtime }
    }

    /// The status, the head and the body of the answer to a request.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        // a body that is refused early may not be taken whole
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(answer.len());
        let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_lowercase();
        let body = answer.get(end + 4..).unwrap_or_default();
        let body = if head.contains("transfer-encoding: chunked") { join_chunks(body) } else { body.to_vec() };
        (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default(), head, String::from_utf8(body).unwrap())
    }

    fn call(&self, call: &str, body: &Json) -> (u16, String, String) {
        self.send("POST", &format!("/v1/{call}"), "host: localhost\r\n", body.to_string().as_bytes())
    }
}

#[test]
fn http_gives_the_same_bytes() {
    for (path, conversation) in conversations() {
        let server = TestServer::start(ServeLimits::default(), AccessRules::default());
        for call in calls(&conversation) {
            let (name, wanted) = (call["request"]["call"].as_str().unwrap(), &call["response"]);
            let (status, head, body) = server.call(name, &call["request"]);
            let mut answer: Json = serde_json::from_str(&body).unwrap();
            if wanted["ok"] == true {
                assert_eq!((status, body.trim_end()), (200, wanted.to_string().as_str()), "{}", path.display());
            } else if status == 422 {
                assert!(head.contains("application/problem+json"), "{head}");
                let answer = answer.as_object_mut().unwrap();
                assert_eq!(answer["status"], 422);
                ["title", "status", "detail"].iter().for_each(|name| _ = answer.remove(*name));
                assert_eq!(Json::Object(answer.clone()), *wanted, "{}", path.display());
            } else {
                assert_eq!((status, name), (404, "biuld"), "{body}");
            }
        }
    }
}

#[test]
fn examples_of_the_description_have_results() {
    let folder = crate::support::Folder::new("described-sessions");
    let store = folder.path("sessions.db").display().to_string();
    let server = TestServer::with_parts(None, Some(&store), ServeLimits::default(), AccessRules::default());
    let (status, _, description) = server.send("GET", "/openapi.json", "host: 127.0.0.1:1\r\n", b"");
    assert_eq!(status, 200);
    let description: Json = serde_json::from_str(&description).unwrap();
    let mut sent = 0;
    for (path, about) in description["paths"].as_object().unwrap() {
        if let Some(post) = about.get("post") {
            let example = &post["requestBody"]["content"]["application/json"]["example"];
            let path = path.replace("{session}", "a");
            let (status, _, body) = server.send("POST", &path, "host: localhost\r\n", example.to_string().as_bytes());
            assert_eq!(status, 200, "{path}: {body}");
            assert!(!body.contains("\"failed\":1"), "{path}: {body}");
            sent += 1;
        }
    }
    assert_eq!(sent, 17, "16 calls and a turn");
}

#[test]
fn requests_that_must_not_be_answered_are_refused() {
    let limits = ServeLimits { body: 1_000, ..ServeLimits::default() };
    let open = TestServer::start(limits, AccessRules::new(None, vec!["https://friend.example".to_owned()]));
    let closed = TestServer::start(limits, AccessRules::new(Some("secret"), Vec::new()));
    let local = "host: localhost\r\n";
    // a server, a request, and its status
    type Case<'a> = (&'a TestServer, &'a str, &'a str, &'a str, &'a [u8], u16);
    let cases: &[Case<'_>] = &[
        (&open, "POST", "/v1/packs", local, b"", 200),
        (&open, "POST", "/v1/packs", "host: [::1]:80\r\n", b"", 200),
        // a page that reached this machine by a name of its own
        (&open, "POST", "/v1/packs", "host: rebound.example\r\n", b"", 403),
        (&open, "POST", "/v1/packs", "", b"", 403),
        (&open, "POST", "/v1/packs", "host: localhost\r\norigin: https://evil.example\r\n", b"", 403),
        (&open, "POST", "/v1/packs", "host: localhost\r\norigin: null\r\n", b"", 403),
        (&open, "POST", "/v1/packs", "host: localhost\r\norigin: https://friend.example\r\n", b"", 200),
        (&open, "POST", "/v1/packs", "host: localhost\r\norigin: http://127.0.0.1:3000\r\n", b"", 200),
        (&open, "GET", "/v1/packs", local, b"", 405),
        (&open, "POST", "/v1/../packs", local, b"", 404),
        (&open, "POST", "/v2/packs", local, b"", 404),
        (&open, "POST", "/v1/packs", local, b"[]", 400),
        (&open, "POST", "/v1/packs", local, b"\xff", 400),
        (&open, "POST", "/v1/packs", local, &[b'['; 900], 400),
        (&open, "POST", "/v1/packs", local, &[b' '; 2_000], 413),
        (&open, "GET", "/healthz", "host: balancer\r\n", b"", 200),
        (&closed, "GET", "/readyz", "host: balancer\r\n", b"", 200),
        (&closed, "POST", "/v1/packs", local, b"", 401),
        (&closed, "POST", "/v1/packs", "host: far\r\nauthorization: Bearer wrong\r\n", b"", 403),
        (&closed, "POST", "/v1/packs", "host: far\r\nauthorization: Bearer secret\r\n", b"", 200),
    ];
    for (server, method, path, headers, body, wanted) in cases {
        let (status, head, answer) = server.send(method, path, headers, body);
        assert_eq!(status, *wanted, "{method} {path} {headers:?}: {answer}");
        assert!(status == 200 || headers.is_empty() || head.contains("application/problem+json"), "{head}");
    }
}

#[test]
fn slow_and_idle_clients_do_not_hold_up_others() {
    let seconds = std::time::Duration::from_secs;
    let limits = ServeLimits { header_time: seconds(1), time: seconds(5), ..ServeLimits::default() };
    let server = TestServer::start(limits, AccessRules::default());
    let mut idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    idle.iter_mut().for_each(|stream| stream.write_all(b"POST /v1/packs HTTP/1.1\r\nhost: loc").unwrap());
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.write_all(b"POST /v1/packs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").unwrap();
    assert_eq!(server.call("packs", &json!({})).0, 200);
    // both are ended by the server
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    idle.iter_mut().for_each(|stream| _ = stream.read_to_end(&mut Vec::new()));
}

/// A turn is asked twice, once for its prompt and once with the reply; two servers over one store take turns with it.
#[test]
fn sessions_live_in_the_store_alone() {
    let folder = crate::support::Folder::new("served-sessions");
    let store = folder.path("sessions.db").display().to_string();
    let start = || TestServer::with_parts(None, Some(&store), ServeLimits::default(), AccessRules::default());
    let servers = [start(), start()];
    let send = |server: usize, method: &str, path: &str, body: &Json| {
        let (status, _, answer) = servers[server].send(method, path, "host: localhost\r\n", body.to_string().as_bytes());
        (status, serde_json::from_str::<Json>(&answer).unwrap())
    };
    let turn = |server: usize, reply: Option<&str>, number: Option<i64>, base: &Json| {
        let scene = json!({ "message": "Hi.", "preset": [], "scene": { "preset": { "main": "{{incvar::n}}" } } });
        let body = json!({ "rules": "sillytavern", "scene": scene, "reply": reply, "turn": number, "now": 1_000, "base": base });
        send(server, "POST", "/v1/sessions/a%20chat/turn", &body)
    };
    let mut bases = Vec::new();
    for (n, server) in [(1, 0), (2, 1), (3, 0)] {
        let (status, asked) = turn(server, None, None, &Json::Null);
        assert_eq!((status, &asked["turn"], &asked["stored"]), (200, &json!(n), &json!(false)), "{asked}");
        assert_eq!(asked["payload"]["messages"][0]["content"], n.to_string(), "{asked}");
        assert_eq!(turn(1 - server, Some("Hello."), None, &Json::Null).0, 400, "a reply belongs to a prompt");
        let (status, done) = turn(1 - server, Some("Hello."), None, &asked["base"]);
        assert_eq!((status, &done["reply"], &done["stored"]), (200, &json!("Hello."), &json!(true)), "{done}");
        bases.push(asked["base"].clone());
    }
    assert_eq!(turn(0, Some("Again."), Some(3), &bases[2]).0, 409);
    let (status, answer) = turn(0, Some("Again."), None, &bases[2]);
    assert_eq!(status, 409, "the prompt of turn 3 is not that of turn 4: {answer}");
    assert_eq!(turn(0, None, Some(i64::MAX), &Json::Null).0, 400);
    let (status, session) = send(1, "GET", "/v1/sessions/a%20chat", &Json::Null);
    assert_eq!((status, &session["turns"], &session["at"]["now"]), (200, &json!(3), &json!(1_000)), "{session}");
    assert_eq!(send(0, "GET", "/v1/sessions", &Json::Null).1["sessions"][0]["home"]["session"], "a chat");
    assert!(!send(0, "GET", "/v1/sessions/a%20chat/log", &Json::Null).1["records"].as_array().unwrap().is_empty());
    assert_eq!(send(0, "GET", "/v1/sessions?owner=other", &Json::Null).1["sessions"], json!([]));
    assert_eq!(send(0, "DELETE", "/v1/sessions/a%20chat", &Json::Null).0, 200);
    assert_eq!(send(1, "GET", "/v1/sessions/a%20chat", &Json::Null).0, 404);
    assert_eq!(send(0, "GET", &format!("/v1/sessions/{}", "n".repeat(5_000)), &Json::Null).0, 400);
    // what an operation behind the request asks of a model is answered before anything is stored
    let folder = Path::new(env!("CHECKOUT")).join("examples/living-world/rules");
    let files = |name: &str| (name.to_owned(), std::fs::read_to_string(folder.join(name)).unwrap().into());
    let files: serde_json::Map<String, Json> = ["pack.toml", "artifact.toml", "operation.toml"].map(files).into_iter().collect();
    let rules = json!({ "pack": "living", "packs": [{ "name": "living", "files": files }] });
    let mut turn = json!({ "rules": rules, "scene": { "message": "I climb the stairs." } });
    let mut play = |more: Json| {
        turn.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        send(0, "POST", "/v1/sessions/world/turn", &turn)
    };
    let base = play(json!({})).1["base"].clone();
    let (status, asked) = play(json!({ "base": base, "reply": "The stairs wind up." }));
    assert_eq!((status, &asked["stored"], &asked["operations"][0]["operation"]), (200, &json!(false), &json!("keep_world")), "{asked}");
    let world = r#"{"hour": 18, "place": "lantern room", "weather": "calm", "lamp": false}"#;
    let (status, done) = play(json!({ "operations": { "keep_world": world } }));
    assert_eq!((status, &done["stored"], &done["written"][0]["tag"]), (200, &json!(true), &json!("world")), "{done}");
    let wrong = json!({ "rules": "bas", "scene": {} });
    let (status, answer) = send(0, "POST", "/v1/sessions/b/turn", &wrong);
    assert_eq!(status, 422);
    assert!(answer["diagnostics"][0]["message"].as_str().unwrap().contains("bas"), "{answer}");
}

mod diff {
    use serde_json::Value as Json;
    use tapster::{Plan, Value};
    use tapster_door::diff::prompts::{BuiltPrompt, PromptDiff};
    use tapster_door::diff::rules::{DiffStep, RuleDiff, diff_steps};

    fn steps(was: &str, is: &str) -> String {
        let (a, b): (Vec<char>, Vec<char>) = (was.chars().collect(), is.chars().collect());
        let step = |step: DiffStep| match step {
            DiffStep::Same(_, n) => b[n].to_string(),
            DiffStep::Gone(n) => format!("-{}", a[n]),
            DiffStep::New(n) => format!("+{}", b[n]),
        };
        diff_steps(&a, &b).into_iter().map(step).collect()
    }

    #[test]
    fn as_much_as_possible_stays() {
        assert_eq!(steps("abcd", "abcd"), "abcd");
        assert_eq!(steps("abcd", "acxd"), "a-bc+xd");
        assert_eq!(steps("", "ab"), "+a+b");
        assert_eq!(steps("ab", ""), "-a-b");
        assert_eq!(steps("aXbYc", "abc"), "a-Xb-Yc");
        assert_eq!(steps("aa", "aaa"), "aa+a");
    }

    #[test]
    fn long_lists_without_anything_in_common_are_replaced() {
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..10_000).collect(), (20_000..30_000).collect());
        assert_eq!(diff_steps(&a, &b).len(), 20_000);
    }

    /// A prompt of blocks without ids.
    fn prompt<T: ToString>(texts: impl IntoIterator<Item = T>) -> BuiltPrompt {
        let block = |text: T| {
            let fields = Value::from(&serde_json::json!({ "role": "user", "text": text.to_string() }));
            tapster::model::PlanBlock { fields, tokens: 0, history: Vec::new() }
        };
        let plan = Plan { blocks: texts.into_iter().map(block).collect(), ..Plan::default() };
        BuiltPrompt { rules: crate::support::BASE.clone(), plan, payload: Json::Null, request: Json::Null, warnings: Vec::new() }
    }

    /// What became of each block, with its place before and now.
    fn changes(was: &BuiltPrompt, is: &BuiltPrompt) -> Vec<String> {
        let diff = PromptDiff::of(was, is, &RuleDiff::default());
        let place =
            |view: &Option<_>| view.as_ref().map_or("-".to_owned(), |view: &tapster_door::diff::prompts::BlockView| view.index.to_string());
        diff.blocks.iter().map(|change| format!("{} {} {}", change.what.word(), place(&change.was), place(&change.is))).collect()
    }

    #[test]
    fn a_changed_block_is_the_first_one_between_the_same_blocks() {
        let told = changes(&prompt(["a", "b", "kept", "c", "d"]), &prompt(["x", "kept", "y", "z", "w"]));
        assert_eq!(told, ["gone 1 -", "changed 0 0", "changed 3 2", "changed 4 3", "new - 4"]);
    }

    /// Each block is looked up once, or this would take long.
    #[test]
    fn many_blocks_in_another_order_are_found_again() {
        let told = changes(&prompt((0..5_000).map(|n| n / 2)), &prompt((0..5_000).rev().map(|n| n / 2)));
        assert_eq!((told.len(), told[0].as_str()), (5_000, "moved 4998 0"));
        assert!(told.iter().all(|change| change.starts_with("moved")));
    }
}
