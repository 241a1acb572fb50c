//! Messages on two streams, as editors start servers. A message that cannot be read costs an answer, and not the connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use lsp_server::{Connection, Message};
use serde_json::{Value as Json, json};

use crate::server::{ServerOptions, serve};

/// The longest message, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// The longest line of a head.
const MOST_HEAD: u64 = 4_096;

/// Serves an editor on two streams until it leaves; `Ok(true)` if it said goodbye as the protocol asks.
///
/// # Errors
/// The editor does not speak the protocol, or went away in its first words.
pub fn serve_streams(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    options: ServerOptions,
) -> Result<bool, String> {
    let (to_server, receiver) = crossbeam_channel::unbounded();
    let (sender, to_editor) = crossbeam_channel::unbounded::<Message>();
    let output = Arc::new(Mutex::new(output));
    let complaints = Arc::clone(&output);
    let writer = thread::spawn(move || {
        while let Ok(message) = to_editor.recv() {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            if message.write(&mut *output).is_err() {
                break;
            }
        }
    });
    // it waits for input as long as the editor lives, so nobody waits for it
    thread::spawn(move || read_messages(BufReader::new(input), &to_server, &complaints));
    let connection = Connection { sender, receiver };
    let served = serve(&connection, options);
    drop(connection);
    // what was answered is written out
    _ = writer.join();
    served
}

/// Hands messages on until the stream ends.
fn read_messages(mut input: impl BufRead, to_server: &crossbeam_channel::Sender<Message>, complaints: &Mutex<impl Write>) {
    loop {
        let text = match read_text(&mut input) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(reason) => {
                complain(complaints, &Json::Null, -32700, &reason);
                return;
            }
        };
        let message = match serde_json::from_slice::<Json>(&text) {
            Ok(json) => {
                let has_id = json.get("id").is_some();
                let id = json.get("id").filter(|id| id.is_number() || id.is_string()).cloned().unwrap_or_default();
                let (is_table, asks) = (json.is_object(), json.get("method").is_some());
                match serde_json::from_value::<Message>(json) {
                    // a request whose number is too large, or none, would be taken for a notification
                    Ok(Message::Notification(_)) if has_id => {
                        Err((id, -32600, "the `id` of a request is a text or a whole number of 32 bits".to_owned()))
                    }
                    // the answer to a question of the server has no method
                    Ok(message) if is_table && asks != matches!(message, Message::Response(_)) => Ok(message),
                    _ => Err((id, -32600, "the message is none of the protocol".to_owned())),
                }
            }
            Err(error) => Err((Json::Null, -32700, format!("the message is not valid JSON: {error}"))),
        };
        match message {
            Ok(message) => {
                let is_exit = matches!(&message, Message::Notification(n) if n.method == "exit");
                if to_server.send(message).is_err() || is_exit {
                    return;
                }
            }
            Err((id, code, reason)) => complain(complaints, &id, code, &reason),
        }
    }
}

/// The text of the next message; `None` at the end of the stream.
fn read_text(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = input.take(MOST_HEAD).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err("a line of the head of a message is too long".to_owned());
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse::<usize>().ok(),
            // the end of the head; empty lines before a head do no harm
            _ if line.is_empty() && length.is_some() => break,
            _ => {}
        }
    }
    let length = length.unwrap_or_default();
    if length > MOST_BYTES {
        return Err(format!("a message is longer than {} MiB", MOST_BYTES >> 20));
    }
    let mut text = vec![0; length];
    match input.read_exact(&mut text) {
        Ok(()) => Ok(Some(text)),
        Err(_) => Ok(None),
    }
}

/// Answers a message that cannot be handed on.
fn complain(output: &Mutex<impl Write>, id: &Json, code: i32, reason: &str) {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": reason } }).to_string();
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    // an editor that is gone reads no complaint
    _ = write!(output, "Content-Length: {}\r\n\r\n{answer}", answer.len()).and_then(|()| output.flush());
}
