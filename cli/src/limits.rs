//! The limits of the process: what is left to hold an input that the counted bounds do not. The system keeps them.

#[cfg(unix)]
use rustix::process::{Resource, getrlimit, setrlimit};

use super::output::Io;
use super::stop::EarlyExit;
use crate::diag::Code;

/// The most memory, in MiB, if `TAPSTER_MEMORY` does not say it.
const MEMORY: u64 = 4096;
/// The most processor time, in seconds, if `TAPSTER_PROCESSOR` does not say it.
const PROCESSOR: u64 = 600;

/// Sets the limits. A number that cannot be read is an error, so that nothing runs without the limit that was meant. A verb
/// that `runs_on` for as long as somebody asks has none of processor time.
#[cfg(unix)]
pub(super) fn set(runs_on: bool, io: &Io<'_>) -> Result<(), EarlyExit> {
    let number = |name: &str, usual| match (io.env)(name).filter(|text| !text.is_empty()) {
        None => Ok(usual),
        Some(text) => text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
            let message = format!("`{name}` is `{}`, which is no whole number", text.display());
            EarlyExit::could_not(Code::SceneField, message, "write a number of MiB, or of seconds, without a unit; 0 sets no limit")
        }),
    };
    lower(Resource::Data, number("TAPSTER_MEMORY", MEMORY)?.saturating_mul(1 << 20));
    let seconds = number("TAPSTER_PROCESSOR", PROCESSOR)?;
    if !runs_on {
        lower(Resource::Cpu, seconds);
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn set(_: bool, _: &Io<'_>) -> Result<(), EarlyExit> {
    Ok(())
}

/// Lowers a limit, so that it can be raised again by programs that are started. 0 leaves it as it is.
#[cfg(unix)]
fn lower(resource: Resource, most: u64) {
    let mut limit = getrlimit(resource);
    if most > 0 && limit.current.is_none_or(|now| now > most) {
        limit.current = Some(most);
        // a system without such a limit is no reason not to run
        let _ = setrlimit(resource, limit);
    }
}
