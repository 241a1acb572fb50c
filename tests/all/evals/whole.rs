//! Whole evaluations: over a scripted transport with a clock of its own, and by the command line over a scripted server.

#![expect(clippy::string_slice, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene};
use tapster_client::eval::{
    Candidate, CellOptions, CellOutcome, EvalFile, EvalMode, EvalPreset, EvalReport, Evaluation, TrialSubject, cells, evaluate,
};
use tapster_client::tools::ToolRegistry;
use tapster_client::{Transport, TransportError};

use crate::peers::{Peer, Step};
use crate::sending::scripted::{Answer, Scripted, json_answer, now};

fn says(text: &str) -> Json {
    json!({
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 40 } },
    })
}

fn looks(room: &str) -> Json {
    let call = json!({ "id": "c", "type": "function", "function": { "name": "look", "arguments": json!({ "room": room }).to_string() } });
    json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": [call] } }], "usage": { "prompt_tokens": 50, "completion_tokens": 5 } })
}

/// The example of the documentation, with one preset.
fn evaluation(transport: Arc<dyn Transport>, jobs: usize) -> Evaluation {
    crate::program::in_checkout();
    let text = std::fs::read_to_string("examples/tools/eval.toml").unwrap();
    let mut file = EvalFile::parse(&text).unwrap();
    file.models = vec![Candidate::named("gpt-4o-mini")];
    file.presets = vec![EvalPreset { name: "plain".into(), ..EvalPreset::default() }];
    let rules = Ruleset::open("examples/tools/pack", &[]).unwrap();
    let scene = Scene::new(&json!({
        "history": [{ "role": "user", "text": "What is in the lamp room?" }],
        "lighthouse": { "rooms": { "lamp": "a lamp that turns every twelve seconds" } },
    }));
    let subject = TrialSubject { rules, scene, tools: ToolRegistry::new() };
    let ticks = AtomicU64::new(0);
    Evaluation {
        subjects: vec![subject; file.scenarios.len()],
        file,
        transports: vec![transport],
        clock: Arc::new(move || Some(ticks.fetch_add(70, Ordering::SeqCst))),
        jobs,
        retry: false,
    }
}

/// Evaluates with these answers, and gives the outcomes and those that were told.
fn evaluated(answers: Vec<Answer>, finished: &BTreeMap<String, CellOutcome>, retry: bool) -> (Vec<CellOutcome>, Vec<String>, usize) {
    let transport = Scripted::new(answers);
    let evaluation = Evaluation { retry, ..evaluation(transport.clone(), 1) };
    let all = cells(&evaluation.file, &CellOptions { modes: vec![EvalMode::Chat, EvalMode::Tools], repetitions: 1 });
    let told = Mutex::new(Vec::new());
    let outcomes = now(evaluate(&evaluation, &all, finished, &|outcome| told.lock().unwrap().push(outcome.key.clone())));
    (outcomes, told.into_inner().unwrap(), transport.count())
}

fn ok(body: &Json) -> Answer {
    json_answer(200, body)
}

#[test]
fn replies_are_judged_and_counted() {
    let answers = vec![
        ok(&says("A lamp, every twelve seconds.")),
        ok(&looks("lamp")),
        ok(&says("It turns every twelve seconds.")),
        json_answer(400, &json!({ "error": { "message": "no such model" } })),
    ];
    let (outcomes, told, requests) = evaluated(answers, &BTreeMap::new(), false);
    let keys = ["lamp/gpt-4o-mini/chat/plain/1", "lamp/gpt-4o-mini/tools/plain/1", "no-attic/gpt-4o-mini/tools/plain/1"];
    assert_eq!((told, requests), (keys.map(str::to_owned).to_vec(), 4));
    let [chat, tools, refused] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(chat.ok && tools.ok, "{outcomes:#?}");
    // the check of a call is made in the mode `tools` alone
    assert_eq!((chat.checks.len(), tools.checks.len(), tools.requests), (1, 2, 2));
    assert_eq!((tools.calls[0].tool.as_str(), tools.calls[0].arguments.clone()), ("look", json!({ "room": "lamp" })));
    let tokens = tools.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output, tokens.cached, chat.ms), (150, 15, 40, Some(70)));
    assert!((tools.cost.unwrap() - (110.0 * 2.5 + 40.0 * 1.25 + 15.0 * 10.0) / 1e6).abs() < 1e-12, "{tools:?}");
    assert_eq!((refused.ok, refused.failure.as_deref(), refused.status), (false, Some("provider_error"), Some(400)));
    assert!(refused.is_trouble() && refused.checks.is_empty());
}

