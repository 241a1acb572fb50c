//! Floors: what share of a suite must pass. They may only rise.

use std::collections::BTreeMap;
use std::path::Path;

use crate::suites::Tally;

const HEAD: &str = "# What share of each suite must pass: passed/total when the floor was set. Floors may only rise:
# `cargo test --test conformance -- --raise` writes better results here. A suite without a line has floor 0.

";

/// A share: passed of total.
pub(crate) type Floors = BTreeMap<String, (usize, usize)>;

/// The floors of a file.
pub(crate) fn read(file: &Path) -> Floors {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let table: BTreeMap<String, String> = match toml::from_str(&text) {
        Ok(table) => table,
        Err(e) => {
            println!("{}: {e}", file.display());
            std::process::exit(1);
        }
    };
    table.into_iter().map(|(suite, share)| (suite, parse(&share))).collect()
}

fn parse(share: &str) -> (usize, usize) {
    let parts = share.split_once('/').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    // a share that cannot be read is held to be all, so that it is noticed
    parts.unwrap_or((1, 1))
}

fn reached(tally: &Tally, (passed, total): (usize, usize)) -> bool {
    tally.passed * total >= passed * tally.total
}

/// The suites below their floor.
pub(crate) fn below(floors: &Floors, results: &BTreeMap<String, Tally>) -> Vec<String> {
    let low = results.iter().filter_map(|(suite, tally)| {
        let floor = *floors.get(suite)?;
        (!reached(tally, floor)).then(|| format!("{suite} {}/{}, floor {}/{}", tally.passed, tally.total, floor.0, floor.1))
    });
    low.collect()
}

/// Writes every result that is above its floor.
pub(crate) fn raise(file: &Path, results: &BTreeMap<String, Tally>) {
    let mut floors = read(file);
    for (suite, tally) in results.iter().filter(|(_, t)| t.passed > 0) {
        let floor = floors.entry(suite.clone()).or_insert((0, 1));
        if reached(tally, *floor) {
            *floor = (tally.passed, tally.total);
        }
    }
    let lines: String = floors.iter().map(|(suite, (passed, total))| format!("\"{suite}\" = \"{passed}/{total}\"\n")).collect();
    if let Err(e) = std::fs::write(file, format!("{HEAD}{lines}")) {
        println!("cannot write {}: {e}", file.display());
    }
}
