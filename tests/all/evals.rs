//! Whole evaluations: over a scripted transport with a clock of its own, and by the command line over a scripted server.

#![expect(clippy::string_slice, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene};
use tapster_client::eval::{
    Candidate, CellOptions, CellOutcome, EvalFile, EvalMode, EvalPreset, EvalReport, Evaluation, TokenCounts, TokenPrice, TrialSubject,
    cells, evaluate, finished, percentile, wilson,
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
    crate::support::in_checkout();
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
    crate::support::tapster(&[&["eval"], args].concat())
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

// Intervals, percentiles, prices and tables, against numbers that were worked out by hand or by other programs.

#[test]
fn intervals_are_those_of_wilson() {
    // by statsmodels.stats.proportion.proportion_confint(k, n, method="wilson")
    for (k, n, low, high) in
        [(0, 10, 0.0, 0.277_533), (10, 10, 0.722_467, 1.0), (5, 10, 0.236_593, 0.763_407), (81, 263, 0.255_292, 0.366_205)]
    {
        let (a, b) = wilson(k, n);
        assert!((a - low).abs() < 1e-5 && (b - high).abs() < 1e-5, "{k}/{n}: {a} {b}");
    }
    assert_eq!(wilson(0, 0), (0.0, 1.0));
    let (low, high) = wilson(9, 3);
    assert!(low >= 0.0 && high <= 1.0);
}

#[test]
fn percentiles_are_nearest_ranks() {
    let times: Vec<u64> = (1..=100).rev().collect();
    let of = |percent| percentile(&times, percent);
    assert_eq!((of(50.0), of(90.0), of(99.0), of(100.0), of(0.0)), (Some(50), Some(90), Some(99), Some(100), Some(1)));
    assert_eq!((percentile(&[7], 99.0), percentile(&[], 50.0)), (Some(7), None));
}

#[test]
fn prices_count_cached_tokens_apart() {
    let price = TokenPrice { model: "gpt-*".into(), input: 2.0, output: 8.0, cached: Some(0.5) };
    assert!(price.is_of("gpt-4o") && !price.is_of("o3"));
    assert!((price.cost(1_000_000, 500_000, 400_000) - (1.2 + 0.2 + 4.0)).abs() < 1e-9);
    let plain = TokenPrice { cached: None, ..price };
    assert!((plain.cost(1_000_000, 0, 400_000) - 2.0).abs() < 1e-9);
    assert!((plain.cost(1, 0, 5) - 2e-6).abs() < 1e-12);
}

fn outcome(model: &str, repetition: u32, ms: u64, failure: Option<&str>) -> CellOutcome {
    CellOutcome {
        key: format!("s/{model}/chat/plain/{repetition}"),
        scenario: "s".into(),
        model: model.into(),
        mode: "chat".into(),
        preset: "plain".into(),
        repetition,
        ok: failure.is_none(),
        failure: failure.map(str::to_owned),
        text: "=cmd|' /C calc'!A0 <script>alert(1)</script>".into(),
        ms: Some(ms),
        requests: 1,
        tokens: Some(TokenCounts { input: 100, output: 10, cached: 25 }),
        cost: Some(0.25),
        ..CellOutcome::default()
    }
}

fn report() -> EvalReport {
    let refused =
        CellOutcome { status: Some(503), text: String::new(), tokens: None, cost: None, ..outcome("b", 2, 9, Some("provider_error")) };
    let all = vec![outcome("a", 1, 100, None), outcome("a", 2, 300, None), outcome("b", 1, 50, Some("check_failed")), refused];
    EvalReport::of("A <test>", all, 2)
}

#[test]
fn a_report_counts() {
    let report = report();
    let (a, b) = (&report.contenders[0], &report.contenders[1]);
    assert_eq!((a.trials, a.successes, a.p50, a.p99), (2, 2, Some(100), Some(300)));
    // a cell without a reply has no latency
    assert_eq!(
        (b.successes, b.p50, b.failures.clone()),
        (0, Some(50), [("check_failed".into(), 1), ("provider_error 503".into(), 1)].into())
    );
    assert_eq!((a.cache_rate, a.cost, a.cost_per_success, b.cost_per_success), (Some(0.25), Some(0.5), Some(0.25), None));
    assert_eq!((report.total.trials, report.total.successes, report.details.len(), report.missing), (4, 2, 2, 2));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["contenders"][1]["failures"], json!({ "check_failed": 1, "provider_error 503": 1 }));
}

#[test]
fn tables_and_pages_show_what_strangers_write_as_text() {
    let report = report();
    let table = report.table();
    assert!(
        table.contains("2/2") && table.contains("    1  provider_error 503") && table.contains("2 cells are still to be done"),
        "{table}"
    );
    let mut odd = outcome("=1+1", 1, 1, None);
    odd.scenario = "a,\"b\"\nc".into();
    let csv = EvalReport::of("", vec![odd], 0).csv();
    assert!(csv.ends_with("\"a,\"\"b\"\"\nc\",'=1+1,chat,plain,1,true,,,1,1,100,10,25,0.25,\n"), "{csv}");
    let page = report.html();
    assert!(page.contains("<title>A &lt;test&gt;</title>") && !page.contains("<script"), "{page}");
    // nothing comes from anywhere else
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("url(") && !page.contains("src="), "{page}");
    for part in
        ["role=\"img\"", "<desc id=\"rates-about\">a · chat: 100 %", "<desc id=\"failures-about\">b · chat: 1 check_failed", "lang=\"en\""]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn a_file_of_results_may_be_cut_off() {
    let whole: Vec<String> = [outcome("a", 1, 1, None), outcome("a", 2, 1, None), outcome("a", 1, 7, None)]
        .iter()
        .map(|o| serde_json::to_string(o).unwrap())
        .collect();
    let text = format!("{}\n{}\nno result\n{}\n{}", whole[0], whole[1], whole[2], &whole[1][..40]);
    let (found, broken) = finished(&text);
    assert_eq!((found.len(), broken), (2, 2));
    // the last line of a cell counts
    assert_eq!(found["s/a/chat/plain/1"].ms, Some(7));
}

