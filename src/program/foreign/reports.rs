//! What became of each field of a document.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{FieldMapping, ForeignFormat, PathNames};
use crate::model::{Map, Value};

/// What became of one field of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldOutcome {
    /// The value as it was; or no rule reads the field, and it is carried along.
    Kept,
    /// The value under another name or spelling.
    Mapped,
    /// A value that means nearly the same.
    Approximated,
    /// Nothing: the rules say why, or no rule of a conversion reads it.
    Dropped,
}

/// One line of an import report.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FieldReport {
    /// The field of the document, or the row that makes a value without one.
    pub field: String,
    /// What became of it.
    pub fate: FieldOutcome,
    /// The scene path, where there is one.
    pub to: String,
    /// Why, where there is more to say.
    pub note: String,
    /// In how many elements of a list; 1 for a field of the document itself.
    pub times: usize,
}

impl FieldMapping {
    pub(super) fn report(&self, raw: &Value, value: &Value) -> FieldReport {
        let field = self.reads.first().map_or_else(|| self.name.to_string(), |names| names.join("."));
        let to = self.to.join(".");
        let (fate, note) = match (&self.drop, &self.approximate) {
            (Some(why), _) => (FieldOutcome::Dropped, why.to_string()),
            (None, Some(why)) => (FieldOutcome::Approximated, why.to_string()),
            (None, None) if raw.is_null() => (FieldOutcome::Mapped, "missing; the default is used".to_owned()),
            (None, None) if raw == value && self.to.last() == self.reads.first().and_then(|names| names.last()) => {
                (FieldOutcome::Kept, String::new())
            }
            (None, None) => (FieldOutcome::Mapped, String::new()),
        };
        FieldReport { field, fate, to, note, times: 1 }
    }
}

/// The reports about the elements of a list, counted.
#[derive(Default)]
pub(super) struct ReportTally(IndexMap<(String, FieldOutcome, String, String), usize>);

impl ReportTally {
    pub(super) fn add(&mut self, fields: Vec<FieldReport>) {
        for f in fields {
            *self.0.entry((f.field, f.fate, f.to, f.note)).or_default() += f.times;
        }
    }

    /// The reports as those of the list `field`, which becomes the list `to`.
    pub(super) fn under(self, field: &str, to: &str) -> impl Iterator<Item = FieldReport> {
        self.0.into_iter().map(move |((inner, fate, target, note), times)| FieldReport {
            field: format!("{field}[].{inner}"),
            fate,
            to: if target.is_empty() { String::new() } else { format!("{to}[].{target}") },
            note,
            times,
        })
    }
}

/// The fields of the document that no rule reads, at any depth of tables.
pub(super) fn rest(root: &Value, read: &[&PathNames], format: &ForeignFormat, fields: &mut Vec<FieldReport>) -> Value {
    let Some(map) = root.as_map() else { return Value::Null };
    let mut rest = Map::default();
    let read: Vec<&[Arc<str>]> = read.iter().map(|names| names.as_slice()).collect();
    unread(map, &read, "", format, fields, &mut rest);
    Value::map(rest)
}

fn unread(map: &Map, read: &[&[Arc<str>]], above: &str, format: &ForeignFormat, fields: &mut Vec<FieldReport>, rest: &mut Map) {
    for (key, value) in map {
        let below: Vec<_> =
            read.iter().filter_map(|names| names.split_first()).filter(|(head, _)| *head == key).map(|(_, tail)| tail).collect();
        let field = if above.is_empty() { key.to_string() } else { format!("{above}.{key}") };
        if below.iter().any(|tail| tail.is_empty()) {
            continue;
        }
        match value {
            Value::Map(inner) if !below.is_empty() => {
                let mut kept = Map::default();
                unread(inner, &below, &field, format, fields, &mut kept);
                if !kept.is_empty() {
                    rest.insert(key.clone(), Value::map(kept));
                }
            }
            _ if !below.is_empty() => {}
            _ => {
                rest.insert(key.clone(), value.clone());
                fields.push(format.unread(field));
            }
        }
    }
}

impl ForeignFormat {
    /// The report of a field that no rule reads.
    fn unread(&self, field: String) -> FieldReport {
        let (fate, to, note) = match &self.makes {
            None => (FieldOutcome::Kept, format!("rest.{field}"), "no rule reads it".to_owned()),
            Some(_) if self.rest.in_place => (FieldOutcome::Kept, field.clone(), String::new()),
            Some(made) if self.rest.names.is_empty() => (FieldOutcome::Dropped, String::new(), format!("`{made}` has no field for it")),
            Some(made) => {
                let to = format!("{}.{field}", self.rest.names.join("."));
                (FieldOutcome::Kept, to, format!("carried along; `{made}` has no field for it"))
            }
        };
        FieldReport { field, fate, to, note, times: 1 }
    }
}
