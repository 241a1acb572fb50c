//! What differs between the rules of two packs: rows by table and name, values by path, options, scripts and templates by
//! file. How they are written, spread over files or layered makes no difference.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use similar::DiffTag;
use similar::algorithms::{Capture, DiffHook, lcs};

use crate::diag::{DocumentNode, FieldMap, NodeValue, SourceId, Span};
use crate::diff::DifferenceKind;
use crate::model::options::TABLE;
use crate::model::pack::{PackRow, PackRows};
use crate::model::{Pack, PackOption, Plan, Value};
use crate::pack::Ruleset;

/// Everything that differs between two packs.
#[derive(Debug, Default)]
pub struct RuleDiff {
    /// Rows, by table.
    pub rows: Vec<RowChange>,
    /// Values by path: `lore.depth`.
    pub values: Vec<FieldChange>,
    /// Options: what the packs declare, and the values that overlays give them.
    pub options: Vec<RowChange>,
    /// Scripts and templates by path inside the pack.
    pub files: Vec<(DifferenceKind, String)>,
}

impl RuleDiff {
    /// Compares two packs.
    pub fn of(a: &Pack, b: &Pack) -> Self {
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
        diff.options = option_changes(a, b);
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
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.values.is_empty() && self.options.is_empty() && self.files.is_empty()
    }

    /// The change of a row.
    pub fn row(&self, table: &str, name: &str) -> Option<&RowChange> {
        self.rows.iter().find(|row| row.table == table && row.name == name)
    }

    fn table(&mut self, table: &str, (a, was): (&Pack, &PackRows), (b, is): (&Pack, &PackRows)) {
        let moved = find_moves(table, was, is);
        for name in union(was, is) {
            let (old, new) = (was.get(&name), is.get(&name));
            let empty = FieldMap::default();
            let mut found = Vec::new();
            fields("", old.map_or(&empty, |r| &r.fields), new.map_or(&empty, |r| &r.fields), (a, b), &mut found);
            let place = moved.get(&*name).cloned();
            let Some(what) = DifferenceKind::of(old.is_some(), new.is_some(), !found.is_empty(), place.is_some()) else { continue };
            let (was, is) = (old.map(|r| deciders(a, r)).unwrap_or_default(), new.map(|r| deciders(b, r)).unwrap_or_default());
            self.rows.push(RowChange { what, table: table.to_owned(), name: name.to_string(), was, is, fields: found, moved: place });
        }
    }

    pub fn as_json(&self) -> Json {
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
    std::iter::once(row.span).chain(row.patched.iter().copied()).filter_map(|span| place_in_pack(pack, span)).collect()
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
                let at = |pack: &Pack, node: Option<&DocumentNode>| node.and_then(|node| place_in_pack(pack, node.span));
                out.push(FieldChange { path: path.to_owned(), was_at: at(packs.0, was), is_at: at(packs.1, is), was: old, is: new });
            }
        }
    }
}

/// One row that differs.
#[derive(Debug)]
pub struct RowChange {
    pub what: DifferenceKind,
    pub table: String,
    pub name: String,
    /// Where it was decided, as `file:line`, lowest layer first.
    pub was: Vec<String>,
    /// Where it is decided now.
    pub is: Vec<String>,
    /// The fields that differ; of a new or a gone row, all of them.
    pub fields: Vec<FieldChange>,
    /// The row in front of which it used to stand and behind which it stands now, if its place differs.
    pub moved: Option<(Option<String>, Option<String>)>,
}

/// One value that differs.
#[derive(Debug)]
pub struct FieldChange {
    /// Its path inside the row: `where.role`, `item[0].text`.
    pub path: String,
    pub was: Option<Json>,
    pub is: Option<Json>,
    /// Where it was and is written, as `file:line`.
    pub was_at: Option<String>,
    pub is_at: Option<String>,
}

/// All keys of two maps: those of the first, then those that only the second has.
pub fn union<A, B, S: BuildHasher>(a: &IndexMap<Arc<str>, A, S>, b: &IndexMap<Arc<str>, B, S>) -> Vec<Arc<str>> {
    a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).cloned().collect()
}

pub type RowMoves = HashMap<String, (Option<String>, Option<String>)>;

