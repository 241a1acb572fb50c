//! What is typed: an editor with a history of lines if a person types, and plain lines otherwise.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::Notify;

use crate::diag::Code;
use crate::exit::{EarlyExit, Result};
use crate::inputs::files::LineReader;
use crate::output::Console;
use crate::store::SqlStore;

/// What Ctrl-C is answered with while nothing can be interrupted.
const HOW_TO_END: &str = "(`/quit` or Ctrl-D ends the chat)\n";

/// Where lines come from.
pub(super) enum LineSource {
    /// A person at a terminal.
    Terminal(Box<DefaultEditor>),
    /// A file or another program.
    Piped(LineReader),
}

impl LineSource {
    pub(super) fn open(show: &mut Console<'_>) -> Result<Self> {
        // tests bring streams of their own, and say that nobody sits there
        if show.io.terminal && std::io::stdin().is_terminal() && !show.is_json() {
            let editor = DefaultEditor::new().map_err(|error| {
                EarlyExit::could_not(Code::FileMissing, format!("the terminal cannot be read: {error}"), "send one message with `--once`")
            })?;
            return Ok(Self::Terminal(Box::new(editor)));
        }
        Ok(Self::Piped(LineReader::open(Path::new("-"), show)?))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The next line that is not blank; `None` at the end.
    pub(super) fn next(&mut self, interrupts: &InterruptListener, show: &mut Console<'_>) -> Result<Option<String>> {
        let editor = match self {
            Self::Piped(lines) => return Ok(lines.next(show)?.map(|line| line.trim_end_matches(['\n', '\r']).to_owned())),
            Self::Terminal(editor) => editor,
        };
        loop {
            if interrupts.between() {
                show.result(HOW_TO_END);
            }
            show.flush();
            match editor.readline("> ") {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // the history of lines is a convenience
                    let _ = editor.add_history_entry(&line);
                    return Ok(Some(line));
                }
                Err(ReadlineError::Interrupted) => show.result(HOW_TO_END),
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => {
                    let message = format!("the terminal cannot be read: {error}");
                    return Err(EarlyExit::could_not(Code::FileMissing, message, "send one message with `--once`"));
                }
            }
        }
    }
}

/// The exit code of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;
/// How long a store may take to be closed then.
const CLOSING: Duration = Duration::from_secs(1);

#[derive(Default)]
struct InterruptState {
    /// Whether something is being waited for that may be interrupted.
    waiting: AtomicBool,
    pressed: AtomicBool,
    /// Whether a person types the lines of the chat.
    terminal: AtomicBool,
    /// Whether Ctrl-C was pressed at a terminal while nothing could be interrupted.
    between: AtomicBool,
    told: Notify,
    over: Notify,
}

/// Hears of Ctrl-C until it is dropped.
pub(super) struct InterruptListener(Arc<InterruptState>);

/// Ends the time in which an interruption goes to what is being waited for.
struct WaitGuard<'a>(&'a InterruptState);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.waiting.store(false, Ordering::SeqCst);
    }
}

impl InterruptListener {
    /// Listens from now on; when Ctrl-C ends the program, the store is closed before. Without a listener, which the system may refuse, Ctrl-C ends the program.
    pub(super) fn listen(store: SqlStore) -> Self {
        let state = Arc::new(InterruptState::default());
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Self(state) };
        let presses = {
            let _inside = runtime.enter();
            presses()
        };
        let Ok(mut presses) = presses else { return Self(state) };
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        biased;
                        () = shared.over.notified() => return,
                        pressed = presses.recv() => match pressed {
                            Some(()) if shared.hears() => {}
                            Some(()) => {
                                // the chat is written after every message, so nothing is lost
                                let _ = tokio::time::timeout(CLOSING, store.close()).await;
                                std::process::exit(INTERRUPTED);
                            }
                            None => return,
                        },
                    }
                }
            });
        });
        Self(state)
    }

    /// A person types the lines from now on.
    pub(super) fn at_terminal(&self) {
        self.0.terminal.store(true, Ordering::SeqCst);
    }

    /// Whether Ctrl-C was pressed at a terminal while nothing could be interrupted, since this was last asked.
    pub(super) fn between(&self) -> bool {
        self.0.between.swap(false, Ordering::SeqCst)
    }

    /// Does something that may be interrupted; `None` if it was.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.pressed.store(false, Ordering::SeqCst);
        self.0.waiting.store(true, Ordering::SeqCst);
        let _waiting = WaitGuard(&self.0);
        let interrupted = async {
            loop {
                self.0.told.notified().await;
                // what was told before this began does not count
                if self.0.pressed.swap(false, Ordering::SeqCst) {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = interrupted => None,
            done = work => Some(done),
        }
    }
}

/// One stream for all presses: with a new one for each, a press between two of them would be lost.
#[cfg(unix)]
fn presses() -> std::io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn presses() -> std::io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}

impl InterruptState {
    /// Tells who waits; false if nobody does, so that the program is to end.
    fn hears(&self) -> bool {
        if self.waiting.load(Ordering::SeqCst) {
            self.pressed.store(true, Ordering::SeqCst);
            self.told.notify_one();
        } else if self.terminal.load(Ordering::SeqCst) {
            self.between.store(true, Ordering::SeqCst);
        } else {
            return false;
        }
        true
    }
}

impl Drop for InterruptListener {
    fn drop(&mut self) {
        self.0.over.notify_one();
    }
}
