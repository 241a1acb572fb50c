//! How much of an unread history a pass needs: nothing, a queue, the newest end, or all of it.
//!
//! *Nothing* when no unread item can be selected. *Queued* when each item is judged and changed by itself.
//! *Tail* when the selection counts from the newest end: just enough is read. Otherwise *all*.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::model::Item;
use crate::terms::lists::{LocalChange, ReadElement};
use crate::terms::select::{SelectEnd, SelectSequence, pass_env};
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, PassReasons};

use super::pass::{CompiledPass, FailurePolicy, HistoryDemand, ItemChange, PassRun};

/// Prepares the list for the pass: afterwards the pass only has to process the items that are read.
pub fn prepare(run: &PassRun<'_>, st: &BuildState) -> Result<(), EvalFault> {
    match run.pass.verb.reach(run.pass) {
        HistoryDemand::Own | HistoryDemand::Nothing => Ok(()),
        HistoryDemand::Each(each) => ready(run, Some(each), st),
        HistoryDemand::Selected | HistoryDemand::Neighbours => ready(run, None, st),
    }
}

/// Reads the items that the selection of a pass takes, whatever the reach of its verb.
pub fn selected(run: &PassRun<'_>, st: &BuildState) -> Result<(), EvalFault> {
    ready(run, None, st)
}

fn ready(run: &PassRun<'_>, each: Option<&dyn ItemChange>, st: &BuildState) -> Result<(), EvalFault> {
    let PassRun { pass, list, .. } = *run;
    if !st.has_unread(list) || untouched(run, st)? {
        return Ok(());
    }
    // a filter that fails for all has made the list be read
    if !st.has_unread(list) {
        return Ok(());
    }
    // items are read from the newest on, and a filter that draws is asked of them in their order
    let draws = pass.select.filter.as_ref().is_some_and(Cond::draws);
    if let Some(each) = each.filter(|_| pass.select.is_local() && !pass.reads.index && !draws) {
        // items that are numbered must be read in the order in which they are visited, which is from the newest end
        let newest_first = pass.select.from == SelectEnd::Last && st.begins_unread(list);
        if !each.numbers() || newest_first {
            // a history is read from its newest end: effects in that order happen as it is read
            if each.has_effects() && pass.select.from == SelectEnd::First && st.unread_has_effects(list) {
                return st.load_all(list);
            }
            return queue(run, each, st);
        }
    }
    if pass.select.is_tail() && !pass.reads.index && !draws {
        return st.read_tail(list, &pass.select, false, &run.env(st));
    }
    st.load_all(list)
}

/// Whether no unread item can be selected, so that the pass may look at the read ones alone.
pub fn untouched(run: &PassRun<'_>, st: &BuildState) -> Result<bool, EvalFault> {
    let select = &run.pass.select;
    if select.since.is_some() || select.run.is_some() || matches!(run.pass.verb.reach(run.pass), HistoryDemand::Neighbours) {
        return Ok(false);
    }
    match &select.filter {
        Some(filter) => Ok(!st.unread_may_meet(run.list, filter, &run.env(st))?),
        None => Ok(false),
    }
}

fn queue(run: &PassRun<'_>, each: &dyn ItemChange, st: &BuildState) -> Result<(), EvalFault> {
    let (pass, list, memo) = (run.pass, run.list, run.fresh_memo());
    {
        let env = pass_env(st, &memo);
        for cell in &pass.cells {
            match cell.fill(&env) {
                // the pass fails at its items, as at those of a short list
                Err(fault) if !fault.is_bound() => return st.load_all(list),
                filled => filled?,
            }
        }
    }
    let seq = st.list(list);
    let visited = if each.numbers() { pass.select.run(SelectSequence::Items(&seq.items), &pass_env(st, &memo))?.len() } else { 0 };
    drop(seq);
    let reasons = pass.reason.as_ref().and_then(|reason| reason.begin(list, st));
    let step = QueuedPass { pass: pass.clone(), visited: Cell::new(visited), reasons };
    st.queue(list, Rc::new(step), Rc::new(memo), &each.fields());
    Ok(())
}

/// A pass that waits for its items to be read.
struct QueuedPass {
    pass: Arc<CompiledPass>,
    /// How many items it has changed so far, those among them that had been read before.
    visited: Cell<usize>,
    /// The reasons that it gives, although another pass may cause the items to be read.
    reasons: Option<PassReasons>,
}

impl LocalChange for QueuedPass {
    fn apply(&self, read: ReadElement, place: usize, env: &Env<'_>) -> Result<Option<Item>, EvalFault> {
        let ReadElement::Item(mut item) = read else { return Ok(None) };
        let st = env.st;
        let running = st.pass.replace(self.pass.id.clone());
        let stays = self.change(&mut item, place, env);
        st.pass.replace(running);
        match stays {
            Err(fault) if self.pass.failing != FailurePolicy::Error && !fault.is_bound() => {
                st.warn_failed(fault.message.clone(), &fault);
                Ok(Some(item))
            }
            stays => Ok(stays?.then_some(item)),
        }
    }

    fn leaves_out(&self) -> bool {
        matches!(self.pass.verb.reach(&self.pass), HistoryDemand::Each(each) if each.leaves_out())
    }
}

impl QueuedPass {
    /// Changes the item as [`ItemChange::change`] does, if the pass selects it.
    fn change(&self, item: &mut Item, place: usize, env: &Env<'_>) -> Result<bool, EvalFault> {
        if !self.pass.chooses(&env.inner(CurrentItem::Item(item, place)), item.enabled())? {
            return Ok(true);
        }
        let HistoryDemand::Each(each) = self.pass.verb.reach(&self.pass) else { return Ok(true) };
        env.st.note(item, self.pass.info.did, self.reasons.as_ref());
        let nth = self.visited.replace(self.visited.get() + 1);
        each.change(item, place, nth, env)
    }
}
