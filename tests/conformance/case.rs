//! A recorded case, and what comes of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::adapters;
use crate::suites::Suite;

/// One recorded case.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    /// Unique in its folder.
    pub(crate) name: String,
    /// The form of `input` and `expected`; picks the adapter.
    pub(crate) kind: String,
    /// What goes in.
    #[serde(default)]
    pub(crate) input: Json,
    /// What the recording was made under: clock, draws, tokenizer.
    #[serde(default)]
    pub(crate) pins: Json,
    /// What must come out.
    #[serde(default)]
    pub(crate) expected: Json,
    /// Further answers that pass.
    #[serde(default)]
    pub(crate) accept: Option<Vec<Json>>,
}

impl Case {
    /// All answers that pass, the preferred one first.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &Json> {
        std::iter::once(&self.expected).chain(self.accept.iter().flatten())
    }

    /// The operation inside the kind; empty where a kind has none.
    pub(crate) fn op(&self) -> &str {
        self.input["op"].as_str().unwrap_or("")
    }

    /// A check of the whole `expected`: passed if `fits` holds for one of the answers.
    pub(crate) fn check(&self, actual: Json, fits: impl Fn(&Json, &Json) -> bool) -> Check {
        let passed = self.answers().any(|answer| fits(answer, &actual));
        Check { level: String::new(), passed, expected: self.expected.clone(), actual }
    }
}

/// One comparison that was made for a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Check {
    /// Empty, or the name of a stricter level, which is a suite of its own (`suite+level`).
    pub(crate) level: String,
    /// It is as recorded.
    pub(crate) passed: bool,
    /// What was recorded.
    pub(crate) expected: Json,
    /// What came out.
    pub(crate) actual: Json,
}

impl Check {
    /// A check that failed before there was anything to compare.
    pub(crate) fn broken(level: &str, case: &Case, why: &str) -> Self {
        Self { level: level.to_owned(), passed: false, expected: case.expected.clone(), actual: Json::String(why.to_owned()) }
    }
}

// How recorded and actual values are compared, as the READMEs of the cases define it.

/// Only the keys that `expected` names are compared, values exactly, lists in order; `null` is absent or null.
pub(crate) fn fits(expected: &Json, actual: &Json) -> bool {
    match (expected, actual) {
        (Json::Object(want), Json::Object(have)) => want.iter().all(|(key, value)| fits(value, have.get(key).unwrap_or(&Json::Null))),
        (Json::Array(want), Json::Array(have)) => want.len() == have.len() && want.iter().zip(have).all(|(w, h)| fits(w, h)),
        _ => scalar(expected, actual),
    }
}

/// All keys are compared; absent and null are the same.
pub(crate) fn same(expected: &Json, actual: &Json) -> bool {
    match (expected, actual) {
        (Json::Object(want), Json::Object(have)) => {
            let absent = |key: &String| !want.contains_key(key);
            want.iter().all(|(key, value)| same(value, have.get(key).unwrap_or(&Json::Null)))
                && have.iter().filter(|(key, _)| absent(key)).all(|(_, value)| value.is_null())
        }
        (Json::Array(want), Json::Array(have)) => want.len() == have.len() && want.iter().zip(have).all(|(w, h)| same(w, h)),
        _ => scalar(expected, actual),
    }
}

fn scalar(expected: &Json, actual: &Json) -> bool {
    match (expected.as_f64(), actual.as_f64()) {
        (Some(want), Some(have)) => want == have,
        _ => expected == actual,
    }
}

/// The list under `key` in an order of its own, so that two of them compare as sets.
pub(crate) fn unordered(value: &mut Json, key: &str) {
    if let Some(Json::Array(list)) = value.get_mut(key) {
        list.sort_by_cached_key(Json::to_string);
    }
}

/// `value` without the keys that say how to compare.
pub(crate) fn without(value: &Json, keys: &[&str]) -> Json {
    let mut value = value.clone();
    if let Json::Object(map) = &mut value {
        keys.iter().for_each(|key| {
            map.remove(*key);
        });
    }
    value
}

/// The texts of a JSON list.
pub(crate) fn texts(list: &Json) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

// Which fields of which kinds the adapters read: a case that says more than that fails the run, so that nothing of a
// recording is passed over in silence.

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
