//! Rows that differ, whatever they are rows of: which of their fields, where these are written, and where the row stands.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::DifferenceKind;
use super::steps::{DiffStep, steps};
use crate::diag::Span;
use crate::model::Pack;

/// One row that differs.
#[derive(Debug)]
pub(crate) struct RowChange {
    pub(crate) what: DifferenceKind,
    pub(crate) table: String,
    pub(crate) name: String,
    /// Where it was decided, as `file:line`, lowest layer first.
    pub(crate) was: Vec<String>,
    /// Where it is decided now.
    pub(crate) is: Vec<String>,
    /// The fields that differ; of a new or a gone row, all of them.
    pub(crate) fields: Vec<FieldChange>,
    /// The row in front of which it used to stand and behind which it stands now, if its place differs.
    pub(crate) moved: Option<(Option<String>, Option<String>)>,
}

/// One value that differs.
#[derive(Debug)]
pub(crate) struct FieldChange {
    /// Its path inside the row: `where.role`, `item[0].text`.
    pub(crate) path: String,
    pub(crate) was: Option<Json>,
    pub(crate) is: Option<Json>,
    /// Where it was and is written, as `file:line`.
    pub(crate) was_at: Option<String>,
    pub(crate) is_at: Option<String>,
}

/// All keys of two maps: those of the first, then those that only the second has.
pub(super) fn union<A, B>(a: &IndexMap<Arc<str>, A>, b: &IndexMap<Arc<str>, B>) -> Vec<Arc<str>> {
    a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).cloned().collect()
}

pub(super) type RowMoves = HashMap<String, (Option<String>, Option<String>)>;

/// The rows whose place among the rows that both packs have differs: what they stood and stand behind. Passes are
/// ordered inside of their program only.
pub(super) fn moves<R>(table: &str, was: &IndexMap<Arc<str>, R>, is: &IndexMap<Arc<str>, R>) -> RowMoves {
    let group =
        |name: &str| if table == "pass" { name.rsplit_once('/').map_or("", |(program, _)| program).to_owned() } else { String::new() };
    let mut groups: IndexMap<String, (Vec<&str>, Vec<&str>)> = IndexMap::new();
    for name in was.keys().filter(|name| is.contains_key(*name)) {
        groups.entry(group(name)).or_default().0.push(name);
    }
    for name in is.keys().filter(|name| was.contains_key(*name)) {
        groups.entry(group(name)).or_default().1.push(name);
    }
    let mut out = RowMoves::new();
    let behind = |list: &[&str], name: &str| {
        let at = list.iter().position(|n| *n == name)?;
        Some((*list.get(at.checked_sub(1)?)?).to_owned())
    };
    for (old, new) in groups.values().filter(|(old, new)| old != new) {
        for step in steps(old, new) {
            if let DiffStep::New(n) = step
                && let Some(name) = new.get(n)
            {
                out.insert((*name).to_owned(), (behind(old, name), behind(new, name)));
            }
        }
    }
    out
}

/// `file:line`.
pub(super) fn place(pack: &Pack, span: Span) -> Option<String> {
    pack.sources.line(span).map(|(source, line)| format!("{}:{line}", source.name))
}

/// Where a row is and was decided.
pub(crate) fn places(row: &RowChange) -> String {
    match row.what {
        DifferenceKind::New => row.is.join(", "),
        DifferenceKind::Gone => row.was.join(", "),
        _ => {
            // the layers that both have in common are told once
            let only = |own: &[String], other: &[String]| own.iter().filter(|p| !other.contains(p)).cloned().collect::<Vec<_>>().join(", ");
            let (was, is) = (only(&row.was, &row.is), only(&row.is, &row.was));
            if was.is_empty() && is.is_empty() {
                row.is.join(", ")
            } else {
                arrow(Some(was.as_str()).filter(|t| !t.is_empty()), Some(is.as_str()).filter(|t| !t.is_empty()))
            }
        }
    }
}

/// A place, or the way from one to another.
pub(crate) fn arrow(was: Option<&str>, is: Option<&str>) -> String {
    match (was, is) {
        (Some(was), Some(is)) if was != is => format!("{was} → {is}"),
        (Some(place), _) | (_, Some(place)) => place.to_owned(),
        (None, None) => String::new(),
    }
}
