//! How much of an unread history a pass needs: nothing, a queue, the newest end, or all of it.
//!
//! *Nothing* when no unread item can be selected. *Queued* when each item is judged and changed by itself.
//! *Tail* when the selection counts from the newest end: just enough is read. Otherwise *all*.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::model::Item;
use crate::terms::lists::Local;
use crate::terms::select::{End, Seq, Take, count, pass_env};
use crate::terms::{Current, Env, Fault, Memo, State};

use super::{Pass, Verb};

/// Makes the list ready for the pass: afterwards its read items are all that the pass will touch now.
pub fn prepare(pass: &Arc<Pass>, st: &State, list: usize, memo: &Memo) -> Result<(), Fault> {
    if st.list(list).lazy.is_none() || looks_at_none(pass) || untouched(pass, st, list, memo)? {
        return Ok(());
    }
    if pass.select.is_local() && is_local(pass, st, list) && !pass.reads.index {
        // a history is read from its newest end: effects in that order happen as it is read
        let in_order = pass.select.from == End::First;
        if in_order && matches!(&pass.verb, Verb::Shape(shape) if shape.expands_macros()) && st.unread_has_effects(list) {
            return st.force(list);
        }
        return queue(pass, st, list);
    }
    if pass.select.is_tail() {
        return read_tail(&pass.select, st, list, memo);
    }
    st.force(list)
}

/// Whether no unread item can be selected, so that the pass may look at the read ones alone.
pub fn untouched(pass: &Pass, st: &State, list: usize, memo: &Memo) -> Result<bool, Fault> {
    let select = &pass.select;
    if select.since.is_some() || select.run.is_some() || matches!(pass.verb, Verb::Merge(_)) {
        return Ok(false);
    }
    match &select.filter {
        Some(filter) => Ok(!st.lazy_may_meet(list, filter, &pass_env(st, memo))?),
        None => Ok(false),
    }
}

/// Whether the pass sets values of the build once, and nothing of an item, or takes a cost that is given.
fn looks_at_none(pass: &Pass) -> bool {
    match &pass.verb {
        Verb::Set(set) => !set.has_fields() && pass.select.is_local(),
        Verb::Reserve(reserve) => reserve.is_given(),
        _ => false,
    }
}

/// Whether the verb changes each item by itself, or numbers them from the newest end, in which they are read.
fn is_local(pass: &Pass, st: &State, list: usize) -> bool {
    match &pass.verb {
        Verb::Drop | Verb::Shape(_) => true,
        Verb::Set(set) if set.numbers() => pass.select.from == End::Last && st.list(list).lazy_at() == Some(0),
        Verb::Set(set) => set.has_fields(),
        _ => false,
    }
}

fn queue(pass: &Arc<Pass>, st: &State, list: usize) -> Result<(), Fault> {
    let memo = Memo::default();
    {
        let env = pass_env(st, &memo);
        for cell in &pass.cells {
            cell.fill(&env)?;
        }
    }
    let visited = match &pass.verb {
        Verb::Set(set) if set.numbers() => pass.chosen(st, list, &memo)?.len(),
        _ => 0,
    };
    let step = Queued { pass: pass.clone(), visited: Cell::new(visited) };
    st.queue(list, Rc::new(step), Rc::new(memo), &changed(pass));
    Ok(())
}

/// The fields that the pass may change.
fn changed(pass: &Pass) -> Vec<crate::model::FieldId> {
    match &pass.verb {
        Verb::Set(set) => set.field_ids(),
        Verb::Shape(shape) => vec![shape.field],
        _ => Vec::new(),
    }
}

/// A pass that waits for its items to be read.
struct Queued {
    pass: Arc<Pass>,
    /// How many items it has changed so far, those among them that had been read before.
    visited: Cell<usize>,
}

impl Local for Queued {
    fn apply(&self, cur: Current<'_>, env: &Env<'_>) -> Result<Option<Item>, Fault> {
        let Current::Item(item, place) = cur else { return Ok(None) };
        // the pass speaks for itself, although another one has the item read now
        let st = env.st;
        let (pass, sparing) = (st.pass.replace(self.pass.id.clone()), st.sparing.replace(self.pass.failing == super::Failing::Spare));
        let result = self.work(item, place, env);
        st.pass.replace(pass);
        st.sparing.set(sparing);
        match result {
            Err(fault) if self.pass.failing != super::Failing::Error && !fault.bound => {
                st.warn(crate::diag::Code::FilterFailed, fault.message);
                Ok(Some(item.clone()))
            }
            other => other,
        }
    }
}

impl Queued {
    fn work(&self, item: &Item, place: usize, env: &Env<'_>) -> Result<Option<Item>, Fault> {
        let here = env.inner(Current::Item(item, place));
        if !self.pass.chooses(&here, item.enabled())? {
            return Ok(Some(item.clone()));
        }
        env.st.note(item, super::pass_did(&self.pass));
        match &self.pass.verb {
            Verb::Drop => Ok(None),
            Verb::Set(set) => {
                let nth = self.visited.replace(self.visited.get() + 1);
                Ok(Some(set.changed(item, place, nth, env)?))
            }
            Verb::Shape(shape) => Ok(Some(shape.changed(item, place, env)?)),
            _ => Ok(Some(item.clone())),
        }
    }
}

/// Reads from the newest end until the selection has all it can take there.
pub fn read_tail(select: &crate::terms::Select, st: &State, list: usize, memo: &Memo) -> Result<(), Fault> {
    let env = pass_env(st, memo);
    let wanted = match &select.take {
        Some(Take::Count(n)) if select.from == End::Last => {
            let skip = select.skip.as_ref().map(|e| env.eval(e)).transpose()?.map_or(0, |v| count(&v));
            Some(count(&env.eval(n)?) + skip)
        }
        _ => None,
    };
    loop {
        let Some(at) = st.list(list).lazy_at() else { return Ok(()) };
        let mut met = 0;
        let mut settled = false;
        {
            let items = st.list(list);
            let seq = Seq::Items(&items.items);
            for n in (at..seq.len()).rev() {
                let enabled = matches!(seq.cur(n), Current::Item(i, _) if i.enabled());
                if !enabled && !select.off {
                    continue;
                }
                let here = env.inner(seq.cur(n));
                if let Some(since) = &select.since
                    && here.holds(since)?
                {
                    settled = true;
                    break;
                }
                if let Some(run) = &select.run
                    && !here.holds(run)?
                {
                    settled = true;
                    break;
                }
                if select.chooses(&here, enabled)? {
                    met += 1;
                }
            }
        }
        if settled || wanted.is_some_and(|w| met >= w) {
            return Ok(());
        }
        // twice as many each time, so that looking again at what was read stays cheap
        let more = st.list(list).items.len().saturating_sub(at).max(1);
        for _ in 0..more {
            st.read_one(list)?;
        }
    }
}
