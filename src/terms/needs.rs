//! What an item must have to meet a condition, found out before a long list is gone through: most items lack it, and
//! are passed over without working the condition out.
//!
//! Only what comes before anything that might fail is looked at, so that a condition that fails still does.

use crate::model::item::{Wanted, core};
use crate::model::{FieldId, Item};

use super::cond::Cmp;
use super::expr::{Expr, FieldRef};
use super::{Cond, Rules, Test};

/// What an item must have; an item that has it may still fail.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The list that was asked about.
    list: u16,
    wanted: Wanted,
    /// Of each of these, one.
    one_of: Vec<Vec<Needs>>,
    /// Anything is wanted at all.
    some: bool,
}

/// Which list the items are in: what its fields are when they do not say depends on that.
struct Reader<'a> {
    rules: &'a Rules,
    list: u16,
}

impl Needs {
    /// What the items of a list must have to meet a condition.
    pub(super) fn of(cond: &Cond, list: u16, rules: &Rules) -> Self {
        let mut needs = Self { list, ..Self::default() };
        Reader { rules, list }.read(cond, &mut needs);
        needs
    }

    /// Whether the item may meet the condition: no only where that is sure.
    pub(super) fn may_be_met_by(&self, item: &Item) -> bool {
        item.list != self.list || self.may_hold(item)
    }

    fn may_hold(&self, item: &Item) -> bool {
        item.may_have(&self.wanted) && self.one_of.iter().all(|some| some.iter().any(|needs| needs.may_hold(item)))
    }
}

impl Reader<'_> {
    /// Adds what a condition needs. False if working it out may fail: then what stands behind it is not looked at.
    fn read(&self, cond: &Cond, needs: &mut Needs) -> bool {
        match cond {
            Cond::Const(_) => true,
            Cond::All(list) => list.iter().all(|c| self.read(c, needs)),
            Cond::Any(list) => {
                let mut some: Vec<Needs> = Vec::with_capacity(list.len());
                let sure = list.iter().all(|c| {
                    let mut one = Needs::default();
                    let sure = self.read(c, &mut one);
                    some.push(one);
                    sure
                });
                if sure && some.iter().all(|one| one.some) {
                    needs.one_of.push(some);
                    needs.some = true;
                }
                sure
            }
            Cond::Not(inner) => self.read(inner, &mut Needs::default()),
            Cond::Test { subject: Expr::Field(field), test, condition: false } => match of_the_item(field) {
                Some(id) => self.test(id, test, needs),
                None => false,
            },
            _ => false,
        }
    }

    fn test(&self, field: FieldId, test: &Test, needs: &mut Needs) -> bool {
        if let Test::And(list) = test {
            return list.iter().all(|t| self.test(field, t, needs));
        }
        if test.operands().iter().any(|e| !matches!(e, Expr::Const(_))) {
            return false;
        }
        if wants_true(test) {
            self.wants(needs, field, true);
        } else if !passes_when_missing(test) {
            self.wants(needs, field, false);
        }
        // a pattern may run away
        !matches!(test, Test::Matches(_))
    }

    fn wants(&self, needs: &mut Needs, field: FieldId, on: bool) {
        if on && self.rules.is_off_by_default(self.list, field) {
            needs.wanted.on(field);
            needs.some = true;
        } else if !on && field != core::ENABLED && !self.rules.defaults.contains_key(&(self.list, field)) {
            needs.wanted.there(field);
            needs.some = true;
        }
    }
}

/// The field, if it is one that an item holds itself.
fn of_the_item(field: &FieldRef) -> Option<FieldId> {
    let (id, _) = field.field.as_ref()?;
    (field.up == 0 && field.rest.is_empty() && *id != core::INDEX && *id != core::SELF).then_some(*id)
}

/// Whether only what counts as true passes.
fn wants_true(test: &Test) -> bool {
    match test {
        Test::Is(wanted) => *wanted,
        Test::Eq(Expr::Const(value)) => value.truthy(),
        Test::Cmp(Cmp::Gt, Expr::Const(value)) => value.as_f64().is_some_and(|n| n >= 0.0),
        _ => false,
    }
}

fn passes_when_missing(test: &Test) -> bool {
    matches!(test, Test::Is(false) | Test::Ne(_) | Test::Exists(false) | Test::Nonempty(false) | Test::Given(_) | Test::And(_))
}
