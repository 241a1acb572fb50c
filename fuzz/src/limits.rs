//! What one input may take, set as limits of the process: the system ends it beyond them. The time is that of the processor,
//! which other work on the machine does not change. Systems that are no Unix set no limits.

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

/// Begins the time of an input: the microseconds that the process has taken so far.
#[must_use]
pub fn begin() -> u64 {
    let taken = taken();
    #[cfg(unix)]
    set(rustix::process::Resource::Cpu, taken / 1_000_000 + SECONDS + 1);
    taken
}

/// The microseconds of the processor that the process has taken.
#[must_use]
pub fn taken() -> u64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
    }
    #[cfg(not(unix))]
    0
}
