//! A report as text for a terminal, and as comma-separated values.

use std::fmt::Write as _;

use super::record::CellOutcome;
use super::report::{CellGroup, EvalReport};

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
    vec![
        group.of.model.clone(),
        group.of.mode.clone(),
        group.of.preset.clone(),
        format!("{}/{}", group.successes, group.trials),
        percent(group.rate),
        format!("{}–{}", percent(group.low), percent(group.high)),
        time(group.p50),
        time(group.p90),
        time(group.p99),
        format!("{}/{}", group.tokens.input, group.tokens.output),
        group.cache_rate.map_or_else(none, percent),
        group.cost.map_or_else(none, money),
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
