//! Ctrl-C, for the whole of a chat: it interrupts what is being waited for.
//!
//! The first handler of a signal replaces the system's own for the rest of the process. So one listener stays for the
//! life of the chat; without it, Ctrl-C would do nothing while a line is read from a pipe. Between two replies, Ctrl-C
//! ends a chat that is read from a pipe. A person at a terminal may press it again just when a reply has ended, so it
//! ends nothing there: it is answered like one at the prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::store::SqlStore;

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
