//! What came of an evaluation: the outcome of one cell, as one line of a file of results; the same numbers for all cells and for each
//! part of them; and the report as text for a terminal and as comma-separated values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::judge::{CallRecord, DirectiveRecord};
use crate::diag::Diagnostic;

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

/// The quantile of the normal distribution for intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// The interval of 95 % for a rate, by Wilson's score: it stays between 0 and 1, and is of use for few trials and for rates
/// of 0 and 1. Without trials it is everything.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "no evaluation has so many trials")]
pub fn wilson(successes: usize, trials: usize) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (trials as f64, successes.min(trials) as f64 / trials as f64);
    let z2 = Z * Z;
    let middle = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z2 / n;
    (((middle - half) / whole).clamp(0.0, 1.0), ((middle + half) / whole).clamp(0.0, 1.0))
}

/// The smallest of the numbers that so many percent of them do not exceed; `None` of none.
#[must_use]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank of a short list")]
pub fn percentile(numbers: &[u64], percent: f64) -> Option<u64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let rank = (percent.clamp(0.0, 100.0) / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

impl EvalReport {
    /// A table of the contenders, and below it why cells failed.
    #[must_use]
    pub fn table(&self) -> String {
        let head = ["model", "mode", "preset", "success", "rate", "95 %", "p50", "p90", "p99", "tokens in/out", "cached", "cost"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.contenders.iter().map(row));
        if self.contenders.len() > 1 {
            let mut all = row(&self.total);
            if let Some(first) = all.first_mut() {
                "all".clone_into(first);
            }
            rows.push(all);
        }
        let mut out = aligned(&rows);
        if !self.total.failures.is_empty() {
            out.push_str("\nfailures\n");
            for (code, count) in &self.total.failures {
                let _ = writeln!(out, "  {count:>5}  {code}");
            }
            for (check, count) in &self.total.failed_checks {
                let _ = writeln!(out, "  {count:>5}  check: {check}");
            }
        }
        if self.missing > 0 {
            let _ = writeln!(out, "\n{} cells are still to be done; the same command goes on with them", self.missing);
        }
        out
    }

    /// One line for each cell, with a head.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "scenario,model,mode,preset,repetition,ok,failure,status,ms,requests,input_tokens,output_tokens,cached_tokens,cost,checks_failed\n",
        );
        for cell in &self.cells {
            out.push_str(&line(cell));
            out.push('\n');
        }
        out
    }
}

fn line(cell: &CellOutcome) -> String {
    let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let failed: Vec<&str> = cell.checks.iter().filter(|made| !made.ok).map(|made| made.check.as_str()).collect();
    let fields = [
        cell.scenario.clone(),
        cell.model.clone(),
        cell.mode.clone(),
        cell.preset.clone(),
        cell.repetition.to_string(),
        cell.ok.to_string(),
        cell.failure.clone().unwrap_or_default(),
        number(cell.status.map(u64::from)),
        number(cell.ms),
        cell.requests.to_string(),
        number(cell.tokens.map(|t| t.input)),
        number(cell.tokens.map(|t| t.output)),
        number(cell.tokens.map(|t| t.cached)),
        cell.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        failed.join("; "),
    ];
    fields.map(|field| quoted(&field)).join(",")
}

/// A field, in quotes where it needs them. A text that a spreadsheet would take for a formula begins with an apostrophe.
fn quoted(field: &str) -> String {
    let field = if field.starts_with(['=', '+', '@', '\t', '\r']) { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

fn row(group: &CellGroup) -> Vec<String> {
    let names = [&group.of.model, &group.of.mode, &group.of.preset].map(Clone::clone);
    let counts = [
        format!("{}/{}", group.tokens.input, group.tokens.output),
        group.cache_rate.map_or_else(none, percent),
        group.cost.map_or_else(none, money),
    ];
    names.into_iter().chain(rates_and_times(group)).chain(counts).collect()
}

/// How often a group succeeds and how long it takes, as tables show it.
pub(super) fn rates_and_times(group: &CellGroup) -> [String; 6] {
    [
        format!("{}/{}", group.successes, group.trials),
        percent(group.rate),
        format!("{}–{}", percent(group.low), percent(group.high)),
        time(group.p50),
        time(group.p90),
        time(group.p99),
    ]
}

fn none() -> String {
    "–".to_owned()
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A time in milliseconds or seconds.
pub(super) fn time(ms: Option<u64>) -> String {
    match ms {
        None => none(),
        Some(ms) if ms < 10_000 => format!("{ms} ms"),
        Some(ms) => format!("{} s", (ms + 500) / 1_000),
    }
}

/// A sum of money, in the currency of the prices.
pub(super) fn money(sum: f64) -> String {
    if sum >= 1.0 || sum == 0.0 { format!("{sum:.2}") } else { format!("{sum:.5}") }
}

/// Rows in columns; a name of a stranger is shown without control characters.
fn aligned(rows: &[Vec<String>]) -> String {
    let clean = |cell: &String| cell.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(clean).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |n: usize| rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}
