//! Campaigns as child processes: what ends a child is a finding of its last input, and the campaign goes on with the next
//! seed in another child.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Target;
use crate::campaign::Settings;
use crate::report::{Finding, Kind, Tally};
use crate::watch::BlackBox;

/// Children of one target that may end badly before the target is given up.
const MOST_DEATHS: usize = 12;

/// Runs one target until its time or its number of inputs is over.
///
/// # Errors
/// Files cannot be written, or no process can be started.
pub fn campaign(target: &Target, settings: &Settings, scratch: &Path) -> io::Result<Tally> {
    let mut all = Tally::new(target);
    let begun = Instant::now();
    let mut settings = settings.clone();
    let seconds = settings.seconds;
    for death in 0..MOST_DEATHS {
        let progress = scratch.join(format!("{}.json", target.name));
        let reason = progress.with_extension("reason");
        for old in [&progress, &reason] {
            let _ = std::fs::remove_file(old);
        }
        let ended = child(target, &settings, &progress)?;
        let counted = std::fs::read(&progress).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        all.add(counted.as_ref().map(Tally::from_json).unwrap_or_default());
        if ended {
            break;
        }
        let kind = std::fs::read_to_string(reason).ok().and_then(|word| Kind::named(&word)).unwrap_or(Kind::Died);
        let input = BlackBox::read(&progress.with_extension("input")).unwrap_or_default();
        let path = settings.out.join(format!("{}-{}-{death}", target.name, kind.word()));
        std::fs::write(&path, &input)?;
        all.executions += 1;
        all.add(Tally {
            findings: vec![Finding {
                kind,
                why: format!("the process ended (seed {})", settings.seed),
                times: 1,
                bytes: input.len(),
                input: path,
            }],
            ..Tally::default()
        });
        settings.seed = settings.seed.wrapping_add(1);
        settings.executions = settings.executions.map(|most| most.saturating_sub(all.executions)).filter(|left| *left > 0);
        settings.seconds = seconds.map(|most| most.saturating_sub(begun.elapsed().as_secs())).filter(|left| *left > 0);
        if settings.executions.is_none() && settings.seconds.is_none() {
            break;
        }
    }
    Ok(all)
}

/// Whether the child came to its end.
fn child(target: &Target, settings: &Settings, progress: &Path) -> io::Result<bool> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(target.name).arg("--worker").arg(progress).arg("--out").arg(&settings.out).arg("--seed").arg(settings.seed.to_string());
    if let Some(seconds) = settings.seconds {
        command.arg("--seconds").arg(seconds.to_string());
    }
    if let Some(executions) = settings.executions {
        command.arg("--executions").arg(executions.to_string());
    }
    Ok(command.stdin(Stdio::null()).status()?.success())
}
