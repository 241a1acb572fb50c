//! The report for a terminal: what costs most first, and what to do.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use serde_json::Value as Json;

use crate::layout::{counted, head, one_line, table};

/// The most rows of a section; `--format json` and the page have all.
const ROWS: usize = 12;
/// The most characters of a name, and of a text.
const NAME: usize = 40;
const TEXT: usize = 160;
const LINE: usize = 220;
/// The most findings of one code.
const MOST_ALIKE: usize = 3;

/// The report as a text.
#[must_use]
pub fn as_text(report: &Json) -> String {
    let mut out = format!("{}: ", one_line(text(report, "file")));
    let grade = &report["grade"];
    if let Some(letter) = grade["letter"].as_str() {
        out.push_str(&format!("{letter}, {} of 100 points. ", number(&grade["points"])));
    }
    out.push_str(&format!(
        "A {} (`{}`), as pack `{}` reads it\n",
        text(report, "is"),
        one_line(text(report, "format")),
        text(report, "pack")
    ));
    push_parts(&mut out, report);
    push_findings(&mut out, report);
    push_dialects(&mut out, &report["dialects"]);
    push_extras(&mut out, &report["brings"]);
    if let Some(diff) = report.pointer("/repairs/diff").and_then(Json::as_str) {
        out.push_str("\ncertain repairs (`--diff` prints them for `patch`)\n");
        diff.lines().take(ROWS).for_each(|line| out.push_str(&format!("  {}\n", head(line, TEXT))));
        push_more(&mut out, diff.lines().count(), "lines");
    } else if let Some(changes) = report.pointer("/repairs/changes").and_then(Json::as_array).filter(|changes| !changes.is_empty()) {
        out.push_str("\ncertain repairs\n");
        changes
            .iter()
            .for_each(|change| out.push_str(&format!("  {} → {}\n", one_line(text(change, "was")), one_line(text(change, "is")))));
    }
    out
}

/// The tokens, and the parts that cost most.
fn push_parts(out: &mut String, report: &Json) {
    let tokens = &report["tokens"];
    let prompt = tokens["prompt"].as_u64().map(|prompt| format!("; the prompt that was tried has {prompt}")).unwrap_or_default();
    out.push_str(&format!(
        "\ntokens: {} always, {} sometimes, {} never (`{}`){prompt}\n",
        tokens["always"],
        tokens["sometimes"],
        tokens["never"],
        text(tokens, "estimator")
    ));
    let parts = report.pointer("/parts/list").map(rows).unwrap_or_default();
    let sent: Vec<&Json> = parts.iter().filter(|part| text(part, "sent") != "never").collect();
    let row = |part: &&Json| {
        let waits = Some(text(part, "waits_for")).filter(|waits| !waits.is_empty()).map(|waits| format!("for {}", head(waits, NAME)));
        vec![part["tokens"].to_string(), text(part, "kind").to_owned(), head(text(part, "name"), NAME), waits.unwrap_or_default()]
    };
    out.push_str(&table(&sent.iter().take(ROWS).map(row).collect::<Vec<_>>()));
    push_more(out, sent.len(), "parts");
}

