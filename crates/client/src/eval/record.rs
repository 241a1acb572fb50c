//! The outcome of one cell, as one line of a file of results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::judge::{CallRecord, DirectiveRecord};
use crate::diag::Diagnostic;

/// The tokens of a cell, as far as the provider tells them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Of the prompts.
    pub input: u64,
    /// Of the replies.
    pub output: u64,
    /// Of the prompts, those that were in the provider's cache.
    pub cached: u64,
}

/// A check that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// The check, in a few words.
    pub check: String,
    /// Whether the reply was as it must be.
    pub ok: bool,
}

/// The outcome of one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// The name of the cell.
    pub key: String,
    /// What it depends on; a result with another one is not used.
    pub inputs: String,
    /// The scenario.
    pub scenario: String,
    /// The model.
    pub model: String,
    /// The mode.
    pub mode: String,
    /// The preset.
    pub preset: String,
    /// The repetition, from 1.
    pub repetition: u32,
    /// Whether there was a reply, and it was as it must be.
    pub ok: bool,
    /// Why not: `check_failed`, or the code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The HTTP status, if the provider refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The checks that were made.
    #[serde(default)]
    pub checks: Vec<CheckRecord>,
    /// How long it took, in milliseconds; missing where time was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// How many requests were sent.
    #[serde(default)]
    pub requests: u32,
    /// The tokens; missing if the provider tells none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// What it cost; missing if the price or the tokens are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The text of the reply; the end of a long one is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The calls of tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRecord>,
    /// The directives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<DirectiveRecord>,
    /// Warnings of the build and of the requests, each once; they are told, and not kept in files.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
}

impl CellOutcome {
    /// Whether the provider and not the reply is why it failed, so that asking again may help.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        const REPLIED: &[&str] = &["check_failed", "max_turns"];
        !self.ok && self.text.is_empty() && self.failure.as_deref().is_some_and(|code| !REPLIED.contains(&code))
    }
}

/// The results of a file, by the names of their cells; the last of each counts. Lines that are no results, such as one that
/// was cut off when the program was killed, are counted and left out.
#[must_use]
pub fn finished(text: &str) -> (BTreeMap<String, CellOutcome>, usize) {
    let mut found = BTreeMap::new();
    let mut broken = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<CellOutcome>(line) {
            Ok(outcome) => _ = found.insert(outcome.key.clone(), outcome),
            Err(_) => broken += 1,
        }
    }
    (found, broken)
}
