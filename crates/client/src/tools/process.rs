//! A process of the host in a group of its own, which ends with it: whatever the process has started is killed too.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::tool::ToolFailure;

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
