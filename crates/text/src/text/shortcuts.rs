//! A switch for tests: without shortcuts, a build takes the slow way wherever there is a fast one, and must give the same.
//!
//! Shortcuts are: a long chat that is read as far as it is needed, values that are evaluated once per pass, the search
//! for all keys of a book at once and the memory of what it found, prefilters of long lists, the faster engine for
//! patterns over texts with usual line ends, and caches of compiled texts. Nothing but tests switches them off.

use std::cell::Cell;

thread_local! {
    static OFF: Cell<bool> = const { Cell::new(false) };
}

/// Whether shortcuts are taken in this thread.
#[must_use]
pub fn are_on() -> bool {
    !OFF.get()
}

/// Runs something without shortcuts in this thread.
pub fn without<R>(run: impl FnOnce() -> R) -> R {
    /// Switches back even if `run` panics.
    struct SwitchGuard(bool);
    impl Drop for SwitchGuard {
        fn drop(&mut self) {
            OFF.set(self.0);
        }
    }
    let _back = SwitchGuard(OFF.replace(true));
    run()
}
