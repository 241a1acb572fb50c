//! Where a text names a row of a table: where the way it is written says so, and where only the compiler can tell.

use std::ops::Range;
use std::path::Path;

use tapster::machinery::terms::names::PackNames;
use tapster::model::Pack;

use crate::outline::{CursorRole, NodeContent, NodeId, Outline, PathStep, ROOT, Syntax};
use crate::subject::RuleText;

/// A row that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedRow {
    pub(crate) table: String,
    /// As rules write it from anywhere: `program/pass`.
    pub(crate) name: String,
}

impl NamedRow {
    /// The name without that of its program.
    pub(crate) fn short(&self) -> &str {
        self.name.rsplit_once('/').map_or(&self.name, |(_, short)| short)
    }

    /// The program of a pass, with its slash; empty for other rows.
    pub(crate) fn prefix(&self) -> &str {
        self.name.strip_suffix(self.short()).unwrap_or_default()
    }

    /// The row of the same table and program with another short name.
    pub(crate) fn renamed(&self, short: &str) -> Self {
        Self { table: self.table.clone(), name: format!("{}{short}", self.prefix()) }
    }
}

/// The places of a text that name a row, each the range of its short name.
#[derive(Debug, Default)]
pub(crate) struct RowMentions {
    /// The name of a row, the row that another one is put before or after, and the pass that a case runs.
    pub(crate) certain: Vec<Range<usize>>,
    /// Its whole name in quotes, anywhere else.
    pub(crate) quoted: Vec<Range<usize>>,
}

impl RowMentions {
    /// Whether the text names the row nowhere.
    pub(crate) fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.quoted.is_empty()
    }

    /// The places in the text of a file.
    pub(crate) fn find(text: &str, path: &Path, row: &NamedRow, pack: &Pack, names: &PackNames) -> Self {
        let mut found = Self::default();
        if !text.contains(row.short()) {
            return found;
        }
        let is_rules = path.extension().is_some_and(|ending| ending == "toml" || ending == "json");
        let outline = if is_rules { Outline::read(text, Syntax::of(path, text)) } else { Outline::default() };
        let file = RuleText { text, outline: &outline, pack, names };
        for id in outline.entry(ROOT, &row.table).map(|entry| outline.elements(entry.node)).unwrap_or_default() {
            found.certain.extend(row_places(&file, *id, row));
        }
        for (at, _) in text.match_indices(&row.name) {
            let place = at + row.prefix().len()..at + row.name.len();
            if found.certain.contains(&place) || !is_in_quotes(text, at..place.end) {
                continue;
            }
            let cursor = outline.cursor(place.start);
            match &cursor.role {
                // a key, a header or a comment names no row
                CursorRole::Comment | CursorRole::Header(_) => {}
                CursorRole::Key(range) if !range.is_empty() => {}
                CursorRole::Value { .. } if is_of_other_row(&cursor.path) => {}
                CursorRole::Value { text: Some(inner), .. } if *inner == (at..place.end) && is_run(&cursor.path, row) => {
                    found.certain.push(place);
                }
                _ => found.quoted.push(place),
            }
        }
        found
    }
}

/// Where a row of the table names the one that is looked for: by its own name, or as the one that it is put beside.
fn row_places(file: &RuleText<'_>, id: NodeId, row: &NamedRow) -> Vec<Range<usize>> {
    let text_of = |key: &str| {
        let node = file.outline.node(file.outline.entry(id, key)?.node)?;
        let NodeContent::Text(inner) = &node.content else { return None };
        Some((file.text.get(inner.clone())?, inner.clone()))
    };
    let Some((own, place)) = text_of("name") else { return Vec::new() };
    let own = file.full_name(&row.table, own);
    let short = |place: Range<usize>| place.end.saturating_sub(row.short().len())..place.end;
    let mut found = Vec::new();
    if own == row.name {
        found.push(short(place));
    }
    for (anchor, place) in ["before", "after"].into_iter().filter_map(text_of) {
        let program = own.rsplit_once('/').map(|(program, _)| program);
        let whole = match program {
            Some(program) if !anchor.contains('/') => format!("{program}/{anchor}"),
            _ => anchor.to_owned(),
        };
        if whole == row.name {
            found.push(short(place));
        }
    }
    found
}

/// Whether a value on this path is the name of a row, or that of one of the same table, or describes it: the rows that are looked
/// for are found before.
fn is_of_other_row(path: &[PathStep]) -> bool {
    let known = ["name", "before", "after", "about", "doc", "title"];
    matches!(path, [PathStep::Key(_), PathStep::Index(_), PathStep::Key(key)] if known.contains(&key.as_str()))
}

/// Whether a value on this path is what a case runs, and the row is one that can be run.
fn is_run(path: &[PathStep], row: &NamedRow) -> bool {
    let mut keys = path.iter().filter_map(|step| if let PathStep::Key(key) = step { Some(key.as_str()) } else { None });
    let is_of_case = matches!(keys.next(), Some("case" | "given"));
    row.table == "pass" && is_of_case && matches!(keys.collect::<Vec<_>>().as_slice(), ["run"] | ["turns", "run"])
}

/// Whether quotes of one kind stand around a range.
fn is_in_quotes(text: &str, range: Range<usize>) -> bool {
    let (before, after) =
        (text.get(..range.start).and_then(|text| text.chars().next_back()), text.get(range.end..).and_then(|text| text.chars().next()));
    before == after && matches!(before, Some('"' | '\'' | '`'))
}
