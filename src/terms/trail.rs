//! The trail: what passes did to which items, and why. It is kept only when tracing; otherwise it costs one check of
//! a flag.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::limits;
use crate::model::plan::{SearchRecord, TextRewrite, TracedChange};
use crate::model::{Item, Map, Value};

use super::BuildState;
use super::eval::{CurrentItem, Env};
use super::expr::Expr;
use super::memo::PassMemo;
use super::select::SelectSequence;

/// One event of the trail: what a pass did to an item. Only kept when tracing.
#[derive(Debug, Clone, serde::Serialize)]
pub struct TrailEvent {
    /// The item, by its number.
    pub item: u32,
    /// The pass.
    pub pass: Arc<str>,
    /// What was done to it: `made`, `set`, `shaped`, `placed`, `dropped`, `merged`, `evicted`, `admitted`.
    pub did: &'static str,
}

/// Numbers of one run of a pass. Only kept when tracing.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RunStat {
    /// The pass.
    pub pass: Arc<str>,
    /// Items in its list afterwards, as far as they have been read.
    pub items: usize,
}

/// The reason that a pass gives: a code for what it does to items, and details about each item.
#[derive(Debug)]
pub struct PassReason {
    /// The code.
    pub code: Arc<str>,
    /// Evaluated for each item that a reason is given for; a table is merged over the details of the verb.
    pub why: Option<Expr>,
}

/// What the running pass has recorded for its reasons. Only kept when tracing.
#[derive(Debug, Default)]
pub(super) struct ReasonFacts {
    /// What decided about items, by their numbers.
    told: RefCell<FxHashMap<u32, Map>>,
    /// The evaluated results of `why`.
    memo: RefCell<Rc<PassMemo>>,
    /// What was searched for items of which nothing has been found yet, by their numbers.
    searched: RefCell<IndexMap<u32, SearchRecord>>,
    /// Passes whose `when` did not hold, and how often.
    skipped: RefCell<IndexMap<Arc<str>, usize>>,
    /// The items that passes removed, each with the event.
    removed: RefCell<Vec<(Item, TrailEvent)>>,
    /// What functions of hooks and passes changed, in order.
    changes: RefCell<Vec<TracedChange>>,
}

/// Why something happened to an item: the code of a pass, and its details. Only kept when tracing.
#[derive(Debug, Clone)]
pub struct ItemReason {
    /// The item, by its number: two items may have the same book and id.
    pub item: u32,
    /// The item's list.
    pub list: Arc<str>,
    /// The item's id.
    pub id: Arc<str>,
    /// Its field `book`; empty where it has none.
    pub book: Arc<str>,
    /// The pass.
    pub pass: Arc<str>,
    /// The pass's `because`.
    pub because: Arc<str>,
    /// Details from the verb: the key that was found, and where.
    pub detail: Value,
}

impl BuildState {
    /// A number for a new item, when a trail is kept; 0 otherwise.
    pub fn number(&self) -> u32 {
        if self.trail.is_none() {
            return 0;
        }
        let next = self.next_seq.get() + 1;
        self.next_seq.set(next);
        next
    }

    /// Records what happened to an item, when a trail is kept.
    pub fn note(&self, item: &Item, did: &'static str) {
        if let Some(trail) = &self.trail {
            let event = TrailEvent { item: item.seq, pass: self.pass.borrow().clone(), did };
            let mut removed = self.facts.removed.borrow_mut();
            if matches!(did, "dropped" | "lost" | "merged") && removed.len() < limits::RECORDED {
                removed.push((item.clone(), event.clone()));
            }
            drop(removed);
            trail.borrow_mut().push(event);
            self.explain(item, Value::Null);
        }
    }

    /// Records that a script changed a text, when a trail is kept.
    pub fn rewritten(&self, script: &Arc<str>, before: &Arc<str>, after: &Arc<str>) {
        if self.trail.is_some() && self.rewrites.borrow().len() < limits::RECORDED {
            let (script, before, after) = (script.to_string(), before.to_string(), after.to_string());
            self.rewrites.borrow_mut().push(TextRewrite { pass: self.pass.borrow().to_string(), script, before, after });
        }
    }

    /// Records what a function changed, when a trail is kept; it is evaluated only then.
    pub fn changed(&self, change: impl FnOnce() -> TracedChange) {
        if self.trail.is_some() && self.facts.changes.borrow().len() < limits::RECORDED {
            let change = change();
            self.facts.changes.borrow_mut().push(change);
        }
    }

    /// What functions of hooks and passes changed, in order.
    #[must_use]
    pub fn all_changes(&self) -> Vec<TracedChange> {
        self.facts.changes.borrow().clone()
    }

