//! `tapster chat` at a pseudo-terminal: a person types, a reply streams, Ctrl-C keeps what has arrived and ends nothing, and
//! the reply is swiped and edited.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread::{JoinHandle, spawn};

/// Types into the program as a person would: waits for what is on the screen, and then types the next thing.
const TYPIST: &str = r#"
import os, pty, select, sys
program, url, folder = sys.argv[1:4]
pid, screen = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", NO_COLOR="1")
    os.execv(program, [program, "chat", "--model", "m", "--url", url, "--pack", "base", "--retries", "0",
                       "--store", folder + "/store.db", "--log", folder + "/chat.jsonl"])
seen = b""
def until(text):
    global seen
    while text not in seen:
        ready, _, _ = select.select([screen], [], [], 30)
        if not ready:
            sys.exit("nothing more came; seen: %r" % seen)
        seen += os.read(screen, 65536)
    seen = seen.split(text, 1)[1]
until(b"> ")
os.write(screen, b"Hi.\r")
until(b"Hello, Bo.")
until(b"> ")
os.write(screen, b"/help\r")
until(b"/regen")
until(b"> ")
os.write(screen, b"Tell me a long story.\r")
until(b"Once upon")
# more presses than one: those behind the first come while the reply is kept, or at the prompt
os.write(screen, b"\x03")
os.write(screen, b"\x03")
os.write(screen, b"\x03")
until(b"> ")
os.write(screen, b"\x03")
until(b"Ctrl-D ends the chat")
until(b"> ")
os.write(screen, b"/swipe\r")
until(b"Twice upon a time.")
until(b"> ")
os.write(screen, b"/swipe 1\r")
until(b"Once upon")
until(b"> ")
os.write(screen, b"/edit Never.\r")
until(b"> ")
os.write(screen, b"/quit\r")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

fn event(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// Answers three requests: with a whole stream, with the beginning of one, and with a whole one. Returns what was asked.
fn serve(listener: TcpListener) -> JoinHandle<Vec<String>> {
    spawn(move || {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let mut asked = Vec::new();
        let (mut first, _) = listener.accept().unwrap();
        asked.push(request(&mut first));
        let whole = format!("{head}{}{}data: [DONE]\n\n", event("Hello, "), event("Bo."));
        first.write_all(whole.as_bytes()).unwrap();
        drop(first);
        let (mut second, _) = listener.accept().unwrap();
        asked.push(request(&mut second));
        second.write_all(format!("{head}{}", event("Once upon")).as_bytes()).unwrap();
        // the program closes the connection when it is interrupted
        let mut rest = Vec::new();
        let _ = second.read_to_end(&mut rest);
        let (mut third, _) = listener.accept().unwrap();
        asked.push(request(&mut third));
        third.write_all(format!("{head}{}data: [DONE]\n\n", event("Twice upon a time.")).as_bytes()).unwrap();
        asked
    })
}

/// One request: its head, and as much body as the head says.
fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.extend(byte);
    }
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn a_person_chats_and_interrupts_a_reply() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3 to type at a pseudo-terminal");
        return;
    }
    let folder = std::env::temp_dir().join(format!("tapster-chat-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = serve(listener);
    let ran = Command::new("python3").args(["-c", TYPIST, env!("CARGO_BIN_EXE_tapster"), &url]).arg(&folder).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let asked = server.join().unwrap();
    assert!(asked.iter().all(|body| body.contains("\"stream\":true")));
    assert!(asked.get(1).unwrap().contains("Hello, Bo."), "the second request holds the first reply");
    assert!(!asked.get(2).unwrap().contains("Once upon"), "a reply that is swiped is not in the prompt");
    let log = std::fs::read_to_string(folder.join("chat.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 5, "a header, and two messages of each: {log}");
    let last = log.lines().last().unwrap();
    // what had arrived was kept, and is what was chosen and edited
    assert!(last.contains("\"mes\":\"Never.\"") && last.contains("\"swipes\":[\"Never.\",\"Twice upon a time.\"]"), "{log}");
    let _ = std::fs::remove_dir_all(&folder);
}
