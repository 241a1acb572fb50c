//! `tapster eval` is interrupted by Ctrl-C: what was done is kept and told, and the same command goes on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;

const REPLY: &str = r#"{"choices":[{"message":{"role":"assistant","content":"every twelve seconds"},"finish_reason":"stop"}]}"#;

fn answer(stream: &mut TcpStream) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", REPLY.len());
    stream.write_all(format!("{head}{REPLY}").as_bytes()).unwrap();
}

/// Answers one request, says that the second has come and never answers it, and answers all others.
fn serve(listener: TcpListener) -> Receiver<()> {
    let (tell, waits) = channel();
    spawn(move || {
        let mut kept = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut some = [0; 65536];
            let _ = stream.read(&mut some).unwrap();
            if number == 1 {
                tell.send(()).unwrap();
                kept.push(stream);
            } else {
                answer(&mut stream);
            }
        }
    });
    waits
}

#[cfg(unix)]
#[test]
fn an_evaluation_that_is_interrupted_keeps_what_was_done_and_goes_on() {
    let folder = std::env::temp_dir().join(format!("tapster-eval-stops-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let results = folder.join("run.jsonl");
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let waits = serve(listener);
    let eval = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapster"));
        command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        command.args(["eval", "examples/tools/eval.toml", "--model", "m", "--scenario", "lamp", "--preset", "short", "--repeat", "3"]);
        command.args(["--jobs", "1", "--retries", "0", "--url", &url, "--results"]).arg(&results);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let child = eval();
    waits.recv().unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(1), "{out}{err}");
    assert!(err.contains("eval.interrupted") && err.contains("goes on where it ended"), "{err}");
    assert!(out.contains("1/1"), "what was done is told: {out}");
    assert_eq!(std::fs::read_to_string(&results).unwrap().lines().count(), 1);
    let ran = eval().wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("3/3"));
    assert_eq!(std::fs::read_to_string(&results).unwrap().lines().count(), 3);
    let _ = std::fs::remove_dir_all(&folder);
}
