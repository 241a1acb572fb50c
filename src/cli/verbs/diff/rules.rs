//! What differs between the rules of two packs: rows by table and name, values by path, options, scripts and templates by
//! file.
//! How they are written, spread over files or layered makes no difference.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::steps::{Step, steps};
use super::{What, options};
use crate::diag::{Data, Node, SourceId, Span, Table};
use crate::model::Pack;
use crate::model::pack::{Row, Rows};

/// Everything that differs between two packs.
#[derive(Debug, Default)]
pub(in crate::cli) struct RuleDiff {
    /// Rows, by table.
    pub(in crate::cli) rows: Vec<RowChange>,
    /// Values by path: `lore.depth`.
    pub(in crate::cli) values: Vec<FieldChange>,
    /// Options: what the packs declare, and the values that overlays give them.
    pub(in crate::cli) options: Vec<RowChange>,
    /// Scripts and templates by path inside the pack.
    pub(in crate::cli) files: Vec<(What, String)>,
}

/// One row that differs.
#[derive(Debug)]
pub(in crate::cli) struct RowChange {
    pub(in crate::cli) what: What,
    pub(in crate::cli) table: String,
    pub(in crate::cli) name: String,
    /// Where it was decided, as `file:line`, lowest layer first.
    pub(in crate::cli) was: Vec<String>,
    /// Where it is decided now.
    pub(in crate::cli) is: Vec<String>,
    /// The fields that differ; of a new or a gone row, all of them.
    pub(in crate::cli) fields: Vec<FieldChange>,
    /// The row in front of which it used to stand and behind which it stands now, if its place differs.
    pub(in crate::cli) moved: Option<(Option<String>, Option<String>)>,
}

/// One value that differs.
#[derive(Debug)]
pub(in crate::cli) struct FieldChange {
    /// Its path inside the row: `where.role`, `item[0].text`.
    pub(in crate::cli) path: String,
    pub(in crate::cli) was: Option<Json>,
    pub(in crate::cli) is: Option<Json>,
    /// Where it was and is written, as `file:line`.
    pub(in crate::cli) was_at: Option<String>,
    pub(in crate::cli) is_at: Option<String>,
}

impl RuleDiff {
    /// Compares two packs.
    pub(in crate::cli) fn of(a: &Pack, b: &Pack) -> Self {
        let mut diff = Self::default();
        let none = Rows::default();
        for table in union(&a.tables, &b.tables) {
            let rows = |pack: &'_ Pack| pack.tables.get(&table).map(Rows::len).unwrap_or_default();
            if rows(a) + rows(b) > 0 {
                let (was, is) = (a.tables.get(&table).unwrap_or(&none), b.tables.get(&table).unwrap_or(&none));
                diff.table(&table, (a, was), (b, is));
            }
        }
        fields("", &a.values, &b.values, (a, b), &mut diff.values);
        diff.options = options::changes(a, b);
        for path in union(&a.assets, &b.assets) {
            let text = |pack: &Pack| pack.assets.get(&path).and_then(|id: &SourceId| pack.sources.get(*id)).map(|s| s.text.clone());
            let what = match (text(a), text(b)) {
                (Some(was), Some(is)) if was == is => continue,
                (Some(_), Some(_)) => What::Changed,
                (None, _) => What::New,
                (_, None) => What::Gone,
            };
            diff.files.push((what, path.to_string()));
        }
        diff
    }

    /// Whether nothing differs.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.values.is_empty() && self.options.is_empty() && self.files.is_empty()
    }

    /// The change of a row.
    pub(in crate::cli) fn row(&self, table: &str, name: &str) -> Option<&RowChange> {
        self.rows.iter().find(|row| row.table == table && row.name == name)
    }

    fn table(&mut self, table: &str, (a, was): (&Pack, &Rows), (b, is): (&Pack, &Rows)) {
        let moved = moves(table, was, is);
        for name in union(was, is) {
            let (old, new) = (was.get(&name), is.get(&name));
            let empty = Table::default();
            let mut found = Vec::new();
            fields("", old.map_or(&empty, |r| &r.fields), new.map_or(&empty, |r| &r.fields), (a, b), &mut found);
            let place = moved.get(&*name).cloned();
            let what = match (old, new) {
                (None, _) => What::New,
                (_, None) => What::Gone,
                _ if !found.is_empty() => What::Changed,
                _ if place.is_some() => What::Moved,
                _ => continue,
            };
            let (was, is) = (old.map(|r| deciders(a, r)).unwrap_or_default(), new.map(|r| deciders(b, r)).unwrap_or_default());
            self.rows.push(RowChange { what, table: table.to_owned(), name: name.to_string(), was, is, fields: found, moved: place });
        }
    }

    pub(in crate::cli) fn as_json(&self) -> Json {
        let field = |f: &FieldChange| json!({ "path": f.path, "was": f.was, "is": f.is, "was_at": f.was_at, "is_at": f.is_at });
        let row = |r: &RowChange| {
            json!({
                "what": r.what.word(), "table": r.table, "name": r.name, "was_at": r.was, "is_at": r.is,
                "fields": r.fields.iter().map(field).collect::<Vec<_>>(),
                "moved": r.moved.as_ref().map(|(was, is)| json!({ "was_after": was, "is_after": is })),
            })
        };
        json!({
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "values": self.values.iter().map(field).collect::<Vec<_>>(),
            "options": self.options.iter().map(row).collect::<Vec<_>>(),
            "files": self.files.iter().map(|(what, path)| json!({ "what": what.word(), "path": path })).collect::<Vec<_>>(),
        })
    }
}

