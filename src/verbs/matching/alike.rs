//! Items that search alike: most entries of a book have no matchers and windows of their own, so a result for one
//! item is reused for the next one while the fields that it depends on are the same.

use std::sync::Arc;

use crate::model::{FieldId, Item, Value, item::core};
use crate::terms::expr::PathSegment;
use crate::terms::{Cond, Expr};

use super::{MatchProfile, MatchTerms, SourceWindows};

/// The results for the last item, and the fields that they depend on.
#[derive(Default)]
pub(super) struct SharedScan {
    /// The last item's values of the fields that are looked at; nothing before the first item.
    values: Option<Vec<Option<Value>>>,
    /// Its profile, with the number of it.
    pub(super) profile: Option<(MatchProfile, usize)>,
    /// How much of each source it searches.
    pub(super) windows: Option<SourceWindows>,
}

impl SharedScan {
    /// Switches to an item; the results for the previous one are kept only if they apply to this one too.
    pub(super) fn turn(&mut self, looked_at: Option<&[FieldId]>, item: &Item) {
        let Some(fields) = looked_at else {
            *self = Self::default();
            return;
        };
        let same = |value: Option<&Value>, old: &Option<Value>| match (value, old) {
            (Some(Value::Rule(_)), _) => false,
            (Some(new), Some(old)) => new == old,
            (new, old) => new.is_none() == old.is_none(),
        };
        let stays = self.values.as_ref().is_some_and(|old| fields.iter().zip(old).all(|(f, old)| same(item.get(*f), old)));
        if !stays {
            *self = Self { values: Some(fields.iter().map(|f| item.get(*f).cloned()).collect()), ..Self::default() };
        }
    }
}

/// The fields of an item that decide its matchers and what it searches; `None` if that may depend on more.
pub(super) fn looked_at(of: &MatchTerms) -> Option<Arc<[FieldId]>> {
    let mut fields = vec![core::SELF];
    let mut conds = of.sources.iter().filter_map(|s| s.filter.as_ref()).chain(of.matchers.iter().filter_map(|m| m.filter.as_ref()));
    let mut values = of.sources.iter().filter_map(|s| s.window.as_ref()).chain(of.matchers.iter().filter_map(|m| m.case.as_ref()));
    // the text of a source is computed for the first item that searches it, whichever item follows
    let known = conds.all(|c| cond(c, &mut fields));
    let known = known && values.all(|e| expr(e, &mut fields));
    fields.sort_unstable();
    fields.dedup();
    known.then(|| fields.into())
}

fn cond(of: &Cond, fields: &mut Vec<FieldId>) -> bool {
    match of {
        Cond::Const(_) | Cond::Memo(..) => true,
        Cond::All(list) | Cond::Any(list) => list.iter().all(|c| cond(c, fields)),
        Cond::Not(c) => cond(c, fields),
        Cond::Test { subject, test, condition: false } => expr(subject, fields) && test.operands().into_iter().all(|e| expr(e, fields)),
        Cond::Test { .. } | Cond::Query(..) | Cond::Rhai(_) | Cond::Script(_) | Cond::Host(_) | Cond::Shared(_) => false,
    }
}

fn expr(of: &Expr, fields: &mut Vec<FieldId>) -> bool {
    let named = |segs: &[PathSegment]| segs.iter().all(|s| matches!(s, PathSegment::Name(_)));
    match of {
        Expr::Const(_) | Expr::Memo(..) => true,
        Expr::Path(path) => named(&path.segs),
        Expr::Field(field) => match &field.field {
            Some((id, _)) if *id != core::INDEX && field.up == 0 && named(&field.rest) => {
                fields.push(*id);
                true
            }
            _ => false,
        },
        Expr::First(list) | Expr::List(list) | Expr::Text(list) => list.iter().all(|e| expr(e, fields)),
        _ => false,
    }
}

/// The fields of an item that its keys come from; `None` if they may depend on anything that changes during a build.
pub(super) fn keys_from(keys: &Expr, more: Option<&Expr>) -> Option<Box<[FieldId]>> {
    let mut fields = vec![core::SELF];
    let known = steady(keys, &mut fields) && more.is_none_or(|more| steady(more, &mut fields));
    fields.sort_unstable();
    fields.dedup();
    known.then(|| fields.into())
}

fn steady(of: &Expr, fields: &mut Vec<FieldId>) -> bool {
    match of {
        Expr::Const(_) => true,
        Expr::Field(_) => expr(of, fields),
        Expr::First(list) | Expr::List(list) | Expr::Text(list) => list.iter().all(|e| steady(e, fields)),
        Expr::Table(table) => table.iter().all(|(_, e)| steady(e, fields)),
        Expr::Lookup(l) => steady(&l.key, fields) && steady(&l.table, fields) && l.default.as_ref().is_none_or(|e| steady(e, fields)),
        _ => false,
    }
}
