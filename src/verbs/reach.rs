//! How much of an unread history a pass needs: nothing, a queue, the newest end, or all of it.
//!
//! *Nothing* when no unread item can be selected. *Queued* when each item is judged and changed by itself.
//! *Tail* when the selection counts from the newest end: just enough is read. Otherwise *all*.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::model::Item;
use crate::terms::lists::LocalChange;
use crate::terms::select::{SelectEnd, pass_env};
use crate::terms::{BuildState, CurrentItem, Env, EvalFault, PassMemo};

use super::pass::{CompiledPass, FailurePolicy, HistoryDemand, ItemChange, read_tail};

/// Prepares the list for the pass: afterwards the pass only has to process the items that are read.
pub fn prepare(pass: &Arc<CompiledPass>, st: &BuildState, list: usize, memo: &PassMemo) -> Result<(), EvalFault> {
    let each = match pass.verb.reach(pass) {
        HistoryDemand::Own | HistoryDemand::Nothing => return Ok(()),
        HistoryDemand::Each(each) => Some(each),
        HistoryDemand::Selected | HistoryDemand::Neighbours => None,
    };
    ready(pass, each, st, list, memo)
}

/// Reads the items that the selection of a pass takes, whatever the reach of its verb.
pub fn selected(pass: &Arc<CompiledPass>, st: &BuildState, list: usize, memo: &PassMemo) -> Result<(), EvalFault> {
    ready(pass, None, st, list, memo)
}

fn ready(pass: &Arc<CompiledPass>, each: Option<&dyn ItemChange>, st: &BuildState, list: usize, memo: &PassMemo) -> Result<(), EvalFault> {
    if st.list(list).lazy.is_none() || untouched(pass, st, list, memo)? {
        return Ok(());
    }
    if let Some(each) = each.filter(|_| pass.select.is_local() && !pass.reads.index) {
        // items that are numbered must be read in the order in which they are visited, which is from the newest end
        let newest_first = pass.select.from == SelectEnd::Last && st.list(list).lazy_at() == Some(0);
        if !each.numbers() || newest_first {
            // a history is read from its newest end: effects in that order happen as it is read
            if each.has_effects() && pass.select.from == SelectEnd::First && st.unread_has_effects(list) {
                return st.force(list);
            }
            return queue(pass, each, st, list);
        }
    }
    if pass.select.is_tail() && !pass.reads.index {
        return read_tail(&pass.select, st, list, memo);
    }
    st.force(list)
}

/// Whether no unread item can be selected, so that the pass may look at the read ones alone.
pub fn untouched(pass: &CompiledPass, st: &BuildState, list: usize, memo: &PassMemo) -> Result<bool, EvalFault> {
    let select = &pass.select;
    if select.since.is_some() || select.run.is_some() || matches!(pass.verb.reach(pass), HistoryDemand::Neighbours) {
        return Ok(false);
    }
    match &select.filter {
        Some(filter) => Ok(!st.lazy_may_meet(list, filter, &pass_env(st, memo))?),
        None => Ok(false),
    }
}

fn queue(pass: &Arc<CompiledPass>, each: &dyn ItemChange, st: &BuildState, list: usize) -> Result<(), EvalFault> {
    let memo = PassMemo::default();
    {
        let env = pass_env(st, &memo);
        for cell in &pass.cells {
            cell.fill(&env)?;
        }
    }
    let visited = if each.numbers() { pass.chosen(st, list, &memo)?.len() } else { 0 };
    let step = QueuedPass { pass: pass.clone(), visited: Cell::new(visited) };
    st.queue(list, Rc::new(step), Rc::new(memo), &each.fields());
    Ok(())
}

/// A pass that waits for its items to be read.
struct QueuedPass {
    pass: Arc<CompiledPass>,
    /// How many items it has changed so far, those among them that had been read before.
    visited: Cell<usize>,
}

impl LocalChange for QueuedPass {
    fn apply(&self, cur: CurrentItem<'_>, env: &Env<'_>) -> Result<Option<Item>, EvalFault> {
        let CurrentItem::Item(item, place) = cur else { return Ok(None) };
        // the pass gives its own reasons, although another pass has caused the item to be read now
        let st = env.st;
        let (pass, sparing) = (st.pass.replace(self.pass.id.clone()), st.sparing.replace(self.pass.failing == FailurePolicy::Spare));
        let result = self.work(item, place, env);
        st.pass.replace(pass);
        st.sparing.set(sparing);
        match result {
            Err(fault) if self.pass.failing != FailurePolicy::Error && !fault.is_bound() => {
                st.warn_failed(fault.message.clone(), &fault);
                Ok(Some(item.clone()))
            }
            other => other,
        }
    }

    fn leaves_out(&self) -> bool {
        matches!(self.pass.verb.reach(&self.pass), HistoryDemand::Each(each) if each.leaves_out())
    }
}

impl QueuedPass {
    fn work(&self, item: &Item, place: usize, env: &Env<'_>) -> Result<Option<Item>, EvalFault> {
        let here = env.inner(CurrentItem::Item(item, place));
        if !self.pass.chooses(&here, item.enabled())? {
            return Ok(Some(item.clone()));
        }
        let HistoryDemand::Each(each) = self.pass.verb.reach(&self.pass) else { return Ok(Some(item.clone())) };
        env.st.note(item, self.pass.info.did);
        let nth = self.visited.replace(self.visited.get() + 1);
        each.change(item, place, nth, env)
    }
}
