//! The time that a thread or the process has used the processor, in microseconds: other work on the machine does not
//! change it.

#[cfg(unix)]
fn read(clock: rustix::time::ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}

/// The time of this thread.
#[cfg(unix)]
#[must_use]
pub fn of_thread() -> u64 {
    read(rustix::time::ClockId::ThreadCPUTime)
}

/// The time of all threads of this process.
#[cfg(unix)]
#[must_use]
pub fn of_process() -> u64 {
    read(rustix::time::ClockId::ProcessCPUTime)
}

/// The time of the wall, where there is no other.
#[cfg(not(unix))]
#[must_use]
pub fn of_thread() -> u64 {
    static BEGUN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    u64::try_from(BEGUN.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The time of the wall, where there is no other.
#[cfg(not(unix))]
#[must_use]
pub fn of_process() -> u64 {
    of_thread()
}
