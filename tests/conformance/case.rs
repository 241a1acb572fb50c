//! A recorded case, and what comes of it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

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
