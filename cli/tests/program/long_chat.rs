//! A long chat fits into the memory that a program may take.

#![cfg(unix)]

use std::process::{Command, Output};

use super::folder::TempFolder;

/// What a run ends with that may take so many MiB; the system keeps the limit.
fn limited(folder: &TempFolder, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tapster")).args(args).env("TAPSTER_MEMORY", "700").current_dir(&folder.0).output().unwrap()
}

#[test]
fn a_long_chat_takes_little_memory() {
    let folder = TempFolder::new("long");
    for (rows, fits) in [(100_000, true), (249_000, false)] {
        let log = format!("{{\"user_name\":\"Bo\",\"character_name\":\"Ines\"}}\n{}", "{\"mes\":\"a\"}\n".repeat(rows));
        std::fs::write(folder.0.join("chat.jsonl"), log).unwrap();
        let chat = ["chat", "--pack=sillytavern", "--log=chat.jsonl", "--once=x", "--model=m", "--replay=/dev/null", "--store=a.db"];
        let build = ["build", "--pack=sillytavern", "--chat=chat.jsonl", "--message=x"];
        for (args, wanted) in [(&chat[..], "the record holds 0 replies"), (&build[..], "")] {
            let ran = limited(&folder, args);
            let err = String::from_utf8_lossy(&ran.stderr);
            // a larger one is refused and told, and ends by no signal
            assert!(ran.status.code().is_some_and(|code| code <= 1), "{rows} {args:?}: {:?} {err}", ran.status);
            assert!(err.contains(if fits { wanted } else { "error[bound.exceeded]" }), "{rows} {args:?}: {err}");
        }
    }
}
