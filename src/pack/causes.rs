//! Causes: where one mistake makes several diagnostics, the one about its cause is reported first, or alone; and diagnostics
//! that a declaration withdraws.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Severity, Span, limits};
use crate::model::Pack;

use super::layer::{MergedLayers, OPTIONS, RemovedRow};
use super::validate::OWN_TABLE;

/// A name that is defined nowhere because a higher layer has removed its row is a mistake of the removal. A row that a
/// still higher layer has added again is not removed.
pub(super) fn removals(removed: &[RemovedRow], pack: &Pack, report: &mut Report) {
    let is_gone = |row: &&RemovedRow| {
        pack.options.get(&row.name).is_none_or(|_| &*row.table != OPTIONS)
            && !pack.tables.get(&row.table).is_some_and(|rows| rows.contains_key(&row.name))
    };
    let gone: HashMap<(&str, &str), &RemovedRow> = removed.iter().filter(is_gone).map(|row| ((&*row.table, &*row.name), row)).collect();
    if gone.is_empty() {
        return;
    }
    let by = |d: &Diagnostic| {
        let missing = d.missing.as_deref()?;
        d.missing_in.iter().find_map(|table| gone.get(&(*table, missing)).copied())
    };
    let mut told: IndexMap<Span, (&RemovedRow, Vec<Span>, Code)> = IndexMap::new();
    for d in report.items() {
        let (Some(row), Some(span), Some(code)) = (by(d), d.span, d.code.known()) else { continue };
        told.entry(row.by).or_insert_with(|| (row, Vec::new(), code)).1.push(span);
    }
    report.retain(|d| by(d).is_none() || d.span.is_none());
    for (row, spans, code) in told.into_values() {
        let what = if &*row.table == OPTIONS { "option" } else { &row.table };
        let message = format!("{what} `{}` is removed, but {} named", row.name, still(spans.len()));
        let mut complaint = Diagnostic::new(code, message).at(row.by).label("removed here").missing(&*row.name);
        for span in spans.into_iter().take(limits::PLACES) {
            complaint = complaint.related(span, "still named here");
        }
        report.push(complaint.help("keep the row, or remove or change what names it too"));
    }
}

fn still(times: usize) -> String {
    if times == 1 { "it is still".to_owned() } else { format!("in {times} places it is still") }
}

/// If an overlay is laid over another pack than it is written for, and does not fit, that is the only error about it.
pub(super) fn wrong_pack(report: &mut Report) {
    let causes = report.items().iter().filter(|d| d.code == Code::PackMissing && d.severity == Severity::Warning);
    let sources: Vec<_> = causes.filter_map(|d| d.span.map(|span| span.source)).collect();
    for source in sources {
        let here = |d: &Diagnostic| d.span.is_some_and(|span| span.source == source);
        let others = report.items().iter().filter(|d| here(d) && d.severity == Severity::Error).count();
        let cause = report.items().iter().find(|d| here(d) && d.code == Code::PackMissing).cloned();
        let Some(mut cause) = cause.filter(|_| others > 0) else { continue };
        report.retain(|d| !(here(d) && (d.severity == Severity::Error || d.code == Code::PackMissing)));
        cause.severity = Severity::Error;
        let help = cause.help.take().unwrap_or_default();
        let mistakes = if others == 1 { "1 mistake is" } else { "the others are" };
        let others = if others == 1 { String::new() } else { format!(" ({others} in all)") };
        report.push(cause.help(format!("{help}; load it over its own pack; {mistakes} not shown{others}")));
    }
}

/// What a pack, or a file, declares.
#[derive(Debug, Default)]
pub(super) struct DeclaredColumns<'a> {
    tables: HashSet<&'a str>,
    /// Tables and keys.
    columns: HashSet<(&'a str, &'a str)>,
}

/// Withdraws that tables and keys are unknown which a pack declares.
pub(super) fn settle(merged: &MergedLayers, report: &mut Report) {
    let names = |table: &str| merged.tables.get(table).into_iter().flat_map(|rows| rows.keys()).map(AsRef::as_ref);
    let columns = names("column").filter_map(|name: &str| name.split_once('/')).collect();
    excuse(&DeclaredColumns { tables: names("table").collect(), columns }, report);
}

/// What a file declares.
pub(super) fn written(root: &DocumentNode) -> DeclaredColumns<'_> {
    let names = |table: &str| {
        let rows = root.get(table).and_then(DocumentNode::as_list).unwrap_or_default();
        rows.iter().filter_map(|row| row.get("name")?.as_text())
    };
    DeclaredColumns { tables: names("table").collect(), columns: names("column").filter_map(|name| name.split_once('/')).collect() }
}

/// Withdraws that tables and keys are unknown which these declare.
pub(super) fn excuse(declared: &DeclaredColumns<'_>, report: &mut Report) {
    report.retain(|complaint| {
        let detail = |name: &str| complaint.details.get(name).and_then(serde_json::Value::as_str);
        let table = complaint.rule.as_deref().and_then(|rule| rule.split_once(' ')).map(|(table, _)| table);
        let is_column = || table.zip(detail("key")).is_some_and(|column| declared.columns.contains(&column));
        let is_table = || table.is_none() && detail(OWN_TABLE).is_some_and(|table| declared.tables.contains(table));
        complaint.code != Code::SchemaUnknownKey || !(is_column() || is_table())
    });
}
