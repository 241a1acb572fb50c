//! Results of rule tests for people, as JSON, and as JUnit XML.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::diag::render;
use crate::diag::short::head;

use super::runner::{CaseComplaint, CaseResult, FileResult};

/// The most lines of a difference that are shown on each side.
const LINES: usize = 12;
/// The most characters of a line that are shown.
const WIDTH: usize = 200;

/// How many cases passed, and how many failed; a file that cannot be used and names no cases counts as one that failed.
#[must_use]
pub fn counts(tested: &[FileResult]) -> (usize, usize) {
    let cases = || tested.iter().flat_map(|file| &file.cases);
    let passed = cases().filter(|case| case.complaints.is_empty()).count();
    let unreadable = tested.iter().filter(|file| file.unreadable.is_some() && file.cases.is_empty()).count();
    (passed, cases().count() - passed + unreadable)
}

/// The failures of a file for people.
#[must_use]
pub fn text(tested: &FileResult) -> String {
    let mut out = String::new();
    for case in tested.cases.iter().filter(|case| !case.complaints.is_empty()) {
        let _ = writeln!(out, "FAILED {}:{} {}", tested.shown, case.line, case.name);
        for complaint in &case.complaints {
            let _ = writeln!(out, "  {}", headline(complaint));
            for line in diff(complaint) {
                let _ = writeln!(out, "    {line}");
            }
            if let Some(rule) = &complaint.rule {
                let at = if rule.at.is_empty() { String::new() } else { format!(" ({})", rule.at) };
                let _ = writeln!(out, "    by pass `{}`{at}", rule.pass);
            }
        }
    }
    for kept in &tested.kept {
        let _ = writeln!(out, "NOT UPDATED {}: {kept}", tested.shown);
    }
    out
}

/// What is wrong, with the turn.
fn headline(complaint: &CaseComplaint) -> String {
    let turn = complaint.turn.map(|n| format!("turn {n}: ")).unwrap_or_default();
    format!("{turn}{}", complaint.message)
}

/// The lines of a difference: those that are expected with `-`, those that came out with `+`.
fn diff(complaint: &CaseComplaint) -> Vec<String> {
    let Some(difference) = &complaint.difference else { return Vec::new() };
    let lines = |value: &Json| -> Vec<String> {
        match value {
            Json::String(text) if text.contains('\n') => text.lines().map(str::to_owned).collect(),
            Json::Array(list) if !list.is_empty() => list.iter().map(Json::to_string).collect(),
            other => vec![other.to_string()],
        }
    };
    let (wanted, got) = (lines(&difference.wanted), lines(&difference.got));
    let before = wanted.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let most = wanted.len().min(got.len()) - before;
    let after = wanted.iter().rev().zip(got.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let side = |sign: &str, all: &[String]| -> Vec<String> {
        let own: Vec<&String> = all.iter().take(all.len() - after).skip(before).collect();
        let short = |line: &String| format!("{sign} {}", head(line, WIDTH).replace(char::is_control, " "));
        let mut out: Vec<String> = own.iter().take(LINES).map(|line| short(line)).collect();
        if own.len() > LINES {
            out.push(format!("{sign} … {} more", own.len() - LINES));
        }
        out
    };
    let mut out = Vec::new();
    if before > 0 {
        out.push(format!("  … {before} equal"));
    }
    out.extend(side("-", &wanted));
    out.extend(side("+", &got));
    if after > 0 {
        out.push(format!("  … {after} equal"));
    }
    out
}

/// The result as JSON.
#[must_use]
pub fn json(tested: &[FileResult]) -> Json {
    let (passed, failed) = counts(tested);
    let files: Vec<Json> = tested
        .iter()
        .map(|file| {
            let cases: Vec<Json> = file.cases.iter().map(case).collect();
            let (report, sources) = file.unreadable.as_ref().unwrap_or(&file.remarks);
            let diagnostics = render::json(report, sources);
            json!({ "file": file.shown, "cases": cases, "diagnostics": diagnostics, "not_updated": file.kept })
        })
        .collect();
    json!({ "passed": passed, "failed": failed, "files": files })
}

fn case(ran: &CaseResult) -> Json {
    let complaints: Vec<Json> = ran
        .complaints
        .iter()
        .map(|complaint| {
            let mut out = Map::from_iter([("message".to_owned(), json!(complaint.message))]);
            let mut put = |key: &str, value: Json| _ = out.insert(key.to_owned(), value);
            if let Some(turn) = complaint.turn {
                put("turn", json!(turn));
            }
            if let Some(difference) = &complaint.difference {
                put("path", json!(difference.place()));
                put("wanted", difference.wanted.clone());
                put("got", difference.got.clone());
            }
            if let Some(rule) = &complaint.rule {
                put("pass", json!(rule.pass));
                put("at", json!(rule.at));
            }
            Json::Object(out)
        })
        .collect();
    json!({ "name": ran.name, "line": ran.line, "ok": ran.complaints.is_empty(), "failures": complaints })
}

/// The result as JUnit XML.
#[must_use]
pub fn junit(tested: &[FileResult]) -> String {
    let (passed, failed) = counts(tested);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"tapster\" tests=\"{}\" failures=\"{failed}\">", passed + failed);
    for file in tested {
        let one = std::slice::from_ref(file);
        let (passed, failed) = counts(one);
        let _ = writeln!(out, "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">", xml(&file.shown), passed + failed);
        let (report, sources) = file.unreadable.as_ref().unwrap_or(&file.remarks);
        let said = render::plain(report, sources);
        if file.unreadable.is_some() && file.cases.is_empty() {
            let _ = writeln!(
                out,
                "    <testcase name=\"(file)\" classname=\"{}\"><failure message=\"the file cannot be used\">{}</failure></testcase>",
                xml(&file.shown),
                xml(&said)
            );
        }
        for case in &file.cases {
            let head = format!(
                "    <testcase name=\"{}\" classname=\"{}\" file=\"{}\" line=\"{}\"",
                xml(&case.name),
                xml(&file.shown),
                xml(&file.shown),
                case.line
            );
            if case.complaints.is_empty() {
                let _ = writeln!(out, "{head}/>");
                continue;
            }
            let first = case.complaints.first().map(headline).unwrap_or_default();
            let mut body = String::new();
            for complaint in &case.complaints {
                let _ = writeln!(body, "{}", headline(complaint));
                diff(complaint).iter().for_each(|line| body.push_str(&format!("  {line}\n")));
            }
            let _ = writeln!(out, "{head}><failure message=\"{}\">{}</failure></testcase>", xml(&first), xml(&body));
        }
        // what concerns all cases of the file: it stands behind them
        if !report.is_empty() && !file.cases.is_empty() {
            let _ = writeln!(out, "    <system-err>{}</system-err>", xml(&said));
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// A text in XML; characters that XML does not have are left out.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            '\u{FFFE}' | '\u{FFFF}' => {}
            c => out.push(c),
        }
    }
    out
}