/// Every attempt costs: replies that could not be read, and the repair that could.
#[test]
fn directives_cost_what_all_their_attempts_cost() {
    let good = says("{\"assistant_text\": \"twelve\", \"directives\": []}");
    let transport = Scripted::new([ok(&says("no JSON")), ok(&says("none either")), ok(&good)]);
    let mut evaluation = evaluation(transport, 1);
    evaluation.file.presets[0].config = json!({ "directives": { "repair_retries": 2 } }).as_object().unwrap().clone();
    let all = cells(&evaluation.file, &CellOptions { modes: vec![EvalMode::PromptOnly], repetitions: 1 });
    let outcomes = now(evaluate(&evaluation, &all[..1], &BTreeMap::new(), &|_| {}));
    let tokens = outcomes[0].tokens.unwrap();
    assert_eq!((outcomes[0].ok, outcomes[0].requests), (true, 3), "{outcomes:?}");
    assert_eq!((tokens.input, tokens.output, tokens.cached), (300, 30, 120));
    assert!((outcomes[0].cost.unwrap() - (180.0 * 2.5 + 120.0 * 1.25 + 30.0 * 10.0) / 1e6).abs() < 1e-12, "{outcomes:?}");
}

/// What is judged is what a user would see: the reply after the tag rules of the preset's configuration.
#[test]
fn cleaned_replies_are_judged() {
    let transport = Scripted::new([ok(&says("A lamp<x> every</x> twelve seconds.")), ok(&says("It<x> turns</x> every twelve seconds."))]);
    let mut evaluation = evaluation(transport, 1);
    let tags = json!({ "output_tags": { "enabled": true, "rules": [{ "tag": "x", "action": "strip" }] } });
    evaluation.file.presets[0].config = tags.as_object().unwrap().clone();
    let all = cells(&evaluation.file, &CellOptions { modes: vec![EvalMode::Chat, EvalMode::Tools], repetitions: 1 });
    let outcomes = now(evaluate(&evaluation, &all[..2], &BTreeMap::new(), &|_| {}));
    for outcome in &outcomes {
        assert!(!outcome.text.contains("<x>") && outcome.text.contains("twelve seconds"), "{outcome:?}");
    }
}

#[test]
fn what_is_finished_is_not_asked_again_unless_it_has_changed() {
    let answers = || vec![ok(&says("nothing")), ok(&says("nothing")), json_answer(503, &json!({}))];
    let (first, ..) = evaluated(answers(), &BTreeMap::new(), false);
    let finished: BTreeMap<String, CellOutcome> = first.iter().map(|o| (o.key.clone(), o.clone())).collect();
    assert_eq!(first[0].failure.as_deref(), Some("check_failed"));
    let (second, told, requests) = evaluated(vec![], &finished, false);
    assert_eq!((second, told.len(), requests), (first.clone(), 0, 0));
    // only where the provider was the trouble
    let (third, told, _) = evaluated(vec![ok(&says("There is no attic."))], &finished, true);
    assert_eq!(told, ["no-attic/gpt-4o-mini/tools/plain/1"]);
    assert!(third[2].ok && !third[1].ok);
    let mut changed = finished;
    changed.get_mut("lamp/gpt-4o-mini/chat/plain/1").unwrap().inputs = "of another prompt".into();
    let (_, told, _) = evaluated(vec![ok(&says("twelve"))], &changed, false);
    assert_eq!(told, ["lamp/gpt-4o-mini/chat/plain/1"]);
}

/// A transport that answers only when several requests wait.
struct Together {
    waiting: tokio::sync::Barrier,
    answers: Mutex<VecDeque<Json>>,
}

impl Transport for Together {
    fn send<'a>(
        &'a self,
        _: &'a tapster_client::OutgoingRequest,
    ) -> tapster_client::BoxFuture<'a, Result<tapster_client::IncomingAnswer, TransportError>> {
        Box::pin(async move {
            self.waiting.wait().await;
            let answer = self.answers.lock().unwrap().pop_front().unwrap();
            Scripted::new([ok(&answer)]).send(&crate::sending::scripted::request("openai", "", false).outgoing).await
        })
    }
}

#[test]
fn several_are_asked_at_a_time() {
    let answers = (0..6).map(|_| says("twelve")).collect();
    let transport = Arc::new(Together { waiting: tokio::sync::Barrier::new(3), answers: Mutex::new(answers) });
    let evaluation = evaluation(transport, 3);
    let all = cells(&evaluation.file, &CellOptions { modes: vec![EvalMode::Chat], repetitions: 6 });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcomes = runtime.block_on(evaluate(&evaluation, &all, &BTreeMap::new(), &|_| {}));
    let order: Vec<u32> = outcomes.iter().map(|outcome| outcome.repetition).collect();
    assert_eq!((order, outcomes.iter().all(|o| o.ok)), (vec![1, 2, 3, 4, 5, 6], true));
    assert_eq!(EvalReport::of("", outcomes, 0).total.trials, 6);
}

