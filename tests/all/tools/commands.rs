//! Commands of the host: whatever they do, the loop goes on, nothing stays behind, and no key reaches them.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tapster_client::tools::{CommandLine, CommandOutput, CommandTool, HostTools};

use super::{call, wait};

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
