//! Ctrl-C, for the whole of a chat: it interrupts what is being waited for, and otherwise ends the program as usual.
//!
//! The first handler of a signal replaces the system's own for the rest of the process. So one listener stays for the
//! life of the chat; without it, Ctrl-C would do nothing while a line is read from a pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The exit code of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

#[derive(Default)]
struct State {
    /// Whether something is being waited for that may be interrupted.
    waiting: AtomicBool,
    pressed: AtomicBool,
    told: Notify,
    over: Notify,
}

/// Hears of Ctrl-C until it is dropped.
pub(super) struct Interrupts(Arc<State>);

/// Ends the time in which an interruption goes to what is being waited for.
struct Waiting<'a>(&'a State);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.store(false, Ordering::SeqCst);
    }
}

impl Interrupts {
    pub(super) fn listen() -> Self {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        pressed = tokio::signal::ctrl_c() => match pressed {
                            Ok(()) => shared.hear(),
                            Err(_) => return,
                        },
                        () = shared.over.notified() => return,
                    }
                }
            });
        });
        Self(state)
    }

    /// Does something that may be interrupted; `None` if it was.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.pressed.store(false, Ordering::SeqCst);
        self.0.waiting.store(true, Ordering::SeqCst);
        let _waiting = Waiting(&self.0);
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

impl State {
    fn hear(&self) {
        if self.waiting.load(Ordering::SeqCst) {
            self.pressed.store(true, Ordering::SeqCst);
            self.told.notify_one();
        } else {
            // the chat is written after every message, so nothing is lost
            std::process::exit(INTERRUPTED);
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.0.over.notify_one();
    }
}