    /// Whether the running pass gives reasons.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.trail.is_some() && self.because.borrow().is_some()
    }

    /// From here on the running pass gives this as its reason.
    pub fn begin_reasons(&self, because: Option<Arc<PassReason>>) {
        *self.because.borrow_mut() = because;
        if self.trail.is_some() {
            self.facts.told.borrow_mut().clear();
            self.facts.memo.replace(Rc::default());
        }
    }

    /// Keeps what decided about an item until the running pass gives a reason for the item.
    pub fn tell<const N: usize>(&self, item: &Item, facts: [(&str, Value); N]) {
        if item.seq != 0 && self.tells() {
            let facts = facts.into_iter().map(|(name, value)| (Arc::from(name), value));
            self.facts.told.borrow_mut().entry(item.seq).or_default().extend(facts);
        }
    }

    /// Records what was searched for an item in vain, or that it has been found.
    pub fn searched_for(&self, item: &Item, in_vain: Option<SearchRecord>) {
        if item.seq == 0 || !self.tells() {
            return;
        }
        let mut all = self.facts.searched.borrow_mut();
        match in_vain {
            Some(searched) if all.len() < limits::RECORDED || all.contains_key(&item.seq) => {
                let pass = self.pass.borrow().to_string();
                all.insert(item.seq, SearchRecord { item: item.seq, pass, ..searched });
            }
            Some(_) => {}
            None => _ = all.swap_remove(&item.seq),
        }
    }

    /// Records that the `when` of a pass did not hold, when a trail is kept.
    pub fn skipped(&self, pass: &Arc<str>) {
        if self.trail.is_some() {
            *self.facts.skipped.borrow_mut().entry(pass.clone()).or_default() += 1;
        }
    }

    /// The passes whose `when` did not hold, and how often.
    #[must_use]
    pub fn all_skipped(&self) -> Vec<(String, usize)> {
        self.facts.skipped.borrow().iter().map(|(pass, times)| (pass.to_string(), *times)).collect()
    }

    /// The items that are not in the list `but`, with the names of their lists: those that passes removed, each with
    /// the event, then those of all other lists as far as these have been read.
    #[must_use]
    pub fn elsewhere(&self, but: usize) -> Vec<(Arc<str>, Item, Option<TrailEvent>)> {
        let name = |list: usize| self.rules.lists.get(list).map_or_else(Arc::default, |l| l.name.clone());
        let removed = self.facts.removed.borrow();
        let mut out: Vec<_> =
            removed.iter().map(|(item, event)| (name(usize::from(item.list)), item.clone(), Some(event.clone()))).collect();
        let most = out.len() + limits::RECORDED;
        for (n, list) in self.lists.used().filter(|(n, _)| *n != but) {
            // a list that is not loaded is not read for a trace
            let Ok(mut list) = list.try_borrow_mut() else { continue };
            list.settle();
            let room = most.saturating_sub(out.len());
            out.extend(list.items.iter().filter(|item| item.seq != 0).take(room).map(|item| (name(n), item.clone(), None)));
        }
        out
    }

    /// What was searched for items of which nothing was found.
    #[must_use]
    pub fn searched(&self) -> Vec<SearchRecord> {
        self.facts.searched.borrow().values().cloned().collect()
    }

    /// Records, for the items of a part that a selection did not choose, which item was chosen first instead.
    pub(super) fn tell_losers(&self, seq: SelectSequence<'_>, part: &[usize], chosen: &[usize]) {
        let Some(CurrentItem::Item(winner, _)) = chosen.first().map(|n| seq.cur(*n)) else { return };
        let names = ["book", "id"].into_iter().filter_map(|name| Some((Arc::from(name), winner.get(self.rules.fields.id(name)?)?.clone())));
        let winner = Value::map(names.collect());
        let chosen: FxHashSet<usize> = chosen.iter().copied().collect();
        for n in part.iter().filter(|n| !chosen.contains(n)) {
            if let CurrentItem::Item(item, _) = seq.cur(*n) {
                self.tell(item, [("winner", winner.clone())]);
            }
        }
    }

    /// Records the reason, when a trail is kept and the running pass has `because`.
    pub fn explain(&self, item: &Item, detail: Value) {
        if self.trail.is_none() {
            return;
        }
        let Some(because) = self.because.borrow().clone() else { return };
        let detail = self.detail(item, &because, detail);
        let code = because.code.clone();
        let list = self.rules.lists.get(usize::from(item.list)).map_or_else(Arc::default, |l| l.name.clone());
        let id = item.get(crate::model::item::core::ID).map(Value::to_text).unwrap_or_default();
        let book = self.rules.fields.id("book").and_then(|f| item.get(f)).map(Value::to_text).unwrap_or_default();
        let reason = ItemReason { item: item.seq, list, id, book, pass: self.pass.borrow().clone(), because: code, detail };
        self.reasons.borrow_mut().push(reason);
    }

    /// Merges the details recorded for the item, those of the verb, and those of the pass.
    fn detail(&self, item: &Item, because: &PassReason, said: Value) -> Value {
        let mut out: Map = self.facts.told.borrow().get(&item.seq).cloned().unwrap_or_default();
        let memo = self.facts.memo.borrow().clone();
        let env = Env { st: self, cur: CurrentItem::None, outer: None, memo: &memo, part: None };
        // an evaluation error in a reason must not fail a build that succeeds without a trace
        let why = because.why.as_ref().and_then(|why| env.inner(CurrentItem::Item(item, 0)).eval(why).ok());
        for part in [Some(said), why].into_iter().flatten() {
            let known = part.as_map().into_iter().flat_map(|m| m.iter()).filter(|(_, value)| !value.is_null());
            out.extend(known.map(|(name, value)| (name.clone(), value.clone())));
        }
        if out.is_empty() { Value::Null } else { Value::map(out) }
    }
}
