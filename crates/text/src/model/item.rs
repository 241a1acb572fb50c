//! One item of a list that passes work on: a block, a message, an injection, a lore entry, a group member …
//!
//! Packs declare which fields an item may have. Compiling numbers them, so that reading a field compares small integers
//! instead of hashing names. Fields that no rule names are kept unchanged beside the numbered ones.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Map, Value};

/// A condition on an item: fields that it must have, fields that must be able to count as true, and fields that must not; or one that
/// no item meets.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequiredFields {
    there: FieldBits,
    on: FieldBits,
    off: FieldBits,
    refuses_all: bool,
}

impl RequiredFields {
    /// Requires that the field is present.
    pub fn there(&mut self, id: FieldId) {
        self.there.put(id, true);
    }

    /// Requires that the field can count as true.
    pub fn on(&mut self, id: FieldId) {
        self.on.put(id, true);
    }

    /// Requires what no item has.
    pub fn refuse_all(&mut self) {
        self.refuses_all = true;
    }

    /// Requires that the field does not count as true; false if that cannot be required of this field.
    pub fn off(&mut self, id: FieldId) -> bool {
        self.off.put(id, true);
        self.off.has(id) == Some(true)
    }
}

/// The number of a field name; it is the same in all lists of one ruleset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub u16);

macro_rules! core_fields {
    ($($konst:ident = $name:literal),* $(,)?) => {
        /// The fields that the engine itself reads; they have the same numbers in every ruleset.
        pub mod core {
            use super::FieldId;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, clippy::enum_variant_names)]
            enum FieldNumber { $($konst,)* }
            $(#[doc = concat!("The field `", $name, "`.")] pub const $konst: FieldId = FieldId(FieldNumber::$konst as u16);)*
            /// The names of these fields, in the order of their numbers.
            pub const NAMES: &[&str] = &[$($name,)*];
        }
    };
}

core_fields! {
    ID = "id", TEXT = "text", ROLE = "role", NAME = "name", SLOT = "slot", GROUP = "group", ENABLED = "enabled",
    REMOVABLE = "removable", PROTECTED = "protected", PRIORITY = "priority", BUNDLE = "bundle", INDEX = "index",
    TOKENS = "tokens", ADMITTED = "admitted", META = "meta", PARTS = "parts", HITS = "hits", SELF = "_",
}

/// The field names of one ruleset.
#[derive(Debug, Clone)]
pub struct FieldNames {
    names: Vec<Arc<str>>,
    by_name: FxHashMap<Arc<str>, FieldId>,
}

impl Default for FieldNames {
    fn default() -> Self {
        let mut fields = Self { names: Vec::new(), by_name: FxHashMap::default() };
        for name in core::NAMES {
            fields.intern(name);
        }
        fields
    }
}

impl FieldNames {
    /// The number of `name`; a new name gets the next number. All names beyond 65,535 share one number, which does not
    /// happen: a rule file's size is bounded, so a pack cannot declare that many.
    pub fn intern(&mut self, name: &str) -> FieldId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = FieldId(u16::try_from(self.names.len()).unwrap_or(u16::MAX));
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        self.by_name.insert(name, id);
        id
    }

    /// All names, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// The number of a name; `None` for an unknown name.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<FieldId> {
        self.by_name.get(name).copied()
    }

    /// The name of a number; empty for an unknown number.
    #[must_use]
    pub fn name(&self, id: FieldId) -> Arc<str> {
        self.names.get(usize::from(id.0)).cloned().unwrap_or_default()
    }
}

/// One item: its numbered fields, and the other fields of its source.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// The number of the item in its build. Copies and moves keep it, so that the trace can follow the item. 0: it is
    /// not followed.
    pub seq: u32,
    /// The number of the list that it belongs to, which decides the defaults of its fields.
    pub list: u16,
    /// The numbers of the fields, stored apart from their values: a search for a field then reads one cache line
    /// instead of ten.
    ids: Vec<FieldId>,
    values: Vec<Value>,
    /// The fields that the item has.
    there: FieldBits,
    /// The fields of these that may count as true.
    on: FieldBits,
    /// A field is or was a compiled cell, whose evaluation may fail.
    has_cells: bool,
    rest: Option<Arc<Map>>,
    /// Fields that the source set to null. They count as missing; [`Item::as_said`] returns them again.
    nulls: Option<Box<[FieldId]>>,
    /// The item as a table, if it was made one to be given to functions and has not changed since.
    table: Option<Value>,
}

