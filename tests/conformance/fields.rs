//! Which fields of which kinds the adapters read: a case that says more than that fails the run, so that nothing of a
//! recording is passed over in silence.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value as Json;

use crate::adapters;
use crate::suites::Suite;

/// What the adapters of a kind read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    /// Fields of `input`; `a.b` names the fields of a table whose fields are all listed.
    #[serde(default)]
    input: BTreeSet<String>,
    /// Fields of `expected`.
    #[serde(default)]
    expected: BTreeSet<String>,
    /// Fields that only explain, or plumbing of the recorder: `input.x` or `expected.x`, and why they are not read.
    #[serde(default)]
    explains: BTreeMap<String, String>,
}

fn known() -> BTreeMap<String, Kind> {
    match toml::from_str(include_str!("fields.toml")) {
        Ok(known) => known,
        Err(e) => {
            println!("fields.toml: {e}");
            std::process::exit(1);
        }
    }
}

/// Kinds and fields of these suites that no adapter reads, each with the first case that has it.
pub(crate) fn unread(suites: &[Suite]) -> Vec<String> {
    let known = known();
    let mut unread: BTreeMap<String, String> = BTreeMap::new();
    for suite in suites {
        for case in &suite.cases {
            let mut tell = |what: String| {
                unread.entry(what).or_insert_with(|| format!("{} {}", suite.name, case.name));
            };
            let Some(kind) = known.get(&case.kind).filter(|_| adapters::find(case).is_some()) else {
                tell(format!("the kind {} {}", case.kind, case.op()).trim_end().to_owned());
                continue;
            };
            for (side, value, fields) in [("input", &case.input, &kind.input), ("expected", &case.expected, &kind.expected)] {
                for field in fields_of(value, fields) {
                    if !fields.contains(&field) && !kind.explains.contains_key(&format!("{side}.{field}")) {
                        tell(format!("{side}.{field} of the kind {}", case.kind));
                    }
                }
            }
        }
    }
    unread.into_iter().map(|(what, place)| format!("{what} ({place})")).collect()
}

/// The fields of a value, with those of the tables in it that are listed by their fields.
fn fields_of(value: &Json, listed: &BTreeSet<String>) -> Vec<String> {
    let mut out = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        out.push(key.clone());
        let inside = format!("{key}.");
        if listed.iter().any(|field| field.starts_with(&inside)) {
            let rows = value.as_array().map_or_else(|| vec![value], |list| list.iter().collect());
            let keys: BTreeSet<&String> = rows.iter().filter_map(|row| row.as_object()).flatten().map(|(key, _)| key).collect();
            out.extend(keys.into_iter().map(|field| format!("{inside}{field}")));
        }
    }
    out
}
