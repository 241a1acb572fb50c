//! Tools: the loop, script functions of packs, commands and MCP servers of a host.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};
use tapster::{Plan, Ruleset, Scene, Value};
use tapster_client::retry::{Pace, RetryPolicy, RetryTransport};
use tapster_client::tools::{
    CommandLine, CommandOutput, CommandTool, FilteredToolRegistry, HostTools, LoopEvent, NoWatch, ServerSpec, StopReason, Tool, ToolCall,
    ToolFailure, ToolLoopReport, ToolLoopRunner, ToolRegistry, ToolSpec, tools_of_server,
};
use tapster_client::{BoxFuture, PromptRunner, RunError, RunnerConfig, Transport, TransportError};

use crate::sending::scripted::{Answer, BASE, Scripted, config, json_answer};

/// Waits on a runtime of its own; a test that waits for a minute has hung.
#[expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that panics has failed")]
fn wait<T>(doing: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), doing).await.expect("it hangs") })
}

/// Calls a tool with these arguments.
async fn call(tool: &dyn Tool, arguments: &Json) -> Result<Json, ToolFailure> {
    let arguments: Map<String, Json> = arguments.as_object().cloned().unwrap_or_default();
    tool.call(ToolCall { id: "c1", name: "it", arguments: &arguments, scene: &Value::Null }).await
}

