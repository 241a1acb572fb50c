//! The trace of a build: what passes did to which items, and why. It is made only where the scene asks for one; otherwise
//! it costs one check of an option.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::limits;
use crate::model::plan::{BuildStep, Expansion, RecordedValue, SearchRecord, TextRewrite, TracedChange};
use crate::model::{Item, Map, Value};

use super::BuildState;
use super::eval::{CurrentItem, Env};
use super::expr::Expr;
use super::memo::{PassContext, PassMemo};
use super::select::SelectSequence;

/// One event of the trail: what a pass did to an item. Only kept when tracing.
#[derive(Debug, Clone, serde::Serialize)]
pub struct TraceEvent {
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

/// What one build records to explain itself.
#[derive(Default)]
pub struct BuildTrace {
    /// What passes did to items, in order.
    pub events: RefCell<Vec<TraceEvent>>,
    /// Numbers of each run of a pass, in order.
    pub runs: RefCell<Vec<RunStat>>,
    /// Stages and hooks, in order.
    pub steps: RefCell<Vec<BuildStep>>,
    /// Values that hooks and templates record.
    pub notes: RefCell<Vec<RecordedValue>>,
    /// Passes that caused a whole list to be read, and the number of elements.
    pub read_whole: RefCell<Vec<(Arc<str>, usize)>>,
    /// Macros that were evaluated.
    pub macros: RefCell<Vec<Expansion>>,
    /// The reasons for what happened to items.
    pub reasons: RefCell<Vec<ItemReason>>,
    /// Texts that scripts changed, in order.
    pub rewrites: RefCell<Vec<TextRewrite>>,
    /// What functions of hooks and passes changed, in order.
    pub changes: RefCell<Vec<TracedChange>>,
    /// What was searched for items of which nothing has been found yet, by their numbers.
    searched: RefCell<IndexMap<u32, SearchRecord>>,
    /// Passes whose `when` did not hold, and how often.
    skipped: RefCell<IndexMap<Arc<str>, usize>>,
    /// The items that passes removed, each with the event.
    removed: RefCell<Vec<(Item, TraceEvent)>>,
    /// The number of the last item that was made.
    last_item: Cell<u32>,
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
    /// The pass's `reason`.
    pub because: Arc<str>,
    /// Details from the verb: the key that was found, and where.
    pub detail: Value,
}

/// The reasons of one run of a pass. Only made where a trace is kept.
#[derive(Default)]
pub struct PassReasons {
    /// The reason that the pass gives; `None` if it gives none.
    because: Option<Arc<PassReason>>,
    /// What decided about items, by their numbers.
    told: RefCell<FxHashMap<u32, Map>>,
    /// The evaluated results of `reason_details`.
    memo: PassMemo,
}

impl PassReasons {
    /// Of a pass with this reason that works on a list; `None` where no trace is kept.
    #[must_use]
    pub fn begin(because: Option<&Arc<PassReason>>, list: usize, st: &BuildState) -> Option<Self> {
        let memo = PassMemo::of(PassContext { list, spares: false });
        st.trace.is_some().then(|| Self { because: because.cloned(), told: RefCell::default(), memo })
    }

    /// Whether the pass gives reasons.
    #[must_use]
    pub fn are_given(&self) -> bool {
        self.because.is_some()
    }

    /// Keeps what decided about an item until a reason for the item is given.
    pub fn tell<const N: usize>(&self, item: &Item, facts: [(&str, Value); N]) {
        if item.seq != 0 && self.are_given() {
            let facts = facts.into_iter().map(|(name, value)| (Arc::from(name), value));
            self.told.borrow_mut().entry(item.seq).or_default().extend(facts);
        }
    }

    /// Records, for the items of a part that a selection did not choose, which item was chosen first instead.
    pub(super) fn tell_losers(&self, seq: SelectSequence<'_>, part: &[usize], chosen: &[usize], st: &BuildState) {
        let Some(CurrentItem::Item(winner, _)) = chosen.first().map(|n| seq.cur(*n)) else { return };
        let names = ["book", "id"].into_iter().filter_map(|name| Some((Arc::from(name), winner.get(st.rules.fields.id(name)?)?.clone())));
        let winner = Value::map(names.collect());
        let chosen: FxHashSet<usize> = chosen.iter().copied().collect();
        for n in part.iter().filter(|n| !chosen.contains(n)) {
            if let CurrentItem::Item(item, _) = seq.cur(*n) {
                self.tell(item, [("winner", winner.clone())]);
            }
        }
    }

    /// Records what was searched for an item in vain, or that it has been found.
    pub fn searched_for(&self, item: &Item, in_vain: Option<SearchRecord>, st: &BuildState) {
        let Some(trace) = st.trace.as_ref().filter(|_| item.seq != 0 && self.are_given()) else { return };
        let mut all = trace.searched.borrow_mut();
        match in_vain {
            Some(searched) if all.len() < limits::RECORDED || all.contains_key(&item.seq) => {
                let pass = st.pass.borrow().to_string();
                all.insert(item.seq, SearchRecord { item: item.seq, pass, ..searched });
            }
            Some(_) => {}
            None => _ = all.swap_remove(&item.seq),
        }
    }

    /// Records the reason of the pass for what it did to an item.
    pub fn explain(&self, item: &Item, detail: Value, st: &BuildState) {
        if let Some(because) = &self.because {
            self.explain_with(because, item, detail, st);
        }
    }

