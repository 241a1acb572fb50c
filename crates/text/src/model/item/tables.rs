//! Items as tables, made one after the other.
//!
//! Most items of a list have the same few sequences of fields. A table of such an item is a copy of an empty one with its
//! names, which needs no hashing, and its values are put in by their places.

use super::{FieldId, FieldNames, Item};
use crate::model::{Map, Value};

/// The most sequences of fields that are kept.
const MOST: usize = 4;

/// The sequences of fields of the last items that became tables.
#[derive(Debug, Default)]
pub struct TableCache {
    kept: Vec<CachedTable>,
    /// The one of these that the next new one takes the place of.
    oldest: usize,
}

/// A sequence of fields, and a table of their names without values. The table is made for a second item.
#[derive(Debug)]
struct CachedTable {
    ids: Vec<FieldId>,
    names: Option<Map>,
}

impl TableCache {
    /// [`Item::to_value`], which costs half as much if an item with the same fields was made a table before.
    pub fn of(&mut self, item: &Item, names: &FieldNames) -> Value {
        if let Some(known) = item.table.as_ref().or_else(|| item.own()) {
            return known.clone();
        }
        let Some(kept) = self.kept.iter_mut().find(|kept| kept.ids == item.ids) else {
            self.keep(&item.ids);
            return item.to_value(names);
        };
        let named = kept.names.get_or_insert_with(|| item.ids.iter().map(|id| (names.name(*id), Value::Null)).collect());
        if named.len() != item.values.len() {
            // names beyond the last number share one
            return item.to_value(names);
        }
        let mut table = named.clone();
        for (field, value) in table.values_mut().zip(&item.values) {
            *field = value.clone();
        }
        item.add_rest(&mut table);
        Value::map(table)
    }

    /// [`TableCache::of`], which the item remembers until it changes.
    pub fn kept(&mut self, item: &mut Item, names: &FieldNames) -> Value {
        let table = self.of(item, names);
        item.table = Some(table.clone());
        table
    }

    fn keep(&mut self, ids: &[FieldId]) {
        let new = CachedTable { ids: ids.to_vec(), names: None };
        match self.kept.get_mut(self.oldest) {
            Some(oldest) => *oldest = new,
            None => self.kept.push(new),
        }
        self.oldest = (self.oldest + 1) % MOST;
    }
}