/// A pack over `base` with these files.
#[expect(clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]
fn opened(name: &str, files: &[(&str, String)]) -> tapster::Ruleset {
    let folder = std::env::temp_dir().join(format!("tapster-{name}-{}", std::process::id()));
    let manifest = format!(
        "kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"0.1.0\"\nengine = \">=0.1\"\nlicence = \"MIT\"\nabout = \"Tools.\"\n\
         extends = [{{ name = \"base\", release = \"^0.1\" }}]\n"
    );
    for (path, text) in files.iter().chain([&("pack.toml", manifest)]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let opened = tapster::Ruleset::open(folder.to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    opened.unwrap_or_else(|rejected| panic!("{rejected}"))
}

// The loop beyond the cases of the contract: tools of packs, calls side by side, what a pack cannot change, and that
// nothing is carried out twice.

/// A reply that calls tools: id, name, arguments.
fn calls(calls: &[(&str, &str, &str)]) -> Answer {
    let one = |(id, name, arguments): &(&str, &str, &str)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls: Vec<Json> = calls.iter().map(one).collect();
    json_answer(
        200,
        &json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": calls }, "finish_reason": "tool_calls" }] }),
    )
}

fn says(text: &str) -> Answer {
    json_answer(200, &json!({ "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }] }))
}

fn limits(rules: &Ruleset, limits: Json) -> RunnerConfig {
    let mut config = config(rules);
    config.values.insert("tool_calling".to_owned(), limits);
    config
}

fn plan(rules: &Ruleset) -> Plan {
    let scene = json!({ "history": [{ "role": "user", "text": "Go." }], "names": { "char": "Ines" }, "now": "2026-01-01T00:00:00Z" });
    tapster::build(rules, &Scene::new(&scene)).unwrap()
}

fn ran(transport: Arc<dyn Transport>, config: &RunnerConfig, tools: ToolRegistry) -> Result<ToolLoopReport, RunError> {
    let runner = ToolLoopRunner::new(PromptRunner::new(transport));
    let (plan, tools) = (plan(&config.rules), FilteredToolRegistry::from(tools));
    wait(runner.run(config, &plan, &tools, &Map::new(), &mut NoWatch))
}

/// What the model is told of the n-th call.
fn told(report: &ToolLoopReport, n: usize) -> Json {
    let results: Vec<&Json> = report.added.iter().filter(|message| message["role"] == "tool").collect();
    serde_json::from_str(results[n]["content"].as_str().unwrap()).unwrap()
}

/// A tool that counts how often it runs, and gives the number.
fn counting(count: &Arc<AtomicUsize>) -> Arc<dyn Tool> {
    let count = Arc::clone(count);
    Arc::new(move |_: &ToolCall<'_>| Ok(json!(count.fetch_add(1, Ordering::SeqCst) + 1)))
}

#[test]
fn functions_of_a_pack_are_tools() {
    let overlay = r#"
        kind = "overlay"
        version = 1
        [[tool]]
        name = "dice"
        description = "Rolls."
        parameters = { type = "object", properties = { sides = { type = "integer", minimum = 2 } }, required = ["sides"] }
        function = "dice.rhai::roll"
        [[tool]]
        name = "endless"
        function = "dice.rhai::endless"
    "#;
    let script = r#"
        fn roll(arguments, scene) { if arguments.sides > 100 { throw "no such die" } #{ who: scene.names.char, rolled: arguments.sides / 2 } }
        fn endless(arguments, scene) { loop {} }
    "#;
    let rules =
        crate::tools::opened("tool-pack", &[("tools.toml", overlay.replace("overlay", "tools")), ("scripts/dice.rhai", script.into())]);
    let transport = Scripted::new([
        calls(&[
            ("a", "dice", r#"{"sides":6}"#),
            ("b", "dice", r#"{"sides":1}"#),
            ("c", "dice", r#"{"sides":101}"#),
            ("d", "endless", "{}"),
        ]),
        says("Three."),
    ]);
    let report = ran(transport.clone(), &config(&rules), ToolRegistry::of_pack(&rules)).unwrap();
    assert_eq!(told(&report, 0), json!({ "ok": true, "data": { "rolled": 3, "who": "Ines" } }));
    assert_eq!(told(&report, 1)["error"]["code"], "arguments_schema_mismatch");
    assert!(told(&report, 1)["error"]["message"].as_str().unwrap().contains("/sides"));
    assert!(told(&report, 2)["error"]["message"].as_str().unwrap().contains("no such die"));
    assert!(told(&report, 3)["error"]["message"].as_str().unwrap().contains("too many steps"));
    let tools = &transport.sent.lock().unwrap()[0].body["tools"];
    assert_eq!(tools[0]["function"]["description"], "Rolls.");
    assert_eq!(tools[1]["function"]["parameters"]["type"], "object");
}

#[test]
fn a_final_stream_that_the_model_cannot_do_is_told_and_not_sent() {
    let mut config = limits(&BASE, json!({ "final_stream": true }));
    config.values.insert("capabilities".to_owned(), json!({ "tools": true, "streaming": false }));
    let transport = Scripted::new([calls(&[("a", "look", "{}")]), says("A hall.")]);
    let tools = ToolRegistry::new().with(ToolSpec::new("look"), counting(&Arc::default()));
    let report = ran(transport.clone(), &config, tools).unwrap();
    let why =
        report.events.iter().find_map(|event| if let LoopEvent::FinalStream { ok, why } = event { Some((*ok, why.clone())) } else { None });
    assert_eq!(why, Some((false, Some("streaming_unsupported".to_owned()))));
    assert_eq!((report.final_text.as_deref(), transport.count()), (Some("A hall."), 2));
}

#[test]
fn a_function_that_a_pack_does_not_have_is_an_error_of_the_pack() {
    let overlay = "kind = \"overlay\"\nversion = 1\n[[tool]]\nname = \"dice\"\nfunction = \"dice.rhai::roll\"\n[[tool]]\nname = \"none\"\n";
    let report = Ruleset::open_with("base", &[("mine.toml", overlay)]).err().unwrap().to_string();
    assert!(report.contains("dice.rhai") && report.contains("mine.toml:5"), "{report}");
    assert!(report.contains("tool `none` has no `function`"), "{report}");
}

/// A tool that is done when all of its kind have begun.
struct Meeting {
    begun: tokio::sync::Barrier,
    order: Mutex<Vec<String>>,
}

impl Tool for Meeting {
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(async move {
            self.begun.wait().await;
            if call.id == "a" {
                tokio::task::yield_now().await;
            }
            self.order.lock().unwrap().push(call.id.to_owned());
            Ok(json!(call.id))
        })
    }
}

#[test]
fn calls_that_may_run_side_by_side_do_and_results_keep_their_order() {
    let meeting = Arc::new(Meeting { begun: tokio::sync::Barrier::new(3), order: Mutex::default() });
    let count = Arc::new(AtomicUsize::new(0));
    let tools = ToolRegistry::new()
        .with(ToolSpec { parallel: true, ..ToolSpec::new("meet") }, meeting.clone())
        .with(ToolSpec::new("alone"), counting(&count));
    let transport = Scripted::new([
        calls(&[("a", "meet", ""), ("b", "meet", ""), ("x", "none", ""), ("c", "meet", ""), ("d", "alone", "")]),
        says("Done."),
    ]);
    let report = ran(transport, &config(&BASE), tools).unwrap();
    let ids: Vec<&str> = report.results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "x", "c", "d"]);
    assert_eq!(report.results.iter().filter(|result| result.ok).count(), 4);
    // the first call is not the first to be done
    let order = meeting.order.lock().unwrap().clone();
    assert!(order.len() == 3 && order[2] == "a", "{order:?}");
    let starts = report.events.iter().take_while(|event| !matches!(event, LoopEvent::ToolEnd { .. }));
    assert_eq!(starts.filter(|event| matches!(event, LoopEvent::ToolStart { .. })).count(), 3);
}

/// Neither waits nor rolls.
struct Still;

impl Pace for Still {
    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
    fn chance(&self) -> f64 {
        0.0
    }
    fn now(&self) -> u64 {
        0
    }
}

/// A tool that never ends.
struct Endless;

impl Tool for Endless {
    fn call<'a>(&'a self, _: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_tool_that_never_ends_is_given_up_and_the_loop_goes_on() {
    let tools = ToolRegistry::new()
        .with(ToolSpec::new("wait"), Arc::new(Endless))
        .with(ToolSpec::new("now"), Arc::new(|_: &ToolCall<'_>| Ok(json!(1))));
    let transport = Scripted::new([calls(&[("a", "wait", "{}"), ("b", "now", "{}")]), says("Done.")]);
    let runner = ToolLoopRunner::new(PromptRunner::new(transport)).with_time_limit(Duration::from_millis(40), Arc::new(Still));
    let config = config(&BASE);
    let (plan, tools) = (plan(&config.rules), FilteredToolRegistry::from(tools));
    let report = wait(runner.run(&config, &plan, &tools, &Map::new(), &mut NoWatch)).unwrap();
    let codes: Vec<Option<&str>> = report.results.iter().map(|result| result.code.as_deref()).collect();
    assert_eq!((codes, report.final_text.as_deref()), (vec![Some("tool_error"), None], Some("Done.")));
    assert!(told(&report, 0).to_string().contains("did not end within 40 ms"), "{}", told(&report, 0));
}

#[test]
fn a_request_that_is_sent_again_runs_no_tool_again() {
    let count = Arc::new(AtomicUsize::new(0));
    let busy = || json_answer(503, &json!({ "error": { "message": "busy" } }));
    let unsent = || Err(TransportError { code: "connect", message: "refused".into(), unsent: true });
    let transport = Scripted::new([busy(), calls(&[("a", "count", "{}")]), busy(), unsent(), busy(), says("One.")]);
    let retrying = Arc::new(RetryTransport::new(transport.clone(), RetryPolicy::default(), Arc::new(Still)));
    let report = ran(retrying, &config(&BASE), ToolRegistry::new().with(ToolSpec::new("count"), counting(&count))).unwrap();
    assert_eq!((count.load(Ordering::SeqCst), report.final_text.as_deref(), transport.count()), (1, Some("One."), 6));
}

#[test]
fn what_a_failing_tool_says_is_cut_in_whole_characters() {
    let fails: Arc<dyn Tool> = Arc::new(|_: &ToolCall<'_>| Err(ToolFailure("é".repeat(40))));
    let transport = Scripted::new([calls(&[("a", "fail", "{}")]), says("Sorry.")]);
    let report = ran(transport, &limits(&BASE, json!({ "max_result_bytes": 11 })), ToolRegistry::new().with(ToolSpec::new("fail"), fails));
    assert_eq!(told(&report.unwrap(), 0)["error"], json!({ "code": "tool_error", "message": "é".repeat(5) }));
}

#[test]
fn a_result_keeps_nulls_and_large_numbers() {
    let data = json!({ "none": null, "n": u64::MAX, "list": [null, 0.1] });
    let same = data.clone();
    let gives: Arc<dyn Tool> = Arc::new(move |_: &ToolCall<'_>| Ok(same.clone()));
    let report =
        ran(Scripted::new([calls(&[("a", "give", "")]), says("")]), &config(&BASE), ToolRegistry::new().with(ToolSpec::new("give"), gives));
    assert_eq!(told(&report.unwrap(), 0)["data"], data);
}

/// An overlay that lets everything through: the loop still runs nothing that is hidden, and nothing without an object.
#[test]
fn no_pack_can_make_the_loop_run_what_it_must_not() {
    let passes = ["named", "same_id", "written", "unknown", "hidden", "not_json", "not_object", "too_large", "mismatch"];
    let removed: String = passes.iter().map(|pass| format!("[[pass]]\nname = \"tool_calls/{pass}\"\nremove = true\n")).collect();
    let all = "[[pass]]\nname = \"tool_results/content\"\nremove = true\n[[pass]]\nname = \"tool_results/too_large\"\nremove = true\n";
    let overlay = format!("kind = \"overlay\"\nversion = 1\n{removed}{all}");
    let rules = Ruleset::open_with("base", &[("loose.toml", &overlay)]).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let tools = ToolRegistry::new().with(ToolSpec::new("open"), counting(&count)).with(ToolSpec::new("shut"), counting(&count));
    let tools = FilteredToolRegistry::new(tools, None, vec!["shut".into()]);
    let transport = Scripted::new([
        calls(&[("a", "shut", "{}"), ("a", "none", "{}"), ("", "open", "[1]"), ("", "open", "no"), ("b", "open", "{}")]),
        says("Done."),
    ]);
    let runner = ToolLoopRunner::new(PromptRunner::new(transport));
    let (config, plan) = (limits(&rules, json!({ "max_result_bytes": 1 })), plan(&rules));
    let report = wait(runner.run(&config, &plan, &tools, &Map::new(), &mut NoWatch)).unwrap();
    let codes: Vec<Option<&str>> = report.results.iter().map(|result| result.code.as_deref()).collect();
    let (hidden, object) = (Some("tool_not_allowed"), Some("arguments_not_object"));
    assert_eq!(codes, [hidden, hidden, object, object, None]);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let mut ids: Vec<&str> = report.results.iter().map(|result| result.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    assert!(report.added.iter().filter(|m| m["role"] == "tool").all(|m| m["content"].as_str().is_some_and(|text| !text.is_empty())));
}

#[test]
fn a_pack_says_the_order_of_the_checks_and_the_words() {
    let overlay = r#"
        kind = "overlay"
        version = 1
        [tool_loop]
        max_turns = 1
        [[pass]]
        name = "tool_calls/unknown"
        set = { code = "tool_missing", message = "kein Werkzeug `{{@name}}`" }
        [[pass]]
        name = "tool_results/content"
        set = { content = "{{@code}}: {{@message}}" }
    "#;
    let rules = Ruleset::open_with("base", &[("german.toml", overlay)]).unwrap();
    let report = ran(Scripted::new([calls(&[("a", "fly", "{}")])]), &config(&rules), ToolRegistry::new()).unwrap();
    assert_eq!(report.added[1]["content"], "tool_missing: kein Werkzeug `fly`");
    assert_eq!((report.stop, report.final_text), (StopReason::MaxTurns, None));
}

#[test]
fn a_reply_with_a_thousand_calls_too_many_is_no_reply() {
    let many: Vec<(String, &str, &str)> = (0..1_001).map(|n| (format!("c{n}"), "count", "{}")).collect();
    let many: Vec<(&str, &str, &str)> = many.iter().map(|(id, name, arguments)| (id.as_str(), *name, *arguments)).collect();
    let count = Arc::new(AtomicUsize::new(0));
    let tools = || ToolRegistry::new().with(ToolSpec::new("count"), counting(&count));
    let report = ran(Scripted::new([calls(&many)]), &config(&BASE), tools()).unwrap();
    assert_eq!((report.stop, count.load(Ordering::SeqCst)), (StopReason::ProviderError, 0));
    assert_eq!(report.provider_error().unwrap().code, "too_large");
    let report = ran(Scripted::new([calls(&many[..1_000]), says("Many.")]), &config(&BASE), tools()).unwrap();
    assert_eq!((report.results.len(), count.load(Ordering::SeqCst)), (1_000, 1_000));
}

#[test]
fn what_is_wrong_with_tools_is_said_before_anything_is_sent() {
    let nothing = || Arc::new(|_: &ToolCall<'_>| Ok(Json::Null)) as Arc<dyn Tool>;
    let with = |name: &str, parameters: Json| ToolSpec { parameters, ..ToolSpec::new(name) };
    let tools = ToolRegistry::new()
        .with(with("a b", json!(1)), nothing())
        .with(with("fine", json!({ "type": "object" })), nothing())
        .with(with("fine", json!({ "type": "no type" })), nothing())
        .with(with("round", json!({ "$ref": "https://example.org/schema" })), nothing());
    let tools = FilteredToolRegistry::new(tools, Some(vec!["fine".into(), "fin".into()]), vec!["nope".into()]);
    let options = json!({ "tools": [], "temperature": 1, "Top-P": 1, "stream": true, "a/b": 1 });
    let transport = Scripted::new([]);
    let runner = ToolLoopRunner::new(PromptRunner::new(transport.clone()));
    let (config, plan) = (config(&BASE), plan(&BASE));
    let done = wait(runner.run(&config, &plan, &tools, options.as_object().unwrap(), &mut NoWatch));
    let Err(RunError::Config(problems)) = done else { panic!("it was sent") };
    let said: Vec<String> = problems.iter().map(|p| format!("{} {}", p.code, p.at)).collect();
    let wanted = [
        "invalid_tool_name /tools/0/name",
        "invalid_type /tools/0/parameters",
        "duplicate_tool /tools/2/name",
        "invalid_schema /tools/2/parameters",
        "invalid_schema /tools/3/parameters",
        "unknown_tool /allow/1",
        "unknown_tool /deny/0",
        "reserved_key /options/tools",
        "invalid_key /options/Top-P",
        "reserved_key /options/stream",
        "invalid_key /options/a~1b",
    ];
    assert_eq!(said, wanted);
    assert!(problems.iter().all(|problem| !problem.message.is_empty()));
    let planned =
        Plan { scene: tapster::Value::from(&json!({ "llm_options": { "response_format": { "type": "text" }, "seed": 1 } })), ..plan };
    let done = wait(runner.run(&config, &planned, &ToolRegistry::new().into(), &Map::new(), &mut NoWatch));
    let Err(RunError::Config(problems)) = done else { panic!("it was sent") };
    assert_eq!((problems.len(), problems[0].at.as_str()), (1, "/plan/llm_options/response_format"));
    assert_eq!(transport.count(), 0);
}

// Commands of the host: whatever they do, the loop goes on, nothing stays behind, and no key reaches them.

/// A command of the shell, which is given its arguments on standard input.
fn shell(script: &str) -> CommandTool {
    CommandTool {
        line: CommandLine { words: ["sh", "-c", script].map(str::to_owned).to_vec(), ..CommandLine::default() },
        timeout: Duration::from_secs(20),
        most: 10_000,
        output: CommandOutput::Auto,
    }
}

fn done(tool: &CommandTool, arguments: &Json) -> Result<Json, String> {
    wait(call(tool, arguments)).map_err(|failure| failure.0)
}

#[test]
fn arguments_go_in_as_json_and_results_come_out_as_json_or_text() {
    assert_eq!(done(&shell("cat"), &json!({ "to": "é", "n": [1, null] })), Ok(json!({ "to": "é", "n": [1, null] })));
    assert_eq!(done(&shell("printf 'a hall'"), &json!({})), Ok(json!("a hall")));
    assert_eq!(done(&shell("true"), &json!({})), Ok(json!("")));
    assert_eq!(done(&CommandTool { output: CommandOutput::Text, ..shell("printf 4") }, &json!({})), Ok(json!("4")));
    let strict = done(&CommandTool { output: CommandOutput::Json, ..shell("printf 'a hall'") }, &json!({}));
    assert!(strict.as_ref().is_err_and(|why| why.contains("not JSON")), "{strict:?}");
}

#[test]
fn what_goes_wrong_is_said() {
    for (script, said) in [
        ("echo 'no such room' >&2; exit 3", &["exit status: 3", "no such room"][..]),
        ("kill -9 $$", &["signal: 9"]),
        (r"printf '\377\376'", &["not valid UTF-8"]),
        ("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", &["more than 10000 bytes"]),
        ("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2; done", &["more than 10000 bytes"]),
    ] {
        let why = done(&shell(script), &json!({})).expect_err(script);
        assert!(why.starts_with("`sh` ") && said.iter().all(|part| why.contains(part)), "{script}: {why}");
    }
}

#[test]
fn what_is_not_there_cannot_be_started() {
    let mut tool = shell("true");
    tool.line.words = vec!["/nowhere/such-a-command".into(), "--password=x".into()];
    let why = done(&tool, &json!({})).unwrap_err();
    assert!(why.starts_with("`/nowhere/such-a-command` cannot be started") && !why.contains("password"), "{why}");
    tool.line.words.clear();
    assert!(done(&tool, &json!({})).unwrap_err().contains("empty"));
    let lost = CommandLine { folder: Some("/nowhere/at/all".into()), ..shell("true").line };
    assert!(done(&CommandTool { line: lost, ..shell("true") }, &json!({})).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_never_ends_is_killed_with_its_children() {
    let folder = std::env::temp_dir().join(format!("tapster-tools-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kept = folder.join("pid");
    // the child of the shell ignores what a shell is told when it is killed, and keeps the pipe open
    let script = format!("(trap '' TERM HUP; sleep 600 & echo $! > '{0}'; wait) & wait", kept.display());
    let tool = CommandTool { timeout: Duration::from_millis(6_000), ..shell(&script) };
    let begun = Instant::now();
    let why = done(&tool, &json!({})).unwrap_err();
    assert!(why.contains("did not end within 6000 ms"), "{why}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let pid = std::fs::read_to_string(&kept).unwrap();
    assert!(gone(pid.trim()), "the child {pid} still runs");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_cancelled_command_is_killed_and_one_that_ends_leaves_nothing_behind() {
    let folder = std::env::temp_dir().join(format!("tapster-tools-cancel-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (cancelled, left) = (folder.join("cancelled"), folder.join("left"));
    wait(async {
        let tool = shell(&format!("echo $$ > '{0}.part'; mv '{0}.part' '{0}'; sleep 600", cancelled.display()));
        let arguments = json!({});
        let running = call(&tool, &arguments);
        let written = async {
            while !cancelled.exists() {
                tokio::task::yield_now().await;
            }
        };
        // dropping what is running is how a caller cancels
        tokio::select! { _ = running => panic!("it ended"), () = written => {} }
    });
    assert!(gone(std::fs::read_to_string(&cancelled).unwrap().trim()));
    let tool = shell(&format!("sleep 600 & echo $! > '{}'; echo done", left.display()));
    assert_eq!(done(&tool, &json!({})), Ok(json!("done\n")));
    assert!(gone(std::fs::read_to_string(&left).unwrap().trim()));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Whether a process has ended: it is not there, or is only kept for its exit code. A killed process is gone as soon as
/// the kernel comes to it.
#[cfg(target_os = "linux")]
fn gone(pid: &str) -> bool {
    let ended = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
    };
    let begun = Instant::now();
    while !ended() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    ended()
}

#[test]
fn a_command_that_does_not_read_its_arguments_does_not_hang() {
    let large = json!({ "text": "x".repeat(1 << 20) });
    assert_eq!(done(&shell("exec 0<&-; printf ok"), &large), Ok(json!("ok")));
    assert_eq!(done(&CommandTool { most: 2 << 20, ..shell("cat | wc -c") }, &large).unwrap(), json!(1_048_587));
}

#[test]
fn the_environment_is_an_allowlist() {
    let names = |tool: &CommandTool| done(tool, &json!({})).unwrap().as_str().unwrap().to_owned();
    let env = shell("env | cut -d= -f1");
    let seen = names(&env);
    // what cargo sets for every test is not passed on, and so no key is
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !seen.contains("CARGO"), "{seen}");
    assert!(seen.lines().any(|name| name == "PATH"), "{seen}");
    let line = CommandLine { env: vec!["CARGO_MANIFEST_DIR".into(), "NOT_SET_ANYWHERE".into()], ..env.line };
    let seen = names(&CommandTool { line, ..shell("") });
    assert!(seen.contains("CARGO_MANIFEST_DIR") && !seen.contains("NOT_SET"), "{seen}");
}

#[test]
fn a_host_declares_its_tools_in_a_file() {
    let file = r#"
        [[tool]]
        name = "look"
        description = "Looks around."
        parameters = { type = "object", properties = { at = { type = "string" } } }
        command = ["sh", "-c", "cat"]
        timeout = 2.5
        parallel = true
    "#;
    let tools = wait(HostTools::parse(file).unwrap().open()).unwrap();
    let look = tools.specs().next().unwrap();
    assert_eq!((look.name.as_str(), look.description.as_str(), look.parallel), ("look", "Looks around.", true));
    assert_eq!(look.parameters["properties"]["at"]["type"], "string");
    for (file, said) in [
        ("[[tool]]\nname = 'x'\n", "missing field `command`"),
        ("[[tool]]\nname = 'x'\ncommand = ['x']\nshell = true\n", "unknown field `shell`"),
        ("[[tool]]\nname = 'x'\ncommand = ['x']\ntimeout = -1.0\n", "a timeout is"),
        ("[[tool]]\nname = 'x'\ncommand = 'x'\n", "line 3"),
        ("[[server]]\nname = 'x'\ncommand = ['x']\noutput = 'text'\n", "unknown field `output`"),
        ("tool = 1", "line 1"),
        ("[[tool]]\nname = 'x'\ncommand = []\n", "row 1 of `[[tool]]`: `command`"),
        ("[[tool]]\nname = 'x'\ncommand = ['x']\nmax_output_bytes = 0\n", "`max_output_bytes` must be at least 1"),
        ("[[tool]]\nname = 'x'\ncommand = ['x']\nenv = ['KEY=value']\n", "without values"),
        ("[[server]]\nname = 'x'\ncommand = ['']\n", "row 1 of `[[server]]`: `command`"),
        ("[[server]]\nname = 'x'\ncommand = ['x']\n[[server]]\nname = 'x'\ncommand = ['y']\n", "row 2 of `[[server]]`: another"),
    ] {
        let why = HostTools::parse(file).unwrap_err();
        assert!(why.contains(said), "{file}: {why}");
    }
}

// MCP servers: one that behaves, and those that do not.

fn server(mode: &str, timeout: u64) -> ServerSpec {
    let script = concat!(env!("CHECKOUT"), "/tests/tools/server.py");
    ServerSpec {
        name: "small".into(),
        line: CommandLine { words: ["python3", script, mode].map(str::to_owned).to_vec(), ..CommandLine::default() },
        timeout: Duration::from_millis(timeout),
        ..ServerSpec::default()
    }
}

fn names(tools: &ToolRegistry) -> Vec<&str> {
    tools.specs().map(|spec| spec.name.as_str()).collect()
}

/// Whether there is a Python to run the server with.
fn python() -> bool {
    let there = std::process::Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        eprintln!("skipped: there is no python3 to run the MCP server of this test with");
    }
    there
}

#[test]
fn tools_of_a_server_are_listed_and_carried_out() {
    if !python() {
        return;
    }
    wait(async {
        let tools = tools_of_server(&server("well", 20_000)).await.unwrap();
        assert_eq!(names(&tools), ["add", "fail", "environment"]);
        assert_eq!(tools.specs().next().unwrap().parameters["required"], json!(["a", "b"]));
        let called = |name: &'static str, arguments| tools.call(name, arguments);
        assert_eq!(called("add", json!({ "a": 2, "b": 0.5 })).await.unwrap(), json!({ "sum": 2.5 }));
        assert_eq!(called("fail", json!({})).await.unwrap_err().0, "it is broken");
        let seen = called("environment", json!({})).await.unwrap();
        assert!(!seen.as_str().unwrap().contains("CARGO"), "{seen}");
        let some = ServerSpec { prefix: "small_".into(), tools: Some(vec!["add".into()]), ..server("well", 20_000) };
        assert_eq!(names(&tools_of_server(&some).await.unwrap()), ["small_add"]);
        let none = ServerSpec { tools: Some(vec!["subtract".into()]), ..server("well", 20_000) };
        assert!(tools_of_server(&none).await.err().unwrap().0.contains("no tool `subtract`"));
    });
}

#[test]
fn a_server_that_does_not_begin_hangs_nothing() {
    if !python() {
        return;
    }
    wait(async {
        for mode in ["silent", "mute-init", "garbage", "flood"] {
            let begun = Instant::now();
            let why = tools_of_server(&server(mode, 1_000)).await.err().unwrap_or_else(|| panic!("{mode} has begun")).0;
            assert!(why.starts_with("the server `small` "), "{mode}: {why}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{mode}: {:?}", begun.elapsed());
        }
        let why = tools_of_server(&server("pages", 20_000)).await.err().unwrap().0;
        assert!(why.contains("50 pages"), "{why}");
        let mut nowhere = server("well", 1_000);
        nowhere.line.words = vec!["/nowhere/server".into()];
        assert!(tools_of_server(&nowhere).await.err().unwrap().0.contains("cannot be started"));
    });
}

#[test]
fn a_server_that_dies_or_hangs_fails_the_call_alone() {
    if !python() {
        return;
    }
    wait(async {
        let dead = tools_of_server(&server("dies", 10_000)).await.unwrap();
        for _ in 0..2 {
            let why = dead.call("add", json!({ "a": 1, "b": 1 })).await.unwrap_err().0;
            assert!(why.starts_with("the server `small` did not"), "{why}");
        }
        let hung = tools_of_server(&server("hangs", 8_000)).await.unwrap();
        let why = hung.call("add", json!({ "a": 1, "b": 1 })).await.unwrap_err().0;
        assert!(why.contains("within 8000 ms"), "{why}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_ends_when_nobody_holds_its_tools() {
    if !python() {
        return;
    }
    let mut spec = server("well", 20_000);
    let mark = format!("mark-{}", std::process::id());
    spec.line.words.push(mark.clone());
    let running = || {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok()).any(|line| String::from_utf8_lossy(&line).contains(&mark))
    };
    wait(async {
        let tools = FilteredToolRegistry::from(tools_of_server(&spec).await.unwrap());
        assert!(running());
        drop(tools);
        let begun = Instant::now();
        while running() && begun.elapsed() < Duration::from_secs(20) {
            tokio::task::yield_now().await;
        }
        assert!(!running(), "the server still runs");
    });
}

#[test]
fn a_host_declares_servers_in_its_file() {
    if !python() {
        return;
    }
    let script = concat!(env!("CHECKOUT"), "/tests/tools/server.py");
    let file = format!("[[server]]\nname = 'small'\nprefix = 's_'\ncommand = ['python3', '{script}', 'well']\n");
    let tools = wait(async { HostTools::parse(&file).unwrap().open().await.map(|tools| names(&tools).join(" ")) });
    assert_eq!(tools.unwrap(), "s_add s_fail s_environment");
}