impl Item {
    /// The value of a field; `None` if the item does not have it.
    #[must_use]
    #[inline]
    pub fn get(&self, id: FieldId) -> Option<&Value> {
        self.place(id).and_then(|n| self.values.get(n))
    }

    #[inline]
    fn place(&self, id: FieldId) -> Option<usize> {
        if self.there.has(id) == Some(false) {
            return None;
        }
        self.ids.iter().position(|f| *f == id)
    }

    /// Whether the item certainly has this field with a value that does not count as true.
    #[must_use]
    #[inline]
    pub fn is_off(&self, id: FieldId) -> bool {
        self.there.has(id) == Some(true) && self.on.has(id) == Some(false)
    }

    /// Whether the item certainly has no value for this field. Defaults of its list are not considered.
    #[must_use]
    #[inline]
    pub fn lacks(&self, id: FieldId) -> bool {
        // an unknown name has the number of `_`, and may be in `rest`
        self.there.has(id) == Some(false) && self.has_own_fields() && (id != core::SELF || self.rest.is_none())
    }

    /// Whether its fields are those that it holds itself, and not those of a value that it was made of.
    #[inline]
    fn has_own_fields(&self) -> bool {
        self.there.has(core::SELF) == Some(false)
    }

    /// Whether the item may have what must be there and on; `false` only if it certainly has not, and if looking at its fields
    /// cannot fail. Defaults of its list are not considered.
    #[must_use]
    #[inline]
    pub fn may_have(&self, wanted: &RequiredFields) -> bool {
        if self.has_cells {
            return true;
        }
        if !self.has_own_fields() {
            return !wanted.refuses_all && !self.there.has_some_without(&wanted.on, &self.on);
        }
        !wanted.refuses_all && self.on.has_all(&wanted.on) && self.there.has_all(&wanted.there)
    }

    /// Whether certainly none of the fields counts as true that must not. Defaults of its list are not considered.
    #[must_use]
    #[inline]
    pub fn none_is_on(&self, wanted: &RequiredFields) -> bool {
        self.has_own_fields() && !self.on.has_some_of(&wanted.off)
    }

