//! One item of a list that passes work on: a block, a message, an injection, a lore entry, a member …
//!
//! Which fields an item may have is declared by packs; compiling numbers them, so that reading a field
//! compares small integers instead of hashing names. Fields that no rule names are kept aside, untouched.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Map, Value};

mod bits;

use bits::Bits;

/// Fields that an item must have, and fields that must be able to count as true.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    there: Bits,
    on: Bits,
}

impl Wanted {
    /// Wants a field to be there.
    pub fn there(&mut self, id: FieldId) {
        self.there.put(id, true);
    }

    /// Wants a field to count as true.
    pub fn on(&mut self, id: FieldId) {
        self.on.put(id, true);
    }
}

/// The number of a field name, the same in all lists of one ruleset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldId(pub u16);

macro_rules! core_fields {
    ($($konst:ident = $name:literal),* $(,)?) => {
        /// Fields that the engine itself reads; every ruleset numbers them alike.
        pub mod core {
            use super::FieldId;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, clippy::enum_variant_names)]
            enum N { $($konst,)* }
            $(#[doc = concat!("The field `", $name, "`.")] pub const $konst: FieldId = FieldId(N::$konst as u16);)*
            /// Their names, in the order of their numbers.
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
pub struct Fields {
    names: Vec<Arc<str>>,
    by_name: FxHashMap<Arc<str>, FieldId>,
}

impl Default for Fields {
    fn default() -> Self {
        let mut fields = Self { names: Vec::new(), by_name: FxHashMap::default() };
        for name in core::NAMES {
            fields.intern(name);
        }
        fields
    }
}

impl Fields {
    /// The number of `name`, given one if it is new. Names beyond 65,535 share the last number's neighbour: a pack
    /// cannot declare that many, since a rule file's size is bounded.
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

    /// The number of a known name.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<FieldId> {
        self.by_name.get(name).copied()
    }

    /// The name behind a number.
    #[must_use]
    pub fn name(&self, id: FieldId) -> Arc<str> {
        self.names.get(usize::from(id.0)).cloned().unwrap_or_else(|| Arc::from(""))
    }
}

/// One item: fields by number, and whatever else its source carried.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// Which item this is in its build; copies and moves keep it, so that a trail can follow it. 0 = not followed.
    pub seq: u32,
    /// The list it is in, by number: what its fields are when it does not say depends on that.
    pub list: u16,
    /// The numbers of the fields, apart from their values: looking for a field then reads one line of memory, not ten.
    ids: Vec<FieldId>,
    values: Vec<Value>,
    /// Fields that the item has.
    there: Bits,
    /// Of these, the ones that may count as true.
    on: Bits,
    rest: Option<Arc<Map>>,
    /// Fields that its source said are null: they are missing like any other, but they were said.
    nulls: Option<Box<[FieldId]>>,
}

impl Item {
    /// The value of a field; nothing when it has none.
    #[must_use]
    pub fn get(&self, id: FieldId) -> Option<&Value> {
        self.place(id).and_then(|n| self.values.get(n))
    }

    fn place(&self, id: FieldId) -> Option<usize> {
        if self.there.has(id) == Some(false) {
            return None;
        }
        self.ids.iter().position(|f| *f == id)
    }

    /// Whether the item has a field that surely does not count as true.
    #[must_use]
    pub fn is_off(&self, id: FieldId) -> bool {
        self.there.has(id) == Some(true) && self.on.has(id) == Some(false)
    }

    /// Whether the item surely has nothing that could be the value of a field; a default of its list is not looked for.
    #[must_use]
    pub fn lacks(&self, id: FieldId) -> bool {
        self.there.has(id) == Some(false) && self.there.has(core::SELF) == Some(false) && self.rest.is_none()
    }

    /// Whether the item may have all that is wanted: no only where that is sure. Defaults of its list are not looked for.
    #[must_use]
    pub fn may_have(&self, wanted: &Wanted) -> bool {
        if self.rest.is_some() || self.there.has(core::SELF) != Some(false) {
            return !self.there.has_some_without(&wanted.on, &self.on);
        }
        self.on.has_all(&wanted.on) && self.there.has_all(&wanted.there)
    }

    /// Whether the source said that a field is null, and nothing has been set there since.
    #[must_use]
    pub fn says_null(&self, id: FieldId) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.contains(&id))
    }

    fn mark(&mut self, id: FieldId, value: &Value) {
        self.there.put(id, !value.is_null());
        self.on.put(id, value.truthy());
    }

    /// Sets a field; setting nothing removes it.
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

    /// A field that the item does not have yet.
    fn push(&mut self, id: FieldId, value: Value) {
        self.mark(id, &value);
        self.ids.push(id);
        self.values.push(value);
    }

    /// The text of field `text`; empty when missing or no text.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        self.get(core::TEXT).map_or_else(|| Arc::from(""), Value::to_text)
    }

    /// The text of a field, as a string slice.
    #[must_use]
    pub fn str(&self, id: FieldId) -> Option<&str> {
        self.get(id).and_then(Value::as_str)
    }

    /// Whether the item is switched on (the default).
    #[must_use]
    pub fn enabled(&self) -> bool {
        !self.is_off(core::ENABLED) || !matches!(self.get(core::ENABLED), Some(Value::Bool(false)))
    }

    /// Whether a flag is set and true.
    #[must_use]
    pub fn flag(&self, id: FieldId) -> bool {
        self.get(id).is_some_and(Value::truthy)
    }

    /// All numbered fields, in the order set.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &Value)> {
        self.ids.iter().copied().zip(&self.values)
    }

    /// What the source carried beyond the named fields.
    #[must_use]
    pub fn rest(&self, key: &str) -> Option<&Value> {
        self.rest.as_ref().and_then(|m| m.get(key))
    }

    /// An item of a table value; of any other value, an item whose `_` is the value.
    #[must_use]
    pub fn from_value(value: &Value, names: &Fields) -> Self {
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
                        // a table holds each name once, and each name has a number of its own
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

    /// The item as a table value (a scalar item gives its scalar).
    #[must_use]
    pub fn to_value(&self, names: &Fields) -> Value {
        if let (Some(own), 1, None) = (self.get(core::SELF), self.ids.len(), &self.rest) {
            return own.clone();
        }
        let mut map: Map = self.fields().map(|(f, v)| (names.name(f), v.clone())).collect();
        if let Some(rest) = &self.rest {
            for (k, v) in rest.iter() {
                map.entry(k.clone()).or_insert_with(|| v.clone());
            }
        }
        Value::map(map)
    }

    /// The same with the nulls that the source said, behind all other fields: for whoever the items are handed to.
    #[must_use]
    pub fn as_said(&self, names: &Fields) -> Value {
        let value = self.to_value(names);
        let (Value::Map(map), Some(nulls)) = (&value, &self.nulls) else { return value };
        let mut map = Map::clone(map);
        map.extend(nulls.iter().map(|id| (names.name(*id), Value::Null)));
        Value::map(map)
    }
}