/// All keys of two maps: those of the first, then those that only the second has.
pub(super) fn union<A, B>(a: &IndexMap<Arc<str>, A>, b: &IndexMap<Arc<str>, B>) -> Vec<Arc<str>> {
    a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).cloned().collect()
}

pub(super) type Moves = HashMap<String, (Option<String>, Option<String>)>;

/// The rows whose place among the rows that both packs have differs: what they stood and stand behind. Passes are
/// ordered inside of their program only.
pub(super) fn moves<R>(table: &str, was: &IndexMap<Arc<str>, R>, is: &IndexMap<Arc<str>, R>) -> Moves {
    let group =
        |name: &str| if table == "pass" { name.rsplit_once('/').map_or("", |(program, _)| program).to_owned() } else { String::new() };
    let mut groups: IndexMap<String, (Vec<&str>, Vec<&str>)> = IndexMap::new();
    for name in was.keys().filter(|name| is.contains_key(*name)) {
        groups.entry(group(name)).or_default().0.push(name);
    }
    for name in is.keys().filter(|name| was.contains_key(*name)) {
        groups.entry(group(name)).or_default().1.push(name);
    }
    let mut out = Moves::new();
    let behind = |list: &[&str], name: &str| {
        let at = list.iter().position(|n| *n == name)?;
        Some((*list.get(at.checked_sub(1)?)?).to_owned())
    };
    for (old, new) in groups.values().filter(|(old, new)| old != new) {
        for step in steps(old, new) {
            if let Step::New(n) = step
                && let Some(name) = new.get(n)
            {
                out.insert((*name).to_owned(), (behind(old, name), behind(new, name)));
            }
        }
    }
    out
}

/// The files and lines that wrote or patched a row, lowest first.
fn deciders(pack: &Pack, row: &Row) -> Vec<String> {
    std::iter::once(row.span).chain(row.patched.iter().copied()).filter_map(|span| place(pack, span)).collect()
}

/// `file:line`.
pub(super) fn place(pack: &Pack, span: Span) -> Option<String> {
    pack.sources.place(span).map(|place| format!("{}:{}", place.file, place.line))
}

/// The fields of two tables that differ.
fn fields(path: &str, was: &Table, is: &Table, packs: (&Pack, &Pack), out: &mut Vec<FieldChange>) {
    for key in union(was, is) {
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let (old, new) = (was.get(&key).map(|f| &f.node), is.get(&key).map(|f| &f.node));
        nodes(&path, old, new, packs, out);
    }
}

/// Compares two values. Nesting is bounded by the readers of TOML and JSON.
fn nodes(path: &str, was: Option<&Node>, is: Option<&Node>, packs: (&Pack, &Pack), out: &mut Vec<FieldChange>) {
    match (was.map(|n| &n.data), is.map(|n| &n.data)) {
        (Some(Data::Table(old)), Some(Data::Table(new))) => fields(path, old, new, packs, out),
        (Some(Data::List(old)), Some(Data::List(new))) if old.len() == new.len() => {
            for (n, (old, new)) in old.iter().zip(new).enumerate() {
                nodes(&format!("{path}[{n}]"), Some(old), Some(new), packs, out);
            }
        }
        _ => {
            let (old, new) = (was.map(Node::to_json), is.map(Node::to_json));
            if old != new {
                let at = |pack: &Pack, node: Option<&Node>| node.and_then(|node| place(pack, node.span));
                out.push(FieldChange { path: path.to_owned(), was_at: at(packs.0, was), is_at: at(packs.1, is), was: old, is: new });
            }
        }
    }
}

/// Where a row is and was decided.
pub(in crate::cli) fn places(row: &RowChange) -> String {
    match row.what {
        What::New => row.is.join(", "),
        What::Gone => row.was.join(", "),
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
pub(in crate::cli) fn arrow(was: Option<&str>, is: Option<&str>) -> String {
    match (was, is) {
        (Some(was), Some(is)) if was != is => format!("{was} → {is}"),
        (Some(place), _) | (_, Some(place)) => place.to_owned(),
        (None, None) => String::new(),
    }
}
