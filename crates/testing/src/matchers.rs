//! The words of tests: tables with one key that ask for something else than equality.

use serde_json::Value as Json;

use crate::diag::suggest;

/// The words of tests, which stand alone in a table.
pub(super) const MATCHERS: [&str; 8] = ["missing", "contains", "matches", "includes", "excludes", "any_order", "count", "exactly"];

/// The work of all tests of one case.
pub(super) const MOST_STEPS: u64 = 150_000_000;

/// The test that a table of an expectation is.
pub(super) fn matcher<'t>(table: &'t serde_json::Map<String, Json>, got: &Json) -> Option<(&'static str, &'t Json)> {
    let (key, value) = table.iter().next().filter(|_| table.len() == 1)?;
    let word = MATCHERS.into_iter().find(|word| word == key)?;
    let is_own_key = got.as_object().is_some_and(|found| found.contains_key(word));
    (word == "missing" && value == &Json::Bool(true) || (word != "missing" && !is_own_key)).then_some((word, value))
}

/// The test that an unknown word nearly is.
pub(super) fn near_test(word: &str) -> Option<&'static str> {
    let bare = |word: &str| word.chars().filter(|c| *c != '_').collect::<String>();
    let near = |test: &&'static str| {
        let ends = ["s", "es"].iter().any(|end| test.strip_suffix(end) == Some(word));
        ends || suggest::is_slip_of_one(word, test) || bare(word) == bare(test)
    };
    MATCHERS.into_iter().find(|test| *test == word).map_or_else(|| MATCHERS.into_iter().find(near), |_| None)
}
