//! The process that answers the lines of `serve`, and is ended when an answer takes too long: nothing else ends a build
//! that the counted bounds do not. It also bounds what a line can do to the memory.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::diag::{Code, Diagnostic};
use crate::output::OutputStreams;

/// The hidden flag of the process that answers.
pub(super) const FLAG: &str = "--worker";

/// Answers lines until it is dropped.
pub(super) struct LineWorker {
    child: Child,
    lines: Sender<Arc<[u8]>>,
    answers: Receiver<Vec<u8>>,
}

impl LineWorker {
    /// Starts the program again, with the same arguments.
    pub(super) fn start(show: &OutputStreams<'_, '_>) -> Result<Self, Box<Diagnostic>> {
        let failed = |why: &dyn std::fmt::Display| {
            let message = format!("the process that answers cannot be started: {why}");
            Box::new(Diagnostic::error(Code::FileMissing, message).help("start `tapster serve` again"))
        };
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let arguments = show.arguments.iter().flatten().skip(1);
        let mut command = Command::new(program);
        command.args(arguments).arg(FLAG).stdin(Stdio::piped()).stdout(Stdio::piped());
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
    pub(super) fn ask(&mut self, line: &Arc<[u8]>, deadline: Duration) -> Result<Vec<u8>, Box<Diagnostic>> {
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
pub(super) fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}
