//! Files that are no files: a pipe where a file is expected is told at once, and one that the shell has opened is read.

#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::folder::TempFolder;

fn tapster(folder: &TempFolder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapster"));
    command.args(args).current_dir(&folder.0).env_remove("TAPSTER_PACKS").env_remove("TAPSTER_STORE");
    command
}

#[track_caller]
fn told(ran: &Output, what: &str) {
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(matches!(ran.status.code(), Some(1 | 2)) && err.contains(what), "{:?}: {err}", ran.status);
}

/// Nobody writes into this pipe, so whoever waits for it would wait for ever.
#[test]
fn a_pipe_in_the_place_of_a_file_is_told() {
    let folder = TempFolder::new("pipe");
    let pipe = folder.0.join("p.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(folder.0.join("scene.toml"), "pack = \"sillytavern\"\ncharacter = \"p.json\"\n").unwrap();
    std::fs::write(folder.0.join("fd.toml"), "pack = \"sillytavern\"\nchat = \"/dev/fd/0\"\n").unwrap();
    let p = "p.json";
    let reader = ["build", "--pack", "sillytavern"];
    let build = |args: &[&'static str]| [&reader, args].concat();
    let runs: Vec<Vec<&str>> = vec![
        build(&["--character", p]),
        build(&["--chat", p]),
        build(&["--lorebook", p]),
        build(&["--preset", p]),
        build(&["--persona-file", p]),
        build(&["--overlay", p]),
        build(&["--data", p]),
        build(&["--template", p]),
        build(&["--previous", p, "--message", "x"]),
        vec!["build"],
        vec!["build", p],
        vec!["fmt", p],
        vec!["import", p],
        vec!["convert", p, "--to", "x"],
        vec!["template", "add", p],
        vec!["turn", "--pack", "base", "--replies", p, "--store", "a.db"],
        vec!["eval", p, "--model", "m", "--replay", p],
        vec!["chat", "--model", "m", "--once", "x", "--replay", p],
        vec!["chat", "--model", "m", "--once", "x", "--log", p],
        vec!["chat", "--model", "m", "--once", "x", "--config", p],
        vec!["chat", "--model", "m", "--once", "x", "--tools", p],
        vec!["chat", "--model", "m", "--once", "x", "--key-file", p],
        vec!["artifact", "import", p, "--store", "a.db"],
    ];
    let mut wrong = Vec::new();
    for args in runs {
        let ran = tapster(&folder, &args).stdin(Stdio::null()).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        let is_told = matches!(ran.status.code(), Some(1 | 2)) && err.contains("it is a pipe, not a file");
        wrong.extend((!is_told).then(|| format!("{args:?}: {err}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // what is neither a file nor a folder is taken for the name of a pack here
    for args in [vec!["check", p], vec!["diff", p, p], vec!["test", p], vec!["install", p], vec!["search", "x", "--index", p]] {
        told(&tapster(&folder, &args).stdin(Stdio::null()).output().unwrap(), "p.json");
    }
    // a scene file cannot name what the shell has opened; the command line can
    told(&piped(&folder, &["build", "fd.toml"], "{}"), "it is a pipe, not a file");
}

fn piped(folder: &TempFolder, args: &[&str], text: &str) -> Output {
    let command = &mut tapster(folder, args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // one that refuses its input does not read it
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn a_pipe_that_the_command_line_names_is_read() {
    let folder = TempFolder::new("opened");
    let scene = r#"{ "pack": "base", "message": "From a pipe." }"#;
    for path in ["/dev/fd/0", "/proc/self/fd/0", "/dev/stdin"] {
        if !std::path::Path::new(path).exists() {
            continue;
        }
        let ran = piped(&folder, &["build", path], scene);
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success() && out.contains("From a pipe."), "{path}: {err}");
    }
    told(&piped(&folder, &["chat", "--model=m", "--once=x", "--replay=/dev/null"], ""), "the record holds 0 replies");
}