/// Exit code, standard output, standard error.
fn tapster(args: &[&str]) -> (u8, String, String) {
    crate::program::tapster(&[&["eval"], args].concat())
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tapster-eval-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn http(body: &Json) -> Vec<Step> {
    let body = body.to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    vec![Step::Send(format!("{head}{body}").into_bytes())]
}

#[test]
fn the_command_line_asks_writes_and_goes_on() {
    let folder = folder("whole");
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let key = file("key");
    std::fs::write(&key, "sk-lighthouse-secret-0001").unwrap();
    let peer = Peer::new(vec![http(&says("every twelve seconds")), http(&says("I cannot say"))]);
    let (results, html, csv, record) = (file("run.jsonl"), file("page.html"), file("cells.csv"), file("record.jsonl"));
    let url = peer.url();
    let mut args = vec!["examples/tools/eval.toml", "--model", "gpt-4o-mini", "--scenario", "lamp", "--preset", "short", "--jobs", "1"];
    args.extend(["--repeat", "2", "--results", &results, "--html", &html, "--csv", &csv, "--at-least", "0.9"]);
    let live = ["--url", &url, "--key-file", &key, "--retries", "0", "--record", &record];
    let (exit, out, err) = tapster(&[&args[..], &live].concat());
    assert_eq!((exit, err.as_str()), (1, ""), "{out}");
    assert!(out.contains("gpt-4o-mini  chat  short   1/2      50 %"), "{out}");
    assert!(out.contains("    1  check_failed"), "{out}");
    let asked = peer.asked();
    assert_eq!(asked[0].json()["temperature"], 0);
    assert_eq!(asked[0].header("authorization"), Some("Bearer sk-lighthouse-secret-0001"));
    assert_eq!(asked[0].json()["messages"][1]["content"], "What is in the lamp room?");
    let lines = std::fs::read_to_string(&results).unwrap();
    assert_eq!(lines.lines().count(), 2);
    for path in [&results, &html, &csv, &record] {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(!text.is_empty() && !text.contains("sk-lighthouse"), "{path}: {text}");
    }
    assert!(std::fs::read_to_string(&html).unwrap().contains("<h1>The lighthouse: does a model look before it answers?</h1>"));
    // everything is finished: nothing is asked, and the same is told
    let (exit, again, _) = tapster(&[&args[..], &["--url", &url, "--key-file", &key]].concat());
    assert_eq!((exit, again), (1, out));
    // the result that was cut off is asked again, from the record
    std::fs::write(&results, &lines[..lines.len() - 20]).unwrap();
    let (exit, again, err) = tapster(&[&args[..], &["--url", &url, "--replay", &record, "--format", "json"]].concat());
    assert!(exit == 0 || exit == 1, "{err}");
    assert!(err.contains("1 lines of") && err.contains("are no results"), "{err}");
    let report: Json = serde_json::from_str(&again).unwrap();
    assert_eq!((&report["total"]["trials"], &report["missing"]), (&json!(2), &json!(0)));
    assert_eq!(std::fs::read_to_string(&results).unwrap().lines().count(), 3);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn warnings_are_told_once() {
    let folder = folder("warns");
    std::fs::write(folder.join("scene.toml"), "pack = 'base'\nmessage = 'Hi.'\nnow = '2026-01-31T00:20:00Z'\n[scene]\nunread = 1\n")
        .unwrap();
    std::fs::write(folder.join("eval.toml"), "[[scenario]]\nname = 'a'\nscene = '.'\nmodes = ['chat', 'tools', 'prompt_only']\n").unwrap();
    let peer = Peer::new(vec![http(&says("a")), http(&says("b")), http(&says("c")), http(&says("{\"assistant_text\": \"d\"}"))]);
    let (file, url) = (folder.join("eval.toml").to_str().unwrap().to_owned(), peer.url());
    let options = ["--mode", "chat", "tools", "prompt_only", "--jobs", "1", "--retries", "0"];
    let (exit, out, err) = tapster(&[&[file.as_str(), "--model", "m", "--url", &url][..], &options].concat());
    assert_eq!(exit, 0, "{out}{err}");
    assert_eq!(err.matches("`unread`").count(), 1, "{err}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_begin_says_why() {
    let folder = folder("wrong");
    let file = folder.join("bad.toml");
    std::fs::write(&file, "[[scenario]]\nname = 'a'\nscene = 'nowhere'\ncolour = 1\n").unwrap();
    let bad = file.to_str().unwrap();
    let (exit, _, err) = tapster(&[bad, "--model", "m"]);
    assert!(exit == 1 && err.contains("bad.toml:4:1") && err.contains("unknown field `colour`"), "{exit} {err}");
    std::fs::write(&file, "[[scenario]]\nname = 'a'\nscene = 'nowhere'\n").unwrap();
    let (exit, _, err) = tapster(&[bad, "--model", "m"]);
    assert!(exit == 2 && err.contains("nowhere"), "{exit} {err}");
    for (args, said) in [
        (&["examples/tools/eval.toml"][..], "no model is named"),
        (&["examples/tools/eval.toml", "--model", "m", "--preset", "shart"], "did you mean `short`?"),
        (&["examples/tools/eval.toml", "--model", "m", "--scenario", "lump"], "did you mean `lamp`?"),
        (&["examples/tools/eval.toml", "--model", "m", "--mode", "shout"], "prompt_only"),
        (&["examples/tools/eval.toml", "--model", "m", "--at-least", "2"], "from 0 to 1"),
        (&["nowhere.toml", "--model", "m"], "nowhere.toml"),
    ] {
        let (exit, _, err) = tapster(args);
        assert!(exit == 2 && err.contains(said), "{args:?}: {exit} {err}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
