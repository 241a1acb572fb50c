//! Looking at a field of the item at hand without a copy, and without following a pointer where the item itself can tell:
//! a pass over a long list asks this of every item.

use crate::model::{Value, item::core};

use super::eval::{Current, Env};
use super::expr::FieldRef;

impl<'a> Env<'a> {
    /// The value of a field as the item at hand holds it, where it does: for looking at it without a copy.
    pub(super) fn held(&self, r: &FieldRef) -> Option<&'a Value> {
        let (Some((id, name)), 0, true) = (&r.field, r.up, r.rest.is_empty()) else { return None };
        match self.cur {
            _ if *id == core::INDEX => None,
            Current::None => None,
            Current::Item(item, _) => item.get(*id),
            Current::Value(value, _) => value.get(name),
        }
    }

    /// Whether a field of the item at hand surely does not count as true: most items of a long list say no to most questions.
    pub(super) fn is_off(&self, r: &FieldRef) -> bool {
        let (Some((id, _)), Current::Item(item, _), 0, true) = (&r.field, self.cur, r.up, r.rest.is_empty()) else { return false };
        let lacks = || item.lacks(*id) && self.st.rules.is_off_by_default(item.list, *id);
        *id != core::INDEX && (item.is_off(*id) || lacks())
    }
}
