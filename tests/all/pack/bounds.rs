//! What a rule file with very many mistakes is answered: a bounded number of diagnostics, made with bounded work.

use super::*;
use tapster::Ruleset;

/// What is said of an overlay over the pack `base`.
fn said(rows: &str) -> Vec<tapster::diag::Diagnostic> {
    let text = format!("kind = \"overlay\"\nversion = 1\nname = \"over\"\n{rows}");
    match Ruleset::open_with("base", &[("over.toml", &text)]) {
        Ok(rules) => rules.warnings().items().to_vec(),
        Err(rejected) => rejected.report.items().to_vec(),
    }
}

#[test]
fn names_are_compared_with_a_budget_and_the_first_errors_are_shown() {
    let mut rows = String::new();
    for n in 0..8_000 {
        rows += &format!("[[path]]\nname = \"own.value_{n:05}\"\ntype = \"any\"\n");
    }
    for n in 0..2_000 {
        rows += &format!("[[fact]]\nname = \"fact_{n:05}\"\nis = {{ \"owm.value_{n:05}\" = true }}\n");
    }
    let mut said = said(&rows);
    // rules are shown no more of the decisions of an overlay either
    let others = said.iter().filter(|d| d.severity != Severity::Error).map(|d| d.code.as_str()).collect::<Vec<_>>();
    assert_eq!(others, ["bound.exceeded"]);
    said.retain(|d| d.severity == Severity::Error);
    assert_eq!(said.len(), 301, "300 errors, and how many more there are");
    assert_eq!(said[0].help.as_deref(), Some("did you mean `own.value_00000`?"));
    assert!(!said[299].help.as_deref().unwrap().starts_with("did you mean"), "{}", said[299]);
    assert_eq!((&said[300].code, said[300].message.as_str()), (&Code::BoundExceeded.into(), "1700 more errors are not shown"));
}

#[test]
fn rows_of_allow_beyond_the_limit_are_told() {
    let row = "[[allow]]\ncode = \"scene.field\"\nreason = \"a test\"\n";
    let said = said(&row.repeat(1_001));
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].code, Code::BoundExceeded);
    assert!(said[0].span.is_some());
}

#[test]
fn a_new_row_is_compared_with_lower_rows_however_many_the_overlay_has() {
    let mut rows = String::new();
    for n in 0..600 {
        rows += &format!("[[field]]\nname = \"message/own_field_{n:04}\"\ntype = \"text\"\n");
    }
    rows += "[[slot]]\nname = \"scenarioo\"\ntext = \"x\"\n";
    let said = said(&rows);
    assert_eq!(said.iter().map(|d| d.code.as_str()).collect::<Vec<_>>(), ["layer.nearly"], "{said:?}");
}
