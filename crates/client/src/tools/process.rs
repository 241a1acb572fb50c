//! Commands of the host as tools: arguments go in as JSON, and the result comes out as JSON or text.
//!
//! A command is bounded in time and output and gets no key: its environment is an allowlist. It runs in a process group of its own,
//! which is killed as a whole where it is cancelled or breaks a bound.

use core::time::Duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::super::BoxFuture;
use super::{Tool, ToolCall, ToolFailure};

/// Variables that every process gets, if they are set. None of them holds a key.
const PASSED: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT"];

/// How a process is started. No shell reads the words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The folder that it starts in; without it, that of the application.
    pub folder: Option<PathBuf>,
    /// Variables of the environment that it gets besides the harmless ones; all others are withheld.
    pub env: Vec<String>,
}

impl CommandLine {
    /// The program, as it is named in messages.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// A running process. Dropping it kills its whole group.
pub(super) struct ProcessGroup {
    child: Child,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

/// The ends of its pipes.
pub(super) struct ProcessPipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    /// Only if it was asked for.
    pub(super) stderr: Option<ChildStderr>,
}

impl ProcessGroup {
    /// Starts a process, with what it prints as errors if `errors`.
    ///
    /// # Errors
    /// It cannot be started; the message names the program and not its arguments.
    pub(super) fn start(line: &CommandLine, errors: bool) -> Result<(Self, ProcessPipes), ToolFailure> {
        let failed = |why: &dyn std::fmt::Display| ToolFailure(format!("`{}` cannot be started: {why}", line.program()));
        let (program, arguments) = line.words.split_first().ok_or_else(|| failed(&"the command is empty"))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment(&line.env));
        if let Some(folder) = &line.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(if errors { Stdio::piped() } else { Stdio::null() });
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|e| failed(&e))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        #[cfg(unix)]
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        let group = Self {
            child,
            #[cfg(unix)]
            id,
        };
        match (stdin, stdout) {
            (Some(stdin), Some(stdout)) => Ok((group, ProcessPipes { stdin, stdout, stderr })),
            _ => Err(failed(&"it has no pipes")),
        }
    }

    /// Waits until the process ends, and ends what it has left running.
    pub(super) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.kill();
        status
    }

    /// Kills the group once. An id is not used again, since another process may have it by then. Behind the end of the
    /// leader the same could happen if nothing is left of the group and its number is given to a new one in the moment
    /// between; systems give numbers round robin, so that takes as many new processes as there are numbers.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.id.take() {
            // an error says that nothing is left of the group
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The variables that a process gets: the harmless ones, and those of its list.
fn environment(more: &[String]) -> Vec<(String, OsString)> {
    let names = PASSED.iter().copied().chain(more.iter().map(String::as_str));
    names.filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?))).collect()
}

/// The most bytes of errors that the model is told.
const TOLD: usize = 1_000;
/// Bytes read at a time.
const PART: usize = 8 << 10;

/// How the output of a command is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutput {
    /// JSON if it is JSON, otherwise text.
    #[default]
    Auto,
    /// JSON; anything else is a failure.
    Json,
    /// Text.
    Text,
}

/// A command of the host.
#[derive(Debug, Clone)]
pub struct CommandTool {
    /// How it is started.
    pub line: CommandLine,
    /// How long it may run.
    pub timeout: Duration,
    /// The most bytes that it may print.
    pub most: usize,
    /// How its output is read.
    pub output: CommandOutput,
}

impl Tool for CommandTool {
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, Result<Json, ToolFailure>> {
        let input = Json::Object(call.arguments.clone()).to_string();
        Box::pin(async move { self.read(self.run(input.into_bytes()).await?) })
    }
}

impl CommandTool {
    /// Runs the command once; gives what it printed.
    async fn run(&self, input: Vec<u8>) -> Result<Vec<u8>, ToolFailure> {
        let (mut group, ProcessPipes { mut stdin, stdout, stderr }) = ProcessGroup::start(&self.line, true)?;
        let write = async {
            // a command that does not read its arguments closes the pipe
            let _ = stdin.write_all(&input).await;
            drop(stdin);
            Ok(())
        };
        let errors = async {
            match stderr {
                Some(stderr) => self.bounded(stderr).await,
                None => Ok(Vec::new()),
            }
        };
        let ended = async { group.ended().await.map_err(|e| self.failure(&format!("could not be waited for: {e}"))) };
        let all = async { tokio::try_join!(write, self.bounded(stdout), errors, ended) };
        let (_, output, errors, status) = match tokio::time::timeout(self.timeout, all).await {
            Ok(done) => done?,
            Err(_) => return Err(self.failure(&format!("did not end within {} ms and was killed", self.timeout.as_millis()))),
        };
        if status.success() {
            return Ok(output);
        }
        let told = String::from_utf8_lossy(errors.get(errors.len().saturating_sub(TOLD)..).unwrap_or_default()).trim().to_owned();
        Err(self.failure(&format!("failed ({status}){}{told}", if told.is_empty() { "" } else { ": " })))
    }

    /// Everything that comes out of a pipe.
    async fn bounded(&self, mut pipe: impl AsyncRead + Unpin) -> Result<Vec<u8>, ToolFailure> {
        let mut whole = Vec::new();
        let mut part = vec![0; PART];
        loop {
            let read = pipe.read(&mut part).await.map_err(|e| self.failure(&format!("could not be read: {e}")))?;
            let Some(part) = part.get(..read).filter(|part| !part.is_empty()) else { return Ok(whole) };
            if whole.len() + read > self.most {
                return Err(self.failure(&format!("printed more than {} bytes and was killed", self.most)));
            }
            whole.extend_from_slice(part);
        }
    }

    /// The result that a text means.
    fn read(&self, output: Vec<u8>) -> Result<Json, ToolFailure> {
        let text = String::from_utf8(output).map_err(|_| self.failure("printed something that is not valid UTF-8"))?;
        let json = || serde_json::from_str::<Json>(&text);
        match self.output {
            CommandOutput::Text => Ok(Json::String(text)),
            CommandOutput::Json => json().map_err(|e| self.failure(&format!("printed something that is not JSON: {e}"))),
            CommandOutput::Auto => Ok(json().unwrap_or(Json::String(text))),
        }
    }

    fn failure(&self, what: &str) -> ToolFailure {
        ToolFailure(format!("`{}` {what}", self.line.program()))
    }
}