/// The rows whose place among the rows that both packs have differs: what they stood and stand behind. Passes are
/// ordered inside of their program only.
pub fn find_moves<R, S: BuildHasher>(table: &str, was: &IndexMap<Arc<str>, R, S>, is: &IndexMap<Arc<str>, R, S>) -> RowMoves {
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
        for step in diff_steps(old, new) {
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
pub fn place_in_pack(pack: &Pack, span: Span) -> Option<String> {
    pack.sources.line(span).map(|(source, line)| format!("{}:{line}", source.name))
}

/// Where a row is and was decided.
pub fn change_places(row: &RowChange) -> String {
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
pub fn arrow(was: Option<&str>, is: Option<&str>) -> String {
    match (was, is) {
        (Some(was), Some(is)) if was != is => format!("{was} → {is}"),
        (Some(place), _) | (_, Some(place)) => place.to_owned(),
        (None, None) => String::new(),
    }
}

/// The section of the manifest that declares options.
pub const SECTION: &str = "options";

/// The options that differ.
pub fn option_changes(a: &Pack, b: &Pack) -> Vec<RowChange> {
    let moved = find_moves(SECTION, &a.options.0, &b.options.0);
    let mut out = Vec::new();
    for name in union(&a.options.0, &b.options.0) {
        let (old, new) = (a.options.get(&name), b.options.get(&name));
        let fields = option_fields(old.map(|option| (a, option)), new.map(|option| (b, option)));
        let place = moved.get(&*name).cloned();
        let Some(what) = DifferenceKind::of(old.is_some(), new.is_some(), !fields.is_empty(), place.is_some()) else { continue };
        let (was, is) = (old.map(|o| option_places(a, o)).unwrap_or_default(), new.map(|o| option_places(b, o)).unwrap_or_default());
        out.push(RowChange { what, table: SECTION.to_owned(), name: name.to_string(), was, is, fields, moved: place });
    }
    out
}

/// Where an option is declared, and where an overlay gives it a value.
fn option_places(pack: &Pack, option: &PackOption) -> Vec<String> {
    let set = Some(option.value_span).filter(|span| *span != option.default_span);
    std::iter::once(option.name_span).chain(set).filter_map(|span| place_in_pack(pack, span)).collect()
}

/// What is said of an option, by field: each choice is one, and `value` is what an overlay gives.
fn option_description((pack, option): (&Pack, &PackOption)) -> Vec<(String, Json, Option<String>)> {
    let at = |field: &str| match field {
        "default" => option.default_span,
        "value" => option.value_span,
        _ => option.name_span,
    };
    let mut out = Vec::new();
    let Json::Object(all) = option.to_json() else { return out };
    for (field, value) in all {
        let at = place_in_pack(pack, at(&field));
        match (field.as_str(), value) {
            ("name" | "default_from" | "value_from", _) => {}
            ("value", _) if option.value_span == option.default_span => {}
            ("choices", Json::Array(choices)) => {
                for choice in choices {
                    let name = choice.get("value").and_then(Json::as_str).unwrap_or_default().to_owned();
                    out.push((format!("choices.{name}"), choice, at.clone()));
                }
            }
            (_, value) => out.push((field, value, at)),
        }
    }
    out
}

fn option_fields(was: Option<(&Pack, &PackOption)>, is: Option<(&Pack, &PackOption)>) -> Vec<FieldChange> {
    let (old, new) = (was.map(option_description).unwrap_or_default(), is.map(option_description).unwrap_or_default());
    let of = |all: &[(String, Json, Option<String>)], path: &str| all.iter().find(|(own, ..)| own == path).cloned();
    let only_new = new.iter().filter(|(path, ..)| of(&old, path).is_none());
    let change = |(path, ..): &(String, Json, Option<String>)| {
        let (was, is) = (of(&old, path), of(&new, path));
        let split = |side: Option<(String, Json, Option<String>)>| side.map(|(_, value, at)| (value, at)).unzip();
        let ((was, was_at), (is, is_at)) = (split(was), split(is));
        (was != is).then(|| FieldChange { path: path.clone(), was, is, was_at: was_at.flatten(), is_at: is_at.flatten() })
    };
    old.iter().chain(only_new).filter_map(change).collect()
}

/// The options that have other values in one build than in another, with both values.
pub fn chosen_options(was: (&Ruleset, &Plan), is: (&Ruleset, &Plan)) -> Vec<(String, Json, Json)> {
    let values = |(rules, plan): (&Ruleset, &Plan)| rules.options().values(plan.scene.get(TABLE).unwrap_or(&Value::Null)).to_json();
    let (was, is) = (values(was), values(is));
    let of = |all: &Json, name: &str| all.get(name).cloned().unwrap_or_default();
    let names = [&was, &is].into_iter().filter_map(Json::as_object).flat_map(|all| all.keys());
    let mut out: Vec<(String, Json, Json)> = Vec::new();
    for name in names {
        let (was, is) = (of(&was, name), of(&is, name));
        if was != is && !out.iter().any(|(known, ..)| known == name) {
            out.push((name.clone(), was, is));
        }
    }
    out
}

/// The most cells of the table that compares two lists.
const MOST_CELLS: usize = 4_000_000;

/// One step, with the places of what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStep {
    /// Both lists have it: its place in the first and in the second.
    Same(usize, usize),
    /// Only the first list has it.
    Gone(usize),
    /// Only the second list has it.
    New(usize),
}

/// The steps from `was` to `is`, with as many equal elements as possible. The work is bounded: of two long lists, the part
/// between the equal beginning and the equal end counts as replaced.
pub fn diff_steps<T: PartialEq>(was: &[T], is: &[T]) -> Vec<DiffStep> {
    let ahead = was.iter().zip(is).take_while(|(a, b)| a == b).count();
    let rest = was.len().min(is.len()) - ahead;
    let behind = was.iter().rev().zip(is.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (from, to) = (was.len() - behind, is.len() - behind);
    let (old, new) = (was.get(ahead..from).unwrap_or(&[]), is.get(ahead..to).unwrap_or(&[]));
    let mut middle = Capture::new();
    let Ok(()) = if (old.len() + 1).saturating_mul(new.len() + 1) > MOST_CELLS {
        middle.delete(0, old.len(), 0).and_then(|()| middle.insert(old.len(), 0, new.len()))
    } else {
        lcs::diff(&mut middle, old, 0..old.len(), new, 0..new.len())
    };
    let steps = middle.ops().iter().flat_map(|change| match change.as_tag_tuple() {
        (DiffTag::Equal, old, new) => old.zip(new).map(|(a, b)| DiffStep::Same(ahead + a, ahead + b)).collect::<Vec<_>>(),
        (_, old, new) => old.map(|n| DiffStep::Gone(ahead + n)).chain(new.map(|n| DiffStep::New(ahead + n))).collect(),
    });
    let before = (0..ahead).map(|n| DiffStep::Same(n, n));
    before.chain(steps).chain((0..behind).map(|n| DiffStep::Same(from + n, to + n))).collect()
}
