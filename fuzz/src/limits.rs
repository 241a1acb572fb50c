//! What one input may take, set as limits of the process: the system ends it beyond them.

/// Seconds of the processor that one input may take.
#[cfg(unix)]
const SECONDS: u64 = 10;
/// Bytes of memory that the process may have, with what is made once for all inputs.
#[cfg(unix)]
const MEMORY: u64 = (512 + 128) << 20;

#[cfg(unix)]
fn set(what: rustix::process::Resource, current: u64) {
    let maximum = rustix::process::getrlimit(what).maximum;
    // a system that does not allow it has limits of its own
    let _ = rustix::process::setrlimit(what, rustix::process::Rlimit { current: Some(current), maximum });
}

/// Limits the memory of the process.
pub fn limit_memory() {
    #[cfg(unix)]
    set(rustix::process::Resource::Data, MEMORY);
}

/// Begins the time of an input.
pub fn limit_time() {
    #[cfg(unix)]
    set(rustix::process::Resource::Cpu, crate::clock::of_process() / 1_000_000 + SECONDS + 1);
}
