//! An allocator that counts: how many bytes are in use, the most that ever were, and how many were asked for in all.
//!
//! What C libraries allocate (SQLite) is not counted. A worker that asks for far too much is stopped in the middle of its
//! request, so that the watchdog can write down its input before the process ends.

#![expect(unsafe_code, reason = "the trait of allocators is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static MADE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
static OVER: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WORKER: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, counted.
pub struct Counting;

fn add(size: usize) {
    let live = LIVE.fetch_add(size, Relaxed).saturating_add(size);
    // a maximum is a loop on most processors, and most requests are below it
    if live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
    MADE.fetch_add(size, Relaxed);
    if live > MOST.load(Relaxed) && WORKER.try_with(Cell::get).unwrap_or(false) {
        OVER.store(true, Relaxed);
        loop {
            std::thread::park();
        }
    }
}

// SAFETY: every call is handed to the system's allocator unchanged
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as in `alloc`
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as in `alloc`
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as in `alloc`
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Makes this thread the one that is stopped once `most` bytes are in use.
pub fn watch_this_thread(most: usize) {
    MOST.store(most, Relaxed);
    WORKER.set(true);
}

/// Whether the worker has been stopped because it asked for too much.
#[must_use]
pub fn is_over() -> bool {
    OVER.load(Relaxed)
}

/// A count that begins now.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    live: usize,
    made: usize,
}

impl Count {
    /// Begins to count.
    #[must_use]
    pub fn begin() -> Self {
        let live = LIVE.load(Relaxed);
        PEAK.store(live, Relaxed);
        Self { live, made: MADE.load(Relaxed) }
    }

    /// The most bytes that were in use at once since then, without those that were in use before.
    #[must_use]
    pub fn peak(&self) -> usize {
        PEAK.load(Relaxed).saturating_sub(self.live)
    }

    /// All bytes that were asked for since then.
    #[must_use]
    pub fn made(&self) -> usize {
        MADE.load(Relaxed).wrapping_sub(self.made)
    }
}
