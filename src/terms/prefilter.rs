//! What an item must have to meet a condition, computed before a long list is processed: most items lack it and are
//! skipped without evaluating the condition.
//!
//! Only the tests before the first one that might fail with an error are used, so that such an error is still
//! reported.

use crate::model::item::{RequiredFields, core};
use crate::model::{FieldId, Item};

use super::cond::CondComparison;
use super::expr::{Expr, FieldRef};
use super::{CompiledRules, Cond, CondTest};

/// What an item must have. An item that has it may still fail the condition.
#[derive(Debug, Default)]
pub(super) struct Prefilter {
    /// The list that the requirement is for.
    list: u16,
    wanted: RequiredFields,
    /// For each of these, the item must match one alternative.
    one_of: Vec<Vec<Prefilter>>,
    /// There is at least one requirement.
    some: bool,
}

/// The list of the items, which decides the defaults of their fields.
struct ConditionReader<'a> {
    rules: &'a CompiledRules,
    list: u16,
}

impl Prefilter {
    /// What the items of a list must have to meet a condition.
    pub(super) fn of(cond: &Cond, list: u16, rules: &CompiledRules) -> Self {
        let mut prefilter = Self { list, ..Self::default() };
        ConditionReader { rules, list }.read(cond, &mut prefilter);
        prefilter
    }

    /// Whether the item may meet the condition; false only if it certainly does not.
    pub(super) fn may_be_met_by(&self, item: &Item) -> bool {
        item.list != self.list || self.may_hold(item)
    }

    fn may_hold(&self, item: &Item) -> bool {
        item.may_have(&self.wanted) && self.one_of.iter().all(|some| some.iter().any(|prefilter| prefilter.may_hold(item)))
    }
}

impl ConditionReader<'_> {
    /// Adds what a condition requires. Returns false if evaluating it may fail: conditions after it are then not
    /// used.
    fn read(&self, cond: &Cond, prefilter: &mut Prefilter) -> bool {
        match cond {
            Cond::Const(_) => true,
            Cond::All(list) => list.iter().all(|c| self.read(c, prefilter)),
            Cond::Any(list) => {
                let mut some: Vec<Prefilter> = Vec::with_capacity(list.len());
                let sure = list.iter().all(|c| {
                    let mut one = Prefilter::default();
                    let sure = self.read(c, &mut one);
                    some.push(one);
                    sure
                });
                if sure && some.iter().all(|one| one.some) {
                    prefilter.one_of.push(some);
                    prefilter.some = true;
                }
                sure
            }
            Cond::Not(inner) => self.read(inner, &mut Prefilter::default()),
            Cond::Test { subject: Expr::Field(field), test, condition: false } => match of_the_item(field) {
                Some(id) => self.test(id, test, prefilter),
                None => false,
            },
            _ => false,
        }
    }

    fn test(&self, field: FieldId, test: &CondTest, prefilter: &mut Prefilter) -> bool {
        if let CondTest::And(list) = test {
            return list.iter().all(|t| self.test(field, t, prefilter));
        }
        if test.operands().iter().any(|e| !matches!(e, Expr::Const(_))) {
            return false;
        }
        if wants_true(test) {
            self.wants(prefilter, field, true);
        } else if !passes_when_missing(test) {
            self.wants(prefilter, field, false);
        }
        // a pattern may exceed its bound
        !matches!(test, CondTest::Matches(_))
    }

    fn wants(&self, prefilter: &mut Prefilter, field: FieldId, on: bool) {
        if on && self.rules.is_off_by_default(self.list, field) {
            prefilter.wanted.on(field);
            prefilter.some = true;
        } else if !on && field != core::ENABLED && !self.rules.defaults.contains_key(&(self.list, field)) {
            prefilter.wanted.there(field);
            prefilter.some = true;
        }
    }
}

/// The field, if the item holds it itself.
fn of_the_item(field: &FieldRef) -> Option<FieldId> {
    let (id, _) = field.field.as_ref()?;
    (field.up == 0 && field.rest.is_empty() && *id != core::INDEX && *id != core::SELF).then_some(*id)
}

/// Whether the test accepts only true values.
fn wants_true(test: &CondTest) -> bool {
    match test {
        CondTest::Is(wanted) => *wanted,
        CondTest::Eq(Expr::Const(value)) => value.truthy(),
        CondTest::Cmp(CondComparison::Gt, Expr::Const(value)) => value.as_f64().is_some_and(|n| n >= 0.0),
        _ => false,
    }
}

fn passes_when_missing(test: &CondTest) -> bool {
    matches!(
        test,
        CondTest::Is(false) | CondTest::Ne(_) | CondTest::Exists(false) | CondTest::Nonempty(false) | CondTest::Given(_) | CondTest::And(_)
    )
}
