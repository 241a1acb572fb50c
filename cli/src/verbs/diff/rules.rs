//! What differs between the rules of two packs: rows by table and name, values by path, options, scripts and templates by
//! file. How they are written, spread over files or layered makes no difference.

use serde_json::{Value as Json, json};

use super::rows::{FieldChange, RowChange, moves, place, union};
use super::{DifferenceKind, options};
use crate::diag::{DocumentNode, FieldMap, NodeValue, SourceId};
use crate::model::Pack;
use crate::model::pack::{PackRow, PackRows};

/// Everything that differs between two packs.
#[derive(Debug, Default)]
pub(crate) struct RuleDiff {
    /// Rows, by table.
    pub(crate) rows: Vec<RowChange>,
    /// Values by path: `lore.depth`.
    pub(crate) values: Vec<FieldChange>,
    /// Options: what the packs declare, and the values that overlays give them.
    pub(crate) options: Vec<RowChange>,
    /// Scripts and templates by path inside the pack.
    pub(crate) files: Vec<(DifferenceKind, String)>,
}

impl RuleDiff {
    /// Compares two packs.
    pub(crate) fn of(a: &Pack, b: &Pack) -> Self {
        let mut diff = Self::default();
        let none = PackRows::default();
        for table in union(&a.tables, &b.tables) {
            let rows = |pack: &'_ Pack| pack.tables.get(&table).map(PackRows::len).unwrap_or_default();
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
                (Some(_), Some(_)) => DifferenceKind::Changed,
                (None, _) => DifferenceKind::New,
                (_, None) => DifferenceKind::Gone,
            };
            diff.files.push((what, path.to_string()));
        }
        diff
    }

    /// Whether nothing differs.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.values.is_empty() && self.options.is_empty() && self.files.is_empty()
    }

    /// The change of a row.
    pub(crate) fn row(&self, table: &str, name: &str) -> Option<&RowChange> {
        self.rows.iter().find(|row| row.table == table && row.name == name)
    }

    fn table(&mut self, table: &str, (a, was): (&Pack, &PackRows), (b, is): (&Pack, &PackRows)) {
        let moved = moves(table, was, is);
        for name in union(was, is) {
            let (old, new) = (was.get(&name), is.get(&name));
            let empty = FieldMap::default();
            let mut found = Vec::new();
            fields("", old.map_or(&empty, |r| &r.fields), new.map_or(&empty, |r| &r.fields), (a, b), &mut found);
            let place = moved.get(&*name).cloned();
            let what = match (old, new) {
                (None, _) => DifferenceKind::New,
                (_, None) => DifferenceKind::Gone,
                _ if !found.is_empty() => DifferenceKind::Changed,
                _ if place.is_some() => DifferenceKind::Moved,
                _ => continue,
            };
            let (was, is) = (old.map(|r| deciders(a, r)).unwrap_or_default(), new.map(|r| deciders(b, r)).unwrap_or_default());
            self.rows.push(RowChange { what, table: table.to_owned(), name: name.to_string(), was, is, fields: found, moved: place });
        }
    }

    pub(crate) fn as_json(&self) -> Json {
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

/// The files and lines that wrote or patched a row, lowest first.
fn deciders(pack: &Pack, row: &PackRow) -> Vec<String> {
    std::iter::once(row.span).chain(row.patched.iter().copied()).filter_map(|span| place(pack, span)).collect()
}

/// The fields of two tables that differ.
fn fields(path: &str, was: &FieldMap, is: &FieldMap, packs: (&Pack, &Pack), out: &mut Vec<FieldChange>) {
    for key in union(was, is) {
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let (old, new) = (was.get(&key).map(|f| &f.node), is.get(&key).map(|f| &f.node));
        nodes(&path, old, new, packs, out);
    }
}

/// Compares two values. Nesting is bounded by the readers of TOML and JSON.
fn nodes(path: &str, was: Option<&DocumentNode>, is: Option<&DocumentNode>, packs: (&Pack, &Pack), out: &mut Vec<FieldChange>) {
    match (was.map(|n| &n.data), is.map(|n| &n.data)) {
        (Some(NodeValue::Table(old)), Some(NodeValue::Table(new))) => fields(path, old, new, packs, out),
        (Some(NodeValue::List(old)), Some(NodeValue::List(new))) if old.len() == new.len() => {
            for (n, (old, new)) in old.iter().zip(new).enumerate() {
                nodes(&format!("{path}[{n}]"), Some(old), Some(new), packs, out);
            }
        }
        _ => {
            let (old, new) = (was.map(DocumentNode::to_json), is.map(DocumentNode::to_json));
            if old != new {
                let at = |pack: &Pack, node: Option<&DocumentNode>| node.and_then(|node| place(pack, node.span));
                out.push(FieldChange { path: path.to_owned(), was_at: at(packs.0, was), is_at: at(packs.1, is), was: old, is: new });
            }
        }
    }
}
