//! One child process that runs cases: a line in (`file<TAB>number`), a line out (the checks as JSON).

use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::case::{Case, Check};
use crate::{adapters, suites};

/// How long a case may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Deep inputs are part of the cases.
const STACK: usize = 256 << 20;

/// A running child.
pub(crate) struct Worker {
    child: Option<(Child, ChildStdin, Receiver<String>)>,
}

impl Worker {
    /// Starts a child.
    pub(crate) fn start() -> Self {
        Self { child: spawn().ok() }
    }

    /// Runs one case; an error if the child ends or does not answer in time, and is of no more use.
    pub(crate) fn run(&mut self, file: &Path, number: usize) -> Result<Vec<Check>, String> {
        let Some((_, input, answers)) = &mut self.child else { return Err("the worker process does not start".into()) };
        writeln!(input, "{}\t{number}", file.display())
            .and_then(|()| input.flush())
            .map_err(|e| format!("the worker process is gone: {e}"))?;
        let line = answers.recv_timeout(LIMIT).map_err(|e| match e {
            std::sync::mpsc::RecvTimeoutError::Timeout => format!("no answer within {} seconds", LIMIT.as_secs()),
            std::sync::mpsc::RecvTimeoutError::Disconnected => "the worker process died (stack overflow?)".to_owned(),
        })?;
        serde_json::from_str(&line).map_err(|e| format!("the worker process answers nonsense ({e}): {line}"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some((child, ..)) = &mut self.child {
            // a child that has ended cannot be killed, which is what is wanted
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The address of a PostgreSQL server for cases about stores, where one can be started.
pub(crate) static POSTGRES: OnceLock<String> = OnceLock::new();

fn spawn() -> std::io::Result<(Child, ChildStdin, Receiver<String>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--worker")
        .envs(POSTGRES.get().map(|address| (adapters::POSTGRES, address)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("no pipes"));
    };
    let (send, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    Ok((child, input, answers))
}

/// The child's side: answers until its input ends.
pub(crate) fn serve() -> ExitCode {
    let served = std::thread::Builder::new().stack_size(STACK).spawn(|| {
        let mut held: Option<(PathBuf, Vec<Case>)> = None;
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let Some((file, number)) = line.rsplit_once('\t') else { continue };
            let file = PathBuf::from(file);
            if held.as_ref().is_none_or(|(name, _)| *name != file) {
                held = suites::cases(&file).map(|cases| (file, cases));
            }
            let case = held.as_ref().zip(number.parse::<usize>().ok()).and_then(|((_, cases), n)| cases.get(n));
            let Some(case) = case else { continue };
            let checks = run(case);
            println!("{}", serde_json::to_string(&checks).unwrap_or_else(|_| "[]".into()));
        }
    });
    match served.map(std::thread::JoinHandle::join) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn run(case: &Case) -> Vec<Check> {
    let Some(adapter) = adapters::find(case) else { return vec![Check::broken("", case, "no adapter for this kind yet")] };
    match catch_unwind(AssertUnwindSafe(|| (adapter.run)(case))) {
        Ok(checks) => checks,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let why = format!("panic: {}", text.unwrap_or_default());
            adapter.levels.iter().map(|level| Check::broken(level, case, &why)).collect()
        }
    }
}
