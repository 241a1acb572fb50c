//! Reads a field of the current item without copying it, and without following a reference if the item itself has the
//! answer: a pass over a long list does this for every item.

use crate::model::{Value, item::core};

use super::eval::{CurrentItem, Env};
use super::expr::FieldRef;

impl<'a> Env<'a> {
    /// A reference to the value of a field that the current item holds itself, so that nothing is copied.
    pub(super) fn held(&self, r: &FieldRef) -> Option<&'a Value> {
        let (Some((id, name)), 0, true) = (&r.field, r.up, r.rest.is_empty()) else { return None };
        match self.cur {
            _ if *id == core::INDEX => None,
            CurrentItem::None => None,
            CurrentItem::Item(item, _) => item.get(*id),
            CurrentItem::Value(value, _) => value.get(name),
        }
    }

    /// Whether a field of the current item is certainly not true, which is the answer for most items of a long list.
    pub(super) fn is_off(&self, r: &FieldRef) -> bool {
        let (Some((id, _)), CurrentItem::Item(item, _), 0, true) = (&r.field, self.cur, r.up, r.rest.is_empty()) else { return false };
        let lacks = || item.lacks(*id) && self.st.rules.is_off_by_default(item.list, *id);
        *id != core::INDEX && (item.is_off(*id) || lacks())
    }
}
