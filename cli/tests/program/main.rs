//! The program as a process: its exit codes, its streams, and every command that the pages show.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that panics has failed")]

mod chat;
mod console;
mod dataset;
mod eval;
mod folder;
mod here;
mod living_world;
mod long_chat;
#[path = "../../../tests/all/docs/pages.rs"]
mod pages;
mod pipes;
mod serve;
mod store;
mod watch;

use std::io::Read;
use std::process::{Command, Stdio};

/// A reader that goes away early (`tapster ops | head -1`) is no failure, and nothing is said about it.
#[test]
fn a_closed_pipe_is_fine() {
    let program = env!("CARGO_BIN_EXE_tapster");
    let mut child = Command::new(program).arg("ops").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
}

/// What is written without a colour flag holds no escape, since a pipe is no terminal.
#[test]
fn a_process_ends_with_the_exit_code() {
    let program = env!("CARGO_BIN_EXE_tapster");
    let ran = Command::new(program).args(["check", "no-such-pack"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(err.starts_with("error[pack.missing]: pack `no-such-pack` is not found"), "{err}");
}