/// A page with much on it, to be looked at: `TAPSTER_EVAL_PAGE=page.html cargo test --test all evals::`.
#[test]
fn a_page_for_the_eye() {
    let mut all = Vec::new();
    let models = ["gpt-4o", "gpt-4o-mini", "a-model-with-a-very-long-name-indeed/instruct-0613"];
    for (m, model) in models.iter().enumerate() {
        for mode in ["chat", "tools", "json_schema"] {
            for scenario in ["lamp", "no-attic", "cellar <b>"] {
                for n in 1..=5_u32 {
                    let failure = match (m, n, mode) {
                        (0, _, _) => None,
                        (1, 5, "tools") => Some("check_failed"),
                        (2, 1..=2, _) => Some("max_turns"),
                        (2, 3, "json_schema") => Some("no_json"),
                        (2, 4, _) => Some("timeout"),
                        _ => None,
                    };
                    let ms = u64::try_from(m).unwrap() * 700 + u64::from(n) * 130 + 200;
                    let one = outcome(model, n, ms, failure);
                    all.push(CellOutcome {
                        scenario: scenario.into(),
                        mode: mode.into(),
                        key: format!("{scenario}/{model}/{mode}/plain/{n}"),
                        ..one
                    });
                }
            }
        }
    }
    let page = EvalReport::of("The lighthouse: does a model look before it answers?", all, 0).html();
    assert_eq!(page.matches("<svg ").count(), 4);
    if let Some(path) = std::env::var_os("TAPSTER_EVAL_PAGE") {
        std::fs::write(path, page).unwrap();
    }
}

// Scenario files: what they may say, and where a mistake is.

const SCENARIO: &str = "[[scenario]]\nname = 'a'\nscene = '.'\n";

#[test]
fn a_file_is_read_and_crossed() {
    let text = format!(
        "about = 'x'\n{SCENARIO}modes = ['chat', 'tools']\n[[scenario]]\nname = 'b'\nscene = 'c.toml'\n[[model]]\nname = 'm'\n[[model]]\nname = 'n'\n\
         [[preset]]\nname = 'p'\n"
    );
    let file = EvalFile::parse(&text).unwrap();
    let all = cells(&file, &CellOptions { modes: vec![EvalMode::Chat, EvalMode::JsonSchema], repetitions: 3 });
    // a: chat; b: both modes; two models, one preset, three times
    assert_eq!(all.len(), (1 + 2) * 2 * 3);
    assert_eq!((all[0].repetition, all[2].repetition, all[3].model), (1, 3, 1));
}

#[test]
fn prices_fit_names_by_stars() {
    let of = |pattern: &str, model: &str| TokenPrice { model: pattern.into(), ..TokenPrice::default() }.is_of(model);
    for (pattern, model, fits) in [
        ("gpt-4o", "gpt-4o", true),
        ("gpt-4o", "gpt-4o-mini", false),
        ("gpt-*", "gpt-4o-mini", true),
        ("*", "", true),
        ("*mini", "gpt-4o-mini", true),
        ("*mini", "mini-2", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c", false),
        ("a*a", "a", false),
    ] {
        assert_eq!(of(pattern, model), fits, "{pattern} {model}");
    }
}

#[test]
fn mistakes_have_places() {
    let place = |text: &str, at: usize| text[..at].lines().count().max(1) + usize::from(text[..at].ends_with('\n'));
    for (more, line, said) in [
        ("colour = 1\n", 4, "unknown field `colour`"),
        ("modes = ['chat', 'shout']\n", 4, "unknown variant `shout`"),
        ("modes = []\n", 2, "for no mode"),
        ("[[scenario.check]]\n", 4, "says nothing"),
        ("[[scenario.check]]\ncontains = 'a'\nmax_chars = 1\n", 4, "several things"),
        ("[[scenario.check]]\nequals = 1\ncontains = 'a'\n", 4, "`equals` stands beside `json`"),
        ("[[scenario.check]]\ntool = 'a'\npayload = {}\n", 4, "`payload` stands beside `directive`"),
        ("[[scenario.check]]\nmatches = '('\n", 4, "no regular expression"),
        ("[[scenario.check]]\njson = 'a'\n", 4, "JSON Pointer"),
        ("[[scenario]]\nname = 'a'\nscene = '.'\n", 5, "another scenario is called `a`"),
        ("[[model]]\nname = 'm'\nkey = 'sk-1'\n", 6, "unknown field `key`"),
        ("[[price]]\nmodel = 'm'\ninput = 1\n", 4, "missing field `output`"),
        ("[[price]]\nmodel = 'm'\ninput = -1\noutput = 1\n", 4, "negative"),
        ("[[preset]]\nname = 'p'\n[[preset]]\nname = 'p'\n", 6, "not the only one"),
        ("name = \n", 4, ""),
    ] {
        let text = format!("{SCENARIO}{more}");
        let mistakes = EvalFile::parse(&text).err().unwrap_or_else(|| panic!("{more} is accepted"));
        let mistake = &mistakes[0];
        assert!(mistake.message.contains(said) && !mistake.help.is_empty(), "{more}: {mistake:?}");
        assert_eq!(place(&text, mistake.at.start), line, "{more}: {mistake:?}");
    }
    let both = format!("{SCENARIO}[[scenario.check]]\n[[scenario.check]]\nmatches = '['\n");
    assert_eq!(EvalFile::parse(&both).unwrap_err().len(), 2);
}