    /// Records a reason for what the pass did to an item.
    pub fn explain_with(&self, because: &PassReason, item: &Item, detail: Value, st: &BuildState) {
        let Some(trace) = &st.trace else { return };
        let detail = self.detail(item, because, detail, st);
        let code = because.code.clone();
        let list = st.rules.lists.get(usize::from(item.list)).map_or_else(Arc::default, |l| l.name.clone());
        let id = item.get(crate::model::item::core::ID).map(Value::to_text).unwrap_or_default();
        let book = st.rules.fields.id("book").and_then(|f| item.get(f)).map(Value::to_text).unwrap_or_default();
        let reason = ItemReason { item: item.seq, list, id, book, pass: st.pass.borrow().clone(), because: code, detail };
        trace.reasons.borrow_mut().push(reason);
    }

    /// Merges the details recorded for the item, those of the verb, and those of the pass.
    fn detail(&self, item: &Item, because: &PassReason, said: Value, st: &BuildState) -> Value {
        let mut out: Map = self.told.borrow().get(&item.seq).cloned().unwrap_or_default();
        let env = Env { st, cur: CurrentItem::None, outer: None, memo: &self.memo, part: None };
        // an evaluation error in a reason must not fail a build that succeeds without a trace
        let why = because.why.as_ref().and_then(|why| env.inner(CurrentItem::Item(item, 0)).eval(why).ok());
        for part in [Some(said), why].into_iter().flatten() {
            let known = part.as_map().into_iter().flat_map(|m| m.iter()).filter(|(_, value)| !value.is_null());
            out.extend(known.map(|(name, value)| (name.clone(), value.clone())));
        }
        if out.is_empty() { Value::Null } else { Value::map(out) }
    }
}

impl BuildState {
    /// A number for a new item, when a trace is kept; 0 otherwise.
    pub fn number(&self) -> u32 {
        let Some(trace) = &self.trace else { return 0 };
        let next = trace.last_item.get() + 1;
        trace.last_item.set(next);
        next
    }

    /// Records what happened to an item and why, when a trace is kept.
    pub fn note(&self, item: &Item, did: &'static str, reasons: Option<&PassReasons>) {
        let Some(trace) = &self.trace else { return };
        let event = TraceEvent { item: item.seq, pass: self.pass.borrow().clone(), did };
        let mut removed = trace.removed.borrow_mut();
        if matches!(did, "dropped" | "lost" | "merged") && removed.len() < limits::RECORDED {
            removed.push((item.clone(), event.clone()));
        }
        drop(removed);
        trace.events.borrow_mut().push(event);
        if let Some(reasons) = reasons {
            reasons.explain(item, Value::Null, self);
        }
    }

    /// Records that a script changed a text, when a trace is kept.
    pub fn rewritten(&self, script: &Arc<str>, before: &Arc<str>, after: &Arc<str>) {
        let Some(trace) = &self.trace else { return };
        let mut rewrites = trace.rewrites.borrow_mut();
        if rewrites.len() < limits::RECORDED {
            let (script, before, after) = (script.to_string(), before.to_string(), after.to_string());
            rewrites.push(TextRewrite { pass: self.pass.borrow().to_string(), script, before, after });
        }
    }

    /// Records what a function changed, when a trace is kept; it is evaluated only then.
    pub fn changed(&self, change: impl FnOnce() -> TracedChange) {
        if let Some(trace) = self.trace.as_ref().filter(|trace| trace.changes.borrow().len() < limits::RECORDED) {
            let change = change();
            trace.changes.borrow_mut().push(change);
        }
    }

    /// Records a value of the running stage, when a trace is kept; it is evaluated only then.
    pub fn instrument(&self, name: &str, value: impl FnOnce() -> Value) {
        if let Some(trace) = &self.trace {
            let stage = self.stage.borrow().to_string();
            trace.notes.borrow_mut().push(RecordedValue { stage, name: name.to_owned(), value: value() });
        }
    }

    /// Records a stage or a hook, when a trace is kept.
    pub fn step(&self, step: impl FnOnce() -> BuildStep) {
        if let Some(trace) = &self.trace {
            trace.steps.borrow_mut().push(step());
        }
    }

    /// Records that the `when` of a pass did not hold, when a trace is kept.
    pub fn skipped(&self, pass: &Arc<str>) {
        if let Some(trace) = &self.trace {
            *trace.skipped.borrow_mut().entry(pass.clone()).or_default() += 1;
        }
    }

    /// The items that are not in the list `but`, with the names of their lists: those that passes removed, each with
    /// the event, then those of all other lists as far as these have been read. None without a trace.
    #[must_use]
    pub fn elsewhere(&self, but: usize) -> Vec<(Arc<str>, Item, Option<TraceEvent>)> {
        let Some(trace) = &self.trace else { return Vec::new() };
        let name = |list: usize| self.rules.lists.get(list).map_or_else(Arc::default, |l| l.name.clone());
        let removed = trace.removed.borrow();
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
}

impl BuildTrace {
    /// The passes whose `when` did not hold, and how often.
    #[must_use]
    pub fn all_skipped(&self) -> Vec<(String, usize)> {
        self.skipped.borrow().iter().map(|(pass, times)| (pass.to_string(), *times)).collect()
    }

    /// What was searched for items of which nothing was found.
    #[must_use]
    pub fn all_searched(&self) -> Vec<SearchRecord> {
        self.searched.borrow().values().cloned().collect()
    }
}
