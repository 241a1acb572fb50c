//! The ledger: what all campaigns together have counted of each target, in a file that is kept with the sources. A campaign
//! of an hour is too short for the aim of ten million inputs; those of many days are not.

use std::io;
use std::path::Path;

use serde_json::Value as Json;

use crate::report::Tally;

/// The tallies of a ledger; none if there is no such file.
///
/// # Errors
/// The file cannot be read, or is no ledger.
pub fn read(path: &Path) -> io::Result<Vec<Tally>> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let all: Vec<Json> = serde_json::from_slice(&bytes)?;
    Ok(all.iter().map(Tally::from_json).collect())
}

/// Adds what a campaign has counted, and writes the ledger, completely or not at all.
///
/// # Errors
/// The file cannot be read or written, or is no ledger.
pub fn add(path: &Path, tally: &Tally) -> io::Result<()> {
    let mut all = read(path)?;
    // inputs of findings lie in a folder that is thrown away; those that are kept lie in `found`
    let tally = Tally { findings: Vec::new(), ..tally.clone() };
    match all.iter_mut().find(|known| known.target == tally.target) {
        Some(known) => known.add(tally),
        None => all.push(tally),
    }
    all.sort_by(|a, b| a.target.cmp(&b.target));
    let new = path.with_extension("new");
    std::fs::write(&new, format!("{:#}\n", Json::Array(all.iter().map(Tally::to_json).collect())))?;
    std::fs::rename(new, path)
}
