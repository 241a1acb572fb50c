//! What came of an evaluation: the same numbers for all of it and for each part.

use std::collections::BTreeMap;

use serde::Serialize;

use super::record::{CellOutcome, TokenCounts};
use super::stats::{percentile, wilson};

/// The cells that a group counts; an empty name is any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CellSlice {
    /// The scenario.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    /// The model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The mode.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// The preset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preset: String,
}

/// The numbers of some cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CellGroup {
    /// Which cells.
    #[serde(flatten)]
    pub of: CellSlice,
    /// How many were asked.
    pub trials: usize,
    /// How many succeeded.
    pub successes: usize,
    /// The share of them.
    pub rate: f64,
    /// The interval of 95 % for that share.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Percentiles of the time of those that had a reply, in milliseconds.
    pub p50: Option<u64>,
    /// Nine of ten were faster.
    pub p90: Option<u64>,
    /// 99 of a hundred were faster.
    pub p99: Option<u64>,
    /// Requests that were sent.
    pub requests: u64,
    /// Tokens, as far as they are known.
    pub tokens: TokenCounts,
    /// The share of the prompt's tokens that came from the provider's cache; missing where no tokens are known.
    pub cache_rate: Option<f64>,
    /// What it cost, as far as it is known.
    pub cost: Option<f64>,
    /// The cost of one success.
    pub cost_per_success: Option<f64>,
    /// Why cells failed, and how many.
    pub failures: BTreeMap<String, usize>,
    /// The checks that failed, and how often.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_checks: BTreeMap<String, usize>,
}

impl CellGroup {
    #[expect(clippy::cast_precision_loss, reason = "no evaluation has so many cells or tokens")]
    fn of(of: CellSlice, outcomes: &[&CellOutcome]) -> Self {
        let trials = outcomes.len();
        let successes = outcomes.iter().filter(|o| o.ok).count();
        let (low, high) = wilson(successes, trials);
        let times: Vec<u64> = outcomes.iter().filter(|o| !o.is_trouble()).filter_map(|o| o.ms).collect();
        let mut group = Self { of, trials, successes, low, high, ..Self::default() };
        group.rate = if trials == 0 { 0.0 } else { successes as f64 / trials as f64 };
        (group.p50, group.p90, group.p99) = (percentile(&times, 50.0), percentile(&times, 90.0), percentile(&times, 99.0));
        for outcome in outcomes {
            group.requests += u64::from(outcome.requests);
            if let Some(tokens) = outcome.tokens {
                group.tokens.input += tokens.input;
                group.tokens.output += tokens.output;
                group.tokens.cached += tokens.cached;
            }
            for made in outcome.checks.iter().filter(|made| !made.ok) {
                *group.failed_checks.entry(made.check.clone()).or_default() += 1;
            }
            if let Some(code) = &outcome.failure {
                let code = outcome.status.map_or_else(|| code.clone(), |status| format!("{code} {status}"));
                *group.failures.entry(code).or_default() += 1;
            }
        }
        group.cache_rate = (group.tokens.input > 0).then(|| group.tokens.cached as f64 / group.tokens.input as f64);
        let costs: Vec<f64> = outcomes.iter().filter_map(|o| o.cost).collect();
        group.cost = (!costs.is_empty()).then(|| costs.iter().sum());
        group.cost_per_success = group.cost.filter(|_| successes > 0).map(|cost| cost / successes as f64);
        group
    }
}

/// The report of an evaluation.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EvalReport {
    /// What the evaluation is for.
    pub about: String,
    /// When it was made, if that is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub made: String,
    /// How many cells are still to be done.
    pub missing: usize,
    /// All cells together.
    pub total: CellGroup,
    /// One group for each model, mode and preset.
    pub contenders: Vec<CellGroup>,
    /// One group for each scenario, model, mode and preset.
    pub details: Vec<CellGroup>,
    /// The cells.
    pub cells: Vec<CellOutcome>,
}

impl EvalReport {
    /// Counts outcomes, in the order in which the file names their parts.
    #[must_use]
    pub fn of(about: &str, outcomes: Vec<CellOutcome>, missing: usize) -> Self {
        let all: Vec<&CellOutcome> = outcomes.iter().collect();
        let total = CellGroup::of(CellSlice::default(), &all);
        let contender =
            |o: &CellOutcome| CellSlice { scenario: String::new(), model: o.model.clone(), mode: o.mode.clone(), preset: o.preset.clone() };
        let contenders = groups(&all, contender);
        let details = groups(&all, |o| CellSlice { scenario: o.scenario.clone(), ..contender(o) });
        Self { about: about.to_owned(), made: String::new(), missing, total, contenders, details, cells: outcomes }
    }
}

/// One group for each different slice, in the order of first appearance.
fn groups(outcomes: &[&CellOutcome], slice: impl Fn(&CellOutcome) -> CellSlice) -> Vec<CellGroup> {
    let mut slices: Vec<CellSlice> = Vec::new();
    for outcome in outcomes {
        let own = slice(outcome);
        if !slices.contains(&own) {
            slices.push(own);
        }
    }
    let group = |of: CellSlice| {
        let own: Vec<&CellOutcome> = outcomes.iter().filter(|o| slice(o) == of).copied().collect();
        CellGroup::of(of, &own)
    };
    slices.into_iter().map(group).collect()
}
