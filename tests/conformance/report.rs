//! What the harness prints and writes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::case::Check;
use crate::options::Options;
use crate::suites::Tally;

/// One line a suite; diffs of failing cases where asked for.
pub(crate) fn print(results: &BTreeMap<String, Tally>, options: &Options) {
    for (suite, tally) in results {
        println!("{suite}: {}/{}", tally.passed, tally.total);
        let Some(wanted) = &options.diff else { continue };
        for (case, check) in tally.failed.iter().filter(|(case, _)| case.contains(wanted.as_str())) {
            println!("--- {suite} {case}\n{}", diff(check));
        }
    }
}

fn diff(check: &Check) -> String {
    let text = |value: &Json| match value {
        Json::String(why) => format!("{why}\n"),
        other => format!("{other:#}\n"),
    };
    let (expected, actual) = (text(&check.expected), text(&looked_at(&check.expected, &check.actual)));
    similar::TextDiff::from_lines(&expected, &actual).unified_diff().context_radius(2).header("expected", "actual").to_string()
}

/// What of `actual` the recorded answer speaks of; all of it where they have nothing in common.
fn looked_at(expected: &Json, actual: &Json) -> Json {
    match (expected, actual) {
        (Json::Object(want), Json::Object(have)) if want.keys().any(|key| have.contains_key(key)) => {
            let shared = want.iter().filter_map(|(key, value)| Some((key.clone(), looked_at(value, have.get(key)?))));
            Json::Object(shared.collect())
        }
        (Json::Array(want), Json::Array(have)) if want.len() == have.len() => {
            want.iter().zip(have).map(|(want, have)| looked_at(want, have)).collect()
        }
        _ => actual.clone(),
    }
}

/// The results as JSON.
pub(crate) fn write(results: &BTreeMap<String, Tally>, file: &Path) {
    let suites: serde_json::Map<String, Json> = results
        .iter()
        .map(|(suite, tally)| {
            let failed: Vec<&str> = tally.failed.iter().map(|(case, _)| case.as_str()).collect();
            (suite.clone(), json!({ "passed": tally.passed, "total": tally.total, "failed": failed }))
        })
        .collect();
    if let Some(folder) = file.parent() {
        // a folder that cannot be made shows in the write below
        let _ = std::fs::create_dir_all(folder);
    }
    if let Err(e) = std::fs::write(file, format!("{:#}\n", json!({ "suites": suites }))) {
        println!("cannot write {}: {e}", file.display());
    }
}