/// What was found, what takes most of the grade first.
fn push_findings(out: &mut String, report: &Json) {
    let reasons = report.pointer("/grade/reasons").map(rows).unwrap_or_default();
    let rank = |found: &Json| reasons.iter().position(|reason| reason["code"] == found["code"]).unwrap_or(usize::MAX);
    let mut findings: Vec<&Json> = rows(&report["findings"]).iter().collect();
    findings.sort_by_key(|found| rank(found));
    out.push_str("\nfindings\n");
    if findings.is_empty() {
        out.push_str("  none\n");
    }
    let mut shown = 0;
    for code in distinct_codes(&findings) {
        let same: Vec<&&Json> = findings.iter().filter(|found| text(found, "code") == code).collect();
        for found in same.iter().take(MOST_ALIKE).take(ROWS.saturating_sub(shown)) {
            shown += 1;
            out.push_str(&format!("  {}[{code}]: {}\n", text(found, "severity"), head(text(found, "message"), LINE)));
        }
        let help: BTreeSet<&str> = same.iter().map(|found| text(found, "help")).filter(|help| !help.is_empty()).collect();
        if let ([help], true) = (help.into_iter().collect::<Vec<_>>().as_slice(), shown < ROWS) {
            out.push_str(&format!("    → {}\n", one_line(help)));
        }
        if same.len() > MOST_ALIKE && shown < ROWS {
            out.push_str(&format!("    … {} more of this code\n", same.len() - MOST_ALIKE));
        }
    }
    if !reasons.is_empty() {
        let reason = |reason: &Json| format!("{} −{}", text(reason, "code"), number(&reason["points"]));
        out.push_str(&format!("  points: 100, {}\n", reasons.iter().map(reason).collect::<Vec<_>>().join(", ")));
    }
}

/// What dialects refuse or leave out; what the file's own one says is among the findings.
fn push_dialects(out: &mut String, dialects: &Json) {
    let own = text(dialects, "own");
    let warnings = rows(&dialects["warnings"]);
    let others: Vec<&Json> = warnings.iter().filter(|warning| !rows(&warning["dialects"]).iter().any(|dialect| dialect == own)).collect();
    if others.is_empty() {
        return;
    }
    out.push_str(&format!("\nother dialects than `{}`, which it is for\n", one_line(own)));
    for warning in others.iter().take(ROWS) {
        let names: Vec<&str> = rows(&warning["dialects"]).iter().filter_map(Json::as_str).collect();
        out.push_str(&format!("  {}: {}\n", head(&names.join(", "), NAME), head(text(warning, "message"), TEXT)));
    }
    push_more(out, others.len(), "warnings");
}

/// What the file brings along.
fn push_extras(out: &mut String, brings: &Json) {
    let scripts = rows(&brings["scripts"]);
    if !scripts.is_empty() {
        out.push_str(&format!("\n{}, which run once you allow them\n", counted(scripts.len(), "script")));
        let off = |script: &Json| if script["code"].is_string() { "off" } else { "" };
        let row = |script: &Json| {
            let columns = [text(script, "state"), off(script), text(script, "may"), text(script, "pattern")];
            std::iter::once(head(text(script, "name"), NAME)).chain(columns.map(|column| head(column, NAME))).collect()
        };
        out.push_str(&table(&scripts.iter().take(ROWS).map(row).collect::<Vec<_>>()));
        push_more(out, scripts.len(), "scripts");
    }
    for (key, what) in [("extensions", "data of extensions"), ("unread", "fields that no rule reads")] {
        let names: Vec<&str> = rows(&brings[key]).iter().filter_map(Json::as_str).collect();
        if !names.is_empty() {
            let more = if names.len() > ROWS { format!(" and {} more", names.len() - ROWS) } else { String::new() };
            let names: Vec<String> = names.iter().take(ROWS).map(|name| one_line(name)).collect();
            out.push_str(&format!("\n{what}: {}{more}\n", names.join(", ")));
        }
    }
}

/// The codes of findings, in their order.
fn distinct_codes<'f>(findings: &[&'f Json]) -> IndexSet<&'f str> {
    findings.iter().map(|found| text(found, "code")).collect()
}

/// Points without a fraction that is none.
fn number(points: &Json) -> String {
    points.as_f64().map(|points| points.to_string()).unwrap_or_default()
}

fn push_more(out: &mut String, count: usize, what: &str) {
    if count > ROWS {
        out.push_str(&format!("  … {} more {what}\n", count - ROWS));
    }
}

fn rows(json: &Json) -> &[Json] {
    json.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'j>(json: &'j Json, key: &str) -> &'j str {
    json.get(key).and_then(Json::as_str).unwrap_or_default()
}
