//! A scripted server on the loopback: answers by script, byte for byte, with every fault that a provider may have.
//!
//! One connection carries one request. Nothing here is clever about HTTP, because a script must be able to break it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest that anything here waits; a test that reaches it has failed.
pub(crate) const AT_MOST: Duration = Duration::from_secs(20);

/// One step of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one by one.
    Slowly(Vec<u8>),
    /// Sends these bytes again and again, until the other side has had enough.
    Endless(Vec<u8>),
    /// Sends nothing more, and keeps the connection until the other side closes it.
    Stall,
}

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// The value of a header, by lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.map(|(key, value)| (key, value.trim())).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A server that answers the first request with the first script, the second with the second, and then no more.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    closed: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    pub(crate) fn new(scripts: Vec<Vec<Step>>) -> Self {
        Self::serving(scripts, |stream| Box::new(stream))
    }

    /// The same with something between the socket and the script, such as TLS.
    pub(crate) fn serving(scripts: Vec<Vec<Step>>, wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (tell, closed) = channel();
        let kept = asked.clone();
        let thread = std::thread::spawn(move || {
            for script in scripts {
                let Ok((stream, _)) = listener.accept() else { return };
                // the last connection of a test that is over
                if script_is_over(&stream) {
                    return;
                }
                stream.set_read_timeout(Some(AT_MOST)).unwrap();
                stream.set_write_timeout(Some(AT_MOST)).unwrap();
                serve(wrap(stream), &script, &kept, &tell);
            }
        });
        Self { address, asked, closed, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1/chat/completions", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until the other side has closed a connection during a stall or an endless answer.
    pub(crate) fn saw_it_closed(&self) -> bool {
        self.closed.recv_timeout(AT_MOST).is_ok()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // scripts that nobody asked for would wait forever
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            let Ok(mut stream) = TcpStream::connect(self.address) else { break };
            let _ = stream.write_all(OVER);
            let _ = stream.shutdown(Shutdown::Write);
            std::thread::yield_now();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the test itself sends when it is over.
const OVER: &[u8] = b"OVER";

fn script_is_over(stream: &TcpStream) -> bool {
    let mut first = [0; 4];
    stream.set_read_timeout(Some(AT_MOST)).unwrap();
    stream.peek(&mut first).is_ok_and(|n| first[..n] == *OVER)
}

/// A connection.
pub(crate) trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn serve(mut stream: Box<dyn Stream>, script: &[Step], asked: &Mutex<Vec<Asked>>, tell: &Sender<()>) {
    let Some(request) = read(&mut stream) else { return };
    asked.lock().unwrap().push(request);
    for step in script {
        let sent = match step {
            Step::Send(bytes) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Step::Slowly(bytes) => bytes.iter().try_for_each(|b| stream.write_all(&[*b]).and_then(|()| stream.flush())),
            Step::Endless(bytes) => {
                while stream.write_all(bytes).is_ok() {}
                let _ = tell.send(());
                return;
            }
            Step::Stall => {
                if matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)) {
                    let _ = tell.send(());
                }
                return;
            }
        };
        if sent.is_err() {
            let _ = tell.send(());
            return;
        }
    }
}

/// Reads one request; `None` if there is none.
fn read(stream: &mut Box<dyn Stream>) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    };
    let mut asked = Asked { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body: bytes.split_off(end) };
    let length: usize = asked.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while asked.body.len() < length {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => asked.body.extend_from_slice(&buffer[..n]),
        }
    }
    Some(asked)
}

/// The head of an answer whose body ends with the connection.
pub(crate) fn head(status: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n").into_bytes()
}

/// A whole answer of one piece.
pub(crate) fn whole(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<Step> {
    let length = body.len().to_string();
    let headers = [headers, &[("content-length", length.as_str())]].concat();
    vec![Step::Send([head(status, &headers), body.to_vec()].concat())]
}

/// A body in chunks, as servers that stream send it.
pub(crate) fn chunked(parts: &[&[u8]]) -> Vec<u8> {
    let chunk = |part: &&[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    [parts.iter().flat_map(chunk).collect::<Vec<u8>>(), b"0\r\n\r\n".to_vec()].concat()
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const EVENTS: (&str, &str) = ("content-type", "text/event-stream");
pub(crate) const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");
