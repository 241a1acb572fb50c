//! What an item asked for in an earlier round of a build: most items of a book ask for the same in each round.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{FieldId, Item, Value};

use super::ItemRequest;

/// What items have asked for, by the number that follows an item through its build.
#[derive(Default)]
pub(super) struct PreviousRound(FxHashMap<u32, PreviousRequest>);

/// What one item has asked for.
struct PreviousRequest {
    /// Its values of the fields that its keys come from.
    values: Box<[Option<Value>]>,
    /// The number of the profile that its keys were prepared for.
    profile: usize,
    asks: ItemRequest,
}

impl PreviousRound {
    /// The keys of an item, if the item has not changed since and has the same profile.
    pub(super) fn get(&self, item: &Item, fields: &[FieldId], profile: usize) -> Option<ItemRequest> {
        let known = self.0.get(&item.seq).filter(|known| known.profile == profile)?;
        let same = fields.iter().zip(&known.values).all(|(field, old)| is_still(item.get(*field), old.as_ref()));
        same.then(|| known.asks.clone())
    }

    /// Keeps the keys of an item for the next round.
    pub(super) fn put(&mut self, item: &Item, fields: &[FieldId], profile: usize, asks: &ItemRequest) {
        let values: Box<[Option<Value>]> = fields.iter().map(|f| item.get(*f).cloned()).collect();
        if item.seq != 0 && !values.iter().flatten().any(|v| matches!(v, Value::Rule(_))) {
            self.0.insert(item.seq, PreviousRequest { values, profile, asks: asks.clone() });
        }
    }
}

/// Whether a field is unchanged. Shared values are compared by address, which is fast and may only report a change
/// too many.
fn is_still(now: Option<&Value>, then: Option<&Value>) -> bool {
    match (now, then) {
        (None, None) => true,
        (Some(Value::Text(a)), Some(Value::Text(b))) => Arc::ptr_eq(a, b),
        (Some(Value::List(a)), Some(Value::List(b))) => Arc::ptr_eq(a, b),
        (Some(Value::Map(a)), Some(Value::Map(b))) => Arc::ptr_eq(a, b),
        (Some(a), Some(b)) => a.is_same(b),
        _ => false,
    }
}
