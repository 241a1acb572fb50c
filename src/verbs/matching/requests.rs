//! What items asked for in an earlier round of a build, or in the last build of a session: most items of a book ask for the
//! same each time.

use crate::model::{FieldId, Item, Value};

use super::ItemRequest;

/// What items have asked for, by their places in the list.
#[derive(Default)]
pub(super) struct KnownRequests {
    this_build: Vec<Option<KnownRequest>>,
    /// Without what this build has asked for again.
    last_build: Vec<Option<KnownRequest>>,
}

/// What one item has asked for.
pub(super) struct KnownRequest {
    /// The list of the item, which decides the defaults of its fields.
    list: u16,
    /// The fields that its keys came from.
    values: Box<[Option<Value>]>,
    /// The number of the profile that its keys were prepared for.
    profile: usize,
    pub(super) asks: ItemRequest,
    /// The work of preparing its keys: steps and bytes.
    pub(super) cost: (u64, u64),
}

/// An item, and its place in the list.
pub(super) type PlacedItem<'a> = (&'a Item, usize);

impl KnownRequests {
    /// Begins another build. What the last one did not ask for is forgotten.
    pub(super) fn begin_build(&mut self) {
        self.last_build = std::mem::take(&mut self.this_build);
    }

    /// Forgets what the last build asked for.
    pub(super) fn forget_last_build(&mut self) {
        self.last_build = Vec::new();
    }

    /// What the item at a place has asked for in this build, if it has not changed since and has the same profile.
    pub(super) fn find(&self, (item, place): PlacedItem<'_>, fields: &[FieldId], profile: usize) -> Option<&ItemRequest> {
        let known = self.this_build.get(place)?.as_ref()?;
        known.applies(item, fields, profile).then_some(&known.asks)
    }

    /// Takes what the item at a place has asked for in the last build, on the same conditions.
    pub(super) fn take_from_last_build(
        &mut self,
        (item, place): PlacedItem<'_>,
        fields: &[FieldId],
        profile: usize,
    ) -> Option<KnownRequest> {
        self.last_build.get_mut(place)?.take_if(|known| known.applies(item, fields, profile))
    }

    /// Keeps what the item at a place has asked for.
    pub(super) fn keep(&mut self, place: usize, request: KnownRequest) {
        if self.this_build.len() <= place {
            self.this_build.resize_with(place + 1, || None);
        }
        if let Some(slot) = self.this_build.get_mut(place) {
            *slot = Some(request);
        }
    }
}

impl KnownRequest {
    /// The request of an item as it is now; `None` if a field is a compiled cell, whose result may change.
    pub(super) fn of(item: &Item, fields: &[FieldId], profile: usize, asks: &ItemRequest, cost: (u64, u64)) -> Option<Self> {
        let values: Box<[Option<Value>]> = fields.iter().map(|field| item.get(*field).cloned()).collect();
        let is_data = !values.iter().flatten().any(|value| matches!(value, Value::Rule(_)));
        is_data.then(|| Self { list: item.list, values, profile, asks: asks.clone(), cost })
    }

    fn applies(&self, item: &Item, fields: &[FieldId], profile: usize) -> bool {
        let same = |(field, old): (&FieldId, &Option<Value>)| match (item.get(*field), old) {
            (None, None) => true,
            (Some(now), Some(then)) => now.is_same(then),
            _ => false,
        };
        self.list == item.list && self.profile == profile && fields.iter().zip(&self.values).all(same)
    }
}
