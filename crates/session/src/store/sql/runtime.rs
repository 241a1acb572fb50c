//! Waiting for a store in a program that has no runtime of its own.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

/// Runs a future of a store to its end on this thread. All calls of a process share one runtime, so that connections
/// stay usable from one call to the next.
///
/// # Panics
/// If the system refuses a runtime, or if it is called from inside of a `tokio` runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    #[expect(clippy::expect_used, reason = "a system that refuses an event queue can run no store")]
    let runtime = RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build().expect("the system refuses a runtime"));
    runtime.block_on(future)
}
