//! MCP servers: one that behaves, and those that do not.

use std::time::{Duration, Instant};

use serde_json::json;
use tapster_client::tools::{CommandLine, FilteredToolRegistry, HostTools, ServerSpec, ToolRegistry, tools_of_server};

use super::wait;

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
