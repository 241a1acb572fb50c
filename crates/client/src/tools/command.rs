//! Commands of the host as tools: arguments go in as JSON, and the result comes out as JSON or text.
//!
//! A command is bounded in time and output and gets no key: its environment is an allowlist. Where it is cancelled or
//! breaks a bound, its whole process group is killed.

use core::time::Duration;

use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::super::BoxFuture;
use super::process::{CommandLine, ProcessGroup, ProcessPipes};
use super::tool::{Tool, ToolCall, ToolFailure};

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