    /// Whether the source set the field to null and nothing has been set there since.
    #[must_use]
    pub fn says_null(&self, id: FieldId) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.contains(&id))
    }

    /// Notes that a field changes.
    fn mark(&mut self, id: FieldId, value: &Value) {
        self.table = None;
        self.has_cells |= matches!(value, Value::Rule(_));
        self.there.put(id, !value.is_null());
        self.on.put(id, value.truthy());
    }

    /// Sets a field; [`Value::Null`] removes it.
    pub fn set(&mut self, id: FieldId, value: Value) {
        let place = self.place(id);
        self.mark(id, &value);
        if self.says_null(id) {
            self.nulls = self.nulls.take().map(|nulls| nulls.into_iter().filter(|null| *null != id).collect());
        }
        match (place, value.is_null()) {
            (Some(n), true) => {
                self.ids.remove(n);
                self.values.remove(n);
            }
            (None, true) => {}
            (Some(n), false) => {
                if let Some(slot) = self.values.get_mut(n) {
                    *slot = value;
                }
            }
            (None, false) => {
                self.ids.push(id);
                self.values.push(value);
            }
        }
    }

    /// Adds a field that the item does not have yet.
    fn push(&mut self, id: FieldId, value: Value) {
        self.mark(id, &value);
        self.ids.push(id);
        self.values.push(value);
    }

    /// The field `text` as text; empty if it is missing.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        self.get(core::TEXT).map_or_else(Arc::default, Value::to_text)
    }

    /// The text of a field; `None` if it is missing or not a text.
    #[must_use]
    pub fn str(&self, id: FieldId) -> Option<&str> {
        self.get(id).and_then(Value::as_str)
    }

    /// Whether the item is enabled, which is the default.
    #[must_use]
    #[inline]
    pub fn enabled(&self) -> bool {
        !self.is_off(core::ENABLED) || !matches!(self.get(core::ENABLED), Some(Value::Bool(false)))
    }

    /// Whether the field has a value that counts as true.
    #[must_use]
    pub fn flag(&self, id: FieldId) -> bool {
        self.get(id).is_some_and(Value::truthy)
    }

    /// All numbered fields, in the order in which they were set.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &Value)> {
        self.ids.iter().copied().zip(&self.values)
    }

    /// A field of the source that no rule names; `None` if there is none.
    #[must_use]
    pub fn rest(&self, key: &str) -> Option<&Value> {
        self.rest.as_ref().and_then(|m| m.get(key))
    }

    /// An item from a table; from any other value, an item whose field `_` is that value.
    #[must_use]
    pub fn from_value(value: &Value, names: &FieldNames) -> Self {
        let mut item = Self::default();
        match value {
            Value::Map(map) => {
                let mut rest = Map::default();
                let mut nulls = Vec::new();
                item.ids.reserve(map.len());
                item.values.reserve(map.len());
                for (key, value) in map.iter() {
                    match names.id(key) {
                        Some(id) if value.is_null() => nulls.push(id),
                        None if value.is_null() => {}
                        // a table holds each name once, and each name has its own number
                        Some(id) => item.push(id, value.clone()),
                        None => {
                            rest.insert(key.clone(), value.clone());
                        }
                    }
                }
                if !rest.is_empty() {
                    item.rest = Some(Arc::new(rest));
                }
                if !nulls.is_empty() {
                    item.nulls = Some(nulls.into());
                }
            }
            Value::Null => {}
            other => item.set(core::SELF, other.clone()),
        }
        item
    }

    /// The item as a table; an item that only has the field `_` becomes that value.
    #[must_use]
    pub fn to_value(&self, names: &FieldNames) -> Value {
        if let Some(own) = self.own() {
            return own.clone();
        }
        let mut map: Map = self.fields().map(|(f, v)| (names.name(f), v.clone())).collect();
        self.add_rest(&mut map);
        Value::map(map)
    }

    /// The value that the item was made of, if it was no table.
    fn own(&self) -> Option<&Value> {
        self.get(core::SELF).filter(|_| self.ids.len() == 1 && self.rest.is_none())
    }

    fn add_rest(&self, table: &mut Map) {
        for (name, value) in self.rest.iter().flat_map(|rest| rest.iter()) {
            table.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// Like [`Item::to_value`], followed by the fields that the source set to null: for results that leave the engine.
    #[must_use]
    pub fn as_said(&self, names: &FieldNames) -> Value {
        let value = self.to_value(names);
        let (Value::Map(map), Some(nulls)) = (&value, &self.nulls) else { return value };
        let mut map = Map::clone(map);
        map.extend(nulls.iter().map(|id| (names.name(*id), Value::Null)));
        Value::map(map)
    }
}

// A small set of field numbers, stored in the item itself. It answers most questions about an item without following a
// pointer, and a pass over many items asks many of them.

const WORDS: usize = 4;

/// A set of field numbers below 256. For larger numbers it answers that it does not know.
#[derive(Debug, Clone, Copy, Default)]
struct FieldBits([u64; WORDS]);

impl FieldBits {
    /// Whether the number is in the set; `None` if that is not known.
    #[inline]
    fn has(&self, id: FieldId) -> Option<bool> {
        self.0.get(usize::from(id.0 / 64)).map(|word| word & (1 << (id.0 % 64)) != 0)
    }

    fn put(&mut self, id: FieldId, is_in: bool) {
        if let Some(word) = self.0.get_mut(usize::from(id.0 / 64)) {
            let bit = 1 << (id.0 % 64);
            *word = if is_in { *word | bit } else { *word & !bit };
        }
    }

    /// Whether all numbers of `of` are in the set.
    #[inline]
    fn has_all(&self, of: &Self) -> bool {
        // word by word, since debug builds would go around a loop
        let ([a, b, c, d], [e, f, g, h]) = (self.0, of.0);
        (!a & e) | (!b & f) | (!c & g) | (!d & h) == 0
    }

    /// Whether any number of `of` is in the set.
    #[inline]
    fn has_some_of(&self, of: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, of.0);
        (a & e) | (b & f) | (c & g) | (d & h) != 0
    }

    /// Whether any number of `of` is in the set but not in `other`.
    #[inline]
    fn has_some_without(&self, of: &Self, other: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h], [i, j, k, l]) = (self.0, of.0, other.0);
        (a & e & !i) | (b & f & !j) | (c & g & !k) | (d & h & !l) != 0
    }
}

// Items as tables, made one after the other.
//
// Most items of a list have the same few sequences of fields. A table of such an item is a copy of an empty one with its
// names, which needs no hashing, and its values are put in by their places.

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
