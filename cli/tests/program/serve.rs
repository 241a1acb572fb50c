//! Serving as a process: the deadline, and the folders that lines may read.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::folder::TempFolder;

/// The answers to these lines.
fn served(folder: &Path, flags: &[&str], lines: &str) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tapster"))
        .args(["serve", "--stdio"])
        .args(flags)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// No process has begun to answer within so short a time; the lines behind are answered all the same.
#[test]
fn a_line_that_takes_too_long_is_answered_and_so_is_the_next_one() {
    let folder = TempFolder::new("deadline");
    let answers = served(&folder.0, &["--deadline", "0.000001"], "{\"id\":1,\"message\":\"a\"}\n\n{\"id\":[2],\"message\":\"b\"}");
    assert_eq!(answers.len(), 2);
    for (answer, id) in answers.iter().zip(["1", "[2]"]) {
        let begin = format!("{{\"id\":{id},\"ok\":false,\"diagnostics\":[{{\"severity\":\"error\",\"code\":\"bound.exceeded\"");
        assert!(answer.starts_with(&begin) && answer.contains("--deadline SECONDS"), "{answer}");
    }
}

#[test]
fn lines_read_only_below_the_folders_that_they_may() {
    let [folder, beside] = [TempFolder::new("served"), TempFolder::new("beside")];
    std::fs::write(folder.0.join("in.txt"), "inner text").unwrap();
    std::fs::write(beside.0.join("out.txt"), "outer text").unwrap();
    std::fs::create_dir(folder.0.join("near")).unwrap();
    let out = beside.0.join("out.txt");
    let line = |path: &str| format!("{{\"pack\":\"sillytavern\",\"persona_file\":{path:?},\"message\":\"x\"}}\n");
    let up = format!("near/../../{}/out.txt", beside.0.file_name().unwrap().to_str().unwrap());
    let mut paths = vec!["in.txt", "near/../in.txt", out.to_str().unwrap(), &up, "none/../../none.txt"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&out, folder.0.join("link.txt")).unwrap();
        paths.push("link.txt");
    }
    let lines: String = paths.iter().map(|path| line(path)).collect();
    let answers = served(&folder.0, &["--deadline", "3600"], &lines);
    assert_eq!(answers.len(), paths.len());
    for (path, answer) in paths.iter().zip(&answers) {
        let inner = path.ends_with("in.txt");
        assert_eq!(answer.contains("inner text"), inner, "{path}: {answer}");
        assert_eq!(answer.contains("\"code\":\"file.outside\"") && answer.contains("--allow FOLDER"), !inner, "{path}: {answer}");
        assert!(!answer.contains("outer text"), "{path}: {answer}");
    }
    let allowed = served(&folder.0, &["--deadline", "3600", "--allow", beside.0.to_str().unwrap()], &line(out.to_str().unwrap()));
    assert!(allowed[0].contains("outer text"), "{}", allowed[0]);
}

/// An agent asks by the Model Context Protocol; the server ends when it leaves.
#[test]
fn an_agent_has_the_calls_of_the_door_as_tools() {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(env!("CARGO_BIN_EXE_tapster")).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut ask = |line: &str, answered: bool| {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        if answered {
            output.read_line(&mut answer).unwrap();
        }
        answer
    };
    let client = r#""protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}"#;
    let hello = ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{{client}}}}}"#), true);
    assert!(hello.contains(r#""name":"tapster""#), "{hello}");
    ask(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, false);
    let tools = ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, true);
    assert!(tools.contains(r#""name":"explain""#) && !tools.contains(r##""#/$defs/Missing""##), "{tools}");
    let call = |name: &str, arguments: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#)
    };
    let built = ask(&call("build", r#"{"rules":"base","scene":{"message":"Hi."}}"#), true);
    assert!(built.contains(r#""isError":false"#) && built.contains(r#""content":"Hi.""#), "{built}");
    let failed = ask(&call("build", r#"{"rules":"bas"}"#), true);
    assert!(failed.contains(r#""isError":true"#) && failed.contains("did you mean `base`"), "{failed}");
    drop(input);
    assert!(child.wait().unwrap().success());
}
