//! Causes: where one mistake makes several diagnostics, the one about its cause is reported first, or alone; and diagnostics
//! that what comes later withdraws.
//!
//! A syntax error in one file must not hide the mistakes of the others, and it must not cause an error about every name
//! that the broken file defines. The rest of the pack is therefore checked as usual, and a diagnostic about a missing
//! name is held back if the text of an unreadable file mentions that name.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Severity, Span};
use crate::model::Pack;

use super::layer::{MergedLayers, OPTIONS, RemovedRow};
use super::validate::OWN_TABLE;

/// The most places that a diagnostic about a removal lists.
const MOST: usize = 5;
/// The most bytes that are searched for missing names.
const MOST_SEARCHED: usize = 256 << 20;

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
        for span in spans.into_iter().take(MOST) {
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

/// The texts of files that could not be read.
#[derive(Debug, Default)]
pub struct UnreadTexts(Vec<String>);

impl UnreadTexts {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.push(String::from_utf8_lossy(bytes).into_owned());
    }

    /// Whether every file could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the diagnostics from a report that an unreadable file may have caused.
    pub fn excuse(&self, report: &mut Report) {
        if !self.is_empty() {
            let mut search = NameSearch { texts: &self.0, known: HashMap::new(), read: 0 };
            report.retain(|complaint| !search.explains(complaint));
        }
    }
}

/// A search for many names.
struct NameSearch<'t> {
    texts: &'t [String],
    known: HashMap<String, bool>,
    /// The bytes that were searched.
    read: usize,
}

impl NameSearch<'_> {
    /// Whether one of the texts holds the missing name, or its last part, as a word. Once too much has been read, any
    /// name may stand there: the diagnostics of the unreadable files remain, and the others come once these can be read.
    fn explains(&mut self, complaint: &Diagnostic) -> bool {
        let Some(name) = complaint.missing.as_deref().filter(|n| !n.is_empty()) else { return false };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let last = name.rsplit(['/', '.']).next().unwrap_or(name);
        self.read = self.read.saturating_add(self.texts.iter().map(String::len).sum());
        let found = self.read > MOST_SEARCHED || self.texts.iter().any(|text| mentions(text, name) || mentions(text, last));
        self.known.insert(name.to_owned(), found);
        found
    }
}

fn mentions(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|t| t.chars().next());
        !word.is_empty() && !inside(before) && !inside(after)
    })
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
