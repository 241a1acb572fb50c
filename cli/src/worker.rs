//! Processes that answer lines: scenes as JSON in, prompts as JSON out. One that takes too long or too much memory is ended, and
//! costs one line.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, Report, Sources, render};

/// The longest line, in bytes.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// The `id` of a line; null if it has none.
pub(crate) fn id_of(line: &[u8]) -> Json {
    #[derive(serde::Deserialize)]
    struct LineId {
        #[serde(default)]
        id: Json,
    }
    serde_json::from_slice::<LineId>(line).map_or(Json::Null, |line| line.id)
}

/// The next line, with its end; `None` where there is none. Of a line that is longer than [`MAX_LINE`], the rest is skipped.
pub(crate) fn read_line(input: &mut dyn BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)?;
    if line.len() > MAX_LINE && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// The complaint about a line that is too long to be read.
pub(crate) fn too_long() -> Diagnostic {
    let message = format!("a line is longer than {} MiB", MAX_LINE >> 20);
    Diagnostic::error(Code::FileTooLarge, message).help("name large files by their paths")
}

/// The answer to a line that nothing is built for.
pub(crate) fn refusal(id: Json, complaint: Diagnostic) -> Json {
    let mut report = Report::default();
    report.push(complaint);
    json!({ "id": id, "ok": false, "diagnostics": render::json(&report, &Sources::default()) })
}

/// Answers lines until it is dropped.
pub(crate) struct LineWorker {
    child: Child,
    lines: Sender<Arc<[u8]>>,
    answers: Receiver<Vec<u8>>,
}

impl LineWorker {
    /// The hidden flag of the process that answers.
    const FLAG: &str = "--worker";

    /// Starts the program again, with these arguments: those of a `serve --stdio`.
    pub(crate) fn start(arguments: impl Iterator<Item: AsRef<OsStr>>) -> Result<Self, Box<Diagnostic>> {
        let failed = |why: &dyn std::fmt::Display| {
            let message = format!("the process that answers cannot be started: {why}");
            Box::new(Diagnostic::error(Code::FileMissing, message).help("start `tapster serve` again"))
        };
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args(arguments).arg(Self::FLAG).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return Err(failed(&"it has no pipes")) };
        let (lines, waiting) = channel::<Arc<[u8]>>();
        let (answered, answers) = channel();
        // it ends with the process, whose pipes are closed then
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            for line in waiting {
                let mut answer = Vec::new();
                // the last line of a file may have no end
                let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
                let sent = input.write_all(&line).and_then(|()| input.write_all(end)).and_then(|()| input.flush());
                let done = sent.and_then(|()| output.read_until(b'\n', &mut answer));
                if done.is_err() || answer.last() != Some(&b'\n') || answered.send(answer).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, answers })
    }

    /// The answer to a line; an error if there is none, after which another worker is needed.
    pub(crate) fn ask(&mut self, line: &Arc<[u8]>, deadline: Duration) -> Result<Vec<u8>, Box<Diagnostic>> {
        // whether it can be sent shows in the answer
        let _ = self.lines.send(Arc::clone(line));
        self.answers.recv_timeout(deadline).map_err(|error| {
            Box::new(match error {
                RecvTimeoutError::Timeout => {
                    let message = format!("the answer took longer than {} s", deadline.as_secs_f64());
                    Diagnostic::error(Code::BoundExceeded, message)
                        .help("ask for less, or start `tapster serve` with a longer `--deadline SECONDS`")
                }
                RecvTimeoutError::Disconnected => {
                    let how = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                    Diagnostic::error(Code::BoundExceeded, format!("the process that built the answer has ended ({how})"))
                        .help("it may have reached the memory that `TAPSTER_MEMORY` gives it: ask for less, or raise that")
                }
            })
        })
    }
}

impl Drop for LineWorker {
    fn drop(&mut self) {
        // one that has ended already cannot be killed
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends this process with the one that started it.
pub(crate) fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}
