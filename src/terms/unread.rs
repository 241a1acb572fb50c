//! The unread stretch of a long list: its items are read one by one, newest first, through the steps that are queued for
//! them, and only as far as somebody asks.

use std::rc::Rc;

use super::Cond;
use super::eval::{CurrentItem, Env, EvalFault};
use super::lists::{BuildList, LocalChange};
use super::memo::PassMemo;
use super::state::BuildState;
use crate::model::{FieldId, Item, Value};

/// Steps that an unread item goes through, each with what it has remembered.
type UnreadSteps = Vec<(Rc<dyn LocalChange>, Rc<PassMemo>)>;

impl BuildState {
    /// Whether an unread item may meet a condition.
    pub fn lazy_may_meet(&self, id: usize, cond: &Cond, env: &Env<'_>) -> Result<bool, EvalFault> {
        let shape = self.peek(id, |list| list.lazy.as_ref().map(|l| l.shape.clone())).flatten();
        match shape {
            Some(shape) => Ok(shape.judge(cond, env)? != Some(false)),
            None => Ok(false),
        }
    }

    /// Reads the newest unread element of a list. True if it yields an item; false if it was dropped or none is left.
    pub fn read_one(&self, id: usize) -> Result<bool, EvalFault> {
        let Some((value, place, steps)) = self.take_unread(id) else { return Ok(false) };
        let Some(item) = self.run_steps(id, &value, place, &steps)? else { return Ok(false) };
        if let Some(mut list) = self.lists.get(id).and_then(|l| l.try_borrow_mut().ok()) {
            let at = list.lazy_at().unwrap_or(0).min(list.items.len());
            if list.gap != at {
                list.settle();
            }
            list.fresh.push(item);
            list.gap = at;
            list.lazy = list.lazy.take().filter(|lazy| lazy.remaining > 0);
        }
        Ok(true)
    }

    /// Looks at a list without putting what was read into its place.
    pub(super) fn peek<T>(&self, id: usize, look: impl FnOnce(&BuildList) -> T) -> Option<T> {
        self.load(id);
        self.lists.get(id).and_then(|list| list.try_borrow().ok()).map(|list| look(&list))
    }

    /// Whether a part of a list has not been read.
    #[must_use]
    pub fn has_unread(&self, id: usize) -> bool {
        self.peek(id, |list| list.lazy.is_some()).unwrap_or(false)
    }

    /// How many items of a list are behind its unread part; `None` if all of it has been read.
    pub(super) fn behind_unread(&self, id: usize) -> Option<usize> {
        self.peek(id, |list| list.lazy_at().map(|at| list.length().saturating_sub(at))).flatten()
    }

    /// The item of a list that was read last.
    #[must_use]
    pub fn newest_item(&self, id: usize) -> Option<Item> {
        self.peek(id, |list| list.fresh.last().or_else(|| list.items.get(list.gap)).cloned()).flatten()
    }

    fn take_unread(&self, id: usize) -> Option<(Value, usize, UnreadSteps)> {
        let mut list = self.lists.get(id)?.try_borrow_mut().ok()?;
        let lazy = list.lazy.as_mut()?;
        if lazy.remaining == 0 {
            list.lazy = None;
            return None;
        }
        lazy.remaining -= 1;
        let value = lazy.source.get(lazy.remaining).cloned().unwrap_or_default();
        Some((value, lazy.remaining, lazy.steps.clone()))
    }

    fn run_steps(
        &self,
        id: usize,
        value: &Value,
        place: usize,
        steps: &[(Rc<dyn LocalChange>, Rc<PassMemo>)],
    ) -> Result<Option<Item>, EvalFault> {
        self.visit(steps.len())?;
        let mut made: Option<Item> = None;
        for (step, memo) in steps {
            let env = Env { st: self, cur: CurrentItem::None, outer: None, memo, part: None };
            let cur = made.as_ref().map_or(CurrentItem::Value(value, place), |item| CurrentItem::Item(item, place));
            match step.apply(cur, &env)? {
                Some(mut item) => {
                    item.list = u16::try_from(id).unwrap_or(u16::MAX);
                    made = Some(item);
                }
                None => return Ok(None),
            }
        }
        Ok(made)
    }

    /// Queues a step for the unread items of a list; `changes` are the fields that it may change.
    pub fn queue(&self, id: usize, step: Rc<dyn LocalChange>, memo: Rc<PassMemo>, changes: &[FieldId]) {
        if let Some(mut list) = self.lists.get(id).and_then(|l| l.try_borrow_mut().ok())
            && let Some(lazy) = &mut list.lazy
        {
            lazy.steps.push((step, memo));
            for field in changes {
                lazy.shape.vary(*field);
            }
        }
    }

    /// Whether an unread text contains a macro that writes or draws, so that texts must be expanded completely and
    /// oldest first.
    #[must_use]
    pub fn unread_has_effects(&self, id: usize) -> bool {
        let effects = &self.rules.effect_macros;
        if effects.is_empty() {
            return false;
        }
        let list = self.list(id);
        let Some(lazy) = &list.lazy else { return false };
        *lazy.effects.get_or_init(|| {
            let texts = lazy.source.iter().filter_map(|v| v.get("text").or_else(|| v.get("content")).and_then(Value::as_str));
            let look = || texts.into_iter().any(|t| crate::text::macro_syntax::may_have_effects(t, effects, &self.rules.macro_syntax));
            self.rules.classified.get(&lazy.source, look)
        })
    }

    /// Reads all unread elements of a list.
    pub fn force(&self, id: usize) -> Result<(), EvalFault> {
        let mut made = Vec::new();
        let Some(at) = self.list(id).lazy_at() else { return Ok(()) };
        if self.trail.is_some() {
            let count = self.list(id).lazy.as_ref().map_or(0, |l| l.remaining);
            self.read_whole.borrow_mut().push((self.pass.borrow().clone(), count));
        }
        let mut fault = None;
        while let Some((value, place, steps)) = self.take_unread(id) {
            match self.run_steps(id, &value, place, &steps) {
                Ok(item) => made.extend(item),
                Err(f) => {
                    fault = Some(f);
                    break;
                }
            }
        }
        made.reverse();
        let Some(mut list) = self.lists.get(id).and_then(|l| l.try_borrow_mut().ok()) else {
            return Err(EvalFault::bound("a list was read whole while it was being looked at"));
        };
        list.settle();
        let at = at.min(list.items.len());
        list.items.splice(at..at, made);
        match (fault, &mut list.lazy) {
            (Some(fault), Some(lazy)) => {
                // the read messages are kept, and the message that failed is unread again: nothing is lost
                lazy.remaining += 1;
                return Err(fault);
            }
            (Some(fault), None) => return Err(fault),
            (None, lazy) => *lazy = None,
        }
        Ok(())
    }
}
